"""Where a script writes the address and the port at which its ranks meet, what that is, and within which bounds.

The plan knows what a launcher or a rank was given; here stands what is left where nobody can tell what reads it: in a
container, behind a file that is sourced, beside a program that finds its ranks by itself.
"""

from __future__ import annotations

import re
from typing import Dict, Iterator, Mapping, NamedTuple, Optional, Tuple

from ...play.arithmetic import Bounds, bounds
from ...types.edits import Span
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step

LOCAL, LAST, LIST = "local", "last", "list"
_DEEPEST = 3  # names of names
_ADDRESS = re.compile(
    rb"(?:master[-_]addr(?:ess)?|rdzv[-_]endpoint|main[-_]process[-_]ip|coordinator(?:[-_]address)?)[= ]"
    rb"[\"']?\$\{?(\w+)"
)
_PORT = re.compile(
    rb"(?:(?:master|main[-_]process|coordinator)[-_]port[= ]|rdzv[-_]endpoint[= ][^\s:]*:)[\"']?\$\{?(\w+)"
)
_READ_BY = {"address": _ADDRESS, "port": _PORT}
_BY_TORCH = {"address": b"MASTER_ADDR", "port": b"MASTER_PORT"}
_SET_ANEW = (b"--container-", b"prolog")  # in small letters: a hook of an image, what runs in front of each task
_NAME = re.compile(rb"\$\{?([A-Za-z_]\w*)\}?\Z|\$\{([A-Za-z_]\w*):?-[^}]*\}\Z")
_DEFAULT = re.compile(rb"\$\{\w+:?[-=](.*)\}\Z", re.DOTALL)
_LOCALLY = re.compile(rb"localhost\Z|127(?:\.\d+){3}\Z|::1\Z|0\.0\.0\.0\Z")
_NODES = re.compile(rb"scontrol[ \t]+show[ \t]+host|PBS_NODEFILE|(?:SLURM|PALS)\w*NODE_?LIST")
_WHOLE = re.compile(
    rb"\$\{?(?:SLURM_(?:JOB_)?NODELIST|PBS_NODEFILE)\}?\Z|\$\((?:cat[ \t]+[\"']?\$\{?PBS_NODEFILE\}?[\"']?"
    rb"|scontrol[ \t]+show[ \t]+hostnames?(?:[ \t]+[\"']?\$\{?\w+\}?[\"']?)?)[ \t]*\)\Z"
)
_PICKS_FIRST = re.compile(rb"\bhead[ \t]+-(?:n[ \t]*)?1\b|sed[ \t]+(?:-n[ \t]+)?['\"]?1[pq]|NR[ \t]*==[ \t]*1\b")
_PICKS_OTHER = re.compile(
    rb"\btail[ \t]+-(?:n[ \t]*)?1\b|\bsed[ \t]+-n[ \t]+['\"]?(?:\$|[2-9])[ \t]*p|\bsed[ \t]+['\"]\$!d"
    rb"|\bawk[ \t]+['\"](?:END|NR[ \t]*==[ \t]*[2-9])|\bsort[ \t]+(?:-\w+[ \t]+)*-\w*r\w*\b|\btac\b"
)


class Written(NamedTuple):
    """A variable, and where and how its value is written."""

    name: bytes
    span: Span
    value: bytes


def written(plan: LaunchPlan, source: bytes, kind: str) -> Iterator[Written]:
    """Yield where the "address" or the "port" at which ranks meet is written, each place once."""
    seen: Dict[Span, None] = {}
    names = {_BY_TORCH[kind], *_READ_BY[kind].findall(source)}
    for name, spans in plan.assigned.items():
        for span in spans if name in names else ():
            place = _followed(name, span, plan, source)
            if place.span not in seen:
                seen[place.span] = None
                yield place


def _followed(name: bytes, span: Span, plan: LaunchPlan, source: bytes) -> Written:
    """Return where a value is written, through names that are set once."""
    for _ in range(_DEEPEST):
        value = source[span.start : span.end].partition(b"=")[2]
        again = _NAME.match(value.strip(b"\"'"))
        spans = plan.assigned.get((again.group(1) or again.group(2)) if again is not None else b"", ())
        if len(spans) != 1 or spans[0] == span:
            break
        span = spans[0]
    start = span.start + source[span.start : span.end].find(b"=") + 1
    return Written(name, Span(start, span.end), source[start : span.end])


def which_node(value: bytes) -> str:
    """Return what an address is: LOCAL, LAST for a node that is not the first, LIST for all, "" for what is not known.

    A default (`${MASTER_ADDR:-localhost}`) is what it is for a script that is sent as it stands.
    """
    default = _DEFAULT.match(value.strip(b"\"'"))
    value = (default.group(1) if default is not None else value).strip(b"\"'")
    if _LOCALLY.match(value):
        return LOCAL
    if _WHOLE.match(value):
        return LIST
    picks = _PICKS_OTHER.search(value) if _NODES.search(value) else None
    first = _PICKS_FIRST.search(value)
    if picks is None or (first is not None and first.start() < picks.start()):
        return ""
    return LAST


def on_several_nodes(plan: LaunchPlan, job: Job) -> bool:
    """Return whether the job has several nodes, every launch line may reach more than its first, and no hook speaks."""
    steps = [step for step in plan.steps if step.links]
    if (plan.allocation.nodes or 1) == 1 or not steps or not all(_reaches_more(step) for step in steps):
        return False
    source = job.source.lower()  # looked at letter by letter, a long script would take milliseconds
    return not any(word in source for word in _SET_ANEW)


def _reaches_more(step: Step) -> bool:
    link = step.links[0]
    if link.option("environment") is not None:
        return False  # as a hook of an image, its file may set the address anew
    if link.name.startswith("mpi") and step.nodes is None:
        return False  # one that does not know the scheduler starts all on the first node
    return (step.nodes or 2) > 1


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
_VARIABLE = rb"\$\{(\w+)(?:%%\.\*|%%\[\.\*|%%\[!0-9\]\*)?\}|\$(\w+)"


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
    inner = re.sub(_VARIABLE, lambda name: name.group(1) or name.group(2), inner.replace(b"$$", b"BASHPID"))
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
