"""Where a rank's facts go: one line on standard output, and a file of its own that is always whole.

A rank that is killed leaves the file as it was at its last phase; the line is written once, when the rank ends.
"""

import contextlib
import json
import os
import re
import socket
from typing import Any, Dict, Optional

PREFIX = "MAPLE-FACTS "
WHOLE = 4096  # PIPE_BUF on Linux: ranks that share a pipe do not cut into a line up to this size, newline included
FIRST_TO_GO = ("given", "versions", "machine", "collectives", "links")


def path_of(folder: str, facts: Dict[str, Any]) -> Optional[str]:
    """Return a path in *folder* that no other process has, or None without a folder.

    Two processes may carry one rank, and two containers one host name and one pid: hence the random end.
    """
    if not folder:
        return None
    host = re.sub(r"[^A-Za-z0-9._-]", "_", socket.gethostname())[:64]
    rank = "none" if facts["rank"] is None else facts["rank"]
    name = "%s-rank%s-%s-%d-%s.json" % (facts["miniapp"], rank, host, os.getpid(), os.urandom(3).hex())
    return os.path.join(folder, name)


def save(path: Optional[str], facts: Dict[str, Any]) -> None:
    """Put the facts into the file, whole or not at all; what goes wrong stands in the facts as `file_error`."""
    if path is None:
        return
    new = os.path.join(os.path.dirname(path), "." + os.path.basename(path) + ".new")
    try:
        with open(new, "w") as file:
            json.dump(facts, file, sort_keys=True)
        os.rename(new, path)
    except OSError as error:
        facts["file_error"] = _one_line(error)


def line(facts: Dict[str, Any]) -> bytes:
    """Return the facts as one line of at most `WHOLE` bytes; what was left out to fit is named in `left_out`."""
    kept = dict(facts)
    for name in ("",) + FIRST_TO_GO:
        if name and name in kept:
            del kept[name]
            kept["left_out"] = kept.get("left_out", []) + [name]
        said = (PREFIX + json.dumps(kept, sort_keys=True, separators=(",", ":")) + "\n").encode("ascii")
        if len(said) <= WHOLE:
            break
    return said


def say(facts: Dict[str, Any]) -> None:
    """Write the line with one call, past Python's own buffer; a closed output harms nothing."""
    with contextlib.suppress(OSError):
        os.write(1, line(facts))


def error_facts(error: BaseException) -> Dict[str, str]:
    """Return an error as a class and one line of at most 300 characters."""
    return {"class": type(error).__name__, "says": _one_line(error)}


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
