"""What is offered beside other changes asks for no less of nodes, time and memory than the user does."""

from __future__ import annotations

import re
from typing import NamedTuple, Optional

import pytest
from maple_submit_filter.answer.decision import Decision, decide, examined, understood
from maple_submit_filter.repair import offers
from maple_submit_filter.repair.cost import asks_for_less
from maple_submit_filter.repair.search import State
from maple_submit_filter.site.facts import GENERIC_SLURM, Site
from maple_submit_filter.types.edits import Fix, apply
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.job import Job as ReadJob
from maple_submit_filter.types.submission import Submission

from tests.submit_filter import rule_cases
from tests.submit_filter.rule_cases import OF_LAUNCH as LAUNCH

CASES = rule_cases.cases() + rule_cases.cases(LAUNCH)


def here(case: str) -> Site:
    """The cluster of a case about limits."""
    return next(one.site for one in CASES if str(one) == "MPL206/" + case)


def decided(script: bytes, site: Site) -> Decision:
    """What is decided there."""
    command = b"sbatch" if site.scheduler == "slurm" else b"qsub"
    return decide(Submission(site.scheduler, (command, b"job.sh"), script, "file", b"job.sh", b"/work", 1000, {}), site)


class Job(NamedTuple):
    """A job with a mistake that is for the user to decide (nnodes) and with *qos*, nodes and time to be asked for."""

    qos: bytes
    time: bytes = b"00:20:00"
    nodes: bytes = b"2"
    waits: bytes = b"2"

    def script(self) -> bytes:
        """The script."""
        return b"""#!/bin/bash
#SBATCH --nodes=%b
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --qos=%b
#SBATCH --time=%b
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=%b --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$MASTER_ADDR:29500 train.py
""" % (self.nodes, self.qos, self.time, self.waits)


def offered(job: Job, case: str) -> Optional[bytes]:
    """The script that is offered, None for none."""
    made = decided(job.script(), here(case)).offered
    return made.script if made is not None else None


def test_a_limit_is_cut_only_behind_the_places_that_take_it() -> None:
    """The first of these loses nothing; the others and the shorter limit are offered after it."""
    job = Job(b"debug", b"04:00:00")
    assert offered(job, "several-qos-take-it") == job._replace(qos=b"regular").script()
    (told,) = decided(job.script(), here("several-qos-take-it")).findings
    assert [fix.says for fix in told.fixes] == ["--qos=regular", "--qos=premium", "--time=00:30:00"]


def test_a_limit_is_not_cut_beside_another_change() -> None:
    """The first place that takes it is offered with it, and the names of all are said."""
    job = Job(b"debug", b"04:00:00", waits=b"1")
    assert offered(job, "several-qos-take-it") == job._replace(qos=b"regular", waits=b"2").script()
    decision = decided(job.script(), here("several-qos-take-it"))
    (told,) = [one for one in decision.findings if one.code == "MPL206"]
    assert told.help == "these QOS take it: regular, premium"


def test_nodes_are_not_cut_beside_another_change() -> None:
    """Nor to the number that a launch line waits for, nor to a limit."""
    for job in (Job(b"debug", nodes=b"9", waits=b"9", time=b"00:45:00"), Job(b"debug", nodes=b"9", waits=b"4")):
        made = offered(job, "several-qos-take-it")
        assert made is None or b"--nodes=9" in made


def test_the_qos_that_takes_it_is_offered_with_other_changes() -> None:
    """A job that is started elsewhere loses nothing."""
    job = Job(b"debug", b"04:00:00", waits=b"1")
    made = offered(job, "the-only-qos-that-takes-it")
    assert made == job._replace(qos=b"regular", waits=b"2").script()


@pytest.mark.parametrize(
    ("scheduler", "before", "after", "less"),
    [
        ("slurm", "--nodes=4", "--nodes=2", True),
        ("slurm", "--time=02:00:00", "--time=60", True),
        ("slurm", "--mem=200G", "--mem=100000M", True),
        ("slurm", "--mem-per-cpu=4G", "--mem-per-cpu=2G", True),
        ("slurm", "--mem-per-gpu=40G", "--mem-per-gpu=20G", True),
        ("slurm", "--nodes=2 --time=60", "--nodes=4 --time=01:00:00", False),
        ("slurm", "--mem=100G", "--mem-per-cpu=2G", False),
        ("pbs", "-l walltime=02:00:00", "-l walltime=3600", True),
        ("pbs", "-l select=4:ncpus=8", "-l select=2:ncpus=16", True),
        ("pbs", "-l select=2:mem=200gb", "-l select=2:mem=100gb", True),
        ("pbs", "-l select=2:mem=200gb", "-l select=4:mem=200gb", False),
        ("pbs", "-l select=2:mem=200gb", "-l select=2:mem=100gb+1:ncpus=1", False),  # the last has what nobody said
        ("pbs", "-l select=2:mem=200gb", "-l select=1:mem=150gb+1:mem=150gb", True),
    ],
)
def test_less_is_told_of_each_amount_by_its_value(scheduler: str, before: str, after: str, less: bool) -> None:
    """However it is written; what is not said any more is not less."""

    def job(words: str) -> object:
        head = "#SBATCH" if scheduler == "slurm" else "#PBS"
        script = f"#!/bin/bash\n{head} {words}\n".encode()
        command = b"sbatch" if scheduler == "slurm" else b"qsub"
        return understood(Submission(scheduler, (command, b"j"), script, "file", b"j", b"/work", 1000, {}), None)

    old, new = job(before), job(after)
    assert isinstance(old, ReadJob) and isinstance(new, ReadJob)
    assert asks_for_less(old, new) == less


def _numbers(script: bytes) -> dict[bytes, list[bytes]]:
    """What a script names of nodes, time and memory, to be read by eye: no part of Maple is asked."""
    found = re.findall(rb"(--nodes|-N|--time|-t|--mem|walltime|select|mem)[= ]?([0-9][0-9:]*[GgMm]?[bB]?)", script)
    out: dict[bytes, list[bytes]] = {}
    for name, value in found:
        out.setdefault(name, []).append(value)
    return out


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_offer_of_several_changes_cuts_what_was_asked_for(case: rule_cases.RuleCase) -> None:
    """Over all cases of all rules: of several changes none touches a number of nodes, time or memory downwards."""
    made = decide(case.submission, case.site, None).offered
    if made is None or made.script is None or len(made.says) < 2:
        return
    before, after = _numbers(case.submission.script or b""), _numbers(made.script)
    for name, values in before.items():
        if len(after.get(name, ())) == len(values):
            assert [_amount(one) for one in values] <= [_amount(one) for one in after[name]], name


def _amount(value: bytes) -> tuple[int, ...]:
    parts = tuple(int(part) for part in re.findall(rb"\d+", value))
    return (0,) * (4 - len(parts)) + parts


LATE = b"#!/bin/bash\nset -e\n#SBATCH --nodes=2\nsrun --nodes=2 ./a.out\n"


@pytest.mark.parametrize(("left", "heard"), [(0, True), (1, False), (2, False), (None, False)])
def test_what_the_user_wrote_is_read_where_that_cures_something(
    monkeypatch: pytest.MonkeyPatch, left: Optional[int], heard: bool
) -> None:
    """Not where as much is contradicted with it, or where it cannot be tried as a whole."""
    asked = Submission("slurm", (b"sbatch", b"job.sh"), LATE, "file", b"job.sh", b"/work", 1000, {})
    job = understood(asked, None, None)
    assert job is not None
    proven = Finding("MPL310", "more nodes than there are", None, True)
    start = examined(job, GENERIC_SLURM)._replace(findings=(proven,))
    tries = []

    def tried(state: State, fix: Fix, again: object) -> Optional[State]:
        tries.append(fix)
        source = apply(LATE, fix.edits)
        read = understood(asked._replace(script=source), None, None)
        if len(tries) > 1 and left is None or read is None:
            return None
        return state._replace(job=read, findings=(proven,) * (left or 0))

    monkeypatch.setattr(offers, "tried", tried)
    found = offers._heard(start, examined(job, GENERIC_SLURM).findings, lambda *_: None)
    assert len(tries) == 2 and (found is not None) == heard
    assert found is None or found[0] == "MPL101" and not found[2].proven()
