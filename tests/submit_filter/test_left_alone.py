"""What is said of submissions that are not read as a whole."""

from __future__ import annotations

import pytest
from maple_submit_filter.answer.decision import Decision, decide
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM
from maple_submit_filter.types.submission import Submission

HEAD = b"#!/bin/bash\n#SBATCH --nodes=1 --ntasks-per-node=1 --gpus-per-node=4\n#SBATCH hetjob\n#SBATCH --nodes=2 "
HEAD += (
    b"--ntasks-per-node=1 --gpus-per-node=4\nMA=$(scontrol show hostnames $SLURM_JOB_NODELIST_HET_GROUP_0 | sed 1q)\n"
)
HEAD += b"N=$((SLURM_JOB_NUM_NODES_HET_GROUP_0 + SLURM_JOB_NUM_NODES_HET_GROUP_1))\n"
RUN = b"torchrun --nnodes=$N --nproc_per_node=4 --rdzv_backend=c10d --rdzv_id=7 --rdzv_endpoint=$MA:29500 train.py\n"


def decided(scheduler: str, words: tuple[bytes, ...], script: bytes) -> Decision:
    """What is decided of a job script under a command with its words."""
    asked = Submission(scheduler, words, script, "file", b"job.sh", b"/work", 1000, {})
    return decide(asked, GENERIC_SLURM if scheduler == "slurm" else GENERIC_PBS, None)


def test_srun_starts_on_the_first_component_of_a_heterogeneous_job() -> None:
    """So what waits for all nodes waits in vain; it is told and nothing is changed."""
    decision = decided("slurm", (b"sbatch", b"job.sh"), HEAD + b"srun " + RUN)
    assert [(one.code, one.proven) for one in decision.findings] == [("MPL303", False)]
    assert "--het-group" in decision.findings[0].help
    assert decision.verdict == "findings" and decision.repaired is decision.offered is None


@pytest.mark.parametrize("line", [b"srun --het-group=0,1 " + RUN, b"srun " + RUN.replace(b"$N", b"1")])
def test_nothing_is_said_where_all_components_are_named_or_one_is_enough(line: bytes) -> None:
    """The verdict says that such a job is not read as a whole."""
    decision = decided("slurm", (b"sbatch", b"job.sh"), HEAD + line)
    assert (decision.verdict, decision.findings) == ("unread", ())


@pytest.mark.parametrize(
    "words",
    [(b"qsub", b"job.pbs", b"-l", b"walltime=1:00:00"), (b"sbatch", b"--wrap=python t.py", b"conf.yaml")],
)
def test_words_that_the_command_refuses_are_found(words: tuple[bytes, ...]) -> None:
    """The command says so itself, but `maple check` is asked before."""
    found = decided("pbs" if words[0] == b"qsub" else "slurm", words, b"#!/bin/bash\npython train.py\n").findings
    assert [(one.code, one.proven) for one in found] == [("MPL117", False)]


def test_an_option_that_a_plugin_may_bring_is_not_spoken_of() -> None:
    """sbatch's own table knows no option of SPANK."""
    assert decided("slurm", (b"sbatch", b"--container-image=a.sqsh", b"job.sh"), b"#!/bin/bash\n").findings == ()
