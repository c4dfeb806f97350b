"""What a PBS job starts: hosts and lines of the node file, mpiexec of each maker, and commands on other nodes."""

from __future__ import annotations

from typing import Optional

import pytest
from maple_agents.ask import sites
from maple_submit_filter.answer.decision import understood
from maple_submit_filter.plan.build import plan
from maple_submit_filter.site.facts import GENERIC_PBS, Site
from maple_submit_filter.types.launch_plan import LaunchPlan, Step
from maple_submit_filter.types.submission import Submission

TWO = "#PBS -l select=2:ncpus=8:ngpus=4:mpiprocs=4\n#PBS -l place=scatter\n"
OPEN = TWO.replace("#PBS -l place=scatter\n", "")
ENVIRONMENT = {b"HOME": b"/h", b"USER": b"u"}
OF_TASK = "RANK=$%s WORLD_SIZE=8 python t.py"


def planned(body: str, head: str = TWO, site: Site = GENERIC_PBS, argv: tuple[bytes, ...] = ()) -> LaunchPlan:
    source = f"#!/bin/bash\n{head}{body}\n".encode()
    asked = Submission("pbs", (b"qsub", *argv, b"j.sh"), source, "file", b"j.sh", b"/w", 1000, ENVIRONMENT)
    job = understood(asked, None)
    assert job is not None
    return plan(job.submission, job.script, job.settings, site, job.arguments, job.read)


def places(step: Step) -> list[Optional[int]]:
    """The node of each process, in the order of the ranks."""
    return [one.node for group in step.groups for one in group.processes]


@pytest.mark.parametrize(
    ("head", "nodes", "lines"),
    [
        (TWO, 2, (4, 4)),
        (OPEN, None, None),  # both chunks may land on one host
        (TWO.replace("scatter", "pack"), 1, (8,)),
        ("#PBS -l select=1:ncpus=8:ngpus=2\n", 1, (1,)),
        ("#PBS -l select=2:ncpus=8+1:ncpus=64:mpiprocs=2\n#PBS -l place=scatter:excl\n", 3, (1, 1, 2)),
        ("#PBS -l nodes=2:ppn=4\n", 2, (4, 4)),
        ("#PBS -l walltime=1:00\n", 1, (1,)),
        ("#PBS -l select=2:ncpus=0\n#PBS -l place=scatter\n", 2, (0, 0)),
    ],
)
def test_the_node_file_has_a_line_for_each_chunk_or_mpiproc(head, nodes, lines):
    """Measured on OpenPBS 23.06."""
    given = planned("true", head).allocation
    assert (given.nodes, given.node_file) == (nodes, lines)


@pytest.mark.parametrize(
    ("line", "nodes"),
    [
        ("mpiexec.hydra -n 8", [0] * 4 + [1] * 4),
        ("mpiexec.mpich -n 4 -ppn 2", [0, 0, 1, 1]),
        ("mpiexec.hydra -n 4 -ppn 2", [0, None, None, None]),  # Intel's, perhaps, which prefers the job's layout
        ("mpiexec.hydra -n 2 -ppn 1 -f $PBS_NODEFILE", [0, 1]),
        ("uniq $PBS_NODEFILE > u; mpiexec.hydra -n 2 -f u", [0, 1]),
        ("tail -n 1 $PBS_NODEFILE > u; mpiexec.hydra -n 1 -f u", [1]),
        ("mpiexec.hydra -n 2 -ppn 1 -hosts $(tail -n1 $PBS_NODEFILE),$(head -n1 $PBS_NODEFILE)", [None, None]),
        ("mpiexec.hydra -n 16", [0] + [None] * 15),  # more than there are lines: it wraps around
        ("mpirun.openmpi -n 4 --map-by ppr:2:node", [0, 0, 1, 1]),
        ("mpirun.openmpi", [0] * 4 + [1] * 4),
    ],
)
def test_ranks_are_put_on_the_hosts_as_the_makers_do(line, nodes):
    """MPICH 4.0.2 was asked; of Open MPI only what all of its releases do."""
    (step,) = planned(f"{line} python t.py").steps
    assert places(step) == nodes


@pytest.mark.parametrize("name", ["PMI_RANK", "OMPI_COMM_WORLD_RANK", "PALS_RANKID"])
def test_who_names_a_makers_variable_knows_whose_mpiexec_it_is(name):
    """Only then is the rank known, for the makers do not agree on names."""
    (step,) = planned(f"mpiexec -n 8 bash -c '{OF_TASK % name}'").steps
    assert [one.rank for one in step.groups[0].processes] == list(range(8))


def test_a_variable_of_another_maker_is_empty_where_the_site_says_whose_it_is():
    """Hydra's name for the local rank under PALS."""
    head = "#PBS -A a\n#PBS -q debug\n#PBS -l select=2\n#PBS -l filesystems=home\n"
    body = "mpiexec -n 8 --ppn 4 bash -c 'LOCAL_RANK=$MPI_LOCALRANKID RANK=$PMI_RANK python t.py'"
    (step,) = planned(body, head, sites.load("alcf-polaris")).steps
    assert {one.local_rank for one in step.groups[0].processes} == {None}
    assert [one.rank for one in step.groups[0].processes] == list(range(8))


def test_pbsdsh_starts_one_for_each_line_and_one_where_it_is_told_to():
    """The lines are counted from 0."""
    (step,) = planned("pbsdsh -- python t.py").steps
    assert places(step) == [0] * 4 + [1] * 4
    (step,) = planned("pbsdsh -n 5 -- python t.py").steps
    assert places(step) == [1]


def test_a_loop_that_reads_from_a_descriptor_of_its_own_goes_over_every_line():
    """ssh in the foreground would take the lines of standard input."""
    loop = "while read -r h %s; do ssh $h python t.py; done %s"
    assert [places(one) for one in planned(loop % ("<&3", "3< $PBS_NODEFILE")).steps] == [[0]] * 4 + [[1]] * 4
    assert [places(one) for one in planned(loop % ("", "< $PBS_NODEFILE")).steps] != [[0]] * 4 + [[1]] * 4


def test_lines_are_counted_where_nobody_knows_the_hosts():
    """The number of lines does not depend on where the chunks land; the number of hosts does."""
    (step,) = planned("mpiexec.hydra -n $(wc -l < $PBS_NODEFILE) python t.py", OPEN).steps
    assert (step.tasks, step.nodes) == (8, None)
    (step,) = planned("mpiexec.hydra -n $(sort -u $PBS_NODEFILE | wc -l) python t.py", OPEN).steps
    assert step.tasks is None


def test_the_node_file_is_on_the_first_node_alone():
    """On the others the same words give nothing that is known."""
    body = "export WORLD_SIZE=2\nmpiexec.hydra -n 2 -ppn 1 bash -c 'MASTER_ADDR=$(head -n 1 $PBS_NODEFILE) python t.py'"
    (step,) = planned(body).steps
    assert [one.master is None for one in step.groups[0].processes] == [False, True]


def test_a_name_that_was_marked_for_export_before_it_had_a_value_is_exported():
    """`export A` and then `A=1`."""
    body = "export RANKS\nRANKS=4\nmpiexec.hydra -n 4 bash -c 'WORLD_SIZE=$RANKS python t.py'"
    (step,) = planned(body).steps
    assert step.groups[0].world_size == 4


def test_what_was_exported_where_qsub_was_called_follows_with_v_alone():
    """The job's shell is that of a login."""
    body = "mpiexec.hydra -n ${USER:?} python t.py"
    source = Submission("pbs", (b"qsub",), b"", "file", b"", b"/w", 0, {b"N": b"2"})
    for argv, tasks in (((), None), ((b"-V",), 2), ((b"-v", b"N"), 2), ((b"-v", b"N=3"), 3)):
        text = b"#!/bin/bash\n" + TWO.encode() + body.replace("${USER:?}", "$N").encode() + b"\n"
        job = understood(source._replace(argv=(b"qsub", *argv, b"j.sh"), script=text), None)
        assert job is not None
        (step,) = plan(job.submission, job.script, job.settings, GENERIC_PBS, (), None).steps
        assert step.tasks == tasks


@pytest.mark.parametrize(
    ("mask", "seen"),
    [
        ("0", (b"0",)),
        ("0.0,2.1", (b"0", b"5")),
        ("3,4", (b"3", b"4")),
        ("0 ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE", None),  # a card, of two tiles
        ("$SOMETHING", None),
    ],
)
def test_intels_mask_hides_tiles(mask, seen):
    """A tile is a device: card and tile are counted through."""
    head = "#PBS -A a\n#PBS -q debug\n#PBS -l select=1\n#PBS -l filesystems=flare\n"
    (step,) = planned(f"ZE_AFFINITY_MASK={mask} python t.py", head, sites.load("alcf-aurora")).steps
    assert [one.gpus for one in step.groups[0].processes] == [seen]


def test_gpus_are_counted_by_nvidia_smi_where_all_of_the_node_are_the_jobs():
    """Elsewhere a hook may hide some."""
    head = "#PBS -A a\n#PBS -q debug\n#PBS -l select=1\n#PBS -l filesystems=home\n"
    body = "torchrun --standalone --nproc_per_node=$(nvidia-smi -L | wc -l) t.py"
    assert planned(body, head, sites.load("alcf-polaris")).steps[0].workers_per_task == 4
    assert planned(body).steps[0].workers_per_task is None
