"""A diagnosis made at the job's end: of failed jobs alone, kept for their owner, and shown at once."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import stat
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from maple_agents.cli.fix.command import fix
from maple_agents.cli.main import run
from maple_agents.diagnose import at_end
from maple_agents.diagnose.at_end import MOST_KEPT, ended, keep, kept, says
from maple_agents.diagnose.values import Case, Cause, Diagnosis, Ended, Evidence
from maple_submit_filter.site.facts import GENERIC_SLURM

from tests.doubles import qstat

NOBODY = 65534
PYTHON = os.path.realpath(sys.executable)
LINE = "ModuleNotFoundError: No module named 'nosuchmodule'"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of the test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "state").mkdir()
    return tmp_path / "state" / "maple" / "diagnoses"


def made(job: str = "4711") -> Diagnosis:
    case = Case(Ended(job, "failed", 1), "slurm", GENERIC_SLURM)
    cause = Cause(
        "e", "missing_python_module", "nosuchmodule is not installed.", 6.0, 0.85, (Evidence("log", 4, LINE),)
    )
    return Diagnosis(case, (cause,))


def test_what_was_found_is_shown_at_once(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As people read it and as JSON; the file is its owner's alone."""
    now = time.time()
    keep(made(), now)
    found = state / "4711.json"
    assert stat.S_IMODE(found.stat().st_mode) == 0o600 and stat.S_IMODE(state.stat().st_mode) == 0o700
    assert run(["4711"], fix, "maple-fix") == 0
    said = capsys.readouterr().out
    assert "cause: nosuchmodule is not installed" in said and LINE in said
    assert said.splitlines()[-1].startswith("found at the job's end, 20") and "maple-fix 4711 --anew" in said
    assert run(["4711", "--json"], fix, "maple-fix") == 0
    assert json.loads(capsys.readouterr().out)["cause"]["class"] == "missing_python_module"
    assert says("4711", now) == "nosuchmodule is not installed"
    assert run(["4711", "--anew"], fix, "maple-fix") == 2, "nobody knows the job"


def test_what_is_old_or_of_another_job_is_not_shown(state: Path) -> None:
    """Schedulers use ids again; a task of an array is found by the array's id."""
    now = time.time()
    assert kept("4711", now) is None and not state.exists(), "looking makes no folder"
    keep(made(), now)
    assert kept("4711", now + 8 * 86400) is None and kept("471", now) is None and kept("../4711", now) is None
    keep(made("99_3"), now)
    told = kept("99", now)
    assert told is not None and told["told"]["job"] == "99_3"
    assert says("9", now) == ""


@pytest.mark.parametrize(
    ("kept_as", "typed", "other"),
    [
        ("30.pbs01", ("30", "30.pbs01", "30.pbs01.site"), ("3", "300", "30.other", "30[1]", "30[]")),
        ("39[3].pbs01", ("39", "39[]", "39[3]", "39.pbs01", "39[].pbs01"), ("39[4]", "3", "39[3].other")),
        ("99+1", ("99", "99+1"), ("99+2", "9")),
    ],
)
def test_ids_are_taken_as_users_type_them(
    state: Path, kept_as: str, typed: tuple[str, ...], other: tuple[str, ...]
) -> None:
    """Without PBS's server, and an array for its task."""
    keep(made(kept_as), time.time())
    assert [bool(kept(one, time.time())) for one in (*typed, *other)] == [True] * len(typed) + [False] * len(other)


def test_not_too_many_are_kept(state: Path) -> None:
    """The oldest go."""
    for number in range(MOST_KEPT + 5):
        keep(made(str(100 + number)), time.time())
        os.utime(state / ("%d.json" % (100 + number)), (number, number))
    assert len(os.listdir(state)) == MOST_KEPT
    assert not (state / "100.json").exists() and (state / ("%d.json" % (104 + MOST_KEPT))).exists()


@pytest.mark.parametrize("torn", ["", "{", "[]", '{"v": 1}', '{"v": 1, "at": "x"}', '{"v": 2, "at": 1}', "[" * 99999])
def test_a_torn_file_is_as_none(state: Path, torn: str) -> None:
    """And the logs are read."""
    keep(made(), time.time())
    (state / "4711.json").write_text(torn)
    assert kept("4711", time.time()) is None and says("4711", time.time()) == ""


def test_a_link_in_the_user_s_folder_is_not_followed(state: Path, tmp_path: Path) -> None:
    """Neither in place of the file, nor of the folder."""
    (tmp_path / "elsewhere").mkdir()
    keep(made(), time.time())
    (state / "4711.json").rename(tmp_path / "elsewhere" / "4711.json")
    os.symlink(tmp_path / "elsewhere" / "4711.json", state / "4711.json")
    assert kept("4711", time.time()) is None
    keep(made(), time.time())
    assert not (state / "4711.json").is_symlink()
    (state / "4711.json").unlink()
    state.rmdir()
    os.symlink(tmp_path / "elsewhere", state)
    assert kept("4711", time.time()) is None
    with pytest.raises(OSError):
        keep(made("5"), time.time())
    assert os.listdir(tmp_path / "elsewhere") == ["4711.json"]


@pytest.mark.parametrize(
    "status, reason, how",
    [
        ("1:0", "NonZeroExitCode", ("failed", 1, None)), ("0:0", "", None), ("0:15", "", None), ("0:9", "", None),
        ("0:15", "TimeLimit", ("timeout", None, 15)), ("0:9", "OutOfMemory", ("out-of-memory", None, 9)),
        ("0:11", "", ("failed", None, 11)), ("0:125", "OutOfMemory", ("out-of-memory", None, 125)),
        ("271", "", None), ("265", "", None), ("267", "", ("failed", None, 11)), ("2", "", ("failed", 2, None)),
        ("-29", "Job run and failed", ("timeout", None, None)), ("-27", "", ("out-of-memory", None, None)),
        ("-11", "", None), ("143", "", None), ("137", "", ("failed", 137, None)), ("0", "", None),
        *((one, "Job run at Sun and terminated by a@h", None) for one in ("0", "1", "143", "271", "137")),
        ("1", "Job run at Sun and failed", ("failed", 1, None)), ("", "", None), ("x", "", None), ("1:0; id", "", None),
    ],
)  # fmt: skip
def test_only_a_job_that_failed_is_diagnosed(status: str, reason: str, how: tuple[object, ...] | None) -> None:
    """Not one that ran well, and not one that somebody may have cancelled: a limit is named by the scheduler."""
    found = ended(Ended("raw", "running", reason=reason), "4711_2", status)
    assert (found and (found.state, found.exit_code, found.signal)) == how
    assert found is None or found.id == "4711_2"


def test_root_diagnoses_nothing(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it is called with; and nobody hears of what goes wrong."""
    called: list[tuple[object, ...]] = []
    monkeypatch.setattr(at_end, "_diagnosed", lambda *words: called.append(words))
    for uid in (0, 1000):
        monkeypatch.setattr(os, "getuid", lambda uid=uid: uid)
        monkeypatch.setattr(os, "geteuid", lambda uid=uid: uid)
        for words in (["4711", "--exit", "1:0"], ["../4711", "--exit", "1:0"], [], ["4711"], ["4711", "--x", "1"]):
            assert at_end.main(words) == 0
    assert called == [("4711", "1:0", ())]
    monkeypatch.setattr(at_end, "_diagnosed", lambda *words: 1 / 0)
    assert at_end.main(["4711", "--exit", "1:0"]) == 0


def test_logs_that_the_epilogue_names_are_read(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As PBS has them on the node, where no scheduler answers."""
    monkeypatch.setenv("PATH", "/proc/nowhere")
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "30.pbs01.ER"
    log.write_text('Traceback (most recent call last):\n  File "/w/a.py", line 1, in <module>\n%s\n' % LINE)
    at_end._diagnosed("30.pbs01", "1", (str(log),))
    assert "nosuchmodule" in says("30.pbs01", time.time())
    at_end._diagnosed("31.pbs01", "271", (str(log),))
    assert kept("31.pbs01", time.time()) is None


@pytest.fixture
def at_the_epilogue(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A job of PBS whose epilogue runs: it is called running, and its output lies in the node's spool."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "spool").mkdir()
    (tmp_path / "work").mkdir()
    shutil.copy(qstat.__file__, tmp_path / "bin" / "qstat")
    (tmp_path / "bin" / "qstat").chmod(0o755)
    told = {
        "Job_Name": "train", "Job_Owner": "%s@login1" % getpass.getuser(), "job_state": "R", "substate": 51,
        "exec_host": "node1/0", "Output_Path": "login1:%s/work/train.o30" % tmp_path, "comment": "Job run at Sun",
        "Error_Path": "login1:%s/work/train.e30" % tmp_path, "Resource_List": {"walltime": "00:10:00"},
    }  # fmt: skip
    (tmp_path / "jobs.json").write_text(json.dumps({"30.pbs01": told}))
    text = 'Traceback (most recent call last):\n  File "/w/a.py", line 1, in <module>\n%s\n' % LINE
    (tmp_path / "spool" / "30.pbs01.ER").write_text(text)
    (tmp_path / "spool" / "30.pbs01.OU").write_text("step 1\n")
    monkeypatch.setenv("PATH", "%s/bin:/usr/bin:/bin" % tmp_path)
    (tmp_path / "pbs.conf").write_text("PBS_SERVER=pbs01\n")
    monkeypatch.setenv("PBS_CONF_FILE", str(tmp_path / "pbs.conf"))
    monkeypatch.setenv("QSTAT_JOBS", str(tmp_path / "jobs.json"))
    monkeypatch.setenv("MAPLE_SOCKET", "/proc/nowhere/socket")
    return tmp_path


def diagnosed_there(folder: Path, status: str) -> dict[str, Any] | None:
    """What is kept of a job that ended with that status."""
    at_end._diagnosed("30.pbs01", status, tuple(str(folder / "spool" / ("30.pbs01" + one)) for one in (".OU", ".ER")))
    return kept("30.pbs01", time.time())


def test_what_pbs_has_not_delivered_yet_is_told_under_the_name_that_it_will_have(at_the_epilogue: Path) -> None:
    """The spool is empty when its owner looks; and that a file is not there yet is no news."""
    told = diagnosed_there(at_the_epilogue, "1")
    assert told is not None and told["told"]["cause"]["class"] == "missing_python_module"
    whole = json.dumps(told)
    assert "/spool/" not in whole and "30.pbs01.ER" not in whole
    assert "%s/work/train.e30" % at_the_epilogue in whole
    assert "no such file" not in whole


def test_a_walltime_end_is_told_as_one(at_the_epilogue: Path) -> None:
    """PBS says -29, which is no exit code of anybody's."""
    told = diagnosed_there(at_the_epilogue, "-29")
    assert told is not None and "-29" not in told["shown"].replace("Exit_status -29", "")
    assert "timeout" in told["shown"].splitlines()[0] and "its walltime was over" in json.dumps(told)


def test_a_job_that_its_owner_deletes_is_not_diagnosed(at_the_epilogue: Path) -> None:
    """Whatever its script made of the signal."""
    jobs = json.loads((at_the_epilogue / "jobs.json").read_text())
    jobs["30.pbs01"]["comment"] = "Job run at Sun and terminated by a@login1"
    (at_the_epilogue / "jobs.json").write_text(json.dumps(jobs))
    assert [diagnosed_there(at_the_epilogue, status) for status in ("1", "143", "137", "0")] == [None] * 4
