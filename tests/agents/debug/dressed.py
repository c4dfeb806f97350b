"""How often a log in other clothes gets the same answer: `python -m tests.agents.debug.dressed [SET…]`.

All failures of the blind sets are dressed: two ranks whose lines come in turns, labels of tasks and times in front,
1,500 lines of a loader before the log, or before the last words of launchers, lines cut at 160 letters. The answer is
the same where the class is.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import tomllib
from maple_agents.diagnose.diagnosis import diagnose
from maple_agents.diagnose.read import read
from maple_agents.diagnose.values import Case, Ended, LogFile
from maple_agents.templates.knowledge import anchors, entries
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM

from tests.agents.debug.blind_logs import sets

NOISE = 1500
WIDTH = 160
Lines = Sequence[str]


def _interleaved(lines: Lines) -> Iterator[str]:
    for line in lines:
        yield "0: " + line
        yield "1: " + line


def _noisy(lines: Lines) -> Iterator[str]:
    """A loader that talks; it tells of no step, or the log would be of a run that trained."""
    yield from ("loader: shard %05d of worker %d opened in %.2f ms" % (at, at % 8, at % 97 / 7) for at in range(NOISE))
    yield from lines


def _late(lines: Lines) -> Iterator[str]:
    """The same loader between what went wrong and the last words of launchers and scheduler, where a log has them."""
    end = len(lines)
    while end and (not lines[end - 1].strip() or _LAST.search(lines[end - 1])):
        end -= 1
    yield from lines[:end] if end == len(lines) else [*lines[:end], *_noisy(lines[end:])]


_LAST = re.compile(
    r"^(?:\S+ )?(?:srun|slurmstepd|mpirun|mpiexec|prterun|=>> PBS)\b|ChildFailedError|[Ee]xit(?:ed)? (?:with|code)"
)
DRESSES: dict[str, Callable[[Lines], Iterator[str]]] = {
    "ranks in turns": _interleaved,
    "labels": lambda lines: ("[1,0]<stderr>:" + line for line in lines),
    "times": lambda lines: ("2026-11-21T10:00:00.123 " + line for line in lines),
    "1,500 lines of noise": _noisy,
    "noise before the end": _late,
    "lines cut at 160": lambda lines: (line[:WIDTH] for line in lines),
}


def said(log: str, scheduler: str, folder: Path) -> str:
    """Return the class that is named first for a log."""
    path = folder / "slurm-1.out"
    path.write_text(log, "utf-8")
    site = GENERIC_PBS if scheduler == "pbs" else GENERIC_SLURM
    digest = read((LogFile(str(path), "both"),), anchors(entries()))
    return diagnose(Case(Ended(), site.scheduler, site), digest, None, entries()).causes[0].cause


def measured(names: Sequence[str]) -> Iterator[str]:
    """Yield a line for each dress, and one for each case whose answer it changes."""
    cases = [
        case
        for path in sets()
        if not names or path.stem in names
        for case in tomllib.loads(path.read_text("utf-8"))["case"]
        if case["verdict"] != "good"
    ]
    with tempfile.TemporaryDirectory() as folder:
        plain = [said(case["log"], case["scheduler"], Path(folder)) for case in cases]
        for name, dress in DRESSES.items():
            dressed = ["\n".join(dress(case["log"].split("\n"))) for case in cases]
            answers = [said(log, case["scheduler"], Path(folder)) for case, log in zip(cases, dressed, strict=True)]
            other = [row for row in zip(cases, plain, answers, strict=True) if row[1] != row[2]]
            share = 100 * (1 - len(other) / len(cases))
            yield "%-22s %d of %d the same (%.1f %%)" % (name, len(cases) - len(other), len(cases), share)
            yield from ("    %-34s %s, plain %s" % (case["name"], after, before) for case, before, after in other)


if __name__ == "__main__":
    for line in measured(sys.argv[1:]):
        print(line, flush=True)
