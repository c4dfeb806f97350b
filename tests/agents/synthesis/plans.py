"""Plans as the tests of synthesis want them: complete slots for every site."""

from __future__ import annotations

from maple_agents.base.slots import Lacking, Origin, Slot, Slots
from maple_agents.write.clusters import cluster
from maple_agents.write.decide.decision import decide_plan
from maple_agents.write.values import Plan

SITES = (
    "tacc-lonestar6", "tacc-stampede3", "tacc-vista", "nersc-perlmutter", "alcf-aurora", "alcf-polaris", "ncsa-delta",
    "ncsa-deltaai", "purdue-anvil", "psc-bridges2", "olcf-frontier", "sdsc-expanse",
)  # fmt: skip
COMPLETE = {"account": "abc123", "walltime": "00:30:00", "program": "train.py --lr 1e-4"}
WHERE: dict[str, dict[str, str]] = {  # where several places take any job, the one that is meant
    "tacc-lonestar6": {"partition": "gpu-a100"},
    "tacc-stampede3": {"partition": "h100"},
    "purdue-anvil": {"partition": "gpu"},
    "psc-bridges2": {"partition": "GPU", "gpu": "v100-32"},
    "alcf-aurora": {"filesystems": "home:flare"},
    "alcf-polaris": {"filesystems": "home:eagle"},
}


def slots(**values: int | str) -> Slots:
    """Return these slots, as if the request said them."""
    return Slots(Slot(name, value, Origin("request")) for name, value in values.items())  # type: ignore[arg-type]


def decided(site: str, wishes: frozenset[str] = frozenset(), **values: int | str) -> Plan | Lacking:
    """Return what comes of these slots alone."""
    return decide_plan(slots(**values), cluster(site), wishes)


def complete(site: str, **values: int | str) -> Plan:
    """Return the plan of a complete request; *values* stand in place of the usual ones, "" for none."""
    said = {**COMPLETE, **WHERE.get(site, {}), **values}
    plan = decided(site, **{name: value for name, value in said.items() if value != ""})
    assert isinstance(plan, Plan), plan
    return plan


def missing(site: str, **values: int | str) -> list[str]:
    """Return the slots that are missing."""
    found = decided(site, **values)
    assert isinstance(found, Lacking), found
    return [one.slot for one in found.missing]
