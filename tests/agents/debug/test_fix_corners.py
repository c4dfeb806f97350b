"""`maple-fix` where things go wrong at night: interrupts, outputs that take nothing, copies that are there already."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from maple_agents.base.complaint import Complaint
from maple_agents.cli import main
from maple_agents.cli.fix import application as fix_applied
from maple_agents.cli.fix import argument as fix_last
from maple_agents.cli.fix.application import Applied, applied
from maple_agents.cli.fix.command import fix as command
from maple_agents.cli.main import run
from maple_agents.diagnose import explanation
from maple_agents.diagnose.gather import which_job
from maple_agents.diagnose.tell import page as fix_shown
from maple_agents.diagnose.values import Case, Cause, Cure, Diagnosis, Ended
from maple_agents.templates import knowledge
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.types.submission import Submission

from tests.agents.debug.fix_called import COMMAND, SCRIPT, SECONDS, case, environment, fix

FIXED = SCRIPT.replace("29500", "29511").encode()


def diagnosis(folder: Path) -> Diagnosis:
    """Return one with a cure of `job.sh`, which lies in *folder*."""
    (folder / "job.sh").write_text(SCRIPT)
    asked = Submission(
        "slurm", (b"sbatch", b"job.sh"), SCRIPT.encode(), "file", b"job.sh", os.fsencode(folder), os.getuid(), {}
    )
    made = Case(Ended("7", "failed", 1), "slurm", GENERIC_SLURM, asked, "job.sh")
    return Diagnosis(made, (Cause("", "port_in_use", "taken", 9.0, 0.9),), cures=(Cure("", "a port", "safe", FIXED),))


@pytest.fixture
def explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Diagnosis:
    """What every question is answered with."""
    found = diagnosis(tmp_path)
    monkeypatch.setattr(explanation, "case_of", lambda *_: found.case)
    monkeypatch.setattr(explanation, "explained", lambda *_: found)
    return found


@pytest.fixture
def sbatch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in on PATH that says a job id; with WAIT it says so in a file, and sleeps."""
    folder = tmp_path / "bin"
    folder.mkdir()
    path = folder / "sbatch"
    path.write_text(
        '#!/bin/sh\nif [ -n "$WAIT" ]; then : > "$WAIT"; exec sleep 60; fi\necho \'Submitted batch job 8\'\n'
    )
    path.chmod(0o755)
    monkeypatch.setenv("PATH", "%s:%s" % (folder, os.environ["PATH"]))
    return path


def _stop(*_: object, **__: object) -> Any:
    raise KeyboardInterrupt


STAGES = [
    (knowledge, "entries"), (explanation, "case_of"), (explanation, "explained"), (fix_applied, "applied"),
    (fix_applied, "_put"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("module", "name", "words"),
    [(fix_shown, "show", ()), *((*one, words) for one in STAGES for words in ((), ("--json",)))],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_an_interrupt_is_one_line(
    module: Any, name: str, words: tuple[str, ...], explained: Diagnosis, monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """At every stage: exit code 130, one line, no file; and what was printed is whole."""
    monkeypatch.setattr(module, name, _stop)
    before = sorted(os.listdir(tmp_path))
    assert run(["7", "--apply", *words], command, "maple-fix") == 130
    out, err = capsys.readouterr()
    assert err == "maple: interrupted; nothing was written, and nothing submitted\n"
    assert sorted(os.listdir(tmp_path)) == before
    if words and out:
        assert json.loads(out)["written"] is None


def test_an_interrupted_submission_says_where_to_look(
    explained: Diagnosis, sbatch: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether the scheduler took it nobody knows: it must not be said that nothing was submitted."""
    monkeypatch.setattr(fix_applied.subprocess, "run", _stop)
    assert run(["7", "--submit"], command, "maple-fix") == 130
    assert capsys.readouterr().err.splitlines()[-1] == (
        "maple: interrupted while sbatch ran; squeue --me shows whether it took the job"
    )


def test_a_real_interrupt(tmp_path: Path, sbatch: Path) -> None:
    """Ctrl-C goes to the whole foreground group; the submit command ends with it, and nothing is left behind."""
    words, temporary, waiting = case(tmp_path), tmp_path / "tmp", tmp_path / "waiting"
    temporary.mkdir()
    env = environment(tmp_path, TMPDIR=str(temporary), WAIT=str(waiting), PATH=os.environ["PATH"])
    process = subprocess.Popen(
        [*COMMAND, *words, "--submit"], cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    until = time.monotonic() + SECONDS
    while not waiting.exists() and time.monotonic() < until:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 130 and b"Traceback" not in err and b"squeue --me" in err
    assert os.listdir(temporary) == []


@pytest.mark.parametrize("words", [(), ("--json",)], ids=["page", "json"])
def test_an_output_that_is_full_is_no_mistake_of_maples(tmp_path: Path, words: tuple[str, ...]) -> None:
    """One line, exit code 2, and with --apply nothing is written that the user does not hear of."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, *case(tmp_path), *words], cwd=tmp_path, env=environment(tmp_path), stdout=full,
            stderr=subprocess.PIPE, timeout=SECONDS, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"could not be printed: no space left on device" in done.stderr and b"mistake" not in done.stderr


def test_a_closed_output_is_one_line(tmp_path: Path) -> None:
    """What is opened next must not get its number, and be written to."""
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *COMMAND, *case(tmp_path)], cwd=tmp_path, env=environment(tmp_path),
        stderr=subprocess.PIPE, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1) and b"is closed" in done.stderr


def test_letters_that_the_terminal_has_not(tmp_path: Path) -> None:
    """A log in Japanese on a Latin-1 terminal is shown with question marks, not with a complaint."""
    log = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nValueError: größe \u2713\n'
    words = case(tmp_path, log.encode(), "#!/bin/bash\npython a.py\n")
    done = subprocess.run(
        [*COMMAND, *words], cwd=tmp_path, env=environment(tmp_path, PYTHONIOENCODING="latin-1"), capture_output=True,
        timeout=SECONDS, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert "größe ?" in done.stdout.decode("latin-1")


def test_a_reader_that_leaves_does_not_stop_the_fix(
    explained: Diagnosis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`maple-fix 7 --apply | head -1` writes the copy all the same."""
    monkeypatch.setattr(fix_applied, "_silence", lambda: None)

    def gone(*_: object) -> None:
        raise OSError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr(fix_shown, "show", gone)
    assert run(["7", "--apply"], command, "maple-fix") == 0
    assert (tmp_path / "job.maple.sh").read_bytes() == FIXED


def test_apply_and_then_submit(tmp_path: Path, sbatch: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Who has written the copy, and looked at it, may submit it: the same bytes are no obstacle."""
    found = diagnosis(tmp_path)
    applied(found, submit=False)
    assert "written: " in capfd.readouterr().err
    applied(found, submit=True)
    told = capfd.readouterr()
    assert "is there already: " in told.err and told.out == "Submitted batch job 8\n"


def test_a_copy_that_was_changed_stays(tmp_path: Path) -> None:
    """What the user has made of the copy is neither overwritten nor submitted."""
    found = diagnosis(tmp_path)
    applied(found, submit=False)
    copy = tmp_path / "job.maple.sh"
    copy.write_bytes(FIXED.replace(b"29511", b"29512"))
    with pytest.raises(Complaint, match="is there already, and is not this fix; Maple overwrites nothing"):
        applied(found, submit=True)
    assert b"29512" in copy.read_bytes()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EDQUOT])
def test_a_folder_that_takes_no_file(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Full, closed, read-only, over quota: one line with a way round, and nothing is there."""
    found = diagnosis(tmp_path)

    def refused(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("maple_agents.base.new_file._write", refused)
    with pytest.raises(Complaint, match="nothing was written; apply the diff with patch in another folder"):
        applied(found, submit=False)
    assert sorted(os.listdir(tmp_path)) == ["job.sh"]


def test_a_disk_that_is_full_holds_no_half_copy(tmp_path: Path) -> None:
    """The copy is there whole or not at all, and no draft of it stays; the JSON is whole too."""
    words = case(tmp_path)

    def small() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

    told = fix(*words, "--apply", "--json", cwd=tmp_path, preexec_fn=small)
    assert (told.code, told.err.count("\n"), told.json["written"]) == (2, 1, None)
    assert [name for name in os.listdir(tmp_path) if "maple.sh" in name] == []


@pytest.mark.parametrize("submit", [False, True], ids=["apply", "submit"])
def test_json_stays_one_document(
    submit: bool, explained: Diagnosis, sbatch: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What sbatch says stands in the document, not behind it."""
    assert run(["7", "--json", "--submit" if submit else "--apply"], command, "maple-fix") == 0
    told = json.loads(capfd.readouterr().out)
    assert told["written"] == str(tmp_path / "job.maple.sh")
    assert told["submitted"] == ("Submitted batch job 8" if submit else None)


def test_what_was_done_is_told() -> None:
    """Without --apply nothing was."""
    assert Applied() == (None, None)


def test_a_damaged_knowledge_base_is_no_mistake_of_maples(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An administrator may have a hand in it: one line says where."""

    def damaged() -> None:
        raise ValueError("knowledge/x.toml: entry.a: no class b\nand more")

    monkeypatch.setattr(knowledge, "entries", damaged)
    assert run(["--log", "/dev/null"], command, "maple-fix") == 2
    assert "knowledge/x.toml: entry.a: no class b; maple templates lint" in capsys.readouterr().err


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody looks."""
    monkeypatch.setattr(fix_last, "_is_seen", lambda: True)


NOW = 1_780_000_000.0


@pytest.mark.parametrize(
    ("ago", "said"),
    [(30, " just now"), (70, " 1 minute ago"), (3600, " 60 minutes ago"), (None, ""), (-900, ""), (NOW + 5, "")],
)
def test_when_the_last_one_failed(ago: float | None, said: str) -> None:
    """A time that cannot be is not told."""
    assert fix_last._when(None if ago is None else NOW - ago, NOW) == said


def test_without_a_job_the_last_that_failed_is_taken(
    terminal: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is said which; what submits or remembers wants it named."""
    monkeypatch.setattr(which_job, "last_failed", lambda: which_job.Last("4711", "tra\x1bin", "timeout", None))
    assert fix_last.last_failed(acts=False) == "4711"
    assert capsys.readouterr().err == "maple: your last failed job: 4711 (tra\\x1bin), timeout\n"
    with pytest.raises(Complaint, match="name the job, so that no other is changed; .* job is 4711"):
        fix_last.last_failed(acts=True)


def test_the_line_of_news_does_not_tell_of_it_again(terminal: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user has just read why that one failed; a job that is named on the line counts before it."""
    monkeypatch.setattr(fix_last, "_taken", [])
    assert main._looked_at(["fix"]) is None
    monkeypatch.setattr(which_job, "last_failed", lambda: which_job.Last("4711", "", "failed", None))
    fix_last.last_failed(acts=False)
    assert (main._looked_at(["fix"]), main._looked_at(["fix", "12"]), main._looked_at(["check"])) == (
        "4711",
        "12",
        None,
    )


def test_without_a_job_that_failed_it_is_one_line(terminal: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows of one."""
    monkeypatch.setattr(which_job, "last_failed", lambda: None)
    with pytest.raises(Complaint, match="none of your jobs is known to have failed; name one"):
        fix_last.last_failed(acts=False)


def test_a_program_names_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal nobody is asked which one failed last."""
    called: list[Callable[[], None]] = []
    monkeypatch.setattr(which_job, "last_failed", lambda: called.append)
    with pytest.raises(Complaint, match="name a job, or files"):
        fix_last.last_failed(acts=False)
    assert called == []


def test_last_is_the_last_that_failed_also_for_a_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The word says which is meant, so no terminal is needed, and a file of that name is not taken for it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "last").write_text("no log")
    monkeypatch.setattr(which_job, "last_failed", lambda: which_job.Last("4711", "train", "failed", None))
    assert run(["last"], command, "maple-fix") == 2
    assert capsys.readouterr().err.startswith("maple: your last failed job: 4711 (train), failed\nmaple: job 4711: ")
    assert run(["last", "--apply"], command, "maple-fix") == 2
    assert "your last failed job is 4711" in capsys.readouterr().err


@pytest.mark.parametrize("job", ["", "  "])
def test_an_empty_job_id_is_told_as_such(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`maple-fix "$JOB"` where JOB is not set."""
    assert run([job], command, "maple-fix") == 2
    assert "the job id is empty" in capsys.readouterr().err


def test_a_log_in_place_of_a_job(tmp_path: Path) -> None:
    """`maple-fix slurm-4711.out` reads that file; a name that is none is still no job."""
    (tmp_path / "slurm-4711.out").write_text("ModuleNotFoundError: No module named 'torch'\n")
    told = fix("slurm-4711.out", "--site", "generic-slurm", "--exit-code", "271", "--json", cwd=tmp_path).json
    assert told["cause"]["class"] == "missing_python_module" and told["exit_code"] is None
    assert "is no job id" in fix("slurm-4712.out", cwd=tmp_path).err


@pytest.mark.parametrize("way, is_told", [("missing.py", False), ('"$(dirname "$0")/missing.py"', True)])
def test_the_copy_of_a_script_is_spoken_of_where_the_script_looks_beside_itself(
    tmp_path: Path, way: str, is_told: bool
) -> None:
    """What to do follows from the script: one that names no $0 is told nothing of it."""
    (tmp_path / "job.sh").write_text("#!/bin/bash\n#SBATCH --nodes=1\n/usr/bin/python3 %s\n" % way)
    (tmp_path / "out.log").write_text(
        "/usr/bin/python3: can't open file '/home/ann/missing.py': [Errno 2] No such file or directory\n"
    )
    said = fix("--log", "out.log", "--script", "job.sh", "--site", "generic-slurm", cwd=tmp_path)
    assert "file_not_found" in said.out
    assert ("SLURM_SUBMIT_DIR" in said.out) == is_told
