"""Where a PBS job's output is, or will be.

`Output_Path` is what was asked for: `host:/path`, a folder, or a pattern; other attributes say what becomes of it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from .ids import array_of

_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*:(?=.)")
_INDEX = "^array_index^"


def output_paths(job_id: str, attributes: Mapping[str, str]) -> tuple[str | None, str | None]:
    """Return where stdout and stderr lie once they are delivered; None where nothing will.

    `$PBS_JOBID` in a path stays: PBS does not expand it. With `-k o` (without d) the file lies in the owner's home on
    the first node, which is taken to be the home at submission.
    """
    out = _kept(job_id, attributes, "o") or _path(job_id, attributes, "Output_Path", "OU")
    err = _kept(job_id, attributes, "e") or _path(job_id, attributes, "Error_Path", "ER")
    join = attributes.get("Join_Path", "n")
    if join.startswith("oe"):
        err = out  # Error_Path is shown, but never written
    elif join.startswith("eo"):
        out = err
    removed = attributes.get("Remove_Files", "")
    return None if "o" in removed else out, None if "e" in removed else err


def variable(attributes: Mapping[str, str], name: str) -> str | None:
    """Return a variable of `Variable_List`: qstat gives each on its own, libpbs all in one text.

    In the text a comma that belongs to a value has a backslash in front.
    """
    if "Variable_List.%s" % name in attributes:
        return attributes["Variable_List.%s" % name]
    found = re.search(
        r"(?:^|(?<!\\),)%s=((?:\\.|[^\\,])*)" % re.escape(name), attributes.get("Variable_List", ""), re.S
    )
    return re.sub(r"\\(.)", r"\1", found[1], flags=re.S) if found else None


def _path(job_id: str, attributes: Mapping[str, str], name: str, suffix: str) -> str | None:
    asked = attributes.get(name, "")
    path = _HOST.sub("", asked, count=1) if "/" not in asked.partition(":")[0] else asked
    if not path:
        return None
    array = array_of(job_id)
    if array and array[1] is not None:
        path = path.replace(_INDEX, str(array[1]))
    if not path.startswith("/"):
        path = os.path.join(variable(attributes, "PBS_O_WORKDIR") or "", path)
    return "%s%s.%s" % (path, job_id, suffix) if path.endswith("/") else path


def _kept(job_id: str, attributes: Mapping[str, str], stream: str) -> str | None:
    """Return the file in the owner's home where `-k` without `d` leaves a stream; else None."""
    keep = attributes.get("Keep_Files", "n")
    home = variable(attributes, "PBS_O_HOME")
    if stream not in keep or "d" in keep or home is None:
        return None
    array = array_of(job_id)
    sequence = re.match(r"\d*", job_id)
    index = ".%s" % (_INDEX if array[1] is None else array[1]) if array else ""
    return "%s/%s.%s%s%s" % (home, attributes.get("Job_Name", ""), stream, sequence[0] if sequence else "", index)
