"""What the repository says of its own compositions holds for the parts of today."""

from __future__ import annotations

import datetime

import pytest
from maple_agents.templates import paradigms

from tests.lab.sites import scheduler_of
from tests.new567.record import COMMAND, SAID, records, stale

FIELDS = {
    "on", "result", "nodes", "ranks_per_node", "mini_app", "where", "launch", "launch_revision", "paradigm_revision",
    "environment_revision", "composition", "site_revision",
}  # fmt: skip


@pytest.mark.parametrize("site", SAID)
def test_every_paradigm_of_every_site_has_run_right_with_the_parts_of_today(site: str) -> None:
    found = records(site)
    assert set(found) == set(paradigms.names()), f"make them: {COMMAND} {site}"
    old = {name: changed for name, record in found.items() if (changed := stale(site, name, record))}
    assert old == {}, f"changed since it was verified; run it again: {COMMAND} {site}"
    assert {name: record["result"] for name, record in found.items()} == dict.fromkeys(found, "passed")


@pytest.mark.parametrize("site", SAID)
def test_a_record_says_what_ran_where(site: str) -> None:
    for record in records(site).values():
        assert set(record) == FIELDS
        assert record["where"] == ("doubles" if scheduler_of(site) == "pbs" else "lab")
        assert record["ranks_per_node"] >= 1 and record["nodes"] >= (1 if record["launch"].startswith("plain") else 2)
        assert isinstance(record["on"], datetime.date)


@pytest.mark.parametrize(
    "field",
    ("launch", "launch_revision", "paradigm_revision", "environment_revision", "site_revision", "composition"),
)
def test_a_record_of_other_parts_is_rejected(field: str) -> None:
    """Each revision that a script depends on is looked at."""
    record = dict(records("ncsa-delta")["ddp"])
    assert stale("ncsa-delta", "ddp", record) == []
    record[field] = 0 if isinstance(record[field], int) else "other"
    assert stale("ncsa-delta", "ddp", record) == [field.replace("_", " ")]
