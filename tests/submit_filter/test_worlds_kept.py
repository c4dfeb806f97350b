"""What is repaired unasked leaves every world as it was meant; anything else is offered, with both sizes."""

from __future__ import annotations

import pytest
from maple_submit_filter.decide import Decision, decide
from maple_submit_filter.meant import World, sizes
from maple_submit_filter.site import GENERIC_SLURM
from maple_submit_filter.submission import Submission

from tests.reality.fan_out import MEANT, family

HEAD = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4\n"
MASTER = "HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)\n"
MEETS = "--rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500"


def decided(script: str) -> Decision:
    """What Maple decides of a script on a cluster that nobody has described."""
    asked = Submission("slurm", (b"sbatch", b"job.sh"), script.encode(), "file", b"job.sh", b"/work", 1000, {})
    return decide(asked, GENERIC_SLURM)


def started(script: bytes) -> set[object]:
    """The sizes of the worlds that a script would start."""
    made = decided(script.decode()).plan
    assert made is not None
    return {group.world_size for step in made.steps for group in step.groups}


@pytest.mark.parametrize("case", list(family()), ids=lambda case: case.name)
def test_a_cure_of_fan_out_keeps_the_world_wherever_its_counts_come_from(case):
    """Eight ranks were meant: eight start, or nothing is changed unasked."""
    decision = decided(case.script.decode())
    if decision.repaired is not None:
        assert started(decision.repaired.script) == {MEANT}
    elif decision.offered is not None:
        assert f"of {MEANT} ranks is meant" in " ".join(decision.offered.says)
    else:
        # As many machines as tasks, with one process each: that is the world that was meant.
        assert decision.verdict == "clean" and "accelerate, tasks and tasks a node" in case.name


def test_most_of_the_family_is_cured_unasked():
    verdicts = [decided(case.script.decode()).verdict for case in family()]
    assert verdicts.count("repaired") >= 0.9 * len(verdicts)


def test_a_count_that_the_cure_would_change_is_written_as_the_number_that_it_was():
    line = f"srun bash -c 'torchrun --nnodes=2 --nproc_per_node=$SLURM_NTASKS_PER_NODE {MEETS} t.py'\n"
    repaired = decided(HEAD + MASTER + "export HEAD\n" + line).repaired
    assert repaired is not None and b"--nproc_per_node=4 " in repaired.script
    assert started(repaired.script) == {8}


def test_a_count_in_a_file_that_cannot_be_changed_is_offered_with_both_sizes():
    asked = Submission("slurm", (b"sbatch", b"job.sh"), (HEAD + MASTER + "export HEAD\nsrun bash run.sh\n").encode(),
                       "file", b"job.sh", b"/work", 1000, {})  # fmt: skip
    run = b"torchrun --nnodes=2 --nproc_per_node=$SLURM_NTASKS_PER_NODE %s t.py\n" % MEETS.encode()
    decision = decide(asked, GENERIC_SLURM, lambda path: run if path.endswith(b"run.sh") else None)
    assert decision.repaired is None and decision.offered is not None
    assert "would start a world of 2 ranks, where a world of 8 ranks is meant" in decision.offered.says[0]
    assert any("a world of 8 ranks is meant" in why for _, why in decision.held_back)


def test_a_number_of_nodes_that_nobody_said_is_not_written_unasked():
    """Two worlds of four were declared; an ensemble may be meant."""
    one = HEAD.replace("--ntasks-per-node=4", "--ntasks-per-node=1")
    decision = decided(one + MASTER + f"srun torchrun --nproc_per_node=4 {MEETS} train.py\n")
    assert decision.repaired is None and decision.offered is not None
    assert "a world of 8 ranks, where a world of 4 ranks is meant" in decision.offered.says[0]


@pytest.mark.parametrize(
    "worlds, said",
    [
        ({World(2, 4, 8)}, "a world of 8 ranks"),
        ({World(1, 1, 1)}, "a world of 1 rank"),
        ({World(2, 4, 8), World(1, 2, 2)}, "worlds of 2 and 8 ranks"),
        ({World(None, None, None)}, "a world whose size is not known"),
    ],
)
def test_sizes_are_said_in_words(worlds, said):
    assert sizes(frozenset(worlds)) == said
