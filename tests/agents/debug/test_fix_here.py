"""What stands below a diagnosis: the names of the site, and what to do where no cause is known."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest
from maple_agents.ask import sites
from maple_agents.ask.submission import GENERIC
from maple_agents.diagnose.gather.cases import is_of_pbs, with_status
from maple_agents.diagnose.tell import page
from maple_agents.diagnose.tell.next_steps import SIGNS, filled, louder, new, steps
from maple_agents.diagnose.tell.page_rows import step
from maple_agents.diagnose.tell.site_help import _OF_CAUSE, OWN_PACKAGES, here
from maple_agents.diagnose.values import Case, Cause, Diagnosis, Ended, Evidence, LogFile
from maple_agents.templates.knowledge.entries import CLASSES
from maple_submit_filter.answer.report import printable
from maple_submit_filter.site.facts import GENERIC_SLURM, Site
from maple_submit_filter.types.submission import Submission

SITES = sorted(set(sites.ids()) - set(GENERIC))


def diagnosis(cause: str, site: Site = GENERIC_SLURM, **more: Any) -> Diagnosis:
    """Return one of a job on *site*. *more*: of the case, `script` of its submission, `values` of the cause."""
    script, values = more.pop("script", None), more.pop("values", {})
    asked = Submission("slurm", (b"sbatch",), script, "stdin", b"", b"/", os.getuid(), {}) if script else None
    made = Case(more.pop("ended", Ended("7", "failed", 1)), site.scheduler, site, asked, **more)
    return Diagnosis(made, (Cause("", cause, "", 1.0, 0.5, values=values),))


def test_every_class_that_is_spoken_of_exists() -> None:
    """A class that is called otherwise would be passed over in silence."""
    assert set(_OF_CAUSE) <= set(CLASSES)


@pytest.mark.parametrize("site_id", SITES)
def test_what_a_site_says_can_be_shown(site_id: str) -> None:
    """A sentence each, in one line, and of no more than a few rows; every site says something."""
    site = sites.load(site_id)
    told = [line for cause in _OF_CAUSE for line in here(diagnosis(cause, site))]
    assert told
    for line in told:
        assert line == printable(line).strip() and len(line) < 400 and not line.endswith(":")


SAID = [
    ("ncsa-delta", "invalid_partition_account_qos", "partitions: gpuA100x4, "),
    ("alcf-polaris", "invalid_partition_account_qos", "queues: debug, debug-scaling, prod, "),
    ("ncsa-delta", "missing_python_module", "PyTorch comes with: module load pytorch-conda"),
    ("tacc-lonestar6", "gpu_oom", "GPU memory: 80 GiB on gpu-h100, 40 GiB on "),
    ("alcf-aurora", "hub_offline_or_gated", "https_proxy=http://proxy.alcf.anl.gov:3128"),
    ("alcf-aurora", "nccl_init_or_transport", "GLOO_SOCKET_IFNAME=hsn0"),
    ("alcf-polaris", "nccl_init_or_transport", "NCCL_CROSS_NIC=1"),
    ("alcf-polaris", "time_limit", "longest times: "),
    ("tacc-vista", "launcher_not_found", "launchers: ibrun"),
]


@pytest.mark.parametrize(("site_id", "cause", "said"), SAID)
def test_the_sites_own_names(site_id: str, cause: str, said: str) -> None:
    """Where general advice says PARTITION or MODULE, this site's stand."""
    found = here(diagnosis(cause, sites.load(site_id), values={"name": "torch"}))
    assert any(said in line for line in found), found


def test_queues_that_one_cannot_ask_for_are_not_named() -> None:
    """PBS routes into them by itself, and refuses them to people."""
    (line, *_) = here(diagnosis("time_limit", sites.load("alcf-polaris")))
    assert " small " not in line and " prod " in line


@pytest.mark.parametrize(("name", "told"), [("torch", True), ("torchvision.ops", True), ("wandb", False)])
def test_pytorch_is_spoken_of_where_it_is_missing(name: str, told: bool) -> None:
    """Another package does not come with it."""
    found = here(diagnosis("missing_python_module", sites.load("ncsa-delta"), values={"name": name}))
    assert any("PyTorch comes" in line for line in found) is told


@pytest.mark.parametrize("site_id", sorted(GENERIC))
def test_a_site_that_nobody_described_says_nothing(site_id: str) -> None:
    """Nothing is known of it, and nothing made up."""
    assert all(here(diagnosis(cause, GENERIC[site_id])) == () for cause in CLASSES)


def test_where_the_cause_is_known_there_is_no_other_way() -> None:
    """Its fixes say what to do."""
    assert list(steps(diagnosis("gpu_oom"))) == list(steps(diagnosis("none"))) == []


def test_a_log_without_complaints_proves_no_good_end() -> None:
    """Where no scheduler tells how it ended, the user may know better."""
    (one,) = steps(diagnosis("none", ended=Ended()))
    assert "how it ended is not known" in one and "--state failed" in one


def test_what_to_do_where_it_is_not() -> None:
    """The files first, then more words, then people, who get a page without secrets."""
    log = LogFile("/x/slurm-7.out", "both")
    told = list(steps(diagnosis("unknown", sites.load("ncsa-delta"), script=b"srun x\n", missing=("a: gone",))))
    assert told[0] == "if it wrote elsewhere, name the file: maple-fix 7 --log FILE"
    assert told[1].startswith("run it again with more output: export PYTHONUNBUFFERED=1; set -x")
    assert told[2].startswith("ask the help desk of NCSA and send this page") and told[2].endswith(
        ": maple-fix 7 > 7.txt"
    )
    assert told[3].startswith("once you know the cause: maple-fix 7 --was CLASS")
    (script, *_) = steps(diagnosis("unknown", logs=(log,), ended=Ended("", "failed")))
    assert script == "add its script, so that its launch lines are checked: --script FILE"


@pytest.mark.parametrize(
    ("state", "site", "said"),
    [
        ("pending", GENERIC_SLURM, "squeue --start -j 7"),
        ("pending", GENERIC["generic-pbs"], "qstat -f 7 | grep comment"),
        ("running", GENERIC_SLURM, "tail -f /x/7.out"),
    ],
)
def test_a_job_that_goes_on_has_no_cause_yet(state: str, site: Site, said: str) -> None:
    """It is told where to look, and to ask again; no help desk is bothered."""
    log = LogFile("/x/7.out", "both")
    told = list(steps(diagnosis("unknown", site, ended=Ended("7", state), logs=(log,))))
    assert [one.rpartition(": ")[2] for one in told] == [said, "maple-fix 7"]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (b"export NCCL_DEBUG=INFO PYTHONUNBUFFERED=1\nset -x\n", "export PYTHONFAULTHANDLER=1"),
        (b"export PYTHONUNBUFFERED=1 PYTHONFAULTHANDLER=1 NCCL_DEBUG=INFO\n", "set -x"),
        (b"export HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz0123456789\nPYTHONUNBUFFERED=1 NCCL_DEBUG=INFO\n",
         "export PYTHONFAULTHANDLER=1"),
    ],
    ids=["some", "all but the trace", "a secret"],
)  # fmt: skip
def test_what_makes_a_job_say_more(script: bytes, said: str) -> None:
    """What the script says already is not told again, and no trace is asked for that would tell a secret."""
    loud = [sign for sign in SIGNS if {"PYTHONFAULTHANDLER=1", "NCCL_DEBUG=INFO"}.intersection(sign.settings)]
    assert louder(diagnosis("unknown", script=script).case, loud) == said


@pytest.mark.parametrize(
    ("line", "ended", "wanted", "not_wanted"),
    [
        ("/tmp/job7/slurm_script: line 9: 2211 Killed python a.py", Ended("7", "failed"), "sacct -j 7", "NCCL_DEBUG"),
        ("", Ended("7", "failed", 137), "sacct -j 7", "NCCL_DEBUG"),
        ("Segmentation fault (core dumped)", Ended("7", "failed", 139), "PYTHONFAULTHANDLER=1", "NCCL_DEBUG"),
        ("NCCL INFO Bootstrap : Using eth0", Ended("7", "timeout"), "NCCL_DEBUG=INFO", "FAULTHANDLER"),
        ("", Ended("7", "timeout"), "py-spy dump", "NCCL_DEBUG"),
        ("exitcode  : 1 (pid: 9)\nerror_file: <N/A>", Ended("7", "failed", 1), "--redirects 3", "NCCL_DEBUG"),
        ("ValueError: what is this", Ended("7", "failed", 1), "on one GPU", "NCCL_DEBUG"),
    ],
)
def test_unknown_says_what_would_tell(line: str, ended: Ended, wanted: str, not_wanted: str) -> None:
    """By what the log shows, not the same for all."""
    asked = diagnosis("unknown", ended=ended)
    asked = replace(asked, excerpt=(Evidence("/x/7.out", 3, line),) if line else ())
    told = "\n".join(steps(asked))
    assert wanted in told and not_wanted not in told


def test_a_step_with_a_command_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It is copied by hand: a line break of ours would end the command; a sentence is folded."""
    monkeypatch.setattr("maple_agents.diagnose.tell.page_rows._room", lambda: 40)
    step("  - ", "srun bash -c 'accelerate launch --machine_rank $SLURM_NODEID \"$@\"' bash train.py")
    step("  - ", "ask the people who look after the cluster whether that node is known to be broken")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("bash train.py") and len(lines) == 4 and all(len(one) <= 44 for one in lines[1:])


@pytest.mark.parametrize("site_id", ["ncsa-delta", "tacc-lonestar6"])
def test_a_sentence_of_the_site_is_no_command(
    site_id: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names options and variables, and is folded as a sentence: no row ends with a backslash, none is too long."""
    monkeypatch.setattr("maple_agents.diagnose.tell.page_rows._room", lambda: 79)
    found = diagnosis("wrong_interpreter_or_env", sites.load(site_id))
    monkeypatch.setattr(page, "here", lambda told: [line for line in here(told) if line.startswith(OWN_PACKAGES)])
    page._here(found)
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 2 and not any(row.endswith("\\") or len(row) > 80 for row in rows)


@pytest.mark.parametrize(
    ("step_", "name", "job", "said"),
    [
        ("sacct -j JOBID --format=MaxRSS", "a.sh", "7", "sacct -j 7 --format=MaxRSS"),
        ("sed -i 's/\\r$//' JOB.sh", "my job.sh", "", "sed -i 's/\\r$//' 'my job.sh'"),
        ("sacct -j JOBID; bash -n JOB.sh", "", "", "sacct -j JOBID; bash -n JOB.sh"),
        ("MYJOBID JOBIDS JOB.shx", "a.sh", "7", "MYJOBID JOBIDS JOB.shx"),
    ],
)
def test_names_that_are_known_are_filled_in(step_: str, name: str, job: str, said: str) -> None:
    """Advice in general leaves them open."""
    assert filled(step_, diagnosis("unknown", name=name, ended=Ended(job, "failed"))) == said


@pytest.mark.parametrize(
    ("lines", "said"),
    [(("slurmstepd: error: Detected 1 oom_kill event in StepId=4777403.0. Some",), "4777403"),
     (("*** JOB 11 ON n1 CANCELLED", "*** STEP 12.0 ON n1"), "JOBID"), ((), "JOBID")],
)  # fmt: skip
def test_the_evidence_may_name_the_job(lines: tuple[str, ...], said: str) -> None:
    """Where it names one alone."""
    found = diagnosis("host_oom", ended=Ended("", "failed"))
    (first,) = found.causes
    found = replace(found, causes=(replace(first, evidence=tuple(Evidence("a", 1, line) for line in lines)),))
    assert filled("JOBID", found) == said


def test_a_step_that_repeats_its_heading_is_left_out() -> None:
    """It would say the same twice."""
    steps_ = ["put ulimit -n 65536 before the launch line", "see ulimit -Hn on the node"]
    assert new(steps_, "raise the limit before the launch line: put ulimit -n 65536 there") == steps_[1:]
    assert new(["", "make it smaller"], "make batches smaller") == ["", "make it smaller"]


@pytest.mark.parametrize(
    ("status", "state", "ended"),
    [(271, None, ("failed", None, 15)), (265, "out-of-memory", ("out-of-memory", None, 9)),
     (-29, None, ("timeout", None, None)), (-99, None, ("unknown", None, None))],
)  # fmt: skip
def test_an_exit_status_as_pbs_tells_it(status: int, state: str | None, ended: tuple[object, ...]) -> None:
    """256 and a signal, or PBS's own reason; what the user says of the state stays."""
    assert is_of_pbs(status) and not any(map(is_of_pbs, (0, 1, 255, None)))
    made = with_status(diagnosis("unknown").case, status, state).ended
    assert (made.state, made.exit_code, made.signal) == ended
