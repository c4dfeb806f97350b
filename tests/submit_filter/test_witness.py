"""Which offers are made unasked: those where a second word of the user's names what the change makes, and no others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Optional, cast

import pytest
from maple_agents.ask import sites
from maple_submit_filter.answer.decision import Decision, decide
from maple_submit_filter.repair import witness
from maple_submit_filter.repair.search import State
from maple_submit_filter.site.facts import GENERIC_SLURM, Site
from maple_submit_filter.types.edits import Edit, Fix, Safety, Span
from maple_submit_filter.types.submission import Submission

TRAIN = b"HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)\n"
TORCHRUN = b"srun torchrun --nnodes=%b --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py\n"


def decided(source: bytes, *words: bytes, site: Site = GENERIC_SLURM) -> Decision:
    argv = words if b"job.sh" in words else (*words, b"job.sh")
    return decide(Submission("slurm", (b"sbatch", *argv), source, "file", b"job.sh", b"/work", 1000, {}), site)


def made(decision: Decision) -> Optional[bytes]:
    return decision.repaired.script if decision.repaired is not None else None


@pytest.mark.parametrize(
    ("directive", "word", "nnodes", "done"),
    [
        (b"2", b"--nodes=4", b"2", True),  # the script counts the nodes of its directive, the command line beats both
        (b"4", b"--nodes=4", b"2", False),  # nothing is beaten: which of two numbers is wrong nobody knows
        (b"3", b"--nodes=4", b"2", False),
        (b"2", b"--job-name=a", b"4", False),
    ],
)
def test_a_launch_line_follows_the_command_line_that_beats_its_directive(
    directive: bytes, word: bytes, nnodes: bytes, done: bool
) -> None:
    head = b"#!/bin/bash\n#SBATCH --nodes=%b --ntasks-per-node=1 --gpus-per-node=4\n" % directive
    decision = decided(head + TRAIN + TORCHRUN % nnodes, word)
    assert decision.offered is not None
    assert (made(decision) is not None) == done
    assert not done or b"--nnodes=4" in (made(decision) or b"")


UNREAD = {
    "a blank": b"#!/bin/bash\n#SBATCH --ntasks-per-node=1 --gpus-per-node=4\n# SBATCH --nodes=2\n",
    "a letter": b"#!/bin/bash\n#SBATCH --ntasks-per-node=1 --gpus-per-node=4\n#SBTACH --nodes=2\n",
    "behind a command": b"#!/bin/bash\n#SBATCH --ntasks-per-node=1\nls\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=4\n",
}


@pytest.mark.parametrize("how", UNREAD)
@pytest.mark.parametrize(("nnodes", "done"), [(b"2", True), (b"3", False), (b"1", False)])
def test_what_the_user_wrote_is_read_where_the_launch_line_counts_on_it(how: str, nnodes: bytes, done: bool) -> None:
    """Where it counts other nodes nothing is changed unasked, and a job that runs without the line is left alone."""
    source = UNREAD[how] + TRAIN + TORCHRUN % nnodes
    decision = decided(source)
    assert (made(decision) is not None) == done
    if done:
        assert decision.repaired is not None and decision.repaired.says[0][:6] in ("MPL101", "MPL102")
        assert (
            TORCHRUN % nnodes in (made(decision) or b"") and b"\n#SBATCH --nodes=2\n" in (made(decision) or b"") + b"\n"
        )


def test_words_behind_the_script_are_said_before_it_where_the_launch_line_counts_on_them() -> None:
    """All of them, or none."""
    source = b"#!/bin/bash\n#SBATCH --ntasks-per-node=1\n" + TRAIN + TORCHRUN % b"2"
    decision = decided(source, b"job.sh", b"--nodes=2", b"--gpus-per-node=4", b"--epochs=3")
    assert decision.repaired is not None
    assert decision.repaired.argv == (b"sbatch", b"--nodes=2", b"--gpus-per-node=4", b"job.sh", b"--epochs=3")


def test_a_line_that_was_switched_off_beside_another_value_stays_off() -> None:
    """The user has said what holds."""
    source = b"#!/bin/bash\n#SBATCH --nodes=1 --ntasks-per-node=1 --gpus-per-node=4\n# SBATCH --nodes=2\n"
    assert decided(source + TRAIN + TORCHRUN % b"2").repaired is None


@pytest.mark.parametrize(
    ("world", "nodes", "gpus", "done"),
    [
        (b"2", b"2", b"4", True),  # eight tasks and eight GPUs against one number
        (b"16", b"2", b"4", False),  # it may want more nodes
        (b"2", b"2", b"2", False),  # half of the tasks would have no GPU: which number is wrong?
        (b"2", b"2", b"8", False),
    ],
)
def test_a_world_size_is_outvoted_by_tasks_and_gpus(world: bytes, nodes: bytes, gpus: bytes, done: bool) -> None:
    head = b"#!/bin/bash\n#SBATCH --nodes=%b --ntasks-per-node=4 --gpus-per-node=%b\n" % (nodes, gpus)
    line = b"export MASTER_PORT=29500 MASTER_ADDR=$HEAD WORLD_SIZE=%b\nsrun bash -c 'RANK=$SLURM_PROCID python a.py'\n"
    decision = decided(head + TRAIN + line % world)
    assert any(finding.code == "MPL306" for finding in decision.findings)
    assert (made(decision) is not None) == done


@pytest.mark.parametrize(("nodes", "done"), [(b"-N2", True), (b"-N1", False)])
def test_cpus_become_fewer_unless_the_step_may_want_more_nodes(nodes: bytes, done: bool) -> None:
    """On Frontier, where a job gets 56 CPUs of a node."""
    source = (
        b"#!/bin/bash\n#SBATCH -A abc123 -p batch -N2 -t 10\nsrun %b -n16 -c8 --gpus-per-task=1 python a.py\n" % nodes
    )
    decision = decided(source, site=sites.load("olcf-frontier"))
    assert any(finding.code == "MPL210" and len(finding.fixes) for finding in decision.findings)
    assert (made(decision) is not None) == done


def test_what_a_program_is_told_is_never_changed_unasked() -> None:
    """Nobody has read it, so nobody knows what else it takes."""
    source = b"#!/bin/bash\n#SBATCH -p pvc -N1 -n4 -t 10 -A abc\nsrun python train.py --backend nccl\n"
    decision = decided(source, site=sites.load("tacc-stampede3"))
    assert any(finding.code == "MPL507" for finding in decision.findings)
    assert decision.repaired is None


PLACED = b"#!/bin/bash\n#SBATCH -N1 --ntasks-per-node=1 --gpus-per-node=4 -t 60\n%b" + TRAIN + TORCHRUN % b"1"


@pytest.mark.parametrize(
    ("site", "more", "done"),
    [
        ("purdue-anvil", b"#SBATCH -A cis1-gpu\n", b"--partition=gpu"),  # its accounts name the partition
        ("purdue-anvil", b"#SBATCH -A cis1\n", b""),
        ("purdue-anvil", b"#SBATCH -A cis1-gpu -p shared\n", b""),  # a partition that was chosen
        ("nersc-perlmutter", b"#SBATCH -A m1 -q regular\n", b"--constraint=gpu"),
        ("nersc-perlmutter", b"#SBATCH -A m1 -q regular -C cpu\n", b"-C gpu"),
    ],
)
def test_a_place_is_named_where_the_site_has_one_alone(site: str, more: bytes, done: bytes) -> None:
    """One for the GPUs that are asked for, and for the account."""
    script = made(decided(PLACED % more, site=sites.load(site)))
    assert done in script if done and script is not None else script is None and not done


QUEUED = b"""#!/bin/bash
#PBS -A alpha -l select=%b:system=polaris -l place=scatter -l walltime=%b -l filesystems=home:eagle -q small
cd $PBS_O_WORKDIR
mpiexec -n 40 --ppn 4 python train.py
"""


@pytest.mark.parametrize(
    ("nodes", "time", "done"),
    [(b"10", b"03:00:00", True), (b"24", b"00:30:00", True), (b"10", b"12:00:00", False), (b"30", b"03:00:00", False)],
)
def test_a_route_is_named_where_it_leads_to_the_queue_that_was(nodes: bytes, time: bytes, done: bool) -> None:
    """Elsewhere the job would go into another queue than the user named, or into none."""
    asked = Submission("pbs", (b"qsub", b"job.sh"), QUEUED % (nodes, time), "file", b"job.sh", b"/work", 1000, {})
    decision = decide(asked, sites.load("alcf-polaris"))
    assert any(finding.code == "MPL202" and finding.proven for finding in decision.findings)
    assert (made(decision) is not None) == done


@pytest.mark.parametrize(
    ("site", "head", "words", "becomes"),
    [
        ("olcf-frontier", b"#SBATCH -A abc123 -p batch -N4 -t 06:00:00", b"-p batch", b"-p extended"),
        ("tacc-vista", b"#SBATCH -p gh-dev -N4 -n4 -t 06:00:00", b"-p gh-dev", b"-p gh"),
        ("sdsc-expanse", b"#SBATCH -A abc123 -p gpu-debug -N1 --gpus=4 -t 01:00:00", b"-p gpu-debug", None),
        ("tacc-lonestar6", b"#SBATCH -p gpu-h100 -N2 -n2 -t 10", b"-p gpu-h100", None),
        ("olcf-frontier", b"#SBATCH -A abc123 -p batch -N4 -t 30:00:00", b"-p batch", None),
    ],
)
def test_the_only_place_that_takes_all_that_is_asked_for_is_named_unasked(
    site: str, head: bytes, words: bytes, becomes: bytes | None
) -> None:
    """Not one that may take the job away again, nor one of other nodes, nor where even that asks for less."""
    source = b"#!/bin/bash\n" + head + b"\nsrun hostname\n"
    decision = decided(source, site=sites.load(site))
    assert any(finding.code == "MPL206" and finding.proven for finding in decision.findings)
    expected = source.replace(words, becomes) if becomes is not None else None
    assert made(decision) == expected


@pytest.mark.parametrize(
    ("worlds", "code", "read"),
    [
        ([(8, 8)], "", True),
        ([(8, 8), (4, 4)], "MPL301", True),
        ([(8, 8)], "MPL102", False),
        ([(8, 4)], "", False),
        ([(8, 8), (8, 4)], "", False),
        ([(None, None)], "", False),  # equal, but nobody said how many
        ([(None, 8)], "", False),
        ([], "", True),
        ([], "MPL101", False),
    ],
)
def test_words_that_were_unread_are_the_user_s_own_where_all_worlds_are_those_they_say(
    worlds: list[tuple[Optional[int], Optional[int]]], code: str, read: bool
) -> None:
    """And nothing that the user wrote is unread still."""
    groups = [SimpleNamespace(declared=declared, world_size=size) for declared, size in worlds]
    heard = SimpleNamespace(plan=SimpleNamespace(steps=[SimpleNamespace(groups=[group]) for group in groups]))
    end = SimpleNamespace(findings=[SimpleNamespace(code=code)] if code else [])
    assert witness._as_written(cast(State, heard), cast(State, end)) == read


@pytest.mark.parametrize(
    ("new", "adds"),
    [
        (b"cd /a && ", True),
        (b"cd /a; ", True),
        (b"cd /a\n", True),
        (b"srun ", False),
        (b"a;b", False),
        (b"a & ", False),
    ],
)
def test_a_command_is_new_where_words_that_part_commands_are(new: bytes, adds: bool) -> None:
    """In any one of the edits."""
    edits = (Edit(Span(0, 0), b"export ", "MPL301"), Edit(Span(4, 4), new, "MPL301"))
    assert witness._adds_command(Fix(edits, Safety.ASK, "a")) == adds
