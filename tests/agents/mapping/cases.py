"""Cases of mappings: `tests/cases/mapping/*.toml`, a `[[case]]` each.

`name`, `why`, `site`, `script`; `finds`: "KIND LINE", a kind of `maple map check` or the code of a rule; `topology`,
`hosts`: what the command is told of the network.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import tomllib
from maple_agents.ask import sites
from maple_agents.ask.sites.files import parse
from maple_agents.mapping import topology
from maple_agents.mapping.check import Judged, judged
from maple_agents.mapping.crossings import Finding
from maple_agents.mapping.question import beside
from maple_agents.mapping.topology import Machine, Network
from maple_submit_filter.answer.decision import Decision, decide, likely_plan
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM, Site
from maple_submit_filter.types.job import line_of
from maple_submit_filter.types.launch_plan import LaunchPlan
from maple_submit_filter.types.submission import Submission

FOLDER = Path(__file__).parents[2] / "cases" / "mapping"
GENERIC = {one.id: one for one in (GENERIC_SLURM, GENERIC_PBS)}


class Case(NamedTuple):
    """One script, and what must be found in it."""

    name: str
    site: str
    script: bytes
    finds: tuple[str, ...]
    topology: str = ""
    hosts: str = ""

    def __str__(self) -> str:
        return self.name


def cases(name: str) -> list[Case]:
    """Return the cases of a file."""
    rows = tomllib.loads((FOLDER / f"{name}.toml").read_text())["case"]
    return [
        Case(row["name"], row["site"], row["script"].encode(), tuple(row["finds"]), row.get("topology", ""),
             row.get("hosts", ""))
        for row in rows
    ]  # fmt: skip


def found(case: Case) -> set[str]:
    """Return all that is found in a case, as its `finds` are written."""
    here = GENERIC[case.site] if case.site in GENERIC else sites.load(case.site)
    command = b"qsub" if here.scheduler == "pbs" else b"sbatch"
    asked = Submission(here.scheduler, (command, b"job.sh"), case.script, "file", b"job.sh", b"/work", 1000, {})
    decision = decide(asked, here, None)
    rules = {f"{one.code} {line_of(case.script, one.at.start)}" for one in decision.findings if one.at is not None}
    return rules | {f"{one.kind} {one.line}" for one in of_mapping(decision, asked, here, case)}


def of_mapping(decision: Decision, asked: Submission, here: Site, case: Case | None = None) -> Iterator[Finding]:
    """Yield what `maple map check` finds."""
    for line in lines(decision, asked, here, case):
        yield from line.findings


def lines(decision: Decision, asked: Submission, here: Site, case: Case | None = None) -> tuple[Judged, ...]:
    """Return what is to be said of each launch line."""
    if decision.plan is None:
        return ()
    network = Network()
    if case is not None and case.topology:
        from maple_agents.mapping.question import hosts

        network = topology.network_of(case.topology, hosts(case.hosts))
    likely = likely_plan(asked, here) if decision.plan.presumable else None
    machine = Machine(hardware(decision.plan, here), network)
    return judged(decision.plan, asked.script or b"", machine, likely, beside(asked.cwd))


def hardware(plan: LaunchPlan, here: Site) -> topology.Hardware:
    """Return the node that a plan gets, as the site's file has it."""
    if here.id not in sites.ids():
        return topology.Hardware()
    name = sites.path(here.id)
    with open(name, "rb") as file:
        facts = parse(file.read(), name)
    return topology.hardware_of(facts, [kind.name for kind in plan.allocation.node_kinds])
