"""Provoke many failures a few at a time, and print what was seen."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from tests.agents.debug.lab.cluster import FailingLab
from tests.agents.debug.lab.failing import Failure
from tests.agents.debug.lab.provoking import Asked, Outcome, Provoked

HEAD = f"{'failure':30} {'state':11} {'first':>5} {'top 3':>5} {'proof':>5} {'cured':>6} {'s':>6}  said, if not right"


def outcomes(
    lab: FailingLab, wanted: Iterable[Failure], folder: Path, at_once: int = 4, cure: bool = True
) -> Iterator[Outcome]:
    """Yield what came of each failure as it ends. What takes a node away comes last."""
    ordered = sorted(wanted, key=lambda one: any(what.does == "node-down" for what in one.during))

    def one(failure: Failure) -> Outcome:
        place = folder / failure.name
        place.mkdir(mode=0o755)
        try:
            made = Provoked(lab, failure, place).outcome(cure)
        except (AssertionError, TimeoutError, OSError, subprocess.SubprocessError) as error:  # the others go on
            made = Outcome(failure, Asked(-1, {}, "", 0), wrong="%s: %s" % (type(error).__name__, error), folder=place)
        (place / "answer.json").write_text(json.dumps(made.asked.told, indent=1) + made.asked.err)
        return made

    with ThreadPoolExecutor(at_once) as pool:
        for ended in as_completed([pool.submit(one, failure) for failure in ordered]):
            yield ended.result()


def row(one: Outcome) -> str:
    """Return a line of the table."""
    cured = "-" if one.failure.cured_by != "script" else str(one.rounds or "no")
    said = (
        ""
        if one.right
        else f"wanted {one.failure.cause}, got {', '.join(one.asked.causes[:3]) or one.asked.err[-200:]}"
    )
    flags = " ".join(f"{'yes' if flag else 'NO':>5}" for flag in (one.right, one.in_three, one.evidence))
    return (
        f"{one.failure.name:30} {one.state[:11]:11} {flags} {cured:>6} {one.seconds:6.1f}  {said} {one.wrong}".rstrip()
    )


def totals(seen: list[Outcome]) -> str:
    """Return the figures below the table."""
    curable = [one for one in seen if one.failure.cured_by == "script"]
    figures = {
        "right cause first": (sum(one.right for one in seen), len(seen)),
        "right cause in the top three": (sum(one.in_three for one in seen), len(seen)),
        "the telling line as evidence": (sum(one.evidence and one.right for one in seen), len(seen)),
        "fixed at the first try": (sum(one.rounds == 1 for one in curable), len(curable)),
        "fixed after at most five rounds": (sum(one.rounds > 0 for one in curable), len(curable)),
    }
    return "\n".join(
        f"{name:32} {right:4} of {of:4}  {100 * right / of if of else 0:5.1f} %"
        for name, (right, of) in figures.items()
    )
