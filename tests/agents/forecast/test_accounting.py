"""Ended jobs out of accounting files, with what each says of time, size and memory."""

from __future__ import annotations

import pytest
from maple_agents.forecast.accounting import NoAccounting, moment, read

HEAD = "JobID|User|JobName|WorkDir|Submit|Start|End|ElapsedRaw|TimelimitRaw|State|NNodes|AllocTRES|ReqMem|MaxRSS"
SACCT = [
    HEAD,
    "7|ann|sft|/p|2026-11-20T10:00:00|2026-11-20T10:01:00|2026-11-20T10:45:00|2640|720|COMPLETED|2|cpu=8,gres/gpu=8|200G|",
    "7.batch|||||||2640||COMPLETED|1|||41234567K",
    "7.0|||||||2600||COMPLETED|2|||52428800K",
    "8|ann|sft|/p|2026-11-20T11:00:00|Unknown|Unknown|0|720|PENDING|2|||",
    "9|ann|sft|/p|2026-11-20T12:00:00|2026-11-20T12:01:00|2026-11-20T13:01:00|3600|60|CANCELLED by 1000|1|cpu=8|4Gn|",
]
PBS = [
    "11/20/2026 10:00:00;Q;12.pbs;queue=prod",
    "11/20/2026 11:00:00;E;12.pbs;user=bo jobname=vit qtime=1795000000 start=1795000100 end=1795003700 Exit_status=0 "
    "Resource_List.nodect=4 Resource_List.walltime=02:00:00 resources_used.walltime=01:00:00 resources_used.mem=100gb",
    "11/20/2026 12:00:00;E;13.pbs;user=bo jobname=vit qtime=1795004000 end=1795011300 Exit_status=-29 "
    "Resource_List.nodect=4 Resource_List.walltime=02:00:00 resources_used.walltime=02:00:05",
    "11/20/2026 12:00:00;E;14.pbs;user=bo jobname=vit end=17 Exit_status=what",
]
SWF = [
    "; UnixStartTime: 1000",
    "1 10 5 60 4 -1 1024 4 3600 -1 1 3 1 9 1 1 -1 -1",
    "2 20 5 60 4 -1 -1 4 3600 -1 4 3 1 9",
    "",
]


def test_a_job_of_sacct_has_what_its_steps_held():
    """Steps belong to the job above them; the most of all counts."""
    first, cancelled = read(SACCT, "sacct")
    assert (first.job, first.seconds, first.state, first.memory) == ("7", 2640, "completed", 50 << 30)
    assert first.asked.limit == 720 * 60 and first.asked.memory == 100 << 30
    assert (first.asked.work.nodes, first.asked.work.gpus) == (2, 8)
    assert first.ended - first.asked.submitted == 45 * 60
    assert (cancelled.state, cancelled.asked.memory) == ("cancelled", 4 << 30)


def test_what_gpus_were_seen_to_hold():
    """Where Slurm gathers it, for each step; the most of all counts."""
    rows = [SACCT[0] + "|TRESUsageInMax", SACCT[1] + "|", SACCT[3] + "|cpu=1,gres/gpumem=31000M,gres/gpuutil=88",
            SACCT[3].replace("7.0", "7.1") + "|gres/gpumem=29G,gres/gpuutil=90"]  # fmt: skip
    (run,) = read(rows, "sacct")
    assert (run.gpu_memory, run.gpu_use) == (31000 << 20, 90.0)


def test_a_job_that_waits_is_no_run():
    """What has not ended is no run, and nothing that could not be read."""
    lost: list[int] = []
    assert {run.job for run in read(SACCT, "sacct", lost.append)} == {"7", "9"}
    assert lost == []


def test_output_without_the_columns_is_refused_in_one_line():
    """The columns that are lacking are named."""
    with pytest.raises(NoAccounting, match="its first line lacks End, Submit"):
        list(read(["JobID|User|JobName|State|Elapsed", "1|a|b|COMPLETED|00:01:00"], "sacct"))


def test_ends_of_pbs():
    """Only ended jobs, by the server's own words; an end at the limit is one, a line that says nothing is counted."""
    lost: list[int] = []
    whole, cut = read(PBS, "pbs", lost.append)
    assert (whole.seconds, whole.state, whole.memory, whole.asked.limit) == (3600, "completed", 100 << 30, 7200)
    assert (cut.state, cut.is_cut, cut.asked.work.nodes) == ("timeout", True, 4)
    assert lost == [4]


def test_the_standard_workload_format():
    """Memory is a processor's; the times count from the trace's start; parts of a job are passed over."""
    lost: list[int] = []
    (run,) = read(SWF, "swf", lost.append)
    assert (run.asked.submitted, run.ended, run.seconds, run.memory) == (1010, 1075, 60, 4 << 20)
    assert (run.asked.user, run.asked.name, run.asked.limit) == ("3", "9", 3600)
    assert lost == [3]


@pytest.mark.parametrize("text, seconds", [("1795000000", 1795000000), ("Unknown", None), ("", None)])
def test_moments(text, seconds):
    """sacct prints seconds where SLURM_TIME_FORMAT says so."""
    assert moment(text) == seconds
