"""Language models as proposers on the space of the other searchers.

`python -m tests.agents.mapping.proposers ask BY FOLDER MODEL`: a model in a folder is asked through the loading code of
Maple about each job, at each level, five times with the hosts told in another order; its transcripts are kept in
`tests/cases/mapping/transcripts.json`, with words for the model and for what judges them. `table` prints what they
come to. Times are estimates for the jobs of `search`, and recorded real times of the lab for its programs. Where these
come about otherwise than they did, `judge BY` keeps what was written and judges it anew.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from maple_agents.mapping import proposals
from maple_agents.mapping.language import Mapping, Mistake
from maple_agents.mapping.proposals import LEVELS, Job, Judgement, Level

from tests.agents.mapping.search import CASES, SEEDS, Case, Space
from tests.network_lab.recorded_times import NODES, Table, key, recorded, seats

TRANSCRIPTS = Path(__file__).parents[2] / "cases" / "mapping" / "transcripts.json"
FIRST = 3  # iterations in which valid programs are counted
_FREE = """axes dp 2, tp 4           (the grid: rows dp, columns tp; with pp 2 in front: layers; their product is 8)
map block                 (ranks fill one node after the other; or: map cyclic, in turn)
nodes list h3,h0,h1,h2    (every host once, in the order in which they are taken)
"""


class Transcript(NamedTuple):
    """What a model wrote about a job at a level: (mapping, kind, seconds) of each turn. *seed*: the order of hosts."""

    job: str
    level: Level
    seed: int
    turns: tuple[tuple[str, str, float | None], ...]


def jobs(seed: int) -> dict[str, Job]:
    """Return every job: those that are estimated, and the lab's programs."""
    made = {case.name: of_case(case, seed) for case in CASES}
    return {**made, **{name: of_program(name, table, seed) for name, table in recorded().items()}}


def of_case(case: Case, seed: int) -> Job:
    """Return a job of `search`; index maps, which its space does not have, are refused."""
    mapping = case.mapping
    order = random.Random(seed).sample(range(len(case.leaves)), len(case.leaves)) if seed else range(len(case.leaves))
    hosts, leaves = [f"h{at}" for at in order], [case.leaves[at] for at in order]
    text = f"cluster {case.cluster}\naxes {case.axes}\n" + "\n".join(case.traffic)
    job, space = proposals.of_estimate(text, hosts, leaves), Space(case)
    assert mapping.mesh is not None

    def judge(made: Mapping) -> Judgement:
        if made.how == "over" or made.how == "plane" and f"plane {made.width}" not in space.ways and made.width != 1:
            raise Mistake("such a map is not in the space; write: map block")
        given = (
            made
            if made.hosts or made.by == "leaf"
            else made._replace(hosts=tuple(f"h{at}" for at in range(len(hosts))))
        )
        return job.judge(given)

    return job._replace(judge=judge)


def of_program(name: str, table: Table, seed: int) -> Job:
    """Return one of the lab's programs, timed by what was recorded."""
    hosts = [f"h{node}" for node in range(NODES)]
    told = random.Random(seed).sample(hosts, NODES) if seed else hosts
    hint = f"{name}; hosts: {', '.join(told)}; the network of h{NODES - 1} has half the rate"
    fixed = f"cluster node {NODES} / gpu 2\n# {hint}"

    def judge(mapping: Mapping) -> Judgement:
        if mapping.mesh is None:
            raise Mistake("no grid is said; write: axes dp 2, tp 4")
        sizes = {axis.name: axis.size for axis in mapping.mesh.axes}
        grid = tuple(sizes.get(axis, 1) for axis in (("pp", "dp", "tp") if len(table.orders[0]) == 3 else ("dp", "tp")))
        if grid not in table.orders or mapping.how not in table.ways:
            raise Mistake("such a grid or map is not in the space; write: axes dp 2, tp 4 ; map block")
        nodes = [hosts.index(host) for host in mapping.hosts if host in hosts] if mapping.hosts else list(range(NODES))
        if sorted(nodes) != list(range(NODES)):
            raise Mistake("the hosts are not those of the job; list each of them once")
        seconds = table.times[key((table.orders.index(grid), mapping.how, tuple(nodes)))]
        return Judgement(seconds, *_reasons(grid, seats(mapping.how, nodes)))

    return Job(fixed, _FREE, judge)


def _reasons(grid: Sequence[int], seat_of: Sequence[int]) -> tuple[str, str]:
    """Return how many neighbours in a row of the grid's last dimension are on two nodes, and what may be better."""
    width = grid[-1]
    rows = [[seat_of[rank] // 2 for rank in range(first, first + width)] for first in range(0, len(seat_of), width)]
    torn = sum(len(set(row)) > 1 for row in rows)
    said = f"{torn} of {len(rows)} rows of the grid cross nodes."
    return said, "Fill one node after the other, with map block." if torn and width <= 2 else "Try an evener grid."


def asked(model: Any, names: Sequence[str] = (), most: int = proposals.MOST) -> Iterator[Transcript]:
    """Yield what a model says of each job at each level."""
    for seed in range(SEEDS):
        for name, job in jobs(seed).items():
            for level in LEVELS if not names or name in names else ():
                turns = proposals.proposed(job, model, level, most)
                yield Transcript(name, level, seed, tuple((one.mapping, one.kind, one.seconds) for one in turns))


def kept() -> tuple[str, list[Transcript]]:
    """Return the model's description and its transcripts."""
    said = json.loads(TRANSCRIPTS.read_text())
    return f"{said['model']}; {said['judged']}", [
        Transcript(job, level, seed, tuple((a, b, c) for a, b, c in turns)) for job, level, seed, turns in said["rows"]
    ]


def table() -> str:
    """Return, for each job and level, the valid programs of the first three iterations and the best time after ten."""
    model, kept_rows = kept()
    lines = [f"the model: {model}", "| Job | Level | valid of the first three | best after ten, ms | seeds with none |",
             "|---|---|---|---|---|"]  # fmt: skip
    for job in dict.fromkeys(row.job for row in kept_rows):
        for one in scores(job):
            lines.append(f"| {job} | {one.level} | {one.valid} of {FIRST * one.seeds} | {one.said} | {one.without} |")
    return "\n".join(lines)


def rows(job: str) -> Iterator[str]:
    """Yield the model's lines for the tables of the other searchers; it is asked ten times, and no more."""
    for one in scores(job):
        said = f"valid {one.valid} of the first {FIRST * one.seeds}"
        yield f"| {job} | model, {one.level} | {one.said} | - | - | {said} |"


class Score(NamedTuple):
    """What all seeds of a job and level come to. *without*: seeds that gave no mapping; *best*: their median."""

    level: Level
    seeds: int
    valid: int
    without: int
    best: float | None

    @property
    def said(self) -> str:
        """The best in milliseconds."""
        return f"{1000 * self.best:.0f}" if self.best is not None else "none"


def scores(job: str) -> Iterator[Score]:
    """Yield the score of each level for a job."""
    for level in LEVELS:
        runs = [row.turns for row in kept()[1] if row.job == job and row.level == level]
        valid = sum(kind == "metric" for turns in runs for _, kind, _ in turns[:FIRST])
        best = [min(times) for turns in runs if (times := [one for _, _, one in turns if one is not None])]
        yield Score(level, len(runs), valid, len(runs) - len(best), statistics.median(best) if best else None)


def judged(row: Transcript, known: dict[tuple[int, str, str], proposals.Turn]) -> Transcript:
    """Return a transcript with what is said of its mappings today. *known*: what was judged already."""
    job, turns = jobs(row.seed)[row.job], []
    for mapping, kind, seconds in row.turns:
        at = (row.seed, row.job, mapping)
        if kind != "silent" and at not in known:
            known[at] = proposals.heard(job, mapping, row.level)
        turns.append((mapping, known[at].kind, known[at].seconds) if kind != "silent" else (mapping, kind, seconds))
    return row._replace(turns=tuple(turns))


def keep(rows: Sequence[Transcript], model: str, by: str) -> None:
    """Keep transcripts, with what they are judged by."""
    lines = ",\n".join(json.dumps(list(row)) for row in rows)
    head = '{"model": %s, "judged": %s, "rows": [' % (json.dumps(model), json.dumps(by))
    TRANSCRIPTS.write_text(f"{head}\n{lines}\n]}}\n")


def main(what: str, by: str, folder: str = "", model: str = "") -> None:
    """Ask the model in a folder and keep what it says; or judge what is kept anew. *by*: how, and when, in words."""
    if what == "judge":
        known: dict[tuple[int, str, str], proposals.Turn] = {}
        keep([judged(row, known) for row in kept()[1]], json.loads(TRANSCRIPTS.read_text())["model"], by)
        return
    from maple_agents.ask.models.local import LocalModel

    rows = []
    for row in asked(LocalModel(folder)):
        rows.append(row)
        print(row.job, row.level, row.seed, [kind for _, kind, _ in row.turns], flush=True)
        keep(rows, model, by)


if __name__ == "__main__":
    main(*sys.argv[1:])
