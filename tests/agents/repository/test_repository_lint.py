"""The repository as delivered is right, and what an administrator gets wrong is told with its place."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from maple_agents.ask import sites
from maple_agents.ask.sites import launch_templates as templates
from maple_agents.base import tables
from maple_agents.templates import environments, lint, model_facts, paradigms, proofs
from maple_agents.templates.environments import described, draft
from maple_agents.templates.proofs import composition_revision
from maple_submit_filter.host import places


def test_the_delivered_repository_is_right() -> None:
    assert lint.mistakes() == []


@pytest.fixture
def edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Return a function that puts a changed copy of a part before the delivered one; it returns the mistakes."""
    monkeypatch.setenv("MAPLE_ETC", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def edit(part: str, old: str, new: str, name: str = "") -> list[str]:
        text = next(Path(one, part) for one in places.folders("templates") if Path(one, part).exists()).read_text()
        assert old in text
        made = tmp_path / "templates" / (name or part)
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(text.replace(old, new, 1))
        return lint.mistakes()

    return edit


DELTA, DELTAAI, AURORA = (f"environment/{name}.toml" for name in ("ncsa-delta", "ncsa-deltaai", "alcf-aurora"))
CASES = {
    "a key path with a slip": (DELTA, "modules.pytorch.0", "modules.pytroch.0", "did you mean pytorch?"),
    "a fact of another kind": (DELTA, '"modules.pytorch.0"', '"modules.other.0"', "modules.other.0 is no Load"),
    "a variable to be left alone": (
        DELTAAI, "network.variables.3", "network.variables.0", "network.variables.0 is avoid, not recommended"),
    "a fact that is not there": (DELTA, '"demand.mem"', '"demand.memory"', "directives.fact: demand.memory: "),
    "a source of nobody": (DELTA, '"delta-jobs"', '"delta-jbos"', "no 'delta-jbos' in the site file's [sources]"),
    "a way to the internet": (DELTA, '"direct"', '"yes"', "internet: 'yes' is none of direct, proxy, none"),
    "a proxy that nobody named": (DELTA, '"direct"', '"proxy"', "internet: the site file names no proxy"),
    "an option with dashes": (DELTA, 'option = "mem"', 'option = "--mem"', "'--mem' is written without dashes"),
    "a launcher of another site": (AURORA, '"mpiexec"\nlauncher', '"mpiexce"\nlauncher', "did you mean mpiexec?"),
    "a slot of nobody": (
        "environment/olcf-frontier.toml", "{site.gpus_per_node}", "{gpus}", "options.srun: no such slot {gpus}; there"),
    "a key of nobody": (DELTA, "internet", "intrenet", "environment/ncsa-delta.toml: intrenet: extra"),
    "a phrase in capitals": ("paradigm/ddp.toml", '"torch ddp"', '"torch DDP"', "'torch DDP' is not in small letters"),
    "a phrase of two paradigms": (
        "paradigm/ddp.toml", '"torch ddp"', '"fsdp"', "paradigm/fsdp.toml: phrases: 'fsdp' means paradigm/ddp.toml"),
    "a source that is no page": (
        "models/opt.toml", "https://arxiv.org/abs/2205.01068", "the paper", "opt.toml: sources: 'the paper' is no"),
    "no reason": ("models/opt.toml", "why ", "wy ", "models/opt.toml: why: field required"),
    "a launch template": ("launch/torchrun-over-srun.toml", "{job.nodes} --", "{nodes} --", "no such slot {nodes}"),
    "a setup line": ("launch/deepspeed-over-srun.toml", "{site.gpus_per_node}", "{n}", "before[3]: no such slot {n}"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_is_told_with_its_place(case: str, edited) -> None:  # type: ignore[no-untyped-def]
    part, old, new, said = CASES[case]
    found = edited(part, old, new)
    assert [line for line in found if said in line], found


def test_a_part_of_a_site_that_does_not_exist_is_told(edited) -> None:  # type: ignore[no-untyped-def]
    (found,) = edited(DELTA, "revision = 1", "revision = 1", "environment/ncsa-detla.toml")
    assert found == "environment/ncsa-detla.toml: there is no such site; did you mean ncsa-delta?"


@pytest.mark.parametrize("site_id", sites.ids())
def test_a_drafted_environment_is_right(site_id: str) -> None:
    """Of every site, and it loads what there is of PyTorch."""
    one = described(site_id)
    made = tables.parse(environments.Environment, draft(one).encode(), site_id)
    assert list(lint._environment(one, made)) == []
    assert bool(made.modules) == bool(one.file.modules and one.file.modules.pytorch)


def test_a_directive_that_the_site_refuses_is_told(edited) -> None:  # type: ignore[no-untyped-def]
    """TACC's filter refuses --mem."""
    mem = '\n[[directives]]\noption = "mem"\nvalue = "0"\nwhy = "all"\n'
    found = edited("environment/tacc-vista.toml", 'modules  = ["modules.pytorch.1"]\n', mem)
    assert "environment/tacc-vista.toml: directives: the site refuses 'mem'" in found


def test_a_paradigm_that_nothing_starts_is_told(edited) -> None:  # type: ignore[no-untyped-def]
    found = edited("paradigm/3d.toml", '["torchrun", "python"]', '["deepspeed"]')
    assert "launch: nothing starts 3d on generic-pbs" in found


def test_a_part_that_changed_without_a_new_revision_is_told(edited, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """As long as nothing else did: a composition that was run with the site's facts and revisions of today."""
    one = described("ncsa-delta")
    launch = next(made for made in templates.load() if made.name == "torchrun-over-srun")
    known = {name: paradigms.load(name) for name in paradigms.names()}
    ran = {
        name: proofs.Proof(
            on=date(2026, 1, 1), result="passed", nodes=2, ranks_per_node=4, mini_app="dry", where="lab",
            launch=launch.name, launch_revision=launch.revision, paradigm_revision=paradigm.revision,
            environment_revision=one.environment.revision if one.environment else 0, site_revision=one.site.revision,
            composition=composition_revision(one.site, paradigm, launch, one.environment),
        )
        for name, paradigm in known.items()
    }  # fmt: skip
    monkeypatch.setattr(proofs, "load", lambda site_id: ran if site_id == "ncsa-delta" else {})
    assert lint.mistakes() == []
    found = edited(DELTA, '"module reset"', '"module restore"')
    assert len(found) == len(known) and all("no revision was raised" in line for line in found)
    assert edited(DELTA, "revision = 1", "revision = 2") == []


def test_every_kind_of_part_is_there() -> None:
    kinds = (paradigms.KIND, environments.KIND, model_facts.KIND)
    assert all(len(tables.paths(kind)) >= 5 for kind in kinds) and len(templates.paths()) == 32


@pytest.mark.parametrize(
    ("name", "billions"),
    [("GPT-2 XL", 1.56), ("Llama-3.1-8B", 8.03), ("BERT-base", 0.11), ("ViT-base", 0.09), ("ResNet-18", 0.01)],
)
def test_the_models_of_the_paper_have_their_size(name: str, billions: float) -> None:
    found = model_facts.find(name)
    assert found is not None and round(found[1].parameters / 1e9, 2) == billions
