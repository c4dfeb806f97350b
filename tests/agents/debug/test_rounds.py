"""Rounds of fix, run and read again: when they go on, when they stop, and what they leave."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from maple_agents.ask.schedulers import Job, JobState
from maple_agents.ask.verified_runs import CannotVerify
from maple_agents.base.complaint import Complaint
from maple_agents.diagnose.retry import loop as rounds_shown
from maple_agents.diagnose.retry import rounds
from maple_agents.diagnose.retry import rounds as rounds_copies
from maple_agents.diagnose.retry.loop import Attempt, End, NotTried, Story, story, symptom
from maple_agents.diagnose.values import Cure, Diagnosis

from tests.agents.debug.made import SCRIPT, cause, cure, diagnosis, submission

RAN = cause("none", "")


def after(*answers: Diagnosis) -> Callable[[Diagnosis, Cure, int], Attempt]:
    """Return what tries a fix, and comes to these diagnoses one after the other."""

    def attempt(_: Diagnosis, tried: Cure, number: int) -> Attempt:
        return Attempt(number, tried, f"job.maple-{number}.sh", "job", str(100 + number), "failed", answers[number - 1])

    return attempt


def failing(text: str, number: int, name: str = "port_in_use") -> Diagnosis:
    """Return a failure of a copy that has another fix to offer."""
    copy = submission(SCRIPT + b"# %d\n" % number, "job.maple.sh")
    return diagnosis(cause(name, text), cures=(cure(number + 1),), asked=copy)


def test_one_round_is_enough() -> None:
    """A job that runs ends the rounds, and that is said."""
    made = story(diagnosis(cures=(cure(),)), 5, after(diagnosis(RAN)))
    assert (made.end, len(made.attempts), made.attempts[0].ran) == (End.RAN, 1, True)


def test_each_round_goes_on_from_what_the_last_one_made() -> None:
    """Another failure has a fix of its own; what was learnt in between is not forgotten."""
    answers = [failing("no such file", 1, "file_not_found"), failing("oom", 2, "host_oom"), diagnosis(RAN)]
    made = story(diagnosis(cures=(cure(),)), 5, after(*answers))
    assert made.end is End.RAN
    assert [one.cure.says for one in made.attempts] == ["fix 1", "fix 2", "fix 3"]


@pytest.mark.parametrize("text", ["Address already in use", "port 4711: busy"])
def test_the_same_symptom_ends_it_whatever_its_numbers(text: str) -> None:
    """A failure that comes back with other numbers is the same failure."""
    first = diagnosis(cause(text=text), cures=(cure(),))
    made = story(first, 5, after(failing(text.replace("4711", "29501"), 1), diagnosis(RAN)))
    assert (made.end, len(made.attempts)) == (End.SAME, 1)


def test_a_symptom_that_comes_back_later_ends_it_too() -> None:
    """Two fixes that undo each other do not go round in a circle."""
    made = story(
        diagnosis(cures=(cure(),)), 5,
        after(failing("oom", 1, "host_oom"), failing("Address already in use", 2), diagnosis(RAN)),
    )  # fmt: skip
    assert (made.end, len(made.attempts)) == (End.SAME, 2)


def test_rounds_are_used_up() -> None:
    """No more rounds are made than were asked for."""
    answers = [failing("failure " + "abcde"[number], number + 1, "code_error") for number in range(5)]
    made = story(diagnosis(cures=(cure(),)), 3, after(*answers))
    assert (made.end, len(made.attempts)) == (End.USED_UP, 3)


def test_what_was_submitted_already_is_not_tried_again() -> None:
    """A fix that gives a script that was tried, or the one that failed, is no fix."""
    again = replace(failing("oom", 1, "host_oom"), cures=(cure(1), cure(5, script=SCRIPT)))
    made = story(diagnosis(cures=(cure(),)), 5, after(again, diagnosis(RAN)))
    assert (made.end, len(made.attempts)) == (End.NOTHING_LEFT, 1)


@pytest.mark.parametrize("cures", [(), (cure(held_back="bash would not take it"),), (cure(script=None),)])
def test_where_no_fix_changes_the_script_nothing_is_run(cures: tuple[Cure, ...]) -> None:
    """What people have to do, and what failed a check, is not submitted."""
    made = story(diagnosis(cures=cures), 5, after())
    assert (made.end, made.attempts) == (End.NOTHING_LEFT, ())
    assert "other" not in rounds_shown.ending(made, diagnosis(cures=cures))  # there was none before


def test_a_fix_that_cannot_be_run_ends_it() -> None:
    """The scheduler's refusal is told, and what came before is kept."""

    def refused(*_: object) -> Attempt:
        raise NotTried("sbatch: Invalid account")

    made = story(diagnosis(cures=(cure(),)), 5, refused)
    assert (made.end, made.why) == (End.NOT_TRIED, "sbatch: Invalid account")


def test_a_symptom_keeps_what_tells_deaths_apart() -> None:
    """Exit codes and signals are no numbers to be masked."""
    one, other = (symptom(diagnosis(cause(text=f"task 3: Exited with exit code {code}"))) for code in (1, 137))
    assert one != other


@pytest.mark.parametrize(
    ("path", "number", "name"),
    [
        ("/a/job.sh", 1, "/a/job.maple.sh"),
        ("/a/job.sh", 2, "/a/job.maple-2.sh"),
        ("/a/job.maple.sh", 2, "/a/job.maple-2.sh"),
        ("/a/job.maple-7.sh", 8, "/a/job.maple-8.sh"),
        ("/a/train", 1, "/a/train.maple.sh"),
        ("/a/my.maple.thing.sh", 1, "/a/my.maple.thing.maple.sh"),
    ],
)
def test_names_of_copies(path: str, number: int, name: str) -> None:
    """Copies are numbered; a copy's copies are those of its original."""
    assert rounds_copies.name(path, number) == name


def test_copies_overwrite_nothing(tmp_path: Path) -> None:
    """What has the name already stays, links that lead nowhere as well; the next number is taken."""
    (tmp_path / "job.maple.sh").write_text("mine")
    (tmp_path / "job.maple-2.sh").symlink_to("nowhere")
    path = rounds_copies.written(cure(), diagnosis(asked=submission(cwd=str(tmp_path))))
    assert path == str(tmp_path / "job.maple-3.sh")
    assert Path(path).read_bytes() == SCRIPT + b"# 1\n"
    assert (tmp_path / "job.maple.sh").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()


def test_a_folder_that_cannot_be_written_is_one_line() -> None:
    """A copy that cannot be written is a fix that cannot be tried."""
    with pytest.raises(NotTried, match="/proc/nothing"):
        rounds_copies.written(cure(), diagnosis(asked=submission(cwd="/proc/nothing")))


@pytest.mark.parametrize(
    ("argv", "task", "words"),
    [
        ((b"sbatch", b"c.sh"), "1", ["sbatch", "c.sh"]),
        ((b"sbatch", b"-N2", b"c.sh", b"--lr", b"-W"), "1", ["sbatch", "-N2", "c.sh", "--lr", "-W"]),
        ((b"sbatch", b"--wait", b"-W", b"c.sh"), "1", ["sbatch", "c.sh"]),
        ((b"sbatch", b"-N2"), "1", ["sbatch", "-N2", "c.sh"]),
        ((b"sbatch", b"--array=0-9", b"c.sh"), "4711_3", ["sbatch", "--array=0-9", "--array=3", "c.sh"]),
    ],
)
def test_words_of_a_submission(argv: tuple[bytes, ...], task: str, words: list[str]) -> None:
    """The words are the first submission's; of an array the task that failed goes alone, and nothing waits."""
    assert rounds_copies.submit_words(submission(argv=argv, path="c.sh"), "c.sh", task) == words


@pytest.mark.parametrize(
    ("scheduler", "said", "job"),
    [
        ("slurm", "Submitted batch job 4711", "4711"),
        ("slurm", "hello\nSubmitted batch job 4711 on cluster b", "4711"),
        ("slurm", "4711;b", "4711"),
        ("pbs", "4711.pbs01.site.org", "4711.pbs01.site.org"),
        ("pbs", "39[].pbs01", "39[].pbs01"),
    ],
)
def test_the_id_of_a_job(tmp_path: Path, scheduler: str, said: str, job: str) -> None:
    """The id is read from what the command prints, in each of its forms."""
    assert (
        rounds_copies.submit(["send", "x"], scheduler, str(tmp_path), _command(tmp_path, f"printf '%s\\n' '{said}'"))
        == job
    )


@pytest.mark.parametrize(
    "does", ["echo 'sbatch: error: Invalid account' >&2; exit 1", "echo nothing that is an id", "exit 3"]
)
def test_a_refused_submission_is_one_line(tmp_path: Path, does: str) -> None:
    """What the scheduler refuses is not tried; its last words say why."""
    with pytest.raises(NotTried) as raised:
        rounds_copies.submit(["send"], "slurm", str(tmp_path), _command(tmp_path, does))
    assert str(raised.value).count("\n") == 0
    assert "Invalid account" in str(raised.value) or "Invalid" not in does


def _command(folder: Path, does: str) -> dict[str, str]:
    path = folder / "send"
    path.write_text("#!/bin/sh\n%s\n" % does)
    path.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


class States:
    """A scheduler whose job takes these states one after the other."""

    name = "slurm"

    def __init__(self, *states: JobState) -> None:
        self.states, self.cancelled = list(states), ""

    def jobs(self, ids: list[str]) -> dict[str, Job]:
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return {one: Job(one, state) for one in ids}

    def cancel(self, job_id: str) -> bool:
        self.cancelled = job_id
        return True


@pytest.mark.parametrize(
    ("states", "last"),
    [
        ((JobState.QUEUED, JobState.RUNNING, JobState.FINISHED), JobState.FINISHED),
        ((JobState.QUEUED, JobState.HELD), JobState.HELD),
        ((JobState.HELD, JobState.RUNNING, JobState.FINISHED), JobState.FINISHED),
        ((JobState.RUNNING, JobState.VANISHED), JobState.VANISHED),
    ],
)
def test_waiting_for_a_job(states: tuple[JobState, ...], last: JobState) -> None:
    """A job is waited for to its end; one that stays held waits for somebody, and is not waited for."""
    seen: list[JobState] = []
    found = rounds_copies.waited(States(*states), "1", lambda job: seen.append(job.state), lambda: 0.0, lambda _: None)  # type: ignore[arg-type]
    assert found.state is last
    assert seen[0] is states[0]


def test_nothing_is_submitted_where_nobody_can_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal and without --submit the rounds end before they begin."""
    monkeypatch.setattr(rounds, "choose", _must_not)
    monkeypatch.setattr(rounds, "at_terminal", lambda: False)
    with pytest.raises(Complaint, match="--submit"):
        rounds.run(diagnosis(cures=(cure(),)), 5, None)


@pytest.mark.parametrize("answer", ["\n", "n\n", ""])
def test_who_does_not_say_yes_says_no(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    """The default is no, and the end of input too."""
    import io

    import click

    monkeypatch.setattr(rounds, "choose", _must_not)
    monkeypatch.setattr(rounds, "at_terminal", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    with pytest.raises((click.exceptions.Exit, click.exceptions.Abort)):
        rounds.run(diagnosis(cures=(cure(),)), 5, None)


def _must_not(*_: object) -> None:
    raise AssertionError("a scheduler was looked for")


def test_a_job_that_succeeded_needs_no_round(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is asked, nothing submitted, and that is success."""
    assert rounds.run(diagnosis(RAN), 5, None) == 0
    assert "nothing to fix" in capsys.readouterr().out


def test_without_a_fix_nobody_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    """Where no fix changes the script there is nothing to consent to."""
    assert rounds.run(diagnosis(), 5, None) == 1
    assert "no fix of the script is known" in capsys.readouterr().out


def test_the_table_and_the_json_agree(capsys: pytest.CaptureFixture[str]) -> None:
    """People and programs are told the same rounds, and nothing that a terminal would obey."""
    hostile = cure(says="fix \x1b[31m with token hf_abcdefghijklmnopqrstuvwxyz0123456789")
    made = story(diagnosis(cures=(hostile,)), 5, after(diagnosis(RAN)))
    rounds_shown.show_story(made, diagnosis())
    printed, told = capsys.readouterr().out, rounds_shown.story_json(made)
    assert "it ran after 1 round" in printed
    assert told["ended"] == {"how": "ran", "why": None, "first_try": True, "rounds": 1}
    assert [one["job"] for one in told["rounds"]] == ["101"]  # type: ignore[attr-defined, index]
    for text in (printed, str(told)):
        assert "\x1b" not in text
        assert "hf_abc" not in text


def test_a_mini_app_that_ran_says_what_is_left_to_do() -> None:
    """That the launch works is not that the job ran: the copy is to be submitted."""
    attempt = Attempt(1, cure(), "/x/job.maple.sh", "mini-app", "7", "passed", diagnosis(RAN))
    assert "submit" in rounds_shown.ending(Story((attempt,), End.RAN), diagnosis())


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> States:
    """Return the scheduler of rounds that the user has agreed to; job 4712 is submitted without a command."""
    scheduler = States(JobState.RUNNING)
    monkeypatch.setattr(rounds, "choose", lambda _: scheduler)
    monkeypatch.setattr(rounds_copies, "submit", lambda *_: "4712")
    return scheduler


def test_a_signal_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, started: States, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C while a job is waited for: the job is cancelled, its copy gone, and the exit code says so."""
    import signal

    import click

    monkeypatch.setattr(rounds_copies, "waited", lambda *_: signal.raise_signal(signal.SIGINT))
    with pytest.raises(click.exceptions.Exit) as raised:
        rounds.run(diagnosis(cures=(cure(),), asked=submission(cwd=str(tmp_path))), 5, None, submit=True)
    assert raised.value.exit_code == 130
    assert started.cancelled == "4712"
    assert list(tmp_path.iterdir()) == []
    assert "cancelled" in capsys.readouterr().err


def test_a_job_that_stays_held_is_cancelled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, started: States) -> None:
    """What would never run is not left in the queue."""
    monkeypatch.setattr(rounds_copies, "waited", lambda *_: Job("4712", JobState.HELD))
    monkeypatch.setattr(rounds.explanation, "case_of", lambda *_: (_ for _ in ()).throw(Complaint("not known")))
    assert rounds.run(diagnosis(cures=(cure(),), asked=submission(cwd=str(tmp_path))), 1, None, submit=True) == 1
    assert started.cancelled == "4712"
    assert [path.name for path in tmp_path.iterdir()] == ["job.maple.sh"]


def test_a_refused_copy_is_taken_away(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, started: States) -> None:
    """A copy that no job ran is of no use to anybody."""

    def refused(*_: object) -> str:
        raise NotTried("sbatch: no")

    monkeypatch.setattr(rounds_copies, "submit", refused)
    assert rounds.run(diagnosis(cures=(cure(),), asked=submission(cwd=str(tmp_path))), 5, None, submit=True) == 1
    assert list(tmp_path.iterdir()) == []
    assert started.cancelled == ""


def test_consent_is_asked_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, started: States) -> None:
    """One yes holds for all rounds."""
    import click

    asked: list[str] = []
    monkeypatch.setattr(rounds, "at_terminal", lambda: True)
    monkeypatch.setattr(click, "confirm", lambda text, **_: asked.append(text) or True)
    monkeypatch.setattr(rounds, "run_miniapps", lambda *_: (_ for _ in ()).throw(CannotVerify("no")))
    monkeypatch.setattr(rounds_copies, "waited", lambda *_: Job("4712", JobState.FINISHED))
    monkeypatch.setattr(rounds.explanation, "case_of", lambda *_: diagnosis().case)
    answers = iter([failing("oom", 1, "host_oom"), diagnosis(RAN)])
    monkeypatch.setattr(rounds.explanation, "explained", lambda *_: next(answers))
    assert rounds.run(diagnosis(cures=(cure(),), asked=submission(cwd=str(tmp_path))), 5, None) == 0
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ([diagnosis(RAN)], "after 1 round"),
        ([failing("oom", 1, "host_oom"), diagnosis(RAN)], "after 2 rounds"),
    ],
)
def test_the_story_fits_a_terminal_and_ends_with_the_rounds_that_it_took(
    answers: list[Diagnosis], says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fix of many words goes on in the next row."""
    monkeypatch.setenv("COLUMNS", "80")
    one = replace(cure(), says="start one launcher on each node: MPL301 one torchrun per node")
    first = diagnosis(cures=(one,))
    rounds_shown.show_story(story(first, 5, after(*answers)), first)
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert says in " ".join(shown.split()) and "at most" not in shown
