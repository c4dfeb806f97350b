"""What a model wrote, as it was kept, is still judged so; and the three levels of feedback stand side by side."""

from __future__ import annotations

from maple_agents.mapping import proposals

from tests.agents.mapping import proposers
from tests.agents.mapping.search import SEEDS
from tests.network_lab.recorded_times import recorded


def test_transcripts_are_judged_as_they_say() -> None:
    """Each turn of each job; ten at most, and none that no rank could run is timed.

    Where an estimate is made otherwise: `python -m tests.agents.mapping.proposers judge "judged anew on DATE by ..."`.
    """
    known: dict[tuple[int, str, str], proposals.Turn] = {}
    _, rows = proposers.kept()
    for row in rows:
        assert 0 < len(row.turns) <= proposals.MOST
        for kept, said in zip(row.turns, proposers.judged(row, known).turns, strict=True):
            assert kept[:2] == said[:2] and (kept[2] is None) is (said[2] is None), (row.job, kept, said)
            assert kept[2] is None or abs((said[2] or 0.0) - kept[2]) < 1e-9, (row.job, kept, said)


def test_every_level_was_asked_about_every_job_five_times() -> None:
    """In the order of their names, as the table prints them."""
    _, rows = proposers.kept()
    asked = [(row.seed, row.job, row.level) for row in rows]
    assert set(asked) == {
        (seed, job, level) for seed in range(SEEDS) for job in proposers.jobs(0) for level in proposals.LEVELS
    }
    assert len(asked) == len(set(asked)) and proposers.table().count("\n| ") == 1 + len(asked) // SEEDS


def test_the_kept_times_have_every_mapping() -> None:
    """192, 480 and 192 of them."""
    for table in recorded().values():
        assert {proposers.key(point) for point in table.points()} == set(table.times)
