"""What scripts met outside do in passing: lists cut in two or turned round, IFS, loops that read, tools looked up."""

from __future__ import annotations

import pytest
from maple_submit_filter.answer.decision import understood
from maple_submit_filter.plan.build import plan
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.types.launch_plan import LaunchPlan
from maple_submit_filter.types.submission import Submission
from maple_submit_filter.types.text import show

HOSTS = "scontrol show hostnames $SLURM_JOB_NODELIST"
LIST = f"N=($({HOSTS}))\n"
STATIC = "srun bash -c 'torchrun --nnodes=4 --nproc_per_node=2 --node_rank=$SLURM_NODEID --master_addr='$M' t.py'"


def planned(body: str) -> LaunchPlan:
    """The plan of a job of four nodes of two GPUs."""
    head = "#!/bin/bash\n#SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=2\n"
    source = f"{head}{body}\n".encode()
    job = understood(Submission("slurm", (b"sbatch", b"j"), source, "file", b"j", b"/w", 0, {b"HOME": b"/h"}), None)
    assert job is not None
    return plan(job.submission, job.script, job.settings, GENERIC_SLURM, job.arguments, job.read)


def words(body: str) -> list[str]:
    """What `python a.py` is given on the one launch line."""
    (step,) = planned(body).steps
    assert step.program[:2] == (b"python", b"a.py")
    return [show(word) for word in step.program[2:]]


def master(body: str) -> tuple[str, list[str]]:
    """Where the ranks of a static run would meet, and what is wrong with that."""
    (step,) = planned(body + "\n" + STATIC).steps
    (group,) = step.groups
    return show(group.master or b""), [breach.kind for breach in step.breaches]


@pytest.mark.parametrize(
    ("cut", "left"),
    [
        ('"${N[@]:0:2}"', ["<node 0>", "<node 1>"]),
        ('"${N[@]:1}"', ["<node 1>", "<node 2>", "<node 3>"]),
        ('"${N[@]:0:$((SLURM_NNODES - 3))}"', ["<node 0>"]),
        ("${N[@]: -1}", ["<node 3>"]),
        ('"${#N[@]}"', ["4"]),
    ],
)
def test_a_slice_of_a_list_is_some_of_its_elements(cut, left):
    """Not a part of each: training nodes and the node of a server are often cut out of one list."""
    assert words(LIST + "srun python a.py " + cut) == left


def test_arguments_are_counted_from_one():
    """`${@:2}` leaves the first out."""
    assert words('set -- x y z\nsrun python a.py "${@:2}"') == ["y", "z"]


def test_a_list_is_joined_by_what_ifs_says():
    """The comma of a subshell's IFS stays in that subshell."""
    body = LIST + 'L=$(IFS=,; echo "${N[*]}")\nsrun --nodelist=$L python a.py $L "${N[*]:0:2}"'
    assert words(body) == ["<node 0>,<node 1>,<node 2>,<node 3>", "<node 0> <node 1>"]


def test_words_are_cut_at_ifs_and_at_blanks_again_when_it_is_put_back():
    """OLD=$IFS keeps what every shell starts with."""
    body = 'OLD=$IFS; IFS=,; a=$1; L="x,y z"; set -- $L; A=$#; IFS=$OLD; set -- $L\nsrun python a.py $A $#'
    assert words(body) == ["2", "2"]


@pytest.mark.parametrize(
    "write",
    [
        f'{HOSTS} | while read -r line; do echo "${{line}} slots=2"; done > hf',
        f'while read h; do echo "$h slots=2" >> hf; done < <({HOSTS})',
        f'while IFS= read -r h; do\n  echo "$h slots=2"\ndone < <({HOSTS}) > hf',
    ],
)
def test_a_loop_over_the_lines_of_a_list_writes_a_hostfile(write):
    """Three ways to write one line for each node."""
    assert words(write + "\nsrun python a.py $(wc -l < hf) $(tail -n 1 hf)") == ["4", "<node 3>", "slots=2"]


@pytest.mark.parametrize("order", ["sort -r", "sort -R", "sort -k2", "shuf", "xargs -I{} ./pick {}"])
def test_who_comes_last_in_a_list_put_in_another_order_is_not_known(order):
    """The last of a list turned round is the first node: nothing may be said against it as a master."""
    assert master(f"M=$({HOSTS} | {order} | tail -n 1)") == ("<unknown>", [])


def test_a_list_turned_round_ends_with_the_first_node():
    """tac is known."""
    assert master(f"M=$({HOSTS} | tac | tail -n 1)") == ("<node 0>", [])


@pytest.mark.parametrize(
    "tool", ["$(which torchrun)", '"$(command -v torchrun)"', "$(which python) -m torch.distributed.run"]
)
def test_a_tool_that_is_looked_up_is_known_by_name(tool):
    """Where it lies does not matter."""
    options = "--nnodes=4 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_endpoint=$M:1"
    line = f"M=$({HOSTS} | head -1)\nsrun {tool} {options} t.py"
    (step,) = planned(line).steps
    assert step.links[-1].name == "torchrun" and step.groups[0].world_size == 8


def test_a_tool_that_is_looked_up_may_not_be_there():
    """So both ways of the question are followed."""
    steps = planned('if [ -n "$(command -v jq)" ]; then srun python a.py; else srun python b.py; fi').steps
    assert [step.maybe for step in steps] == [True, True]


def test_older_spellings_of_srun_are_its_options():
    """Slurm 22.05 takes --cpu_bind and --tasks-per-node as it takes the newer ones (and no --mem_bind)."""
    (step,) = planned("srun --cpu_bind=none,v --tasks-per-node=2 --ntasks=8 python t.py").steps
    assert (step.tasks, step.unknown) == (8, ())
    (step,) = planned("srun --mem_bind=local python t.py").steps
    assert step.unknown


def test_a_container_of_podman_or_docker_is_seen_through():
    """The words behind the image are the program."""
    line = " run --rm --ipc=host -v a:b image torchrun --standalone --nproc_per_node=2 t.py"
    (step,) = planned("podman" + line).steps
    assert step.links[-1].name == "torchrun" and step.workers_per_task == 2
    (step,) = planned("docker" + line).steps
    assert step.links[-1].name == "torchrun" and step.images[0][0] == "docker run"


def test_what_echo_makes_of_backslashes_is_not_taken_for_lines():
    """`echo -e "a\\nb"` prints two lines, in bash."""
    assert words('srun python a.py "$(echo -e "x\\ny" | head -n 1)"') == ["<unknown>"]
