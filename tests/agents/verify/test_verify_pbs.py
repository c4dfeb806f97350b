"""Scripts of PBS, in a lab of several hosts with the real Hydra or a look-alike of PALS."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from maple_agents.ask import sites
from maple_agents.ask.schedulers import Ending, EndReason, Job, JobState, SchedulerError
from maple_agents.verify.exchange import from_template
from maple_agents.verify.verification import Verified, Wanted, verify
from maple_submit_filter.site.facts import GENERIC_PBS, Site
from maple_submit_filter.types.submission import Submission

from tests.agents.verify.in_lab import left
from tests.pbs_lab import PAIR, PbsLab
from tests.pbs_lab.sites import shape_of_site


class LabScheduler:
    """The lab as a `Scheduler`: qsub, then the job in a thread of its own. A cancelled job ends at its deadline."""

    name = "pbs"
    via = "a lab"

    def __init__(self, lab: PbsLab, deadline: float) -> None:
        self.lab, self.deadline = lab, deadline
        self.words: tuple[str, ...] = ()
        self.cancelled: list[str] = []
        self._ended: dict[str, Job] = {}
        self._threads: dict[str, threading.Thread] = {}

    def submit(
        self, script_path: str, argv: Sequence[str] = (), cwd: str | None = None, env: Mapping[str, str] | None = None
    ) -> str:
        """Submit as qsub does."""
        self.words = tuple(argv)
        sent = self.lab.qsub(*argv, script_path, cwd=cwd or "/")
        if sent.id is None:
            raise SchedulerError("submitting", sent.stderr, "correct the request", sent.returncode)
        self._threads[sent.id] = threading.Thread(target=self._run, args=(sent.id,))
        self._threads[sent.id].start()
        return sent.id

    def _run(self, job_id: str) -> None:
        ended = self.lab.run(job_id, self.deadline)
        reason = {"COMPLETED": EndReason.COMPLETED, "HUNG": EndReason.CANCELLED}.get(ended.state, EndReason.EXITED)
        nodes = tuple(dict.fromkeys(name.split(".")[0] for name in ended.nodes))
        self._ended[job_id] = Job(job_id, JobState.FINISHED, ending=Ending(reason), nodes=nodes)

    def jobs(self, ids: Sequence[str]) -> dict[str, Job]:
        """Return each job, running until its thread is done."""
        return {one: self._ended.get(one, Job(one, JobState.RUNNING)) for one in ids}

    def cancel(self, job_id: str) -> bool:
        """Note it."""
        self.cancelled.append(job_id)
        return job_id not in self._ended

    def wait(self) -> None:
        """Wait for every job."""
        for thread in self._threads.values():
            thread.join(60)


@pytest.fixture(scope="module")
def pair() -> Iterator[PbsLab]:
    """Two hosts of two GPUs, and the real Hydra."""
    with PbsLab(PAIR) as lab:
        yield lab


@pytest.fixture(scope="module")
def polaris() -> Iterator[PbsLab]:
    """Four hosts in the shape of Polaris, and the look-alike of PALS."""
    with PbsLab(shape_of_site("alcf-polaris")) as lab:
        yield lab


def verified(
    lab: PbsLab, text: str, folder: Path, site: Site, deadline: float = 60, words: tuple[str, ...] = ()
) -> tuple[Verified, LabScheduler]:
    source = text.encode()
    (folder / "job.sh").write_bytes(source)
    argv = (b"qsub", *map(os.fsencode, words), b"job.sh")
    asked = Submission("pbs", argv, source, "file", b"job.sh", os.fsencode(folder), os.getuid(), {})
    lab.tell(MAPLE_ROLE="plain")
    scheduler = LabScheduler(lab, deadline)
    environ = {**lab.environment(), "XDG_STATE_HOME": str(folder / "state")}
    try:
        made = verify(Wanted(asked, site, words, "dry", 12, 60, False, environ), scheduler)  # type: ignore[arg-type]
    finally:
        scheduler.wait()
    assert left(folder) == ("job.sh",)
    return made, scheduler


HYDRA = """\
#!/bin/bash
#PBS -l select=2:ncpus=8:ngpus=2:mpiprocs=2
#PBS -l walltime=12:00:00
#PBS -N my-training
cd $PBS_O_WORKDIR
export MASTER_ADDR=$(head -n1 $PBS_NODEFILE) MASTER_PORT=29871
mpiexec -n 4 -ppn 2 python3 train.py --epochs 3
"""
TORCHRUN = """\
#!/bin/bash
#PBS -l select=2:ncpus=8:ngpus=2
#PBS -l place=scatter
cd $PBS_O_WORKDIR
HEAD=$(head -n1 $PBS_NODEFILE)
mpiexec -n 2 -ppn 1 torchrun --nnodes=2 --nproc_per_node=2 --rdzv_id=$PBS_JOBID --rdzv_backend=c10d \\
  --rdzv_endpoint=$HEAD:29872 train.py
"""
PALS = """\
#!/bin/bash -l
#PBS -A project
#PBS -q debug
#PBS -l select=2:system=polaris
#PBS -l filesystems=home:eagle
#PBS -l walltime=01:00:00
cd $PBS_O_WORKDIR
export MASTER_ADDR=$(head -n1 $PBS_NODEFILE) MASTER_PORT=29873
mpiexec -n 8 --ppn 4 --depth=8 --cpu-bind depth python3 train.py
"""


def test_ranks_of_hydra(pair, tmp_path):
    made, scheduler = verified(pair, HYDRA, tmp_path, GENERIC_PBS)
    assert (made.verdict.result.value, made.verdict.reasons, made.verdict.differences) == ("passed", (), ())
    assert {fact.from_variable for run in made.runs for fact in run.facts} == {"PMI_RANK"}
    assert "walltime=00:01:00" in scheduler.words and "my-training" not in scheduler.words


def test_torchrun_over_hydra(pair, tmp_path):
    made, _ = verified(pair, TORCHRUN, tmp_path, GENERIC_PBS)
    assert (made.verdict.result.value, made.verdict.differences) == ("passed", ())
    (run,) = made.runs
    assert sorted((fact.rank, fact.host) for fact in run.facts)[0][0] == 0 and len(run.facts) == 4


def test_ranks_of_pals(polaris, tmp_path):
    made, _ = verified(polaris, PALS, tmp_path, sites.load("alcf-polaris"))
    assert (made.verdict.result.value, made.verdict.differences) == ("passed", ())
    assert made.job is not None and sum(len(run.facts) for run in made.runs) == 8


@pytest.mark.parametrize("name", ["torchrun", "accelerate", "deepspeed", "python"])
def test_launch_templates_of_a_site_with_pals(polaris, tmp_path, name):
    site = sites.load("alcf-polaris")
    source = from_template.script(from_template.template(f"{name}-over-pals", site), site, 2)
    words = ("-A", "project", "-q", "debug", "-l", "filesystems=home")
    made, _ = verified(polaris, source.decode(), tmp_path, site, words=words)
    assert (made.verdict.result.value, made.verdict.differences) == ("passed", ()), made.verdict.reasons
    assert sum(len(run.facts) for run in made.runs) == 8


def test_a_host_that_has_nothing_to_do_is_told(pair, tmp_path):
    """The world forms all the same: both torchruns of the first host take part in it."""
    made, _ = verified(pair, TORCHRUN.replace("-n 2 -ppn 1", "-n 2 -ppn 2"), tmp_path, GENERIC_PBS)
    assert [warning.says for warning in made.verdict.warnings if "nothing ran" in warning.says] == [
        "nothing ran on node2, 1 of the job's 2 nodes"
    ]


def test_a_master_of_the_login_host_is_said_and_the_job_cancelled(pair, tmp_path):
    made, scheduler = verified(pair, HYDRA.replace("$(head -n1 $PBS_NODEFILE)", "login1"), tmp_path, GENERIC_PBS, 25)
    assert [reason.kind.name for reason in made.verdict.reasons] == ["MASTER"]


def test_a_refusal_is_told_in_the_words_of_qsub(polaris, tmp_path):
    made, _ = verified(polaris, PALS.replace("#PBS -A project\n", ""), tmp_path, sites.load("alcf-polaris"))
    assert [reason.kind.name for reason in made.verdict.reasons] == ["REFUSED"]
