"""Script and log together: what a rule proves of a launch line explains what its ranks said, or their silence."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomllib
from maple_agents.diagnose.diagnosis import diagnose
from maple_agents.diagnose.explanation import case_of, decided
from maple_agents.diagnose.fix.treatment import cures
from maple_agents.diagnose.read import read
from maple_agents.templates.knowledge import anchors, entries

KNOWN = entries()
CASES = tomllib.loads((Path(__file__).parent / "knowledge" / "proven.toml").read_text("utf-8"))
RULES = {code for entry in KNOWN.values() if isinstance(code := entry.needs.get("findings"), str)}


@pytest.mark.parametrize("name", CASES)
def test_the_first_cause_is_named(name, tmp_path):
    """A breach that is proven hides behind ports and time-outs; an error of another kind comes before it."""
    row = CASES[name]
    script, log = tmp_path / "job.sh", tmp_path / "slurm-1.out"
    script.write_bytes(row["script"].encode())
    log.write_text(row["log"], "utf-8")
    case = case_of(None, [str(log)], str(script), row.get("site", "generic-slurm"), [], row["state"], None)
    found = diagnose(case, read(case.logs, anchors(KNOWN)), decided(case), KNOWN)
    assert found.causes[0].cause == row["cause"]


def test_the_rules_of_launch_lines_are_explained():
    """Each rule that proves a launch line wrong has an entry that says what its breach brings about."""
    assert {
        "MPL203", "MPL301", "MPL302", "MPL303", "MPL304", "MPL305", "MPL306", "MPL307", "MPL310", "MPL401", "MPL402",
        "MPL501", "MPL502", "MPL503", "MPL504", "MPL507", "MPL602",
    } <= RULES  # fmt: skip


JOB = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4\n%ssrun python train.py\n"
NO_INTERFACE = "n1:77:77 [0] misc/socket.cc:1 NCCL WARN Bootstrap : no socket interface found\n%s"


@pytest.mark.parametrize(
    ("before", "log", "names"),
    [
        ("", "", False),
        ("export NCCL_SOCKET_IFNAME=\n# export NCCL_SOCKET_IFNAME=eth7\n", "", False),
        ("export NCCL_SOCKET_IFNAME=eth7\n", "", True),
        ("NCCL_SOCKET_IFNAME=eth7 ", "", True),
        ("", "RuntimeError: NCCL error, NCCL_SOCKET_IFNAME=eth7 is no good\n", True),
        ("", "NCCL WARN NCCL_SOCKET_IFNAME set by environment to eth7\n", True),
    ],
)
def test_a_variable_is_spoken_of_only_where_something_sets_it(before, log, names, tmp_path):
    """The sentence follows from the evidence, and so does the advice to unset it."""
    script, out = tmp_path / "job.sh", tmp_path / "slurm-1.out"
    script.write_text(JOB % before)
    out.write_text(NO_INTERFACE % log)
    case = case_of(None, [str(out)], str(script), "generic-slurm", [], "failed", None)
    digest, decision = read(case.logs, anchors(KNOWN)), decided(case)
    found = diagnose(case, digest, decision, KNOWN)
    assert found.causes[0].cause == "wrong_network_interface"
    assert ("NCCL_SOCKET_IFNAME" in found.causes[0].says) is names
    made = cures(found, digest, decision, KNOWN)
    assert any("NCCL_SOCKET_IFNAME" in one.says for one in made) is names
    assert any(b"unset NCCL_SOCKET_IFNAME" in (one.script or b"") for one in made) is names
