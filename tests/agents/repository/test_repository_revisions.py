"""A composition's revision follows what is in a script, and nothing else."""

from __future__ import annotations

import json

from maple_agents.ask.sites import ids
from maple_agents.ask.sites import launch_templates as templates
from maple_agents.templates import paradigms
from maple_agents.templates.catalogue import compositions, exported
from maple_agents.templates.environments import described
from maple_agents.templates.proofs import composition_revision

DELTA = described("ncsa-delta")
ZERO = paradigms.load("zero3")
LAUNCH = next(one for one in templates.load() if one.name == "torchrun-over-srun")
NOW = composition_revision(DELTA.site, ZERO, LAUNCH, DELTA.environment)


def test_what_makes_another_script_makes_another_revision() -> None:
    environment = DELTA.environment
    assert environment is not None
    changed = {
        composition_revision(DELTA.site._replace(revision="other"), ZERO, LAUNCH, environment),
        composition_revision(DELTA.site, paradigms.load("fsdp"), LAUNCH, environment),
        composition_revision(DELTA.site, ZERO, LAUNCH.model_copy(update={"before": []}), environment),
        composition_revision(DELTA.site, ZERO, LAUNCH.model_copy(update={"revision": 99}), environment),
        composition_revision(DELTA.site, ZERO, LAUNCH, environment.model_copy(update={"modules": []})),
        composition_revision(DELTA.site, ZERO, LAUNCH, None),
    }
    assert NOW not in changed and len(changed) == 6


def test_a_reason_or_a_verification_changes_no_script() -> None:
    run = templates.Verification.model_validate(
        {
            "site": "ncsa-delta",
            "site_revision": "x",
            "revision": 2,
            "by": "ddp",
            "on": "2026-01-01",
            "result": "passed",
        },
        strict=False,
    )
    told = LAUNCH.model_copy(update={"why": "because", "verified": [run]})
    said = ZERO.model_copy(update={"phrases": ["zero"], "sources": ["https://example.org"]})
    assert composition_revision(DELTA.site, said, told, DELTA.environment) == NOW


def test_an_export_is_the_same_twice_and_names_every_composition() -> None:
    once, twice = (json.dumps(exported()) for _ in range(2))
    assert once == twice
    sites = json.loads(once)["sites"]
    assert set(sites) == set(ids()) and all(set(one) == set(paradigms.names()) for one in sites.values())
    assert compositions("ncsa-delta")["zero3"][0] == {"launch": "torchrun-over-srun", "revision": NOW}
