"""The names of fixed copies: beside the script, `NAME.maple.sh`, `NAME.maple-2.sh`, and nothing is overwritten."""

from __future__ import annotations

import os
import re

from ...base.complaint import Complaint
from ...base.new_file import put
from ..values import Cure, Diagnosis
from .loop import NotTried

MOST = 999  # copies of one script
_COPY = re.compile(r"\.maple(-\d{1,3})?\Z")


def written(cure: Cure, diagnosis: Diagnosis) -> str:
    """Write what *cure* makes of the script, and return the copy's path. Raises `NotTried`."""
    asked = diagnosis.case.asked
    if asked is None:
        raise NotTried("there is no script that could be fixed")
    script = cure.script if cure.script is not None else asked.script or b""
    path = os.path.join(os.fsdecode(asked.cwd), os.fsdecode(asked.path) or "job.sh")
    try:
        return _put(script, path)
    except Complaint as error:
        raise NotTried(error.format_message()) from error


def _put(script: bytes, path: str) -> str:
    for number in range(1, MOST + 1):
        new = name(path, number)
        if os.path.lexists(new):
            continue
        try:
            put(script, new)
            return new
        except Complaint:
            if not os.path.lexists(new):  # else somebody was quicker
                raise
    raise NotTried("%s: there are %d copies already" % (path, MOST))


def name(path: str, number: int) -> str:
    """Return the path of a script's copy: of `job.sh` `job.maple.sh`, then `job.maple-2.sh`; a copy's are its own."""
    folder, base = os.path.split(path)
    stem = _COPY.sub("", base[:-3] if base.endswith(".sh") else base)
    return os.path.join(folder, stem + (".maple.sh" if number == 1 else ".maple-%d.sh" % number))
