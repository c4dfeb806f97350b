"""Open MPI under PBS: our launch lines hold whether or not it was built for PBS, and no word there is idle."""

from __future__ import annotations

from typing import Callable

import pytest
from maple_agents.base.slots import Name, Origin, Slot, Slots
from maple_agents.templates.cluster import Cluster
from maple_agents.write.clusters import cluster
from maple_agents.write.composition import make
from maple_submit_filter.answer.decision import decide
from maple_submit_filter.types.submission import Submission

from tests.lab.reality import Observation
from tests.pbs_lab import PAIR, PbsLab, PbsShape
from tests.pbs_lab.reality import observe

HEAD = "#!/bin/bash\n#PBS -l select=2:ncpus=8:ngpus=2:mpiprocs=%d\n#PBS -l place=scatter\ncd $PBS_O_WORKDIR\n"
MASTER = "export MASTER_ADDR=$(head -n1 $PBS_NODEFILE) MASTER_PORT=29517\n"
RANK = "RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK"
LINE = "mpirun -np 4 --map-by ppr:2:node -hostfile $PBS_NODEFILE %s bash -c '" + RANK + " python train.py'\n"
HANDED = "-x PATH -x MASTER_ADDR -x MASTER_PORT"
Labs = Callable[[PbsShape], PbsLab]


def run(labs: Labs, tm: bool, line: str, slots: int = 2) -> Observation:
    """Observe a line on two hosts of two GPUs."""
    lab = labs(PAIR._replace(site="generic-pbs", launcher="openmpi", tm=tm))
    return observe(lab, (HEAD % slots + MASTER + line).encode(), deadline="3")


@pytest.mark.parametrize("tm", [True, False], ids=["built for PBS", "over ssh"])
def test_named_hosts_and_handed_variables_are_right_by_either_way(pbs_lab_of: Labs, tm: bool) -> None:
    found = run(pbs_lab_of, tm, LINE % HANDED)
    assert (found.verdict, found.reasons) == ("right", ()), found.stderr
    assert [(world.size, dict(world.ranks)) for world in found.worlds] == [(4, {"node1": (0, 1), "node2": (2, 3)})]


def test_over_ssh_a_master_that_was_not_handed_on_is_lost(pbs_lab_of: Labs) -> None:
    assert run(pbs_lab_of, False, LINE % "-x PATH").verdict == "broken"
    assert run(pbs_lab_of, True, LINE % "-x PATH").verdict == "right"


def test_more_ranks_than_lines_of_the_node_file_are_refused(pbs_lab_of: Labs) -> None:
    """As Open MPI 4.1.4 does: so the chunks of our scripts have as many mpiprocs as ranks."""
    found = run(pbs_lab_of, True, LINE.replace("-np 4", "-np 6").replace("ppr:2", "ppr:3") % HANDED, slots=2)
    assert found.verdict == "broken" and "not enough slots" in found.stderr


ABCI = cluster("aist-abci3")


def made(where: Cluster = ABCI, /, **more: int | str) -> str:
    said: dict[Name, int | str] = {
        "site": "aist-abci3", "nodes": 2, "walltime": "00:30:00", "queue": "rt_HF", "account": "gaa50000",
        "program": "train.py", **more,
    }  # type: ignore[dict-item]  # fmt: skip
    script = make(Slots(Slot(name, value, Origin("option")) for name, value in said.items()), where)
    return script.script.decode()  # type: ignore[union-attr]


def test_each_exported_variable_is_handed_on_once() -> None:
    script = made(paradigm="ddp", variables="NCCL_DEBUG=INFO OMP_NUM_THREADS=8")
    line = next(line for line in script.splitlines() if line.startswith("mpirun"))
    ours = ["PATH", "LD_LIBRARY_PATH", "NCCL_DEBUG", "OMP_NUM_THREADS", "MASTER_ADDR", "MASTER_PORT"]
    assert line.removesuffix(" \\").split(" -x ")[1:] == ours


def test_a_group_is_said_as_the_site_wants_it_and_slots_are_asked_for() -> None:
    script = made(paradigm="ddp", launcher="python")
    assert "#PBS -P gaa50000\n" in script and "#PBS -A" not in script
    assert "#PBS -l select=2:mpiprocs=8\n" in script and "mpirun -np 16 --map-by ppr:8:node" in script


@pytest.mark.parametrize(("slots", "tasks"), [(1, None), (2, 4)])
def test_a_host_that_a_file_names_once_has_nobody_knows_how_many_slots(slots: int, tasks: int | None) -> None:
    """One by PBS, and as many as cores over ssh; named twice it has two by either way."""
    script = (HEAD % slots + "mpirun -hostfile $PBS_NODEFILE python train.py\n").encode()
    asked = Submission("pbs", (b"qsub", b"job.sh"), script, "file", b"job.sh", b"/work", 1000, {})
    plan = decide(asked, ABCI.site, None).plan
    assert plan is not None and [step.tasks for step in plan.steps] == [tasks]


def test_a_job_of_pbs_goes_back_to_its_folder_where_nobody_wrote_what_jobs_load() -> None:
    """It begins in the home directory, and train.py lies where it was submitted."""
    assert made(ABCI._replace(environment=None), paradigm="ddp").count('\ncd "$PBS_O_WORKDIR"\n') == 1
    assert made(paradigm="ddp").count('\ncd "$PBS_O_WORKDIR"\n') == 1
