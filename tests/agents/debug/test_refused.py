"""A submission that sbatch refused has no job: why is asked anew of `sbatch --test-only`, which submits nothing."""

from __future__ import annotations

import getpass
import os
import time
from pathlib import Path

import pytest
from maple_agents.ask.schedulers.protocol import Job, JobState, SchedulerError
from maple_agents.ask.schedulers.slurm import commands
from maple_agents.base.complaint import Complaint
from maple_agents.cli.history import history_page
from maple_agents.diagnose.explanation import case_of, explained
from maple_agents.diagnose.gather import refusals
from maple_agents.diagnose.gather.sources import from_memory
from maple_agents.diagnose.gather.sources.job_facts import JobFacts
from maple_submit_filter.types.job_records import Record

from tests.secrets import SECRETS, leaked

SCRIPT = b"#!/bin/bash\n#SBATCH --partition=nosuch\nsrun python train.py\n"
SAID = "sbatch: error: invalid partition specified: nosuch\nallocation failure: Invalid partition name specified"
SBATCH = """#!/bin/sh
echo "$MAPLE $@" >> {0}/asked
for word; do last=$word; done
test -f "$last" && cat "$last" >> {0}/script
cat {0}/says >&2
test ! -s {0}/says
"""


def record(at: float = 0.0, joined: str = "none", job: str = "", verdict: str = "clean") -> Record:
    """A submission of *at* seconds ago."""
    return Record(
        "0123456789abcdef", "v", os.getuid(), time.time() - at, "h", 7, 7, "repair", verdict, (), "decided",
        job=job, joined=joined,
    )  # fmt: skip


def told(*words: bytes, script: bytes = SCRIPT) -> JobFacts:
    """What the service has of it."""
    return JobFacts(
        by="Maple", scheduler="slurm", name="job.sh", script=script, path="/nowhere/job.sh", work_dir="/nowhere",
        argv=(b"sbatch", *words), exact=True, owner=os.getuid(),
    )  # fmt: skip


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Slurm whose sbatch says what stands in the file `says`, and fails then; a user whose last submission it got."""
    (tmp_path / "sbatch").write_text(SBATCH.format(tmp_path))
    (tmp_path / "sbatch").chmod(0o755)
    (tmp_path / "says").write_text(SAID + "\n")
    (tmp_path / "asked").touch()
    (tmp_path / "state").mkdir(mode=0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(from_memory, "of_submission", lambda _: told(b"--nodes=2", b"job.sh", b"ten"))
    monkeypatch.setattr(refusals, "records", lambda limit=500: [record()])
    return tmp_path


def test_sbatch_is_asked_with_what_was_handed_over_and_submits_nothing(slurm: Path) -> None:
    """The words as they were, the script under its name, and the front told to stay aside."""
    assert refusals.words(record()) == SAID
    asked = (slurm / "asked").read_text().split()
    assert asked[:3] == ["off", "--test-only", "--nodes=2"] and asked[3].endswith("/job.sh") and asked[4:] == ["ten"]
    assert refusals.sentence(SAID) == "Invalid partition name specified"
    assert refusals.words(record()) == SAID and len((slurm / "asked").read_text().splitlines()) == 1  # kept


@pytest.mark.parametrize("words", [(b"--nodes=2",), (b"--wrap=srun python train.py",)], ids=["stdin", "wrap"])
def test_a_script_that_came_another_way_is_asked_about_too(slurm: Path, words: tuple[bytes, ...]) -> None:
    """From standard input it is put into a file, which is its last word; a command stays a word."""
    assert commands.complaint((b"sbatch", *words), SCRIPT, "/") == SAID
    assert ((slurm / "script").exists() and (slurm / "script").read_bytes() == SCRIPT) is (b"--wrap" not in words[0])


@pytest.mark.parametrize(
    ("words", "script"),
    [((b"--nodes=2", b":", b"--nodes=1", b"job.sh"), SCRIPT), ((b"job.sh",), b"#!/bin/sh\n#SBATCH hetjob\n")],
)
def test_of_several_components_nobody_is_asked(slurm: Path, words: tuple[bytes, ...], script: bytes) -> None:
    """The option might be read of one of them alone."""
    assert commands.complaint((b"sbatch", *words), script, "/") is None
    assert not (slurm / "asked").read_text()


@pytest.mark.parametrize(
    "one", [record(job="7"), record(verdict="ended"), record(verdict="trial"), record(200, joined="")]
)
def test_what_became_a_job_or_may_have_is_not_asked_about(slurm: Path, one: Record) -> None:
    """Without the scheduler's filter nobody knows of an older one whether it has a job."""
    assert refusals.words(one) == "" and not (slurm / "asked").read_text()


@pytest.mark.parametrize(
    ("name", "since", "says"), [("job.sh", 1.0, ""), ("other.sh", 1.0, SAID), ("job.sh", 60.0, SAID)]
)
def test_a_new_one_is_asked_about_where_the_scheduler_has_no_such_job(
    slurm: Path, monkeypatch: pytest.MonkeyPatch, name: str, since: float, says: str
) -> None:
    """The service hears of ids a little later."""
    job = Job("9", JobState.RUNNING, name=name, owner=getpass.getuser(), submitted=time.time() - 5 - since)

    class Slurm:
        def jobs_of(self, user: str, ended: bool = False) -> list[Job]:
            return [job] if ended else []

    monkeypatch.setattr(refusals, "choose", Slurm)
    assert refusals.words(record(5.0, joined="")) == says


def test_who_is_late_or_takes_it_now_refuses_nothing(slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nothing is said, and nothing is kept."""
    (slurm / "says").write_text("")
    assert refusals.words(record()) == "" and refusals.kept(record().id) == ""

    def late(*_: object, **__: object) -> str:
        raise SchedulerError("sbatch", "no answer after 15 s", "try again later")

    monkeypatch.setattr(commands, "complaint", late)
    assert refusals.words(record()) == ""


def test_pbs_has_no_such_question(slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So nobody is asked; and its list says so in a line."""
    of_pbs = JobFacts(by="Maple", scheduler="pbs", script=SCRIPT, argv=(b"qsub", b"job.sh"))
    monkeypatch.setattr(from_memory, "of_submission", lambda _: of_pbs)
    assert refusals.words(record()) == "" and not (slurm / "asked").read_text()
    assert "what qsub refused" in history_page.LATE


def test_the_cause_is_found_in_the_words_of_sbatch(slurm: Path) -> None:
    """By the submission's id; they are the proof, and no log is missed."""
    case = case_of(record().id, (), None, "generic-slurm", (), None, None)
    found = explained(case)
    assert found.causes[0].cause == "invalid_partition_account_qos"
    assert [line.text for line in found.causes[0].evidence][-1] == SAID.splitlines()[-1]
    assert case.ended.state == "refused" and case.missing == () and case.notes == (refusals.NOTE,)


@pytest.mark.parametrize("closed", [False, True], ids=["kept", "without-a-folder"])
def test_the_words_are_read_where_they_cannot_be_kept_too(
    slurm: Path, monkeypatch: pytest.MonkeyPatch, closed: bool
) -> None:
    """A home that is full or away hides nothing."""
    if closed:
        monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    case = refusals.by_submission(record().id, "generic-slurm")
    assert Path(case.logs[0].path).read_text().strip() == SAID


def test_an_id_that_nobody_has_is_told_in_one_line(slurm: Path) -> None:
    """It is no job's id either."""
    with pytest.raises(Complaint, match="no refused submission of this id"):
        case_of("f" * 16, (), None, None, (), None, None)


def test_history_tells_why_and_how_to_read_on(slurm: Path) -> None:
    """The list only says that it was refused, once that is known."""
    assert history_page.ending(record()) == "no job: refused, stopped or only tested"
    said = "Invalid partition name specified; maple-fix 0123456789abcdef"
    assert history_page.because(record(), asks=False) == ""
    assert history_page.because(record(), asks=True) == said == history_page.because(record(), asks=False)
    assert history_page.ending(record()) == "refused by sbatch"


def test_no_secret_of_it_is_kept_or_shown(slurm: Path) -> None:
    """sbatch repeats the words that it does not like."""
    (slurm / "says").write_text("".join("sbatch: error: invalid: %s\n" % one for one in SECRETS.values()))
    assert leaked(refusals.words(record()).encode(), refusals.kept(record().id).encode()) == []


def test_only_so_many_are_kept(slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest go."""
    monkeypatch.setattr(refusals, "MOST_KEPT", 2)
    for digit in "abc":
        refusals.words(record()._replace(id=digit * 16))
        time.sleep(0.01)
    assert [bool(refusals.kept(digit * 16)) for digit in "abc"] == [False, True, True]
