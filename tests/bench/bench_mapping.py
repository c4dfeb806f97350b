"""`make bench-mapping`: wrong mappings found, right ones left alone; the estimate against the lab; searchers, a model.

`python -m tests.bench.bench_mapping [PART...]`. On a terminal it shows how far it is. What each part says is kept in
`build/bench-mapping/`: with `RESUME=1`, parts that are done are printed from there, and the others run.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.agents.mapping import blind, proposers, search, slips
from tests.agents.mapping.cases import cases, found
from tests.network_lab import measure, products
from tests.network_lab.lab import tracked

KEPT = Path(__file__).parents[2] / "build" / "bench-mapping"


def authored() -> Iterator[str]:
    """Wrong and right mappings that were written for the tests."""
    wrong, right = tracked(cases("wrong"), "wrong mappings"), tracked(cases("right"), "right mappings")
    caught = [set(case.finds) <= found(case) for case in wrong]
    quiet = [not [one for one in found(case) if not one.startswith("MPL")] for case in right]
    yield f"wrong mappings found: {sum(caught)} of {len(caught)}; right ones left alone: {sum(quiet)} of {len(quiet)}"


def unseen() -> Iterator[str]:
    """Mappings that others labelled without sight of Maple."""
    for path in tracked(blind.sets(), "unseen sets"):
        yield f"{path.stem}: {blind.table(blind.judged(path))}"


def of_slips() -> Iterator[str]:
    """Slips of placement in right scripts of every site, and their twins."""
    yield slips.table([row for slip in tracked(slips.SLIPS, "slips") for row in slips.made(slip)])


def searchers() -> Iterator[str]:
    """The best estimate of each searcher after 10, 100 and 1,000 trials."""
    search.set_up()
    yield f"estimate of a step's exchanges in milliseconds, median of {search.SEEDS} seeds"
    yield from search.table()


def programs() -> Iterator[str]:
    """Real times of three programs of ranks under every mapping, and what searchers find (PASSES=3: kept, too)."""
    search.set_up()
    yield from products.report(int(os.environ.get("PASSES", "1")))


def model() -> Iterator[str]:
    """What the transcripts of a model come to, at each level of feedback."""
    yield proposers.table()


PARTS: dict[str, Callable[[], Iterator[str]]] = {
    "authored": authored, "unseen": unseen, "slips": of_slips, "lab": lambda: measure.report(3), "searchers": searchers,
    "programs": programs, "model": model,
}  # fmt: skip


def printed(name: str, resumed: bool) -> None:
    """Print a part as it comes, and keep it when it is whole."""
    path = KEPT / f"{name}.txt"
    if resumed and path.exists():
        print(path.read_text(), flush=True)
        return
    begun, lines = time.monotonic(), [f"== {name}, {time.strftime('%Y-%m-%d %H:%M')}"]
    print(lines[0], flush=True)
    for line in PARTS[name]():
        print(line, flush=True)
        lines.append(line)
    lines.append(f"({time.monotonic() - begun:.0f} s)\n")
    print(lines[-1], flush=True)
    KEPT.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines))


@pytest.mark.timeout(7200)
def test_mapping() -> None:
    """Print all parts, one after the other."""
    print()
    for name in PARTS:
        printed(name, bool(os.environ.get("RESUME")))


if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        printed(part, bool(os.environ.get("RESUME")))
