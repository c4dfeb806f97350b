"""How reading and planning grow with the length of a script: `make bench-growth`."""

from __future__ import annotations

import math
import time
from typing import Callable

from maple_agents.ask.sites import load
from maple_submit_filter.answer.decision import decide
from maple_submit_filter.bash.parser import parse
from maple_submit_filter.types.submission import Submission

from tests.bench.scripts import script

LENGTHS = (10, 30, 100, 300, 1000, 3000, 10000)


def submission(source: bytes) -> Submission:
    """Return the submission of a script by `sbatch job.sh`."""
    return Submission("slurm", (b"sbatch", b"job.sh"), source, "file", b"job.sh", b"/home/user", 1000, {})


def fastest(work: Callable[[], object], seconds: float = 1.0) -> float:
    """Return the shortest processor time of several runs, in seconds."""
    took, until = [], time.monotonic() + seconds
    while not took or (time.monotonic() < until and len(took) < 50):
        begun = time.process_time()
        work()
        took.append(time.process_time() - begun)
    return min(took)


def growth(title: str, work: Callable[[bytes], object]) -> str:
    """Return a table: time and time per line; the exponent between neighbours is 1 where growth is linear."""
    lines = ["", title, f"  {'lines':>7}{'cpu ms':>11}{'us a line':>12}{'exponent':>11}"]
    before: tuple[int, float] = (0, 0.0)
    for wanted in LENGTHS:
        source = script(wanted)
        count, took = source.count(b"\n"), fastest(lambda: work(source))  # noqa: B023
        text = f"  {count:7}{took * 1e3:11.2f}{took / count * 1e6:12.1f}"
        if before[0]:
            text += f"{math.log(took / before[1]) / math.log(count / before[0]):11.2f}"
        lines.append(text)
        before = (count, took)
    return "\n".join(lines)


def test_reading_a_script() -> None:
    """The span lexer alone."""
    assert not any(item.command.__class__.__name__ == "Unread" for item in parse(script(100)).items)
    print(growth("Reading: shell.parse", parse))


def test_deciding_on_a_script() -> None:
    """Directives, plan and rules, on a right script of a site."""
    site = load("ncsa-delta")
    assert decide(submission(script(100)), site, None).verdict == "clean"
    print(growth("Reading, planning, rules: decide", lambda source: decide(submission(source), site, None)))
