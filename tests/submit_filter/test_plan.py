"""What would start, read off small scripts. The reality tests hold the same plan against what really ran."""

from __future__ import annotations

import pytest
from maple_submit_filter.answer.decision import understood
from maple_submit_filter.plan import breach_kinds
from maple_submit_filter.plan.build import plan
from maple_submit_filter.site.facts import GENERIC_SLURM, Site
from maple_submit_filter.types.job import Read
from maple_submit_filter.types.launch_plan import LaunchPlan, Step
from maple_submit_filter.types.submission import Submission
from maple_submit_filter.types.text import show

TWO_BY_FOUR = "--nodes=2 --ntasks-per-node=1 --gpus-per-node=4"
C10D = "--rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500"
HEAD = 'HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)\n'


def planned(
    body: str, request: str = TWO_BY_FOUR, site: Site = GENERIC_SLURM, read: Read | None = None, **env: str
) -> LaunchPlan:
    """The plan of a script with one directive line."""
    source = f"#!/bin/bash\n#SBATCH {request}\n{body}\n".encode()
    environment = {name.encode(): value.encode() for name, value in {"HOME": "/home/u", **env}.items()}
    job = understood(Submission("slurm", (b"sbatch", b"j.sh"), source, "file", b"j.sh", b"/w", 0, environment), read)
    assert job is not None
    return plan(job.submission, job.script, job.settings, site, job.arguments, job.read)


def only(body: str, request: str = TWO_BY_FOUR, read: Read | None = None, **env: str) -> Step:
    """The one step of such a script."""
    (step,) = planned(body, request, read=read, **env).steps
    return step


def kinds(step: Step) -> list[str]:
    return [breach.kind for breach in step.breaches]


def test_one_agent_on_each_node_makes_one_world():
    """srun ▸ torchrun: 2 agents of 4 make 8 ranks that meet at the first node."""
    step = only(
        HEAD + "srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 t.py"
    )
    (group,) = step.groups
    assert [link.name for link in step.links] == ["srun", "torchrun"]
    assert (group.nodes, group.ranks_per_node, group.world_size, len(group.processes)) == (2, 4, 8, 8)
    assert show(group.master or b"") == "<node 0>" and not step.breaches


def test_static_ranks_follow_the_node_rank_of_each_task():
    """Inside single quotes each task expands its own node id."""
    body = (
        "export "
        + HEAD
        + "srun bash -c 'torchrun --nnodes=2 --nproc_per_node=2 --node_rank=$SLURM_NODEID --master_addr=$HEAD t.py'"
    )
    (group,) = only(body).groups
    assert [(one.node, one.local_rank, one.rank) for one in group.processes] == [
        (0, 0, 0),
        (0, 1, 1),
        (1, 0, 2),
        (1, 1, 3),
    ]


def test_outside_single_quotes_the_batch_shell_expands_for_all():
    """Both nodes get rank 0."""
    line = "srun torchrun --nnodes=2 --nproc_per_node=2 --node_rank=$SLURM_NODEID --master_addr=$HEAD t.py"
    assert kinds(only(HEAD + line)) == ["node-rank"]


def test_a_step_inherits_the_number_of_tasks():
    """SLURM_NTASKS beats --ntasks-per-node on the line of srun (measured)."""
    step = only("srun --ntasks-per-node=1 python t.py", "-N2 --ntasks-per-node=4")
    assert (step.nodes, step.tasks, step.tasks_per_node) == (2, 8, 4)
    step = only("srun --ntasks=2 --ntasks-per-node=1 python t.py", "-N2 --ntasks-per-node=4")
    assert (step.tasks, step.tasks_per_node) == (2, 1)


def test_five_tasks_on_two_even_nodes_are_laid_out_three_and_two():
    """Measured on Slurm 22.05."""
    (group,) = only("srun -n5 python t.py", "-N2 --ntasks-per-node=4").groups
    assert [one.node for one in group.processes] == [0, 0, 0, 1, 1]


def test_eight_tasks_on_two_shared_nodes_may_be_laid_out_in_any_way():
    """`-N 2 -n 8` came out 7,1 when measured: where a task runs is not known."""
    (group,) = only("srun python t.py", "-N2 -n8").groups
    assert [one.node for one in group.processes] == [0] + [None] * 7


def test_without_nodes_the_scheduler_may_choose():
    """Nothing about nodes is known, so nothing is proven."""
    step = only("srun torchrun --nnodes=2 --nproc_per_node=4 t.py", "-n8")
    assert step.nodes is None and not step.breaches


def test_ranks_that_the_script_exports_are_the_ranks():
    """RANK from SLURM_PROCID inside the task."""
    body = "export WORLD_SIZE=$SLURM_NTASKS\nsrun bash -c 'RANK=$SLURM_PROCID python t.py'"
    (group,) = only(body, "-N2 --ntasks-per-node=2").groups
    assert [one.rank for one in group.processes] == [0, 1, 2, 3] and group.world_size == 4


def test_a_script_written_by_the_job_is_followed_in_the_task():
    """A here-document that becomes a script is a script of its own."""
    line = "torchrun --nnodes=2 --nproc_per_node=2 --node_rank=$SLURM_NODEID --master_addr=$1 t.py"
    body = f"cat > run.sh <<'EOF'\n{line}\nEOF\n{HEAD}srun bash run.sh \"$HEAD\""
    step = only(body)
    assert step.groups[0].world_size == 4 and not step.breaches


def test_files_on_disk_are_read_through_the_reader_only():
    """A sourced file is played through when it can be read, and makes everything unknown when it cannot."""
    body = f"source conf.env\n{HEAD}srun torchrun --nnodes=$N --nproc_per_node=2 {C10D} t.py"
    step = only(body, read=lambda path: b"N=3\n" if path == b"/w/conf.env" else None)
    assert kinds(step) == ["agents"]
    plan = planned(body)
    assert plan.unread == ((3, "a sourced file could not be read: conf.env"),) and not plan.steps[0].breaches


def test_a_variable_of_the_user_counts():
    """What the script names and the environment holds is known; what neither holds is unset."""
    line = HEAD + f"srun torchrun --nnodes=${{NN:-2}} --nproc_per_node=1 {C10D} t.py"
    assert kinds(only(line)) == []
    assert kinds(only(line, NN="5")) == ["agents"]


FIVE = f"torchrun --nnodes=5 --nproc_per_node=2 {C10D} t.py"
SILENT = {
    "the number is a secret of the user": HEAD
    + f"srun torchrun --nnodes=${{MY_TOKEN:-5}} --nproc_per_node=1 {C10D} t.py",
    "unknown words may hold any option": f"source unread.sh\n{HEAD}srun torchrun --nnodes=5 $EXTRA {C10D} t.py",
    "the line is only perhaps run": f"{HEAD}if [ -f x ]; then\nsrun {FIVE}\nfi",
    "other jobs may join at another host": f"HEAD=elsewhere\nsrun {FIVE}",
    "an unread list may start more": f"{HEAD}while read h; do srun -N1 -n1 -w $h {FIVE} & done < hosts\nwait",
    "a long loop starts more": f"{HEAD}for i in $(seq 1 12); do srun -N1 -n1 {FIVE} & done\nwait",
    "ssh may start the others": f"{HEAD}for h in $(cat hosts); do ssh $h {FIVE} & done\n{FIVE}",
    "an unknown program may be this script again": f"{HEAD}srun $AGAIN worker\nsource unread.sh\n{FIVE}",
}


@pytest.mark.parametrize("reason", SILENT)
def test_what_may_be_right_is_not_called_wrong(reason: str) -> None:
    """Each of these would be a breach if the reason did not stand."""
    assert [kinds(step) for step in planned(SILENT[reason]).steps if kinds(step)] == []


def test_the_same_lines_are_called_wrong_where_no_reason_stands():
    """The counterpart: the line that the reasons excuse is a breach by itself."""
    assert kinds(only(f"{HEAD}srun {FIVE}")) == ["agents"]


def test_tasks_of_an_array_may_form_one_world():
    """Each array task can be one node of it."""
    assert kinds(only(f"{HEAD}srun {FIVE}", TWO_BY_FOUR + " --array=0-4")) == []


def test_processes_may_share_a_gpu_under_mps():
    """So more ranks than GPUs prove nothing then."""
    line = "torchrun --standalone --nproc_per_node=4 t.py"
    assert kinds(only(line, "-N1 --gpus-per-node=2")) == ["gpus-visible"]
    assert kinds(only("nvidia-cuda-mps-control -d\n" + line, "-N1 --gpus-per-node=2")) == []


def test_the_number_of_tasks_may_follow_from_gpus():
    """`--gpus-per-task` without a number of tasks: Slurm works it out, so it is not known."""
    assert only("srun python t.py", "-N2 --gpus=8 --gpus-per-task=1").tasks is None


def test_launches_beside_each_other_may_form_one_world():
    """One agent on each node, started one by one in the background."""
    body = (
        "nodes=($(scontrol show hostnames $SLURM_JOB_NODELIST))\nfor i in 0 1; do\n"
        "srun -N1 -n1 -w ${nodes[$i]} "
        "torchrun --nnodes=2 --nproc_per_node=2 --node_rank=$i --master_addr=${nodes[0]} t.py &\ndone\nwait"
    )
    steps = planned(body).steps
    assert [breach.kind for step in steps for breach in step.breaches] == []
    assert steps[0].groups[0].world_size == 4


def test_the_plan_of_a_large_step_is_a_sample():
    """512 nodes: the first, the second and the last are played through, and the counts still hold."""
    request = "-N512 --ntasks-per-node=1 --gpus-per-node=4"
    (group,) = only(HEAD + f"srun torchrun --nnodes=512 --nproc_per_node=4 {C10D} t.py", request).groups
    assert group.world_size == 2048 and not group.complete and len({one.node for one in group.processes}) == 3
    assert kinds(only(HEAD + f"srun torchrun --nnodes=511 --nproc_per_node=4 {C10D} t.py", request)) == ["agents"]


def test_endless_scripts_end():
    """A script that would be played through for ever is cut, and says so."""
    double = "A=0123456789\n" + "A=$A$A$A$A\n" * 40
    assert planned(double + 'for i in $(seq 1 400); do for j in $(seq 1 400); do echo "$A"; done; done > f').steps == ()
    assert planned("A=(x)\n" + 'A=("${A[@]}" "${A[@]}")\n' * 40 + "set -- x\n" + 'set -- "$@" "$@"\n' * 40).steps == ()
    loops = "for i in $(seq 1 500); do for j in $(seq 1 500); do echo $(seq 1 500); done; done"
    assert planned("f() { f; f; }\nf\n" + loops).steps == ()


@pytest.mark.parametrize(
    ("machines", "total", "starts"),
    [(1, 3, None), (2, 4, None), (2, 3, 2), (2, 7, 6), (3, 9, None), (3, 8, 6), (4, 2, 0)],
)
def test_a_total_that_machines_cannot_share_starts_fewer(machines, total, starts):
    """From two machines on; each starts its whole share."""
    body = f"srun accelerate launch --num_machines={machines} --num_processes={total} --machine_rank=$SLURM_NODEID t.py"
    step = only(body, f"--nodes={machines} --ntasks-per-node=1 --gpus-per-node=4")
    said = [breach.numbers.get("starts") for breach in step.breaches if breach.numbers.get("machines")]
    assert said == ([] if starts is None else [starts])


@pytest.mark.parametrize("tasks", [1, 2, 3, 5])
def test_what_is_not_exported_is_missed_by_every_task_of_several(tasks):
    """A program alone may do without."""
    step = only("MASTER_ADDR=$(hostname) MASTER_PORT=29500\nsrun python train.py", f"--nodes=1 --ntasks={tasks}")
    assert (breach_kinds.WITHHELD in kinds(step)) == (tasks > 1)


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("train() {\n  srun python a.py\n}\nsrun python b.py\ntrain", [4, 6]),
        ("srun --nodes=9 python a.py\nsrun python b.py", [3, 4]),  # refused: no process of it starts
        ("srun python a.py\nsrun --nodes=9 python b.py\nsrun python c.py", [3, 4, 5]),
    ],
)
def test_steps_stand_as_their_lines_do(body, lines):
    """Not as they run: a function's line is where it is written."""
    assert [step.line for step in planned(body).steps] == lines


@pytest.mark.parametrize(
    ("sets", "lacks"),
    [("", True), ("if [ $SLURM_PROCID = 0 ]; then export RANK=0; fi; ", False), ("export RANK=0; ", False)],
)
def test_a_step_lacks_what_none_of_its_tasks_has(sets, lacks):
    """What one of them has may be meant for the others too."""
    step = only(f"srun bash -c '{sets}python train.py'", "--nodes=1 --ntasks=2")
    assert (b"RANK" in step.lacks) == lacks


@pytest.mark.parametrize(
    "agents", ["--rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500", "--master_addr=$HEAD --node_rank=0"]
)
@pytest.mark.parametrize(
    ("name", "known"), [("7", True), ("$SLURM_JOB_ID", True), ("$RANDOM", True), ("$(cat id)", False)]
)
def test_agents_meet_by_a_name_that_is_known_and_the_static_ones_by_none(agents, name, known):
    """One that differs is as good as known; of one that nobody can tell nothing is said, if anything goes by it."""
    body = f"export {HEAD}srun bash -c 'torchrun --nnodes=3 --nproc_per_node=4 --rdzv_id={name} {agents} t.py'"
    assert bool(kinds(only(body))) == (known or "c10d" not in agents)
