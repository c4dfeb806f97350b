"""The installation whose front a shell finds as sbatch or qsub here, and what it goes by."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Optional

from maple_submit_filter.host import settled
from maple_submit_filter.site.facts import Site

COMMANDS = ("sbatch", "qsub")
_CONF = re.compile(
    rb"(/[^\0\n]*)/current/etc/front\.conf\0"
)  # what a front that was copied elsewhere was compiled with
_MOST = 4 << 20  # bytes of a front


class Installed(NamedTuple):
    """*conf*: the path of its front.conf. *site*: of the facts that its front goes by."""

    conf: str
    site: Site


def installed(commands: Sequence[str] = COMMANDS, environ: Mapping[str, str] = os.environ) -> Optional[Installed]:
    """Return what the first of these commands that is a front goes by, None where none is one that can be read."""
    for command in commands:
        path = front_conf(command, environ)
        try:
            conf = settled.read_conf(path) if path else {}
            if conf.get("snapshot"):
                return Installed(path, settled.site(conf))
        except (OSError, ValueError):
            continue
    return None


def prefix_of_front(environ: Mapping[str, str] = os.environ) -> str:
    """Return the prefix of the installation whose front is on PATH, "" where there is none."""
    paths = (front_conf(command, environ) for command in COMMANDS)
    found = next((path for path in paths if path), "")
    return prefix_of(found)


def prefix_of(conf: str) -> str:
    """Return the prefix of the installation that a front.conf belongs to."""
    return re.sub(r"/(current|releases/[^/]*)/etc/front\.conf\Z", "", conf)


def front_conf(command: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return the front.conf of the command of that name on PATH, "" where that is no front of Maple's."""
    program = shutil.which(command, path=environ.get("PATH", ""))
    if program is None:
        return ""
    real = os.path.realpath(program)
    beside = os.path.join(os.path.dirname(os.path.dirname(real)), "etc", "front.conf")
    if os.path.basename(real) == "front" and os.path.isfile(beside):
        return beside
    try:
        with open(real, "rb") as file:
            found = _CONF.search(file.read(_MOST)) if os.path.getsize(real) <= _MOST else None
    except OSError:
        return ""
    copied = os.fsdecode(found[1]) + "/current/etc/front.conf" if found else ""
    return copied if os.path.isfile(copied) else ""
