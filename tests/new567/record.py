"""Run every paradigm on every site's lab and write down what came of it: `python -m tests.new567.record [SITE …]`.

`templates/verified/<site>.toml` has a table for each paradigm: which parts the script was made of, and whether it ran
right. Nobody else writes there. A record of a lab says that the composition starts the right ranks on a cluster of that
shape; it is no verification on the real site, and no repair becomes SAFE by it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

import tomllib
from maple_agents.base.slots import Lacking, Name, Origin, Slot, Slots
from maple_agents.templates import environments, paradigms
from maple_agents.templates.proofs import composition_revision
from maple_agents.write.clusters import cluster
from maple_agents.write.composition import compose
from maple_agents.write.decide.decision import decide_plan
from maple_agents.write.values import Plan

from tests.lab.sites import scheduler_of
from tests.new567.judging import world
from tests.new567.running import ROOT, Script, run

FOLDER = os.path.join(ROOT, "templates", "verified")
COMMAND = ".venv/bin/python -m tests.new567.record"
NODES = 2
PROGRAM = "train.py --batch-size 8"
HEAD = f"""\
# What the compositions of this site did in a lab of its shape. Written by `{COMMAND}`, never by hand.
"""
# site -> what its documents demand beside nodes and walltime
SAID: dict[str, dict[Name, str]] = {
    "tacc-lonestar6": {"partition": "gpu-a100"},
    "tacc-stampede3": {"partition": "h100"},
    "tacc-vista": {"partition": "gh"},
    "nersc-perlmutter": {"qos": "regular", "account": "m0000_g"},
    "alcf-aurora": {"queue": "debug", "account": "maple", "filesystems": "home:flare"},
    "alcf-polaris": {"queue": "debug", "account": "maple", "filesystems": "home:eagle"},
    "ncsa-delta": {"partition": "gpuA100x4", "account": "maple-delta-gpu"},
    "ncsa-deltaai": {"partition": "ghx4", "account": "maple-dtai-gh"},
    "purdue-anvil": {"partition": "gpu", "account": "maple-gpu"},
    "psc-bridges2": {"partition": "GPU", "gpu": "h100-80"},
    "olcf-frontier": {"partition": "batch", "account": "maple"},
    "sdsc-expanse": {"partition": "gpu", "account": "maple"},
    "csc-lumi": {"partition": "standard-g", "account": "project_465000001"},
    "cscs-daint": {"partition": "normal", "account": "g123"},
    "cscs-clariden": {"partition": "normal", "account": "a-infra01"},
    "brics-isambard-ai": {"partition": "workq", "account": "u1ab"},
    "sigma2-olivia": {"partition": "accel", "account": "nn9999k"},
    "sigma2-betzy": {"partition": "accel", "account": "nn9999k"},
    "nrel-kestrel": {"partition": "gpu-h100", "account": "csc000"},
    "google-a3mega": {"partition": "a3mega"},
    "surf-snellius": {"partition": "gpu_a100"},
    "cineca-leonardo": {"partition": "boost_usr_prod", "account": "tra26_course"},
    "aist-abci3": {"queue": "rt_HF", "account": "gaa50000"},
    "jsc-jupiter": {"partition": "booster", "account": "training2630"},
}


class Made(NamedTuple):
    """A script and what it was made of."""

    site: str
    paradigm: str
    plan: Plan
    script: bytes

    @property
    def composition(self) -> str:
        """The hash of the parts of today."""
        return composition(self.plan.cluster.site.id, self.paradigm, self.plan.launch.name)


def made(site: str, paradigm: str) -> Made:
    """Return the script of a paradigm on a site. Raises `ValueError` where there is none."""
    nodes = 1 if paradigms.load(paradigm).processes == "one" else NODES
    said: dict[Name, int | str] = {
        "site": site, "nodes": nodes, "walltime": "00:30:00", "paradigm": paradigm, "program": PROGRAM,
        **SAID[site],
    }  # fmt: skip
    plan = decide_plan(Slots(Slot(name, value, Origin("option")) for name, value in said.items()), cluster(site))
    if isinstance(plan, Lacking):
        raise ValueError(f"{site}, {paradigm}: missing {[one.slot for one in plan.missing]}")
    return Made(site, paradigm, plan, compose(plan))


def composition(site: str, paradigm: str, launch: str) -> str:
    """Return the revision of a composition as it is today, "" where its launch template is gone."""
    from maple_agents.ask.sites.launch_templates import load

    found = {one.name: one for one in load()}
    if launch not in found:
        return ""
    part = environments.load(site)
    return composition_revision(cluster(site).site, paradigms.load(paradigm), found[launch], part)


def records(site: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the records of a site by paradigm, {} where there are none."""
    path = os.path.join(FOLDER, f"{site}.toml")
    if not os.path.exists(path):
        return {}
    with open(path, "rb") as file:
        return tomllib.load(file)


def stale(site: str, paradigm: str, record: Mapping[str, Any]) -> list[str]:
    """Return what is another today than when the record was made, in words; [] while it holds."""
    now = made(site, paradigm).plan
    today = {
        "launch": now.launch.name,
        "launch_revision": now.launch.revision,
        "paradigm_revision": now.paradigm.revision,
        "environment_revision": now.cluster.environment.revision if now.cluster.environment else 0,
        "site_revision": now.cluster.site.revision,
        "composition": composition(site, paradigm, now.launch.name),
    }
    return [name.replace("_", " ") for name, value in today.items() if record.get(name) != value]


def table(one: Made, why: Sequence[str]) -> str:
    """Return the record of a run as TOML; *why*: what was wrong with it."""
    plan = one.plan
    entries: dict[str, str | int] = {
        "result": "failed" if why else "passed",
        "nodes": plan.layout.nodes,
        "ranks_per_node": plan.layout.ranks_per_node,
        "mini_app": "dry",
        "where": "doubles" if scheduler_of(one.site) == "pbs" else "lab",
        "launch": plan.launch.name,
        "launch_revision": plan.launch.revision,
        "paradigm_revision": plan.paradigm.revision,
        "environment_revision": plan.cluster.environment.revision if plan.cluster.environment else 0,
        "composition": one.composition,
        "site_revision": plan.cluster.site.revision,
    }
    if why:
        entries["why"] = why[0][:200]
    lines = [f"{name} = {_toml(value)}" for name, value in entries.items()]
    return "\n".join([f"[{one.paradigm}]", f"on = {date.today().isoformat()}", *lines]) + "\n"


def _toml(value: str | int) -> str:
    if isinstance(value, int):
        return str(value)
    plain = "".join(" " if ord(one) < 32 else one for one in value)
    return '"%s"' % plain.replace("\\", "\\\\").replace('"', '\\"')


def write(sites: Iterable[str], labs: int = 3) -> dict[str, list[str]]:
    """Run every paradigm on each site and write the records; return what was wrong, by site and paradigm."""
    every = [made(site, paradigm) for site in sites for paradigm in paradigms.names()]
    alone = {one.paradigm for one in every if one.plan.paradigm.processes == "one"}
    scripts = [Script(f"{one.site}-{one.paradigm}", one.site, one.script, one.paradigm in alone) for one in every]
    found = run(scripts, labs)
    texts: dict[str, list[str]] = {}
    wrong = {}
    for one, ran in zip(every, found):
        facts = [{**_OF_ONE, **_said(fact)} for fact in ran.facts] if one.paradigm in alone else ran.facts
        why = list(world(facts, one.plan.layout.nodes, one.plan.layout.ranks_per_node))
        if ran.state != "COMPLETED" or ran.exit_code:
            why.insert(0, f"{ran.state} {ran.exit_code}")
        texts.setdefault(one.site, []).append(table(one, why))
        if why:
            wrong[f"{one.site} {one.paradigm}"] = why
    os.makedirs(FOLDER, exist_ok=True)
    for site, tables in texts.items():
        with open(os.path.join(FOLDER, f"{site}.toml"), "w", encoding="utf-8") as file:
            file.write("\n".join([HEAD, *tables]))
    return wrong


_OF_ONE = {"rank": 0, "local_rank": 0, "world_size": 1}


def _said(fact: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a process that no launcher told of a rank, without what it could not know."""
    return {name: value for name, value in fact.items() if name not in _OF_ONE or value is not None}


def main(argv: Sequence[str]) -> int:
    """Write the records of the sites named, of all where none is; exit 1 where a composition did not run right."""
    unknown = sorted(set(argv) - set(SAID))
    if unknown:
        print(f"no site {unknown[0]}; there are {', '.join(SAID)}", file=sys.stderr)
        return 2
    wrong = write(argv or list(SAID))
    for name, why in wrong.items():
        print(f"{name}: {why[0]}")
    print(f"{len(argv or SAID) * len(paradigms.names()) - len(wrong)} compositions ran right, {len(wrong)} did not")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
