"""The least and the most that a port may be which a script works out, from how that is written."""

from __future__ import annotations

import re
from typing import Mapping, Optional, Tuple

from ...play.arithmetic import Bounds, bounds
from ...types.edits import Span

_JOBS = (1, 67_000_000)  # ids of jobs: slurm.conf(5), MaxJobId; those of PBS end at seven digits, or at twelve
_KNOWN: Mapping[bytes, Bounds] = {
    b"SLURM_JOB_ID": _JOBS,
    b"SLURM_JOBID": _JOBS,
    b"SLURM_ARRAY_JOB_ID": _JOBS,
    b"PBS_JOBNUMBER": _JOBS,
    b"RANDOM": (0, 32767),
    b"SRANDOM": (0, 2**32 - 1),
    b"BASHPID": (1, 4_194_304),  # proc(5), pid_max
    b"UID": (0, 2**31),
    b"EUID": (0, 2**31),
}
_SUM = (  # patterns are made where there is a port to look at
    rb"\$\(\((.*)\)\)\Z|\$\([ \t]*expr[ \t]+([^()]*(?:\([^()]*\)[^()]*)*)\)\Z|`[ \t]*expr[ \t]+([^`]*)`\Z"
)
_DRAWN = rb"(?:\$\(|`)[ \t]*shuf[ \t]+-i[ \t]*(\d{1,7})-(\d{1,7})(?:[ \t]+-n[ \t]*1)?[ \t]*[)`]\Z"
_LAST = rb"\$\{\w+:[ \t]*\(?[ \t]*-(\d)[ \t]*\)?(?::\d)?\}"  # the last digits of a number: ${X: -4}
_LAST_PRINTED = (  # and $(echo -n $X | tail -c 4)
    rb"(?:\$\(|`)[ \t]*(?:echo[ \t]+-n|printf(?:[ \t]+[\"']?%s[\"']?)?)[ \t]+[\"']?\$\{?\w+\}?[\"']?"
    rb"[ \t]*\|[ \t]*tail[ \t]+-c[ \t]*(\d)[ \t]*[)`]"
)  # fmt: skip
_LINE = (  # with the end of the line that echo prints, so one digit less
    rb"(?:\$\(|`)[ \t]*echo[ \t]+[\"']?\$\{?\w+\}?[\"']?[ \t]*\|[ \t]*tail[ \t]+-c[ \t]*(\d)[ \t]*[)`]"
)
_NAME = rb"\$\{(\w+)(?:%%\.\*|%%\[\.\*|%%\[!0-9\]\*)?\}|\$(\w+)"


def port_bounds(
    value: bytes, source: bytes, assigned: Mapping[bytes, Tuple[Span, ...]], deep: int = 0
) -> Optional[Bounds]:
    """Return the least and the most that a value comes to, None where that is not known.

    A name stands for what its only assignment gives.
    """
    value = value.strip().strip(b"\"'")
    drawn = re.match(_DRAWN, value)
    if drawn is not None:
        return int(drawn.group(1)), int(drawn.group(2))
    if value.strip(b"${}") in _KNOWN and value[:1] == b"$":
        return _KNOWN[value.strip(b"${}")]
    text, tails = _tails(value)
    head, _, name = text.partition(b"tail_")
    if name.isdigit() and (head or b"0").isdigit() and tails:  # digits in front of digits
        least = int((head or b"0") + b"0" * int(name[:1]))
        return least, least + 10 ** int(name[:1]) - 1
    match = re.match(_SUM, text)
    if match is None:
        return None
    inner = next(group for group in match.groups() if group is not None)
    inner = re.sub(_NAME, lambda found: found.group(1) or found.group(2), inner.replace(b"$$", b"BASHPID"))
    inner = inner.replace(b"10#", b"").replace(b"\\*", b"*").replace(b'"', b"")

    def known(variable: bytes) -> Optional[Bounds]:
        if variable.startswith(b"tail_"):
            return 0, 10 ** int(variable[5:6]) - 1
        if variable == b"PBS_JOBID":
            return _JOBS
        spans = assigned.get(variable, ())
        if spans:
            return _of_name(spans, source, assigned, deep) if len(spans) == 1 and deep < 4 else None
        return _KNOWN.get(variable)

    return bounds(inner, known)


def _of_name(
    spans: Tuple[Span, ...], source: bytes, assigned: Mapping[bytes, Tuple[Span, ...]], deep: int
) -> Optional[Bounds]:
    value = source[spans[0].start : spans[0].end].partition(b"=")[2].strip().strip(b"\"'")
    if value.isdigit() and len(value) < 8:
        return int(value), int(value)
    return port_bounds(value, source, assigned, deep + 1)


def _tails(value: bytes) -> Tuple[bytes, int]:
    """Return a value with a name of its own, `tail_4`, for each place that gives the last digits of a number."""
    made = [0, 0, 0]
    value, made[0] = re.subn(_LAST, lambda match: b"tail_" + match.group(1), value)
    value, made[1] = re.subn(_LAST_PRINTED, lambda match: b"tail_" + match.group(1), value)
    value, made[2] = re.subn(_LINE, lambda match: b"tail_%d" % (int(match.group(1)) - 1), value)
    return value, sum(made)
