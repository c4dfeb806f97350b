"""What a model wrote, as it was kept, is still judged so; and the three levels of feedback stand side by side."""

from __future__ import annotations

from maple_agents.mapping import proposals

from tests.agents.mapping import proposers
from tests.network_lab.recorded_times import recorded


def test_transcripts_are_judged_as_they_were_recorded() -> None:
    """Each turn of each job, at its level; ten at most, and none that no rank could run is timed."""
    known: dict[tuple[int, str, str, str], proposals.Turn] = {}
    _, rows = proposers.kept()
    for row in rows:
        job = proposers.jobs(row.seed)[row.job]
        assert 0 < len(row.turns) <= proposals.MOST
        for mapping, kind, seconds in row.turns:
            at = (row.seed, row.job, row.level, mapping)
            said = known.get(at) or proposals.heard(job, mapping, row.level)
            known[at] = said
            assert said.kind == kind and (said.seconds is None) is (seconds is None), (row.job, mapping, said)
            assert seconds is None or abs((said.seconds or 0.0) - seconds) < 1e-9


def test_every_level_was_asked_about_every_job() -> None:
    """In the order of their names, as the table prints them."""
    _, rows = proposers.kept()
    asked = {(row.job, row.level) for row in rows if row.seed == 0}
    assert asked == {(job, level) for job in proposers.jobs(0) for level in proposals.LEVELS}
    assert proposers.table().count("\n| ") == 1 + len(asked)


def test_the_kept_times_have_every_mapping() -> None:
    """192, 480 and 192 of them."""
    for table in recorded().values():
        assert {proposers.key(point) for point in table.points()} == set(table.times)
