"""No fix harms: every typed fix, on every script of the corpus, with what its log could say (`fix_trials`, `fix_harm`).

A script meets some of the fixes in each run of the tests, and all of them with MAPLE_EVERY_FIX=1 (twenty minutes).
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest
from maple_agents.diagnose.fix import MADE, treatment
from maple_agents.diagnose.values import Case, Cause, Cure, Diagnosis, Digest, Ended
from maple_submit_filter.answer.decision import decide, understood
from maple_submit_filter.types.edits import Edit, Fix, Span

from .fix_cases import site, submission
from .fix_harm import harms
from .fix_trials import Trial, asked_of, cure, lay, named, of_knowledge, scripts, trials

OF = 1 if os.environ.get("MAPLE_EVERY_FIX") else 150
PARTS = 4


def _chosen(path: str, trial: Trial) -> bool:
    return zlib.crc32(("%s %s" % (named(path), trial)).encode()) % OF == 0


@pytest.mark.timeout(0 if OF == 1 else 200)
@pytest.mark.parametrize("part", range(PARTS))
def test_no_fix_on_any_script_breaks_a_promise(part: int, tmp_path: Path) -> None:
    """It changes what it says, leaves other steps alone, shrinks nothing, parses, and is made once."""
    broken = []
    for number, path in enumerate(scripts()):
        if number % PARTS != part:
            continue
        folder = tmp_path / str(number)
        folder.mkdir()
        asked, where = asked_of(path, str(folder))
        assert asked.script is not None
        if understood(asked, None) is None:
            continue
        wanted = [trial for trial in trials(asked.script) if _chosen(path, trial)]
        if wanted:
            lay(str(folder), asked.script)
        for trial in wanted:
            made = cure(trial, asked, where)
            wrong = [made.held_back] if "mistake" in made.held_back else []
            wrong += harms(trial, made, asked, where)
            broken += ["%s: %s: %s" % (named(path), trial, one) for one in wrong]
    assert broken == []


def test_every_typed_fix_is_tried() -> None:
    """The trials know each fix that the knowledge base or the code names, but for those that nobody calls yet."""
    assert set(MADE) - {how for how, _ in of_knowledge()} <= {"export-variable"}


@pytest.mark.parametrize(
    ("how", "log"),
    [
        ("ranks-of-tasks", 'File "/home/ada/train.py", line 3: environment variable RANK expected, but not set'),
        ("set-option", "RuntimeError in train.py"),
        ("kill-on-bad-exit", "train.py: killed"),
        ("step-of-whole-allocation", "train.py: More processors requested than permitted"),
    ],
)
def test_evidence_of_another_step_changes_none(how: str, log: str) -> None:
    """Where the log names another step's program, a fix of launch lines touches that step alone."""
    script = b"#!/bin/bash\n#SBATCH --nodes=1 --ntasks=2 --cpus-per-task=2\nexport MASTER_ADDR=n1 MASTER_PORT=29500\n"
    kept, meant = b"srun --cpus-per-task=64 python prepare.py", b"srun --cpus-per-task=64 python train.py"
    give = {"launcher": "srun", "option": "overlap", "value": ""}
    asked = submission(script + kept + b"\n" + meant + b"\n")
    made = cure(Trial(how, give, {"variable": "RANK"}, (log,)), asked, site("", "slurm"))
    assert made.script is not None, made
    changed = made.script.split(b"\n")
    assert kept in changed
    assert meant not in changed


@pytest.mark.parametrize(
    "line",
    [
        "rm -rf results/model.json",
        "cp seed.json results/model.json",
        "python make.py > results/model.json",
        "python make.py --output results/model.json",
        "python make.py --save-to=results/model.json",
        "mv results/model.json old.json",
    ],
)
def test_what_the_script_writes_or_removes_is_never_named_anew(line: str, tmp_path: Path) -> None:
    """The near file is somebody's: it would be written over, or gone."""
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "model1.json").write_text("{}")
    reads = "srun python train.py --init results/model.json\n"
    trial = Trial("near-path", {"what": "{path}"}, {"path": "results/model.json"}, ("No such file or directory",))
    for text, wanted in (("#!/bin/bash\n" + reads, True), ("#!/bin/bash\n%s\n" % line + reads, False)):
        made = cure(trial, submission(text.encode(), cwd=str(tmp_path)), site("", "slurm"))
        assert (made.fix is not None) is wanted, made


def test_what_is_copied_from_may_be_named_anew(tmp_path: Path) -> None:
    """Of the words of a copy the last one is written, and no other; that it is no plain word makes no difference."""
    (tmp_path / "data-1.tar").write_text("")
    trial = Trial("near-path", {"what": "{path}"}, {"path": "data1.tar"}, ("No such file or directory",))
    for line, wanted in ((b"sbcast data1.tar $TMPDIR/data", True), (b"cp $SEED data1.tar", False)):
        made = cure(trial, submission(b"#!/bin/bash\n" + line + b"\n", cwd=str(tmp_path)), site("", "slurm"))
        assert (made.fix is not None) is wanted, made


def test_more_nodes_are_only_said() -> None:
    """Three nodes for the launcher and two for the job: neither number is proven, and one of them costs."""
    source = b"#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1\nexport A=$(scontrol show hostnames | head -n1)\n"
    source += b"srun torchrun --nnodes=3 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_endpoint=$A:29500 train.py\n"
    asked, where = submission(source), site("", "slurm")
    decision = decide(asked, where, None)
    assert decision.offered is not None and b"--nodes=3" in (decision.offered.script or b"")
    first = Cause("", "wrong_world_size_or_rank", "says", 9.0, 0.9)
    made = treatment.cures(Diagnosis(Case(Ended(), "slurm", where, asked), (first,)), Digest(), decision, {})
    assert [(one.script, one.argv, one.safety) for one in made] == [(None, None, "tell")]
    assert made[0].says.startswith("request 3 nodes for the job, where that is what was meant")


RIGHT = b"""#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=2 --mem=64G --time=60
export MASTER_ADDR=n1 MASTER_PORT=29500
srun --ntasks=4 --mem=8G python prepare.py
srun python train.py
"""


@pytest.mark.parametrize(
    ("how", "old", "new", "says"),
    [
        ("raise-walltime", b"--time=60", b"--time=30", "--time shrank"),
        ("raise-memory", b"--mem=64G", b"--mem=8192", "--mem shrank"),
        ("raise-memory", b" --mem=64G", b"", "--mem is gone"),
        ("raise-memory", b"--mem=8G", b"--mem=4G", "is less than 8G"),
        ("raise-memory", b"--nodes=2", b"--nodes=1", "--nodes shrank"),
        ("set-env", b"--ntasks-per-node=2", b"--ntasks-per-node=4", "--ntasks-per-node is"),
        ("offline-hub", b"--ntasks=4", b"--exclusive --ntasks=4", "the launch line in line 4 is changed"),
        ("port-of-job", b"srun python train.py", b"python train.py", "has fewer tasks"),
        ("port-of-job", b"python train.py", b"python other.py", "the program of line 5 is another"),
        ("master-of-job", b"srun python train.py\n", b"", "1 steps in place of 2"),
        ("set-env", b"export MASTER_ADDR=n1", b"export MASTER_ADDR='n1", "bash does not take it"),
    ],
)
def test_each_harm_would_be_seen(how: str, old: bytes, new: bytes, says: str) -> None:
    """An edit that breaks a promise is found out, whichever fix made it."""
    at = RIGHT.index(old)
    edit = Edit(Span(at, at + len(old)), new, how)
    made = Cure("script_env", "says", "ask", RIGHT.replace(old, new, 1), fix=Fix((edit,), "ask", "says"))
    assert says in " ".join(harms(Trial(how), made, submission(RIGHT), site("", "slurm")))


TAIL = b'#!/bin/bash\n#SBATCH --nodes=1\ntail -n +5 "$0" > train.py\nexec srun python train.py\nprint(1)\n'


@pytest.mark.parametrize(
    ("before", "old", "new", "says"),
    [
        (RIGHT, b"export MASTER_ADDR=n1", b"export MASTER_ADDR='n1", "bash would reject"),
        (RIGHT, b"srun python train.py\n", b"srun python train.py (\n", "bash would reject"),
        (TAIL, b"tail", b"set -x\ntail", "reads itself by its lines' numbers"),
        (RIGHT, b"python train.py", b"python train.py \x01", "a control character"),
        (RIGHT, b"#SBATCH --nodes=2", b"#PBS -l select=2\n#SBATCH --nodes=2", "another scheduler"),
        (RIGHT, b"srun python train.py", b"srun torchrun --nnodes=2 --nproc_per_node=2 train.py", "in another way"),
    ],
)
def test_each_check_of_a_rule_s_fix_holds_one_of_a_diagnosis_back(
    before: bytes, old: bytes, new: bytes, says: str
) -> None:
    """And what passes them all is not held back."""
    asked, where = submission(before), site("", "slurm")
    assert says in treatment.objection(asked, asked._replace(script=before.replace(old, new, 1)), where)
    harmless = asked._replace(script=before.replace(b"python", b"python3", 1))
    assert treatment.objection(asked, harmless, where) == ""
    words = harmless._replace(argv=(b"sbatch", b"--no-such-option", b"job.sh"))
    assert "would not read it as a job" in treatment.objection(asked, words, where)
