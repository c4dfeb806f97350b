"""`maple site lint --use`: which field of a site file is read by what."""

from __future__ import annotations

from click.testing import CliRunner
from maple_daemon.cli.site import site
from maple_daemon.sites.use import REASONS, uses


def by_field() -> dict[str, tuple[str, ...]]:
    """Return the rules of each field."""
    return {one.field: one.rules for one in uses()}


def test_a_fact_is_listed_with_the_rules_that_read_it() -> None:
    """One of each kind: of a node, a partition, the network, modules, accounts."""
    rules = by_field()
    assert "MPL210" in rules["node.*.threads_default"] and "MPL211" in rules["node.*.memory_allocatable_gib"]
    assert "MPL220" in rules["partition.*.gpus_multiple"] and "MPL214" in rules["qos.*.max_gpus_per_job"]
    assert rules["network.interfaces"] == ("MPL511",) and "MPL407" in rules["modules.scheduler"]
    assert "MPL219" in rules["account_shapes"] and "MPL409" in rules["launcher.*.implementation"]


def test_a_field_of_the_schema_has_a_reader_or_a_reason() -> None:
    """A new field that nobody reads is found here; so is one that somebody reads now."""
    assert {one.field for one in uses() if not one.rules and not one.others} == set(REASONS)
    assert all(len(reason) > 10 for reason in REASONS.values())


def test_the_table_is_printed() -> None:
    """With a head, a line for each field, and the words for what nothing reads."""
    said = CliRunner().invoke(site, ["lint", "--use"])
    lines = said.output.splitlines()
    assert said.exit_code == 0 and len(lines) == len(uses()) + 1
    assert [one.split()[0] for one in lines if "   nothing reads it: " in one] == [
        one.field for one in uses() if not one.rules and not one.others
    ]
