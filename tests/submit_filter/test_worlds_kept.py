"""What is repaired unasked leaves every world as it was meant; anything else is offered, with both sizes."""

from __future__ import annotations

import pytest
from maple_agents.ask import sites
from maple_submit_filter.answer.decision import Decision, decide, examined, understood
from maple_submit_filter.plan.declared_worlds import Played, World, lost, sizes
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.types.submission import Submission

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


@pytest.mark.parametrize(
    ("asked", "counts"),
    [
        ("--nodes=2 --ntasks-per-node=4", b"--nnodes=$((SLURM_NTASKS/4)) --nproc_per_node=$SLURM_NTASKS_PER_NODE"),
        ("--nodes=2 --ntasks=8", b"--nnodes=2 --nproc_per_node=${SLURM_NTASKS_PER_NODE:-4}"),
    ],
    ids=["two counts", "a default that would no longer hold"],
)
def test_every_count_that_the_cure_would_change_is_written_as_a_number(asked, counts):
    head = f"#!/bin/bash\n#SBATCH {asked} --gpus-per-node=4 --exclusive\n{MASTER}export HEAD\n"
    repaired = decided(head + f"srun bash -c 'torchrun {counts.decode()} {MEETS} t.py'\n").repaired
    assert repaired is not None and b"torchrun --nnodes=2 --nproc_per_node=4 --rdzv_id" in repaired.script
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


def test_tasks_are_not_taken_away_unasked_where_nobody_says_how_many_workers_each_has():
    """Eight tasks of one worker fill eight GPUs: two of them are another world."""
    decision = decided(HEAD + MASTER + f"srun torchrun --nnodes=2 {MEETS} train.py\n")
    assert decision.repaired is None and decision.offered is not None
    assert "a world of 2 ranks, where a world of 8 ranks is meant" in decision.offered.says[0]


def test_one_worker_that_is_typed_may_be_what_was_meant():
    """It leaves GPUs of the node idle, so it is asked about."""
    decision = decided(HEAD + MASTER + f"srun torchrun --nnodes=2 --nproc_per_node=1 {MEETS} train.py\n")
    assert decision.repaired is None and decision.offered is not None
    assert started(decision.offered.script) == {2}


PBS = """\
#!/bin/bash
#PBS -A proj
#PBS -q debug
#PBS -l select=2:system=polaris:ncpus=64:ngpus=4:mpiprocs=4
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
export HEAD=$(head -n 1 $PBS_NODEFILE)
NODES=$(sort -u $PBS_NODEFILE | wc -l)
TASKS=$(wc -l < $PBS_NODEFILE)
"""


@pytest.mark.parametrize(
    "line",
    [
        f"mpiexec -n $TASKS --ppn 4 torchrun --nnodes=$NODES --nproc_per_node=$((TASKS/NODES)) {MEETS} t.py",
        f"mpiexec -n 8 --ppn 4 bash -c 'torchrun --nnodes=2 --nproc_per_node=$PALS_LOCAL_SIZE {MEETS} t.py'",
        f"mpiexec -n 8 --ppn 4 bash -c 'torchrun --nnodes=$((PMI_SIZE/4)) --nproc_per_node=4 {MEETS} t.py'",
        f"mpiexec -n 8 --ppn 4 bash -c 'torchrun --nnodes=2 --nproc_per_node=$((PMI_SIZE/2)) {MEETS} t.py'",
        "cat > w.sh <<'END'\n"
        f"torchrun --nnodes=2 --nproc_per_node=$PALS_LOCAL_SIZE {MEETS} t.py\nEND\nmpiexec -n 8 --ppn 4 bash w.sh",
        f"go() {{ mpiexec -n 8 --ppn 4 torchrun --nnodes=2 --nproc_per_node=4 {MEETS} t.py; }}\ngo",
        "mpiexec -n 8 --ppn 4 bash -c 'accelerate launch --multi_gpu --num_machines 2 --num_processes $PMI_SIZE"
        " --machine_rank 0 --main_process_ip $HEAD --main_process_port 29500 --rdzv_backend c10d t.py'",
    ],
)
def test_the_same_holds_under_pbs_in_the_words_of_pals(line):
    def of(script: bytes) -> Decision:
        asked = Submission("pbs", (b"qsub", b"job.sh"), script, "file", b"job.sh", b"/work", 1000, {})
        return decide(asked, sites.load("alcf-polaris"))

    repaired = of((PBS + line + "\n").encode()).repaired
    assert repaired is not None and repaired.script is not None
    again = of(repaired.script).plan
    assert again is not None
    assert [group.world_size for step in again.steps for group in step.groups] == [8]


def played(nodes: int, gpus: int, line: str) -> Played:
    """What a script on so many nodes and GPUs would start by that launch line."""
    asked = f"--nodes={nodes} --ntasks-per-node=1" + (f" --gpus-per-node={gpus}" if gpus else "")
    source = f"#!/bin/bash\n#SBATCH {asked}\n{MASTER}{line}\n"
    job = understood(Submission("slurm", (b"sbatch", b"j"), source.encode(), "file", b"j", b"/work", 1000, {}), None)
    assert job is not None
    return examined(job, GENERIC_SLURM).played()


@pytest.mark.parametrize(
    ("nodes", "gpus", "told", "made"),
    [
        (2, 4, (2, 4), ""),
        (4, 4, (4, 2), "a world of 8 ranks (2 on each of 4 nodes), where a world of 8 ranks (4 on each of 2 nodes)"),
        (1, 8, (1, 8), "a world of 8 ranks (all on one node), where a world of 8 ranks (4 on each of 2 nodes)"),
        (2, 2, (2, 2), "a world of 4 ranks, where a world of 8 ranks"),
        (2, 4, (1, 4), "a world of 4 ranks, where a world of 8 ranks"),
        (4, 4, (4, 4), "a world of 16 ranks, where a world of 8 ranks"),
    ],
)
def test_a_world_of_the_same_size_is_another_one_on_other_nodes(nodes, gpus, told, made):
    """Two nodes with four workers each were declared: their size, the workers on a node and the nodes are kept."""

    def line(count: int, workers: int) -> str:
        return f"srun torchrun --nnodes={count} --nproc_per_node={workers} {MEETS} t.py"

    losses = lost(played(2, 4, line(2, 4)), played(nodes, gpus, line(*told)))
    assert [str(loss) for loss in losses] == ([f"line 4 would start {made} is meant"] if made else [])


RUN = f"torchrun --nnodes=2 --nproc_per_node=4 {MEETS} t.py"
SPLIT = "--nnodes=$((2 - SLURM_PROCID/2)) --nproc_per_node=4 --rdzv_id=$((SLURM_PROCID/2)) --rdzv_backend=c10d"


@pytest.mark.parametrize(
    ("why", "before", "after", "made"),
    [
        ("the nodes that were declared are asked for", (1, f"srun {RUN}"), (2, f"srun {RUN}"), ""),
        ("it was not seen before", (2, f"srun python {RUN}"), (2, f"srun {RUN}"), ""),
        ("nobody had written it", (2, "srun python t.py"), (2, f"srun {RUN}"),
         "a world of 8 ranks, where a world of 2 ranks"),
        ("another one forms beside it", (2, f"srun {RUN}"),
         (3, f"export HEAD; srun bash -c 'torchrun {SPLIT} --rdzv_endpoint=$HEAD:29500 t.py'"),
         "worlds of 4 and 8 ranks, where a world of 8 ranks"),
    ],
)  # fmt: skip
def test_which_world_was_meant_is_told_by_what_the_user_wrote(why, before, after, made):
    """Not by a fix's own words; and one world is not two."""
    losses = lost(played(before[0], 4, before[1]), played(after[0], 4, after[1]))
    assert [str(loss) for loss in losses] == ([f"line 4 would start {made} is meant"] if made else []), why


@pytest.mark.parametrize(
    ("gpus", "before", "after"),
    [
        (4, RUN.replace("=4 ", "=8 "), RUN),
        (
            1,
            "bash -c 'WORLD_SIZE=4 RANK=$SLURM_PROCID python t.py'",
            "bash -c 'WORLD_SIZE=2 RANK=$SLURM_PROCID python t.py'",
        ),
    ],
    ids=["more workers than GPUs", "more ranks than tasks"],
)
def test_where_what_was_declared_has_no_room_the_world_that_fills_the_request_is_meant(gpus, before, after):
    """The one reading of declarations that contradict what was asked for."""
    head = "export HEAD MASTER_ADDR=$HEAD MASTER_PORT=29500; srun "
    assert lost(played(2, gpus, head + before), played(2, gpus, head + after)) == ()


def test_where_nobody_knows_what_was_meant_nothing_is_shown_to_keep_it():
    """Neither a number of workers nor one of GPUs is known: whatever starts may be another world."""
    before = f"srun torchrun --nnodes=2 --nproc_per_node=$(cat workers) {MEETS} t.py"
    (loss,) = lost(played(2, 0, before), played(2, 0, f"srun {RUN}"))
    assert str(loss) == "line 4 would start a world of 8 ranks, where it is not known what is meant"
    assert lost(played(2, 4, before), played(2, 4, f"srun {RUN}")) == ()  # eight GPUs were asked for


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
