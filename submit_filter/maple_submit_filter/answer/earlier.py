"""What earlier jobs of the same lineage say of a change: that a job ran with it, or failed at once with it.

A change is known by the words that give way and those that come, byte for byte, each with the word before it, so that
it is the same one in an edited script. Which job ran with it counts only where it is proposed on the same grounds too:
the same findings, the same words for the fix, the same revision of rules and site.
"""

from __future__ import annotations

import re
from typing import Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..types.submission import Submission
from .decision import Decision, Rewritten

MOST = 64  # changes of a lineage that are passed on
MOST_LINES, MOST_BYTES = 100, 32 << 10  # that differ: a repair changes a few
_CHANGE = re.compile(r"[0-9a-f]{32}")
_JOB = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+\[\]-]{0,150}")  # as the schedulers call jobs
_TOKEN = re.compile(rb"\s+|\S+")


class Good(NamedTuple):
    """*job* ran with a change that was proposed on these *grounds*."""

    job: str
    grounds: str


class Earlier(NamedTuple):
    """By the id of a change. *taken_back*: the job that failed at once with it. *revision*: of rules and site now."""

    good: Mapping[str, Good] = {}
    taken_back: Mapping[str, str] = {}
    revision: bytes = b""

    def job_that_failed(self, change: str) -> str:
        """Return the job for which that change was taken back, "" for none."""
        return self.taken_back.get(change, "")

    def job_that_ran(self, change: str, decision: Decision) -> str:
        """Return the job that ran with exactly what would be asked about, "" for none."""
        made, known = proposed(decision), self.good.get(change)
        return known.job if known and made and known.grounds == grounds_of(decision, made, self.revision) else ""


def proposed(decision: Decision) -> Optional[Rewritten]:
    """Return what would be changed: what is done unasked, else what is asked about."""
    return decision.repaired if decision.repaired is not None else decision.offered


def change_of(submission: Submission, made: Rewritten) -> str:
    """Return the id of a change, "" where it has no bounds: lines come or go, many differ, or they are very long.

    *submission*: as the job runs it (`answer.whole`).
    """
    from .audit_line import sha256

    old = submission.script or b""
    new = old if made.script is None else made.script
    lines = [pair for pair in zip(old.split(b"\n"), new.split(b"\n")) if pair[0] != pair[1]]
    long = sum(len(old) + len(other) for old, other in lines) > MOST_BYTES
    if old.count(b"\n") != new.count(b"\n") or long or len(lines) > MOST_LINES:
        return ""
    text = b""
    for kind, words in [*((b"line", _tokens(pair)) for pair in lines), (b"argv", (submission.argv, made.argv))]:
        for part in (kind, *_changed(*words)):
            text += b"%d:" % len(part) + part
    for code in dict.fromkeys(code for _, code in made.because):
        text += code.encode("utf-8", "surrogateescape") + b"\n"
    return sha256(text)[:32]


def grounds_of(decision: Decision, made: Rewritten, revision: bytes) -> str:
    """Return the hash of all that a change is proposed for. *revision*: of rules and site."""
    from .audit_line import sha256

    parts = [
        "%s %s %s" % (finding.code, finding.site_fact, finding.says) for finding in decision.findings if finding.proven
    ]
    text = "\n".join((*parts, "", *made.says)).encode("utf-8", "surrogateescape")
    return sha256(revision + text)[:32]


def pack(earlier: Earlier) -> bytes:
    """Return which changes were taken back, for the caller's own helper; b"" for none."""
    return b"\n".join(("%s %s" % pair).encode() for pair in list(earlier.taken_back.items())[:MOST])


def unpack(data: bytes) -> Earlier:
    """Return what `pack` made; what is not of its form is left out, so that it holds nothing back."""
    jobs = {}
    for line in data.decode("ascii", "replace").split("\n")[:MOST]:
        change, _, job = line.partition(" ")
        if _CHANGE.fullmatch(change) and _JOB.fullmatch(job):
            jobs[change] = job
    return Earlier(taken_back=jobs)


def _tokens(pair: Tuple[bytes, bytes]) -> Tuple[List[bytes], List[bytes]]:
    return _TOKEN.findall(pair[0]), _TOKEN.findall(pair[1])


def _changed(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the word before what differs, what gives way, and what comes."""
    most = min(len(old), len(new))
    start = next((at for at in range(most) if old[at] != new[at]), most)
    end = next((at for at in range(most - start) if old[-1 - at] != new[-1 - at]), most - start)
    yield next((word for word in reversed(old[:start]) if word.strip()), b"")
    for words in (old[start : len(old) - end], new[start : len(new) - end]):
        yield b"\0".join(words)
