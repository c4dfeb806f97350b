"""The Eagle sample on the clock that its published figures were counted with: times in whole thousands of seconds.

There a run counts as ended once its end falls into the same thousand seconds as a submission: up to 1,000 s before it
did, that of the very job included. On the true clock nobody finds the 405 jobs of 105 names and the 0.39 of their last
run; on this one all figures are found. Whoever compares with them has to look ahead as they did, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maple_agents.forecast.needs import forecast
from maple_agents.forecast.replay import Played
from maple_agents.forecast.runs import Asked, Lineages, Run

CLOCK = 1000.0  # seconds


def played(runs: Sequence[Run]) -> Iterator[Played]:
    """Yield each run with what that clock takes for known; the newest true end counts as the last."""
    ends = sorted(runs, key=lambda run: (run.ended, run.asked.submitted))
    lineages, known = Lineages(), 0
    for run in sorted(runs, key=lambda run: run.asked.submitted // CLOCK):
        asked = run.asked._replace(submitted=run.asked.submitted // CLOCK)
        while known < len(ends) and ends[known].ended // CLOCK <= asked.submitted:
            ended = ends[known]
            known += 1
            lineages.ended(ended._replace(ended=ended.ended // CLOCK, asked=_coarse(ended)))
        before = lineages.before(asked._replace(version="", folder=""), times=True)
        yield Played(run, forecast(asked, lineages), before.runs if before else ())


def _coarse(run: Run) -> Asked:
    return run.asked._replace(submitted=run.asked.submitted // CLOCK)
