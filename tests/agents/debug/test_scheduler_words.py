"""No advice and no fix speaks of a scheduler that is not here: of everything that a diagnosis can say."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import tomllib
from maple_agents.ask.submission import site_of
from maple_agents.diagnose.diagnosis import diagnose
from maple_agents.diagnose.fix import cures
from maple_agents.diagnose.fix.treatment import objection
from maple_agents.diagnose.local_advice import foreign, spoken
from maple_agents.diagnose.read import read
from maple_agents.diagnose.tell.json_form import as_json
from maple_agents.diagnose.tell.next_steps import steps
from maple_agents.diagnose.values import Case, Ended, LogFile
from maple_agents.templates.knowledge import anchors, entries
from maple_submit_filter.answer.decision import decide
from maple_submit_filter.types.submission import Submission

KNOWN = entries()
EXAMPLES = tomllib.loads((Path(__file__).parent / "knowledge" / "examples.toml").read_text("utf-8"))
SCHEDULERS = ("slurm", "pbs")
LINE = "torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$MASTER_ADDR:29500 train.py"
ASKED = {
    "slurm": b"#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4 --time=10 --mem=10G\nsrun %s\n",
    "pbs": b"#!/bin/bash\n#PBS -l select=2:ncpus=8:ngpus=4:mpiprocs=1:mem=10gb\n#PBS -l walltime=10:00\n"
    b"mpiexec -n 2 --ppn 1 %s\n",
}
# What Slurm's or PBS's own programs print tells of that scheduler, whatever is here.
_ITS_OWN = re.compile(r"slurm|srun|sbatch|salloc|scontrol|qsub|=>> PBS|mom|pbs", re.IGNORECASE)
_OF_THE_LOG = ("evidence", "cascade", "excerpt", "documents", "diff", "argv", "notes", "missing", "others")


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("srun -n1 nvidia-smi -L shows it", "mpiexec -n 1 nvidia-smi -L shows it"),
        ("look: srun --ntasks-per-node=1 df -h /dev/shm", "look: pbsdsh -- df -h /dev/shm"),
        ("srun -N1 -n1 -w {host} ip a", "mpiexec -n 1 --host {host} ip a"),
        ('export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)',
         'export MASTER_ADDR=$(head -n 1 "$PBS_NODEFILE")'),
        ("PORT=$((20000 + SLURM_JOB_ID % 10000))", "PORT=$((20000 + ${{PBS_JOBID%%[^0-9]*}} % 10000))"),
        ("srun bash -c 'export RANK=$SLURM_PROCID'", ""),
        ("sacct -j JOBID", ""),
        ("[slurm] plain words", ""),
        ("[pbs] qstat -xf JOBID", "qstat -xf JOBID"),
        ("ask your help desk", "ask your help desk"),
    ],
)  # fmt: skip
def test_a_step_is_said_anew_for_pbs_or_not_at_all(text: str, there: str) -> None:
    """And for Slurm as it stands."""
    assert spoken(text, "pbs") == there
    assert foreign(there, "pbs") == frozenset()
    assert spoken(text, "slurm") == ("" if text.startswith("[pbs]") else text.removeprefix("[slurm] "))


@pytest.mark.parametrize("name", KNOWN)
def test_what_the_knowledge_base_says_is_right_under_each_scheduler(name: str) -> None:
    """A sentence names no scheduler's words, unless the log that proves it is that one's; a step holds for one."""
    entry = KNOWN[name]
    bound = all(_ITS_OWN.search(text) for text in EXAMPLES.get(name, {}).get("yes", [""]))
    sentences = (entry.says, *(one.says for one in entry.fixes if "site.scheduler" not in one.when))
    strange = {text: foreign(text, one) for text in sentences for one in SCHEDULERS if foreign(text, one)}
    assert bound or not strange
    assert all(any(spoken(step, one) for one in SCHEDULERS) for fix in entry.fixes for step in fix.steps)


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_nothing_that_a_diagnosis_says_names_the_other_scheduler(tmp_path: Path, name: str, scheduler: str) -> None:
    """Neither causes nor fixes, steps, or what to do next: whatever the log says."""
    texts = [text for text in EXAMPLES[name].get("yes", []) if not _ITS_OWN.search(text)]
    for number, text in enumerate(texts[:1]):
        log = tmp_path / str(number)
        log.write_text(text + "\n", "utf-8")
        assert words_of_the_other(diagnosed(log, scheduler), scheduler) == frozenset()


def diagnosed(log: Path, scheduler: str, state: str = "failed") -> Mapping[str, object]:
    """What is said of a job with that log."""
    script = ASKED[scheduler] % LINE.encode()
    command = b"sbatch" if scheduler == "slurm" else b"qsub"
    asked = Submission(scheduler, (command, b"job.sh"), script, "file", b"job.sh", b"/tmp", 12345, {})
    site = site_of("generic-" + scheduler)
    case = Case(Ended("30", state, 1), scheduler, site, asked, "job.sh", (LogFile(str(log), "both"),))
    decision, digest = decide(asked, site), read(case.logs, anchors(KNOWN))
    found = diagnose(case, digest, decision, KNOWN)
    found = replace(found, cures=cures(found, digest, decision, KNOWN))
    for cure in found.cures:
        added = [line for line in (cure.script or script).splitlines() if line not in script.splitlines()]
        assert foreign(b"\n".join(added).decode(), scheduler) == frozenset(), cure
    return {**as_json(found), "next": list(steps(found))}


def words_of_the_other(said: object, scheduler: str) -> frozenset[str]:
    """The other scheduler's words in what Maple itself says."""
    if isinstance(said, dict):
        said = {key: value for key, value in said.items() if key not in _OF_THE_LOG}
    return foreign(json.dumps(said, ensure_ascii=False), scheduler)


@pytest.mark.parametrize("state", ["pending", "running", "timeout", "cancelled", "failed", "out-of-memory"])
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_silence_is_answered_in_the_words_of_the_scheduler_too(tmp_path: Path, scheduler: str, state: str) -> None:
    """Where no words tell, the state does."""
    (tmp_path / "log").write_text("started\n")
    assert words_of_the_other(diagnosed(tmp_path / "log", scheduler, state), scheduler) == frozenset()


def test_a_fix_puts_no_command_of_the_other_scheduler_into_a_script() -> None:
    """Whichever fix it is; a word that stands there already is the user's own."""
    site = site_of("generic-pbs")
    before = Submission("pbs", (b"qsub", b"job.sh"), b"#!/bin/bash\nmpiexec x\n", "file", b"job.sh", b"/tmp", 1, {})
    after = before._replace(script=b"#!/bin/bash\nsrun x\n")
    assert "another scheduler" in objection(before, after, site)
    assert "another scheduler" in objection(before, before._replace(argv=(b"qsub", b"--ntasks=2", b"job.sh")), site)
    own = b"#!/bin/bash\nsrun x || mpiexec y\n"
    after = before._replace(script=own + b"true\n")
    assert "another scheduler" not in objection(before._replace(script=own), after, site)
