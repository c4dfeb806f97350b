"""A script of another scheduler is not mended at submission; a terminal is told which command writes it anew."""

from __future__ import annotations

from typing import Mapping, Optional

import pytest
from maple_agents.ask import sites
from maple_submit_filter.answer.decision import decide, understood
from maple_submit_filter.answer.reply import answer
from maple_submit_filter.host.frames import Reply, Request
from maple_submit_filter.request.unread_directives import command, other_scheduler
from maple_submit_filter.site.modes import policy_of
from maple_submit_filter.types.submission import Submission

OF_SLURM = b"""\
#!/bin/bash
#SBATCH --account=abcd-delta-gpu --partition=gpuA100x4
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4 --time=02:00:00
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
"""
OF_PBS = b"""\
#!/bin/bash
#PBS -A AlphaTrain
#PBS -q prod
#PBS -l select=2
#PBS -l walltime=02:00:00
#PBS -l filesystems=home:eagle
HEAD=$(head -n 1 $PBS_NODEFILE)
mpiexec -n 2 --ppn 1 torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
"""
SITES = {"slurm": "ncsa-delta", "pbs": "alcf-polaris"}
COMMANDS = {"slurm": b"sbatch", "pbs": b"qsub"}


def submission(
    source: bytes, scheduler: str, path: bytes = b"jobs/train.sh", environment: Optional[Mapping[bytes, bytes]] = None
) -> Submission:
    """Return what arrives when the script is given to the scheduler's command."""
    words = (COMMANDS[scheduler], *((path,) if path else ()))
    return Submission(scheduler, words, source, "file" if path else "stdin", path, b"/work", 1000, environment or {})


def reply(asked: Submission, terminal: bool = True) -> Reply:
    """Return what the front is told at a site of the command's scheduler."""
    request = Request(bytes(16), b"h" * 32, asked, len(asked.argv) - 1, 0, terminal, terminal)
    return answer(request, sites.load(SITES[asked.scheduler]), policy_of(None, "repair"), ())


@pytest.mark.parametrize(("source", "scheduler"), [(OF_SLURM, "pbs"), (OF_PBS, "slurm")])
def test_a_terminal_is_told_in_one_line_and_nothing_is_changed_for_it(source: bytes, scheduler: str) -> None:
    """It is a line of its own; no question is asked for it, and nothing is handed over in the script's place."""
    said = reply(submission(source, scheduler))
    lines = said.say.splitlines()
    assert lines[-2] == b"maple: help: to write it for this site: maple new --from jobs/train.sh"
    assert lines[-1] == b"maple: submitted as written. Details: maple check jobs/train.sh"
    assert sum(b"maple new" in line for line in lines) == 1
    assert (said.change, said.offer) == (None, None)


def test_nobody_is_asked_to_have_it_mended_for_the_one_node_that_qsub_gives() -> None:
    """The launch line alone could be made to fit the job that comes of no directives at all."""
    asked = submission(OF_SLURM, "pbs")
    asked = asked._replace(argv=(b"qsub", b"-A", b"AlphaTrain", b"-l", b"filesystems=home", b"jobs/train.sh"))
    assert decide(asked, sites.load("alcf-polaris")).offered is not None
    assert reply(asked).offer is None


@pytest.mark.parametrize(("source", "scheduler"), [(OF_SLURM, "slurm"), (OF_PBS, "pbs")])
def test_a_script_of_the_own_scheduler_is_never_sent_to_maple_new(source: bytes, scheduler: str) -> None:
    """Whatever else is wrong with it."""
    asked = submission(source.replace(b"--nnodes=2", b"--nnodes=3"), scheduler)
    job = understood(asked, None)
    assert job is not None and other_scheduler(job) == ""
    assert b"maple new" not in reply(asked).say


@pytest.mark.parametrize("line", [b"#PBS -l select=2\n", b"#PBS -N mine\n"])
def test_a_script_with_lines_for_both_is_none_of_another_scheduler(line: bytes) -> None:
    """Its author knows both."""
    for scheduler in ("slurm", "pbs"):
        job = understood(submission(OF_SLURM.replace(b"HEAD=", line + b"HEAD=", 1), scheduler), None)
        assert job is not None and other_scheduler(job) == ""


@pytest.mark.parametrize("how", ["not a terminal", "stdin", "ignored", "observe"])
def test_where_nobody_reads_or_wants_it_nothing_is_said(how: str) -> None:
    """A pipe has no name to write a new script from."""
    source = OF_SLURM.replace(b"HEAD=", b"# maple: ignore MPL104\nHEAD=", 1) if how == "ignored" else OF_SLURM
    observe = {b"MAPLE": b"observe"} if how == "observe" else None
    said = reply(submission(source, "pbs", b"" if how == "stdin" else b"job.sh", observe), how != "not a terminal")
    assert b"maple new" not in said.say
    assert (b"MPL307" in said.say) == (how in ("stdin", "ignored"))


@pytest.mark.parametrize(
    ("path", "words"),
    [(b"job.sh", b"job.sh"), (b"my job's.sh", b"'my job'\\''s.sh'"), (b"-x.sh", b"./-x.sh"), (b"a;b", b"'a;b'")],
)
def test_the_command_can_be_pasted_into_a_shell(path: bytes, words: bytes) -> None:
    """Whatever the file is called."""
    assert command(path) == b"maple new --from " + words
