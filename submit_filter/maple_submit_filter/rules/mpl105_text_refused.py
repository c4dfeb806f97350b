"""Scripts that sbatch itself will not take."""

from __future__ import annotations

import re
from typing import Iterator, List, Optional, Tuple

from ..edits import Edit, Fix, Safety, Span
from ..findings import Finding
from ..job import Job
from ..launch import LaunchPlan
from ..site import Site
from ..unread_directives import unknown_option
from . import rule

_BOM = b"\xef\xbb\xbf"
_SHEBANG = rb"(?:\xef\xbb\xbf|[ \t]+)(?=#!)"  # compiled only when wanted, for every submission reads this module
_NEARLY = rb"#(?=[ \t]*/(?:usr/)?bin/)|!#(?=[ \t]*/)"
WHY = "MPL105"


@rule("MPL105", "sbatch refuses the text of the script")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """sbatch looks at the text before anything else, and refuses what does not look like a batch script.

    Wrong: a script with DOS line breaks, with a byte order mark, or without #!/bin/bash in its first line
    Right: Unix line breaks, and #!/bin/bash as the first bytes
    Why:   sbatch says: Batch script contains DOS line breaks, or: This does not look like a batch script. A byte order
           mark is left out by itself, for nothing else changes; everything else asks.
    """
    said = job.script.refused
    if not said or job.submission.came == "wrap" or unknown_option(said) or said.startswith("the script is larger"):
        return
    place = next((one.span for one in job.script.oddities if one.kind == "refused"), None)
    fix = _fix(job.source) if place is None else None
    yield Finding(WHY, "sbatch refuses this: " + said, place or _first_line(job.source), True,
                  fixes=(fix,) if fix is not None else (), help="mend the text")  # fmt: skip


def _first_line(source: bytes) -> Optional[Span]:
    return Span(0, (source + b"\n").index(b"\n")) if source else None


def _fix(source: bytes) -> Optional[Fix]:
    begin = _begin(source)
    breaks = [Edit(Span(at, at + 1), b"", WHY) for at in _returns(source)] if b"\0" not in source else []
    if begin is None:
        return Fix(tuple(breaks), Safety.ASK, "write Unix line breaks") if breaks and source[:2] == b"#!" else None
    edit, safety, says = begin
    return Fix((edit,), safety, says) if not breaks else None


def _returns(source: bytes) -> List[int]:
    return [match.start() for match in re.finditer(rb"\r(?=\n)", source)]


def _begin(source: bytes) -> Optional[Tuple[Edit, str, str]]:
    """Return what gives the script its first line, no line added."""
    blank = re.match(_SHEBANG, source)
    if blank is not None:
        says = "leave out the byte order mark" if blank.group() == _BOM else "begin with #!"
        return Edit(Span(0, blank.end()), b"", WHY), Safety.SAFE if blank.group() == _BOM else Safety.ASK, says
    nearly = re.match(_NEARLY, source)
    if nearly is not None:
        return Edit(Span(0, nearly.end()), b"#!", WHY), Safety.ASK, "begin with #!"
    if source[:1] == b"\n" and source.strip():
        return Edit(Span(0, 0), b"#!/bin/bash", WHY), Safety.ASK, "#!/bin/bash in the first line, which is empty"
    return None
