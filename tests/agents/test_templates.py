"""Launch templates are right where they stand, say what is wrong where they are not, and reach the submit path."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from maple_agents.ask import sites
from maple_agents.ask.sites import launch_templates as templates
from maple_submit_filter.answer.decision import examined, understood
from maple_submit_filter.site.facts import Site
from maple_submit_filter.site.snapshot import from_snapshot, write
from maple_submit_filter.types.edits import Safety
from maple_submit_filter.types.submission import Submission

GOOD = b"""\
revision = 2
when     = { scheduler = "slurm", launcher = "torchrun", over = "srun" }
launch   = ["srun --ntasks={job.nodes} --ntasks-per-node=1", "torchrun --nnodes={job.nodes}"]
why      = "torchrun starts the ranks itself."
"""
IBRUN = b"#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1 --partition=gpuA100x4 --gpus-per-node=4\n" + (
    b'ibrun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint="$(hostname):29500" train.py\n'
)


@pytest.mark.parametrize("path", templates.paths(), ids=lambda path: Path(path).stem)
def test_a_template_that_is_delivered_is_right(path: str) -> None:
    assert templates.parse(Path(path).read_bytes(), path).why


def test_every_launcher_has_a_template_over_srun() -> None:
    over_srun = {one.when.launcher for one in templates.load() if one.when.over == "srun"}
    assert over_srun == {"torchrun", "accelerate", "deepspeed", "python"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"revision = 2", b"revision = 0", "t/torchrun-over-srun.toml: revision: "),
        (b"why ", b"wy ", "t/torchrun-over-srun.toml: why: field required"),
        (b'"srun" }', b'"jsrun" }', "t/torchrun-over-srun.toml: when.over: "),
        (
            b"{job.nodes} --",
            b"{nodes} --",
            "t/torchrun-over-srun.toml: launch[0]: no such slot {nodes}; there are job.",
        ),
        (b'"torchrun", over', b'"deepspeed", over', "when: the file should be called deepspeed-over-srun.toml"),
        (b"revision = 2", b"revision = ", "t/torchrun-over-srun.toml: not TOML: "),
    ],
)
def test_a_wrong_template_is_told_of_with_its_place(old: bytes, new: bytes, said: str) -> None:
    with pytest.raises(ValueError) as caught:
        templates.parse(GOOD.replace(old, new), "t/torchrun-over-srun.toml")
    assert said in str(caught.value)


def test_a_snapshot_holds_the_templates_whose_launcher_the_site_has() -> None:
    """Through JSON, as the helper reads it."""
    site = from_snapshot(json.loads(json.dumps(write(sites.load("tacc-lonestar6")))))
    assert {one.over for one in site.launch_templates} == {"ibrun"}


def replaced(site: Site) -> tuple[str, str]:
    """Return how safe the replacement of ibrun is at this site, and why the line was changed."""
    job = understood(Submission("slurm", (b"sbatch", b"j"), IBRUN, "file", b"j", b"/work", 1000, {}), None)
    assert job is not None
    fix = next(one for one in examined(job, site).findings if one.code == "MPL307").fixes[0]
    return fix.safety, fix.edits[0].because


def test_a_replacement_asks_unless_its_template_was_verified_here() -> None:
    site = sites.load("ncsa-delta")._replace(unsure=())  # as if it were sure that there is no ibrun
    verified = tuple(one._replace(verified=True) for one in site.launch_templates)
    assert replaced(site) == (Safety.ASK, "torchrun-over-srun revision 2")
    assert replaced(site._replace(launch_templates=verified)) == (Safety.SAFE, "torchrun-over-srun revision 2")


@pytest.mark.parametrize(
    ("run", "verified"),
    [
        ({}, True),
        ({"revision": "1"}, False),
        ({"site_revision": '"older"'}, False),
        ({"site": '"ncsa-deltaai"'}, False),
        ({"result": '"failed"'}, False),
    ],
    ids=str,
)
def test_verified_means_this_revision_of_template_and_site(
    run: dict[str, str], verified: bool, tmp_path, monkeypatch
) -> None:  # type: ignore[no-untyped-def]
    site = sites.load("ncsa-delta")
    said = {"site": '"ncsa-delta"', "site_revision": '"%s"' % site.revision, "revision": "2", "by": '"ddp"'}
    said |= {"on": "2026-11-20", "result": '"passed"', **run}
    folder = tmp_path / "templates" / "launch"
    folder.mkdir(parents=True)
    table = "\n[[verified]]\n" + "".join("%s = %s\n" % pair for pair in said.items())
    (folder / "torchrun-over-srun.toml").write_bytes(GOOD + table.encode())
    monkeypatch.setenv("MAPLE_ETC", str(tmp_path))
    mine = next(one for one in templates.for_site(site) if one.name == "torchrun-over-srun")
    assert (mine.revision, mine.verified) == (2, verified)
