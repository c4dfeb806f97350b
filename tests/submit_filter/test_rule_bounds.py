"""At which number rules about numbers begin to speak: a script a rule, with the numbers around its bound."""

from __future__ import annotations

import itertools
from typing import Optional

import pytest
from maple_submit_filter.answer.decision import decide, examined, understood
from maple_submit_filter.repair.search import State
from maple_submit_filter.rules.launch.mpl310_step_refused import _has_room
from maple_submit_filter.site.facts import GENERIC_PBS, NodeKind, Partition
from maple_submit_filter.types.edits import apply
from maple_submit_filter.types.submission import Submission

from tests.reality.asked import site
from tests.submit_filter.test_breach_bounds import HERE
from tests.submit_filter.test_heart import submitted

SITE = HERE._replace(
    partitions=(
        Partition("gpu", "partition", ("n",), 4, 2, 8, 5400, max_gpus=16),
        Partition("any", "partition", ("n",)),
    ),
    partitions_complete=True,
    kinds=(HERE.kinds[0]._replace(cores=64, threads_per_core=1, memory_gib=256),),
)
GPU = "#SBATCH -p gpu --nodes=2 --ntasks-per-node=4 --gpus-per-node=4 --time=10\n"
Row = tuple[
    str, str, tuple[object, ...], tuple[object, ...]
]  # the rule, the script with {n}, where it speaks, where not

ROWS: list[Row] = [
    ("MPL203", "#SBATCH --nodes=1 --ntasks=1\ntorchrun --nproc-per-node={n} a.py\n", (5, 8), (1, 3, 4)),
    ("MPL204", GPU.replace("gpus-per-node=4", "gpus-per-node={n}") + "srun a.out\n", (5, 8), (3, 4)),
    (
        "MPL204",
        GPU.replace(" --nodes=2 --ntasks-per-node=4 --gpus-per-node=4", " --ntasks-per-node={n} --gpus-per-task=2")
        + "srun a.out\n",
        (3, 4),
        (1, 2),
    ),
    ("MPL206", GPU.replace("nodes=2", "nodes={n}") + "srun a.out\n", (1, 9, 10), (2, 3)),
    ("MPL206", GPU.replace("time=10", "time={n}") + "srun a.out\n", (91, 120), (89, 90)),
    ("MPL310", "#SBATCH --nodes=2\nsrun --nodes={n} python a.py\n", (3, 4), (1, 2)),
    (
        "MPL319",
        "#SBATCH -p any --nodes=1 --gpus-per-node=4 --ntasks={n}\nsrun --gpus-per-task=1 python a.py\n",
        (2, 3),
        (1, 4),
    ),
    (
        "MPL319",
        "#SBATCH -p any --nodes=1 --gpus-per-node={n} --ntasks=1\ntorchrun --nproc-per-node=1 a.py\n",
        (2, 4),
        (1,),
    ),
]


@pytest.mark.parametrize(
    ("code", "script", "speaks", "silent"), ROWS, ids=lambda one: one if isinstance(one, str) else ""
)
def test_a_rule_speaks_from_its_bound_on(
    code: str, script: str, speaks: tuple[object, ...], silent: tuple[object, ...]
) -> None:
    """The number before it is right."""
    found = {
        n: {
            one.code
            for one in decide(submitted(b"#!/bin/bash\n" + script.replace("{n}", str(n)).encode()), SITE, None).findings
        }
        for n in (*speaks, *silent)
    }
    assert {n: code in codes for n, codes in found.items()} == {
        **dict.fromkeys(speaks, True),
        **dict.fromkeys(silent, False),
    }


@pytest.mark.parametrize("nodes", [1, 2, 3])
@pytest.mark.parametrize("each", [None, 1, 2, 4])
def test_what_starts_more_processes_starts_as_many_as_the_world_has(nodes: int, each: Optional[int]) -> None:
    """Whatever stood there; nothing is offered where so many cannot be shared out."""
    option = "" if each is None else "--ppn %d " % each
    for count, world in itertools.product((1, 2, 4), (2, 3, 4, 8)):
        script = MPIEXEC % (nodes, world, count, option)
        findings = [finding for finding in _played(script).findings if finding.code == "MPL306"]
        made = [apply(script.encode(), fix.edits) for finding in findings for fix in finding.fixes]
        shared_out = each is None or each * nodes == world or world % nodes == 0
        assert bool(made) == (bool(findings) and shared_out)
        for other in made:
            state = _played(other.decode())
            assert state.plan.steps[0].tasks == world, other
            assert "MPL306" not in [finding.code for finding in state.findings], other


MPIEXEC = (
    "#!/bin/bash\n#PBS -A A\n#PBS -q debug\n#PBS -l select=%d\n#PBS -l walltime=00:30:00\ncd $PBS_O_WORKDIR\n"
    "export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE) MASTER_PORT=29500 WORLD_SIZE=%d\nmpiexec -n %d %spython train.py\n"
)


def _played(script: str) -> State:
    words = (b"qsub", b"job.sh")
    job = understood(Submission("pbs", words, script.encode(), "file", b"job.sh", b"/w", 1000, {}), None, None)
    assert job is not None
    return examined(job, site("alcf-polaris"))


@pytest.mark.parametrize(
    ("words", "line", "speaks"),
    [((), "", True), ((b"--container-image=a/b",), "", False), ((), "export SLURM_CONTAINER_IMAGE=a/b\n", False)],
)
def test_an_image_may_be_told_in_any_one_way(words: tuple[bytes, ...], line: str, speaks: bool) -> None:
    """On the command line alone, or by a variable alone."""
    script = "#!/bin/bash\n#SBATCH --nodes=2\n%ssrun --container-mounts=/data:/data python train.py\n" % line
    asked = submitted(script.encode())._replace(argv=(b"sbatch", *words, b"job.sh"))
    assert ("MPL703" in [finding.code for finding in decide(asked, SITE, None).findings]) == speaks


HEADS = "#SBATCH --nodes=2 --ntasks-per-node=1\nsrun {n}ray start --head --block &\nwait\n"
ON_NODES = "#PBS -l select=2:ncpus=8:ngpus=4\ncd $PBS_O_WORKDIR\nconda activate torch\npbsdsh -- {n}\n"
ACTIVE = "#PBS -l select=2:ncpus=8:ngpus=4\ncd $PBS_O_WORKDIR\nsource {n}\npbsdsh -- python train.py\n"

OFFERED: list[Row] = [  # the rule, the script with {n}, where it has something to offer, where not
    ("MPL328", HEADS, ("", "--label "), ("--nodes=2 ", "--ntasks=2 ", "--ntasks-per-node=1 ")),
    ("MPL411", ON_NODES, ("python train.py",), ('python train.py --name "a b"', "python train.py a\\ b")),
    ("MPL411", ACTIVE, ("env/bin/activate", "$HOME/env/bin/activate"), ('"$HOME/env/bin/activate"',)),
]


@pytest.mark.parametrize(
    ("code", "script", "offers", "tells"), OFFERED, ids=lambda one: one if isinstance(one, str) else ""
)
def test_a_rule_offers_a_change_where_it_can_be_written(
    code: str, script: str, offers: tuple[object, ...], tells: tuple[object, ...]
) -> None:
    """Where the line's own words or quotes are in the way it only tells."""
    made = {}
    for n in (*offers, *tells):
        source = ("#!/bin/bash\n" + script.replace("{n}", str(n))).encode()
        asked = submitted(source)
        if "#PBS" in script:
            asked = asked._replace(scheduler="pbs", argv=(b"qsub", b"job.sh"))
        findings = decide(asked, GENERIC_PBS if "#PBS" in script else SITE, None).findings
        made[n] = [bool(finding.fixes) for finding in findings if finding.code == code]
    assert made == {**dict.fromkeys(offers, [True]), **dict.fromkeys(tells, [False])}


def kinds_of(*cores: Optional[int], gpus: int = 4) -> tuple[NodeKind, ...]:
    return tuple(NodeKind("n%d" % at, gpus=gpus, cores=each, threads_per_core=1) for at, each in enumerate(cores))


@pytest.mark.parametrize(
    ("words", "nodes", "tasks", "kinds", "room"),
    [
        ("--cpus-per-task=16", 2, 8, kinds_of(64), True), ("--cpus-per-task=17", 2, 8, kinds_of(64), False),
        ("--cpus-per-task=16", 2, 9, kinds_of(64), False), ("--cpus-per-task=17", 2, 7, kinds_of(64, 128), True),
        ("--cpus-per-task=17", 2, 8, kinds_of(128, 64), True), ("--cpus-per-task=17", 2, 8, kinds_of(None), True),
        ("", 1, 64, kinds_of(64), True), ("", 1, 65, kinds_of(64), False), ("", 1, None, kinds_of(1), True),
        ("--gpus-per-task=1", 2, 8, kinds_of(None), True), ("--gpus-per-task=1", 2, 9, kinds_of(None), False),
        ("--gpus-per-task=1", 2, 9, kinds_of(None, gpus=0), True), ("--gpus-per-task=2", 1, 8, (), True),
        ("--gpus-per-task=2", 1, 3, (*kinds_of(None), *kinds_of(None, gpus=8)), True),
        ("--gpus-per-task=$N", 1, 8, kinds_of(None), True),
    ],
)  # fmt: skip
def test_a_step_has_room_on_fewer_nodes_where_the_largest_has_what_its_tasks_ask_for(
    words: str, nodes: int, tasks: Optional[int], kinds: tuple[NodeKind, ...], room: bool
) -> None:
    """As far as that is known: each task has a core, and tasks are shared out evenly, the rest on top."""
    made = examined_here("#!/bin/bash\nN=$1\nsrun %s ./a.out\n" % words).plan
    plan = made._replace(allocation=made.allocation._replace(node_kinds=kinds, gpus_per_node=None))
    assert _has_room(made.steps[0]._replace(tasks=tasks), nodes, plan) == room


def examined_here(script: str) -> State:
    job = understood(submitted(script.encode()), None, None)
    assert job is not None
    return examined(job, SITE)
