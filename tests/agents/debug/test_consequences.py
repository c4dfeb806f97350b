"""A first complaint of which the death is a consequence is named in place of the death."""

from __future__ import annotations

import pytest
from maple_agents.diagnose.diagnosis import diagnose
from maple_agents.diagnose.rank.consequences import in_force
from maple_agents.diagnose.values import Event, Place, Severity
from maple_agents.templates.knowledge.entries import FAILURES

from tests.agents.debug.test_ranking import case, digest, entry, event, nobody

KNOWN = {
    "conda": entry("conda activate", "wrong_interpreter_or_env", says="no environment"),
    "syntax": entry("SyntaxError", says="what it says"),
    "monitor": entry("memory usage threshold", "host_oom", says="the node is full"),
    "actor": entry("Actor died", says="it died", weight="weak"),
    "hostfile": entry("Unable to find hostfile", "deepspeed_hostfile_or_ssh", weight="weak", says="no hostfile"),
    "batch": entry("train_batch_size", "data_or_config_error", says="sizes"),
    "setup": entry("Failed to initialize", "wrong_world_size_or_rank", weight="weak", says="no group"),
    "unbound": entry("UnboundLocalError", says="no value"),
}  # fmt: skip
CONDA = event(3, "CommandNotFoundError: 'conda activate'", behind=60)
SYNTAX = event(90, "SyntaxError: invalid syntax", exception="SyntaxError")
HOSTFILE = event(3, "Unable to find hostfile, will proceed", severity=Severity.WARNING, behind=60)
BATCH = event(90, "AssertionError: train_batch_size is not equal to", exception="AssertionError")
SETUP = event(3, "ERROR:root:Failed to initialize the group", rank=1)
UNBOUND = event(9, "UnboundLocalError: local_rank", exception="UnboundLocalError", rank=1)


def first(*events: Event) -> tuple[str, bool, str]:
    """Return the first cause of a log, whether it is only likely, and the runner-up."""
    causes = diagnose(case(), digest(*events), None, KNOWN, nobody).causes
    return causes[0].cause, causes[0].likely, causes[1].cause if len(causes) > 1 else ""


@pytest.mark.parametrize(("complaint", "death", "cause"), [
    (CONDA, SYNTAX, "wrong_interpreter_or_env"),
    (event(3, "above the memory usage threshold"), event(9, "Actor died"), "host_oom"),
    (HOSTFILE, BATCH, "deepspeed_hostfile_or_ssh"),
    (SETUP, UNBOUND, "wrong_world_size_or_rank"),
])  # fmt: skip
def test_the_first_complaint_is_named(complaint: Event, death: Event, cause: str) -> None:
    """Whatever stands between the two; alone the death is what it says."""
    assert first(complaint, death)[0] == cause
    assert first(death)[0] not in (cause, "unknown")


def test_the_death_stays_in_sight():
    """The complaint's line is shown and the death's; the death is the runner-up of what is no more than likely."""
    told = diagnose(case(), digest(HOSTFILE, BATCH), None, KNOWN, nobody).causes
    assert [line.text for line in told[0].evidence] == [HOSTFILE.text, BATCH.text]
    assert first(HOSTFILE, BATCH) == ("deepspeed_hostfile_or_ssh", True, "data_or_config_error")


@pytest.mark.parametrize(("complaint", "death"), [
    (event(600, HOSTFILE.text, severity=Severity.WARNING), BATCH),
    (event(3, HOSTFILE.text, severity=Severity.WARNING, place=Place("/x/other.log", 3)), BATCH),
    (event(3, SETUP.text, rank=2, behind=60, severity=Severity.WARNING), UNBOUND),
    (HOSTFILE, event(9, "SyntaxError: invalid", exception="SyntaxError")),
    (event(3, SETUP.text, rank=1, behind=60, severity=Severity.WARNING), UNBOUND),
], ids=["behind it", "another file", "another rank", "no such consequence", "a mere warning"])  # fmt: skip
def test_what_leads_to_no_such_death_is_none(complaint: Event, death: Event) -> None:
    """Order, file, rank, the death's words and how bad the complaint sounds: each must fit."""
    assert first(complaint, death)[0] == first(death)[0]


def test_the_leads_are_whole():
    """Classes that there are, none that leads to itself, and no circle of two: else order alone would decide."""
    for lead in in_force():
        assert lead.before | lead.after <= FAILURES
        assert not lead.before & lead.after
    pairs = {(before, after) for lead in in_force() for before in lead.before for after in lead.after}
    assert pairs and not {(after, before) for before, after in pairs} & pairs
