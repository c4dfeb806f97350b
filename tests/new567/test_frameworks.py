"""Compositions started by the real torchrun, accelerate and deepspeed, and trained by the real frameworks.

On the site with one GPU a node, because a rank that loads torch costs seconds. What the stand-ins of the launchers made
of the same scripts is in the records, and the two have to agree.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from maple_agents.templates import paradigms

from tests.lab import Lab
from tests.lab.reality import facts_in
from tests.miniapps.started import VENV, frameworks
from tests.new567.record import NODES, made, records
from tests.new567.running import ROOT, shape_of

SITE = "tacc-vista"
PROGRAM = """\
import os, runpy, sys

sys.path.insert(0, {miniapps!r})
os.environ["MAPLE_MINIAPP_OUT"] = os.environ["MAPLE_FACTS"]
runpy.run_module("maple_miniapps.{app}", run_name="__main__")
"""


@pytest.fixture(scope="module")
def lab() -> Lab:
    frameworks()
    with Lab(shape_of(SITE)) as up:
        yield up


@pytest.mark.timeout(600)
@pytest.mark.parametrize("paradigm", paradigms.names())
def test_a_composition_trains_with_the_real_frameworks(paradigm: str, lab: Lab, tmp_path: Path) -> None:
    one = made(SITE, paradigm)
    app = one.plan.paradigm.mini_app
    (tmp_path / "train.py").write_text(PROGRAM.format(miniapps=os.path.join(ROOT, "miniapps"), app=app))
    (tmp_path / "job.sh").write_bytes(one.script)
    (tmp_path / "facts").mkdir()
    env = lab.environment(MAPLE_FACTS=str(tmp_path / "facts"), MAPLE_MINIAPP_DEVICE="cpu", OMP_NUM_THREADS="1",
                          DS_ACCELERATOR="cpu", MAPLE_MINIAPP_TIMEOUT="200")  # fmt: skip
    env["PATH"] = f"{VENV.resolve()}/bin:{env['PATH']}"
    sent = lab.sbatch("job.sh", cwd=str(tmp_path), env=env)
    assert sent.id is not None, sent.stderr
    ended = lab.wait(sent.id, 500)
    printed = "".join(path.read_text(errors="replace")[-3000:] for path in tmp_path.glob("slurm-*.out"))
    assert (ended.state, ended.exit_code) == ("COMPLETED", 0), printed
    facts = facts_in(str(tmp_path / "facts"))
    ranks = 1 if one.plan.paradigm.processes == "one" else NODES
    assert {(fact["miniapp"], fact["ok"], fact["group"]["world_size"]) for fact in facts} == {(app, True, ranks)}
    assert sorted(fact["rank"] or 0 for fact in facts) == list(range(ranks))  # one process alone has no rank
    assert records(SITE)[paradigm]["result"] == "passed"
