"""What a change leaves of the findings: which are cured by it, which a change on offer cures, which are only said.

A change is believed in nothing that it says of itself: the script that it makes is read again, and what is found there
no more is cured. For `maple check`, never at submission.
"""

from __future__ import annotations

from collections import Counter
from typing import Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

from ..host.bounded_file import read_file
from ..site.facts import Site
from ..types.findings import Finding
from ..types.job import Read, line_of
from ..types.submission import Submission
from .decision import Rewritten, advised, understood

_Key = Tuple[str, Union[int, str]]


class Remainder(NamedTuple):
    """The findings of a script as they are *cured* unasked, *offered* a cure, or *advice*, and what is *new* then.

    *behind*: what is found behind each way on offer, in their order.
    """

    cured: Tuple[Finding, ...]
    offered: Tuple[Finding, ...]
    advice: Tuple[Finding, ...]
    new: Tuple[Finding, ...]
    behind: Tuple[Tuple[Finding, ...], ...]


def remainder(
    findings: Sequence[Finding],
    made: Optional[Rewritten],
    ways: Iterable[Rewritten],
    submission: Submission,
    site: Site,
) -> Remainder:
    """Return what becomes of each finding by what is *made* unasked and the *ways* on offer. Each stands in one place.

    *new*: what is found in the script that is submitted, and was hidden by a mistake before.
    """
    source = submission.script or b""
    after = left_by(made, submission, site) if made is not None else tuple(findings)
    then = source if made is None or made.script is None else made.script
    cured, rest = _split(findings, source, after, then)
    offered: List[Finding] = []
    behind: List[Tuple[Finding, ...]] = []
    for way in ways:
        behind.append(left_by(way, submission, site))
        more, rest = _split(rest, source, behind[-1], way.script or source)
        offered += more
    new, _ = _split(after, then, findings, source) if made is not None else ((), ())
    return Remainder(tuple(cured), tuple(offered), tuple(rest), tuple(new), tuple(behind))


def left_by(
    new: Rewritten, submission: Submission, site: Site, read: Optional[Read] = read_file
) -> Tuple[Finding, ...]:
    """Return what is found in the script that a change makes."""
    script = submission.script if new.script is None else new.script
    job = understood(submission._replace(script=script, argv=new.argv), read, read)
    return advised(job, site).findings if job is not None else ()


def _split(
    findings: Sequence[Finding], source: bytes, others: Sequence[Finding], other_source: bytes
) -> Tuple[List[Finding], List[Finding]]:
    """Return the findings that are none of the *others*, and those that are."""
    there = Counter(_key(finding, other_source) for finding in others)
    gone: List[Finding] = []
    same: List[Finding] = []
    for finding in findings:
        key = _key(finding, source)
        (same if there[key] else gone).append(finding)
        there[key] -= there[key] > 0
    return gone, same


def _key(finding: Finding, source: bytes) -> _Key:
    """No change adds or removes a line, so that a finding is known again by its line."""
    return finding.code, line_of(source, finding.at.start) if finding.at is not None else finding.says
