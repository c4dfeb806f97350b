"""What an image, its hooks or a prolog may set is unknown in the task: not empty, nor what the script gave to it."""

from __future__ import annotations

import pytest
from maple_submit_filter.answer.decision import decide
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.types.submission import Submission

HEAD = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4\n"
MEETS = "bash -c 'torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=$%s:29500 train.py'\n"
HOOKED = ("MASTER_ADDR", "MASTER_PORT", "RANK", "LOCAL_RANK", "WORLD_SIZE", "OMP_NUM_THREADS")
PYXIS = ("srun --container-image=i", "srun --container-name=mine", "srun --environment=/e.toml")
PROLOG = ("srun --task-prolog=/opt/p.sh", "export SLURM_TASK_PROLOG=/opt/p.sh\nsrun")
BUNDLE = ("srun --container=/oci", "export SLURM_CONTAINER=/oci\nsrun")
WRAPPERS = (
    "apptainer exec i.sif", "singularity exec i.sif", "podman run i", "podman-hpc run i", "shifter --image=i",
    "sarus run i", "enroot start i", "ch-run i --",
)  # fmt: skip


def proven(script: str, *words: bytes) -> list[str]:
    """The codes of what is certain, with these words for sbatch; and whether a right script may feel a change."""
    argv = (b"sbatch", *words, b"j")
    asked = Submission("slurm", argv, script.encode(), "file", b"j", b"/work", 1000, {b"HOME": b"/h"})
    decision = decide(asked, GENERIC_SLURM, None)
    unfelt = {f"{one.code} {fix.says}" for one in decision.findings for fix in one.fixes if fix.harmless}
    changed = decision.repaired is not None and not set(decision.repaired.says) <= unfelt
    return [one.code for one in decision.findings if one.proven] + (["repaired"] if changed else [])


@pytest.mark.parametrize("name", HOOKED)
@pytest.mark.parametrize("start", [*PYXIS, *PROLOG])
def test_what_a_hook_may_set_anew_is_not_what_the_script_exported(start, name):
    """The hook wins over what the job exports; without one the meeting place is certainly wrong."""
    given = f"export {name}=localhost\n"
    assert "MPL501" in proven(HEAD + given + "srun " + MEETS % name)
    assert proven(HEAD + given + start + " " + MEETS % name) == []


@pytest.mark.parametrize("start", [*PYXIS, *PROLOG, *BUNDLE, *("srun " + one for one in WRAPPERS)])
@pytest.mark.parametrize("name", ["MASTER_ADDR", "HEAD"])
def test_what_nobody_set_may_be_set_there(start, name):
    """In an image's own environment, by its hooks or a prolog; elsewhere it is certainly empty."""
    assert "MPL402" in proven(HEAD + "srun " + MEETS % name)
    assert proven(HEAD + start + " " + MEETS % name) == []


@pytest.mark.parametrize(
    "option", ["--container-image=i", "--container-name=mine", "--environment=/e.toml", "--container=/oci"]
)
def test_the_batch_shell_itself_may_be_in_an_image(option):
    """Asked for in a directive, or on the command line."""
    step = "srun " + MEETS % "MASTER_ADDR"
    assert proven(HEAD + f"#SBATCH {option}\n" + step) == []
    assert proven(HEAD + step, option.encode()) == []


@pytest.mark.parametrize("start", [*PYXIS, *PROLOG, *BUNDLE, *("srun " + one for one in WRAPPERS)])
def test_what_is_written_on_the_line_is_no_less_wrong_there(start):
    """Nobody sets that: the command is read through the container."""
    assert "MPL501" in proven(HEAD + start + " " + (MEETS % "X").replace("$X", "localhost"))


def test_a_prolog_leaves_the_schedulers_own_names_alone():
    """A node rank that is 0 in each task is as wrong behind one."""
    line = "bash -c 'torchrun --nnodes=2 --nproc_per_node=4 --node_rank=$SLURM_LOCALID --master_addr=$MASTER t.py'\n"
    head = HEAD + "export MASTER=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)\n"
    assert "MPL304" in proven(head + "srun " + line)
    assert "MPL304" in proven(head + "srun --task-prolog=/opt/p.sh " + line.replace("$MASTER", "n1"))


@pytest.mark.parametrize("prefix", ["SINGULARITYENV_", "APPTAINERENV_"])
def test_what_is_handed_to_an_image_by_name_is_known_there(prefix):
    """A prefix takes it inside, also where the environment is cleared."""
    script = HEAD + f"export {prefix}WHERE=localhost\nsrun apptainer exec --cleanenv i.sif " + MEETS % "WHERE"
    assert "MPL501" in proven(script)


def test_what_pyxis_is_told_to_keep_is_known_there():
    """--container-env names what the job's value wins for."""
    script = HEAD + "export MASTER_ADDR=localhost\nsrun --container-image=i --container-env=MASTER_ADDR " + MEETS
    assert "MPL501" in proven(script % "MASTER_ADDR")
