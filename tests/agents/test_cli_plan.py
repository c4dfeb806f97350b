"""`maple plan`: the tree that people read, and the JSON that programs read."""

from __future__ import annotations

import json

import pytest
from maple_agents.base.output import Branch
from maple_agents.cli.plan import branches
from maple_submit_filter.answer.decision import Decision
from maple_submit_filter.types.edits import Span
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.launch_plan import Allocation, Group, LaunchPlan, Link, Process, Step
from maple_submit_filter.types.text import host, unknown

MASTER = host(0)


def made(kind, **fields):
    """Return a value of a plan's type; what the test does not say is not known."""
    return kind(**{**dict.fromkeys(kind._fields), **fields})


GIVEN = made(
    Allocation,
    nodes=2,
    tasks=2,
    tasks_per_node=1,
    cpus_per_task=8,
    gpus_per_node=2,
    gpus_per_task=None,
    node_kinds=(),
    partition="gpu",
    shared=None,
)


def processes(nodes, each, rank=lambda node, local, each: node * each + local, gpus=(b"0", b"1")):
    return tuple(
        made(
            Process,
            node=node,
            task=node,
            local_rank=local,
            rank=rank(node, local, each),
            world_size=nodes * each,
            master=MASTER,
            port=b"29500",
            gpus=gpus,
            cpus=8,
            binds_gpu=True,
        )
        for node in range(nodes)
        for local in range(each)
    )


def step(workers, **fields):
    size = len(workers)
    group = made(Group, processes=workers, nodes=2, world_size=size, declared=size, master=MASTER, port=b"29500")
    link = made(Link, name="srun")
    whole = made(
        Step,
        line=7,
        span=Span(40, 80),
        links=(link, link._replace(name="torchrun")),
        groups=(group._replace(complete=True),),
        breaches=(),
        nodes=2,
        tasks=2,
        tasks_per_node=1,
        workers_per_task=2,
        program=(b"train.py", b"--lr=1"),
        background=False,
        maybe=False,
        unknown=(),
    )
    return whole._replace(**fields)


def drawn(*steps, findings=(), unread=()):
    """Return the tree as indented lines."""

    def lines(branch: Branch, depth: int):
        yield "  " * depth + branch.label
        for below in branch.below:
            yield from lines(below, depth + 1)

    return list(lines(branches(made(LaunchPlan, allocation=GIVEN, steps=steps, unread=unread), "job.sh", findings), 0))


def test_two_nodes_are_drawn_rank_by_rank():
    assert drawn(step(processes(2, 2))) == [
        "job.sh: 2 nodes, 2 tasks, 2 GPUs a node, in gpu",
        "  line 7: srun ▸ torchrun ▸ train.py --lr=1",
        "    world of 4, master <node 0>:29500",
        "      node 0: 2 processes, ranks 0-1",
        "        rank 0, local 0, GPU 0, 8 CPUs",
        "        rank 1, local 1, GPU 1, 8 CPUs",
        "      node 1: 2 processes, ranks 2-3",
        "        rank 2, local 0, GPU 0, 8 CPUs",
        "        rank 3, local 1, GPU 1, 8 CPUs",
    ]


def test_many_nodes_alike_are_told_once():
    tree = drawn(step(processes(16, 2)))
    assert tree[3:] == [
        "      node 0: 2 processes, ranks 0-1",
        "        rank 0, local 0, GPU 0, 8 CPUs",
        "        rank 1, local 1, GPU 1, 8 CPUs",
        "      nodes 1-15: 30 processes, ranks 2-31, alike",
    ]


def test_worlds_alike_are_told_once():
    """Copies of an agent on two nodes: the first in full, one line for the rest; a world that differs is shown."""
    (group,) = step(processes(1, 2)).groups
    moved = [group._replace(processes=tuple(one._replace(node=node, task=node) for one in group.processes))
             for node in (0, 0, 1, 1)]  # fmt: skip
    other = group._replace(world_size=3)
    tree = drawn(step(processes(1, 2), groups=(*moved, other)))
    assert [line for line in tree if "world" in line] == [
        "    world of 2, master <node 0>:29500",
        "    3 more worlds of 2, alike, on nodes 0-1",
        "    world of 3, declared as 2, master <node 0>:29500",
    ]


def test_a_node_that_differs_stands_out():
    workers = processes(16, 2)
    other = tuple(one._replace(gpus=(b"0",)) if one.node == 9 else one for one in workers)
    tree = drawn(step(other))
    assert [line.strip().split(":")[0] for line in tree if " node" in line[:11] and ":" in line] == [
        "node 0",
        "nodes 1-8",
        "node 9",
        "nodes 10-15",
    ]
    assert "        rank 19, local 1, no GPU left (sees 0), 8 CPUs" in tree


def test_ranks_that_start_twice_are_said_to():
    again = processes(2, 2, rank=lambda node, local, each: local)
    twice = tuple(one._replace(node=0) for one in again)
    assert "      node 0: 4 processes, ranks 0-1, some more than once" in drawn(step(twice))


def test_tasks_that_each_start_workers_are_told_apart():
    """The fan-out, seen: two tasks on one node, and both want the same GPUs."""
    workers = tuple(one._replace(node=0) for one in processes(2, 2, rank=lambda *_: None))
    assert drawn(step(workers))[3:] == [
        "      node 0: 4 processes, ranks settled at the rendezvous",
        "        task 0: 2 processes, ranks settled at the rendezvous, GPUs 0, 1",
        "        task 1: 2 processes, ranks settled at the rendezvous, GPUs 0, 1",
    ]


def test_with_a_rendezvous_no_rank_is_made_up():
    tree = drawn(step(processes(2, 2, rank=lambda *_: None)))
    assert "      node 0: 2 processes, ranks settled at the rendezvous" in tree
    assert "        local 0, GPU 0, 8 CPUs" in tree


def test_what_is_not_known_is_a_question_mark():
    lost = made(Process, binds_gpu=True)
    group = made(Group, processes=(lost,), master=unknown(b"HOST").raw, complete=False)
    tree = drawn(step((), groups=(group,), unknown=("the value of $N",), maybe=True, background=True))
    assert tree[1:] == [
        "  line 7: srun ▸ torchrun ▸ train.py --lr=1 &, only if a condition holds",
        "    world of ?, master <unknown>",
        "      node ?: 1 process, ranks not known",
        "        rank ?, local ?",
        "      these are samples; ? nodes in all",
        "    not known: the value of $N",
    ]


def test_what_is_wrong_stands_below_its_step():
    inside = Finding("MPL301", "ranks start twice", Span(45, 50))
    outside = Finding("MPL101", "a directive too late", Span(5, 9))
    tree = drawn(step(processes(1, 1)), findings=(inside, outside))
    assert tree[-1] == "    MPL301 ranks start twice"


def test_lines_that_were_not_read_are_named():
    assert drawn(unread=((9, "jsrun is not known"),))[1:] == ["  line 9: not read: jsrun is not known"]
    assert drawn()[1:] == ["  no launch line"]


def test_a_script_cannot_write_on_the_terminal():
    tree = drawn(step(processes(1, 1), program=(b"\x1b]0;owned\x07", b"[bold]x[/]")))
    assert tree[1] == r"  line 7: srun ▸ torchrun ▸ \x1b]0;owned\x07 [bold]x[/]"


@pytest.fixture
def job(maple, tmp_path):
    (tmp_path / "job.sh").write_bytes(b"#!/bin/bash\nsrun torchrun train.py\n")
    return "job.sh"


def test_the_tree_is_drawn_in_full_where_there_is_no_terminal(maple, decided, job):
    long = step(processes(2, 2), program=(b"train.py", b"--name=" + b"x" * 400, b"[bold]"))
    decided(Decision("clean", plan=made(LaunchPlan, allocation=GIVEN, steps=(long,), unread=())))
    said = maple("plan", job)
    assert said.code == 0
    assert said.out.splitlines()[1] == f"└── line 7: srun ▸ torchrun ▸ train.py --name={'x' * 400} [bold]"


def test_the_json_names_every_process(maple, decided, job):
    decided(
        Decision(
            "clean", plan=made(LaunchPlan, allocation=GIVEN, steps=(step(processes(2, 2)),), unread=((9, "not read"),))
        )
    )
    answer = json.loads(maple("plan", job, "--json", "--site", "generic-slurm").out)
    assert sorted(answer) == ["allocation", "scheduler", "site", "site_known_by", "steps", "unread"]
    assert answer["unread"] == [{"line": 9, "says": "not read"}]
    assert answer["steps"][0]["groups"][0]["processes"][3] == {
        "node": 1,
        "task": 1,
        "local_rank": 1,
        "rank": 3,
        "world_size": 4,
        "master": "<node 0>",
        "port": "29500",
        "gpus": ["0", "1"],
        "cpus": 8,
    }


def test_without_a_plan_one_line_says_so(maple, decided, job):
    decided(Decision("unread"))
    said = maple("plan", job)
    assert (said.code, said.out) == (2, "")
    assert said.err == "maple: job.sh: there is no plan: the script could not be read; see maple check\n"


def test_what_the_scheduler_refuses_is_said_with_the_tree(maple, tmp_path):
    """Also a word of the command line, which stands in no launch line; in the words of `maple check`."""
    (tmp_path / "job.sh").write_text("#!/bin/bash\n#SBATCH -N 2\nsrun torchrun --nproc-per-node=4 t.py\n")
    words = ("job.sh", "--site", "generic-slurm", "--", "--nodes=four")
    drawn, checked = maple("plan", *words), maple("check", *words)
    line = next(one for one in checked.out.split("\n") if "MPL217" in one)
    assert drawn.code == 0 and "? nodes" in drawn.out and line in drawn.out.split("\n")


def test_what_is_wrong_in_a_launch_line_stands_in_the_tree_alone(maple, tmp_path):
    """Once is enough."""
    (tmp_path / "job.sh").write_text("#!/bin/bash\n#SBATCH -N 2\n#SBATCH --ntasks-per-node=4\n"
                                     "srun torchrun --nnodes=2 --nproc-per-node=4 t.py\n")  # fmt: skip
    assert maple("plan", "job.sh", "--site", "generic-slurm").out.count("MPL301") == 1
