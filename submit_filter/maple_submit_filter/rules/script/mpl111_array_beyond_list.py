"""Indices of a job array, and the list of the script that they count in."""

from __future__ import annotations

import re
from typing import Iterator, Optional, Tuple

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
