"""Indices of a job array, and the list of the script that they count in."""

from __future__ import annotations

import re
from typing import Callable, Iterator, List, Optional, Set, Tuple

from ...cures.option_edits import at, restate
from ...site.facts import Site
from ...types.edits import Safety
from ...types.findings import Finding
from ...types.job import Job, Setting
from ...types.launch_plan import LaunchPlan
from .. import rule

_INDEX = (b"SLURM_ARRAY_TASK_ID", b"PBS_ARRAY_INDEX")
_USED = re.compile(rb"\$\{(\w+)\[\$?\{?(?:SLURM_ARRAY_TASK_ID|PBS_ARRAY_INDEX)\}?\]\}")
_RANGE = re.compile(rb"(\d{1,6})-(\d{1,6})((?:%\d+)?)\Z")


@rule("MPL111", "an array index beyond the script's list")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """The elements of a list in bash are counted from 0.

    Wrong: #SBATCH --array=1-4 ... MODELS=(a b c d) ... ${MODELS[$SLURM_ARRAY_TASK_ID]}
    Wrong: #SBATCH --array=1-6 ... LR=(1e-4 3e-4 1e-3) ... ${LR[$((SLURM_ARRAY_TASK_ID / 2))]}
    Right: #SBATCH --array=0-3
    Why:   the first element is never used, and the last task gets an empty word. Maple asks first.
    """
    setting = job.settings.get("array")
    match = _RANGE.match(setting.value) if setting is not None and any(name in job.source for name in _INDEX) else None
    if setting is None or match is None:
        return
    low, high = int(match.group(1)), int(match.group(2))
    for name in dict.fromkeys(_USED.findall(job.source)):
        size = _size(name, job.source)
        if size and high >= size and b"%s=" % name in job.source:
            says = "index %d, but %s has the elements 0 to %d" % (high, name.decode(), size - 1)
            yield Finding("MPL111", says, at(setting), fixes=_shifted(job, setting, (low, high), size, match.group(3)),
                          help="bash counts from 0: --array=0-%d" % (size - 1))  # fmt: skip
            return
    yield from _computed(job, setting, low, high, match.group(3))


_SUM = re.compile(rb"\$\{(\w+)\[(?:\$\(\()?[ \t]*([\w$ \t{}+*/%()-]+?)[ \t]*(?:\)\))?\]\}")
_ALIAS = re.compile(
    rb"(?m)^[ \t]*(?:export[ \t]+)?(\w+)=[\"']?\$\{?(?:SLURM_ARRAY_TASK_ID|PBS_ARRAY_INDEX)\}?[\"']?[ \t]*(?:#.*)?$"
)
_MOST = 4096  # members of an array that are gone through


def _computed(job: Job, setting: Setting, low: int, high: int, rest: bytes) -> Iterator[Finding]:
    """Yield that a sum of the member's number leaves a list, where the same members counted from 0 all stay in it."""
    names = {*_INDEX, *(name for name in _ALIAS.findall(job.source) if job.source.count(b"%s=" % name) == 1)}
    for name, written in dict.fromkeys(_SUM.findall(job.source)):
        size, sum_of = _size(name, job.source), _reader(written, names)
        if not size or sum_of is None or high - low > _MOST:
            continue
        beyond = next((index for index in range(low, high + 1) if not 0 <= sum_of(index) < size), None)
        if beyond is not None:
            says = "member %d takes element %d, but %s has the elements 0 to %d" % (
                beyond, sum_of(beyond), name.decode(), size - 1)  # fmt: skip
            fits = low == 1 and all(0 <= sum_of(index) < size for index in range(high))
            made = restate(job, setting, b"0-%d" % (high - 1) + rest, "MPL111") if fits else None
            fixes = (made.fix(Safety.ASK, "--array=0-%d" % (high - 1)),) if made is not None else ()
            yield Finding("MPL111", says, at(setting), fixes=fixes, help="bash counts from 0")
            return


def _reader(written: bytes, names: Set[bytes]) -> Optional[Callable[[int], int]]:
    """Return what computes a sum of one number, None for a sum of anything else: `I / 2`, `($I - 1) % 3`."""
    tokens = re.findall(
        rb"\d+|[A-Za-z_]\w*|[-+*/%()]", written.replace(b"$", b"").replace(b"{", b"").replace(b"}", b"")
    )
    if not any(token in names for token in tokens) or len(tokens) > 15:
        return None
    if any(re.match(rb"[A-Za-z_]", token) and token not in names for token in tokens):
        return None

    def sum_of(index: int) -> int:
        left = [b"%d" % index if token in names else token for token in tokens]
        try:
            return _sum(left)
        except (IndexError, ValueError, ZeroDivisionError):
            return 0

    return sum_of


def _sum(left: List[bytes]) -> int:
    value = _product(left)
    while left and left[0] in (b"+", b"-"):
        sign = 1 if left.pop(0) == b"+" else -1
        value += sign * _product(left)
    return value


def _product(left: List[bytes]) -> int:
    value = _factor(left)
    while left and left[0] in (b"*", b"/", b"%"):
        operator, other = left.pop(0), _factor(left)
        value = value * other if operator == b"*" else value // other if operator == b"/" else value % other
    return value


def _factor(left: List[bytes]) -> int:
    token = left.pop(0)
    if token == b"(":
        value = _sum(left)
        left.pop(0)
        return value
    return -_factor(left) if token == b"-" else int(token)


def _size(name: bytes, source: bytes) -> Optional[int]:
    """Return how many elements the script gives the list, None where that is not written out in one place."""
    made = re.findall(rb"(?m)^[^#\n]*?\b%s(\+?)=\(([^()$`*?{}]*)\)" % re.escape(name), source)
    if len(made) != 1 or made[0][0] or source.count(name + b"=") + source.count(name + b"+=") != 1:
        return None
    text = re.sub(rb"(?m)(^|\s)#.*$", b"", made[0][1])
    return len(re.findall(rb"\"[^\"]*\"|'[^']*'|[^\s\"']+", text))


def _shifted(job: Job, setting: Setting, bounds: Tuple[int, int], size: int, rest: bytes):  # type: ignore[no-untyped-def]
    """Count from 0 where the script has as many elements as the array has tasks."""
    low, high = bounds
    made = restate(job, setting, b"0-%d" % (size - 1) + rest, "MPL111") if high - low + 1 == size else None
    return (made.fix(Safety.ASK, "--array=0-%d" % (size - 1)),) if made is not None else ()
