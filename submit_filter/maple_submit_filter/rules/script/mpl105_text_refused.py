"""Scripts that sbatch or qsub itself will not take."""

from __future__ import annotations

import re
from typing import Iterator, List, Optional, Tuple

from ...request.scheduler_words import is_pbs
from ...request.unread_directives import unknown_option
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..limits import surely_openpbs

_BOM = b"\xef\xbb\xbf"
_DASH = rb"(?:\xe2\x80[\x90-\x95]|\xe2\x88\x92|\xef\xb9\xa3|\xef\xbc\x8d)"  # what pages and editors make of hyphens
_SHEBANG = rb"(?:\xef\xbb\xbf|[ \t]+)(?=#!)"  # compiled only when wanted, for every submission reads this module
_NEARLY = rb"#(?=[ \t]*/(?:usr/)?bin/)|!#(?=[ \t]*/)"
_COMMENTED = rb"""([ \t]*#PBS[ \t]*-[^#"'\\\n]*[^#"'\\\n \t])[ \t]+#(?!PBS)[^\n]*\Z"""
_SEVERAL_WORDS = (
    rb"#SBATCH[ \t]+(?:[^\n#'\"]*[ \t])??(?:-J[ \t]*|--(?:job-name|comment)(?:=|[ \t]+))"
    rb"([^\s'\"#\\=-][^\s'\"#\\]*(?:[ \t]+[^\s'\"#\\-][^\s'\"#\\]*)+)(?=[ \t]+-|[ \t]*\Z)"
)
WHY = "MPL105"


@rule("MPL105", "the text of the script is refused")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """sbatch looks at the text before anything else, and refuses what does not look like a batch script.

    Wrong: a script with DOS line breaks; for sbatch with a byte order mark, or without #!/bin/bash in its first line
    Right: Unix line breaks, and #!/bin/bash as the first bytes
    Wrong: #PBS -N train   # the name
    Wrong: #SBATCH –nodes=2, with a dash that came from a web page
    Right: #PBS -N train
    Wrong: #SBATCH --job-name=my run
    Right: #SBATCH --job-name="my run"
    Why:   sbatch says: Batch script contains DOS line breaks, or: This does not look like a batch script; qsub:
           script contains cr, lf, or: directive error, for there are no comments in a directive. Maple removes a
           byte order mark, a comment behind a PBS directive, the dashes of a web page, DOS line breaks where every
           line ends so, and quotes the words of a name, because nothing else changes; for the rest it asks first.
    """
    refused = job.script.refused
    place = next((oddity.span for oddity in job.script.oddities if oddity.kind == "refused"), None)
    if refused and is_pbs(job):
        yield _by_qsub(job, site, refused, place)
        return
    if (
        not refused
        or job.submission.came == "wrap"
        or unknown_option(refused)
        or refused.startswith("the script is larger")
    ):
        return
    fix = _fix(job.source) if place is None else _as_meant(job.source, place)
    yield Finding(WHY, "sbatch refuses the script: " + refused, place or _first_line(job.source), True,
                  fixes=(fix,) if fix is not None else (), help=_help(job))  # fmt: skip


def _by_qsub(job: Job, site: Site, message: str, place: Optional[Span]) -> Finding:
    fix = _unix(job.source) if _returns(job.source) else _bare(job)
    fix = fix or (_hyphens(job.source, place) if place is not None else None)
    sure = fix is not None or surely_openpbs(job, site)  # Torque has options of its own
    who = "qsub" if sure else "OpenPBS's qsub"
    says = "%s refuses the script: %s" % (who, message[6:] if message.startswith("qsub: ") else message)
    return Finding(WHY, says, place or _first_line(job.source), sure,
                   fixes=(fix,) if fix is not None else (), help=_help(job))  # fmt: skip


def _help(job: Job) -> str:
    """Return what to do about the text."""
    if _returns(job.source):
        name = job.submission.path.rpartition(b"/")[2].decode("utf-8", "backslashreplace")
        return "convert the line ends: dos2unix " + (name or "FILE")
    return "begin the script with #!/bin/bash" if job.script.unreadable else "correct this line"


def _as_meant(source: bytes, place: Span) -> Optional[Fix]:
    """Return the directive at *place* as it was meant, where only one reading is left."""
    return _joined(source, place) or _hyphens(source, place) or _quoted(source, place)


def _quoted(source: bytes, place: Span) -> Optional[Fix]:
    """Quote a name or a comment of several words: nothing about the job but how it is called depends on it."""
    begin = source.rfind(b"\n", 0, place.start) + 1
    match = re.match(_SEVERAL_WORDS, source[begin : (source + b"\n").index(b"\n", begin)])
    if match is None or not begin + match.start(1) < place.start < begin + match.end(1):
        return None
    edits = tuple(Edit(Span(at, at), b'"', WHY) for at in (begin + match.start(1), begin + match.end(1)))
    return Fix(edits, Safety.SAFE, "quote the words, which are one value")


def _joined(source: bytes, place: Span) -> Optional[Fix]:
    """Write `--nodes=2` for `--nodes = 2`, on every directive that is written so."""
    edits = []
    for match in re.finditer(rb"(?m)^#SBATCH[ \t]+--[a-z-]+([ \t]*=[ \t]*)[^\s=#-]\S*[ \t]*$", source):
        if match.group(1) != b"=":
            edits.append(Edit(Span(match.start(1), match.end(1)), b"=", WHY))
    here = any(source.count(b"\n", 0, edit.span.start) == source.count(b"\n", 0, place.start) for edit in edits)
    return Fix(tuple(edits), Safety.SAFE, "no blanks about the =") if here else None


def _hyphens(source: bytes, place: Span) -> Optional[Fix]:
    """Write plain hyphens for the dashes of a web page, in every directive."""
    edits = []
    for match in re.finditer(rb"(?m)^#(?:SBATCH|PBS)[ \t]+(?:[^\n#]*?[ \t])??(-?%s+-?)([A-Za-z]+)" % _DASH, source):
        plain = b"--" if len(match.group(2)) > 1 and match.group().startswith(b"#S") else b"-"
        edits.append(Edit(Span(*match.span(1)), plain, WHY))
    here = any(source.count(b"\n", 0, edit.span.start) == source.count(b"\n", 0, place.start) for edit in edits)
    return Fix(tuple(edits), Safety.SAFE, "type the options again with plain hyphens (-)") if here else None


def _unix(source: bytes) -> Optional[Fix]:
    breaks = [Edit(Span(at, at + 1), b"", WHY) for at in _returns(source)]
    return Fix(tuple(breaks), _by_all(source), "convert to Unix line breaks") if b"\0" not in source else None


def _by_all(source: bytes) -> str:
    """Return SAFE where every line ends so: the text comes from another system as a whole, and none of it is meant."""
    return Safety.SAFE if source.count(b"\r") == source.count(b"\r\n") == source.count(b"\n") else Safety.ASK


def _bare(job: Job) -> Optional[Fix]:
    """Leave out the comments behind directives, where no quote, backslash or second `#PBS` makes them doubtful."""
    edits: List[Edit] = []
    for oddity in job.script.oddities:
        match = (
            re.match(_COMMENTED, job.source[oddity.span.start : oddity.span.end]) if oddity.kind == "refused" else None
        )
        if match is not None:
            edits.append(Edit(Span(oddity.span.start + match.end(1), oddity.span.end), b"", WHY))
    return Fix(tuple(edits), Safety.SAFE, "remove the comment, which qsub refuses") if edits else None


def _first_line(source: bytes) -> Optional[Span]:
    return Span(0, (source + b"\n").index(b"\n")) if source else None


def _fix(source: bytes) -> Optional[Fix]:
    begin = _begin(source)
    breaks = [Edit(Span(at, at + 1), b"", WHY) for at in _returns(source)] if b"\0" not in source else []
    if begin is None:
        unix = Fix(tuple(breaks), _by_all(source), "convert to Unix line breaks")
        return unix if breaks and source[:2] == b"#!" else None
    edit, safety, says = begin
    return Fix((edit,), safety, says) if not breaks else None


def _returns(source: bytes) -> List[int]:
    return [match.start() for match in re.finditer(rb"\r(?=\n)", source)]


def _begin(source: bytes) -> Optional[Tuple[Edit, str, str]]:
    """Return what gives the script its first line, no line added."""
    blank = re.match(_SHEBANG, source)
    if blank is not None:
        says = "remove the byte order mark" if blank.group() == _BOM else "start the script with #!"
        return Edit(Span(0, blank.end()), b"", WHY), Safety.SAFE if blank.group() == _BOM else Safety.ASK, says
    nearly = re.match(_NEARLY, source)
    if nearly is not None:
        return Edit(Span(0, nearly.end()), b"#!", WHY), Safety.ASK, "start the script with #!"
    if source[:1] == b"\n" and source.strip():
        return Edit(Span(0, 0), b"#!/bin/bash", WHY), Safety.ASK, "write #!/bin/bash into the empty first line"
    return None
