"""What is likely to be wrong, where something that nobody has read leaves nothing to prove."""

from __future__ import annotations

from maple_submit_filter.answer.decision import Decision, decide
from maple_submit_filter.site.facts import GENERIC_SLURM, Site
from maple_submit_filter.types.submission import Submission

from tests.submit_filter import rule_cases

HEAD = b"#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4\n"
MASTER = b'export HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)\n'
EARLY = b"torchrun --nnodes=2 --nproc_per_node=4 --node_rank=$OMPI_COMM_WORLD_RANK --master_addr=$HEAD train.py\n"


def decided(body: bytes, site: Site = GENERIC_SLURM, files: dict[bytes, bytes] | None = None) -> Decision:
    """What is decided of a job whose folder holds *files* and no others."""
    asked = Submission("slurm", (b"sbatch", b"job.sh"), HEAD + body, "file", b"job.sh", b"/work", 1000, {})
    return decide(asked, site, (files or {}).get)


def codes(decision: Decision) -> list[tuple[str, bool]]:
    """Each finding, and whether it is proven."""
    return [(finding.code, finding.proven) for finding in decision.findings]


def test_a_file_that_nobody_can_read_seldom_sets_a_rank() -> None:
    """So a number of the task that the batch shell expands is told, and nothing is changed or offered."""
    decision = decided(b"source ~/env.sh\n" + MASTER + b"mpirun -np 2 --map-by ppr:1:node " + EARLY)
    assert [proven for _, proven in codes(decision)] and not any(proven for _, proven in codes(decision))
    assert "could not be read" in decision.findings[0].help
    assert decision.repaired is decision.offered is None


def test_what_is_certain_is_said_as_such_and_once() -> None:
    """Nothing is added by a rule that has spoken."""
    body = b"source ~/env.sh\nsrun torchrun --standalone --nnodes=2 --nproc_per_node=4 train.py\n"
    found = codes(decided(body))
    assert len({code for code, _ in found}) == len(found)


def test_a_file_is_taken_for_the_one_beside_the_script_where_the_folder_is_not_known() -> None:
    """`cd $SCRATCH/run` leads nobody knows where; a copy of it mostly lies where the job is submitted."""
    node = (
        b"#!/bin/bash\ntorchrun --nnodes=2 --nproc_per_node=4 --node_rank=$SLURM_NODEID --master_addr=localhost t.py\n"
    )
    found = decided(b"cd $SCRATCH/run\nsrun ./node.sh\n", files={b"/work/node.sh": node})
    assert codes(found) == [("MPL501", False)]
    assert codes(decided(b"cd $SCRATCH/run\nsrun ./node.sh\n")) == []


def test_the_last_job_of_an_array_is_the_one_that_is_looked_at() -> None:
    """A port that is counted from its number may be none."""
    body = b"#SBATCH --array=0-9%%4\n" + MASTER + b"srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d "
    body += b"--rdzv_id=7 --rdzv_endpoint=$HEAD:$((20000 + SLURM_ARRAY_TASK_ID * %d)) train.py\n"
    assert codes(decided(body % 10000)) == [("MPL508", False)]
    assert codes(decided(body % 10)) == []


def test_the_module_says_whose_mpirun_it_is() -> None:
    """Open MPI fills the slots of a node before it goes on to the next."""
    site = next(case.site for case in rule_cases.cases() if case.site.id == "tacc-vista")
    body = b"#SBATCH -p gh --ntasks-per-node=72\nmodule load openmpi\n" + MASTER
    told = b"torchrun --nnodes 2 --nproc_per_node 1 --rdzv_backend=c10d --rdzv_id=7 --rdzv_endpoint=$HEAD:29500 t.py\n"
    assert ("MPL301", False) in codes(decided(body + b"mpirun -np 2 " + told, site))
    assert "MPL301" not in dict(codes(decided(body + b"mpirun -np 2 --map-by ppr:1:node " + told, site)))
