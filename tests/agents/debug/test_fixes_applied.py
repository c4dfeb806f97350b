"""`maple-fix --apply` and `--submit`: a copy beside the script, and the first submission's words and variables."""

from __future__ import annotations

import os
import stat
import sys

import pytest
from maple_agents.base.complaint import Complaint
from maple_agents.cli.fix.application import applied, beside, words
from maple_agents.diagnose.values import Case, Cause, Cure, Diagnosis, Ended
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM
from maple_submit_filter.types.submission import Submission

SCRIPT = b"#!/bin/bash\n#SBATCH --time=10\nsrun python a.py\n"
FIXED = b"#!/bin/bash\n#SBATCH --time=20\nsrun python a.py\n"


def diagnosis(
    folder, argv=(b"sbatch", b"job.sh"), path=b"job.sh", script=FIXED, new_argv=None, scheduler="slurm", **more
):
    """Return a diagnosis with one cure of a script that lies in *folder*."""
    came = "file" if path else "stdin"
    asked = Submission(
        scheduler, argv, SCRIPT, came, path, os.fsencode(folder), os.getuid(), more.pop("environment", {})
    )
    asked = asked._replace(**more)
    case = Case(Ended(), scheduler, GENERIC_PBS if scheduler == "pbs" else GENERIC_SLURM, asked)
    cure = Cure("script_directive", "more time", "ask", script, new_argv)
    return Diagnosis(case, (Cause("", "time_limit", "says", 9.0, 0.9),), cures=(cure,))


@pytest.fixture
def folder(tmp_path):
    """A folder with the script, which its group may execute."""
    (tmp_path / "job.sh").write_bytes(SCRIPT)
    (tmp_path / "job.sh").chmod(0o750)
    return tmp_path


@pytest.fixture
def sbatch(tmp_path_factory, monkeypatch):
    """Return what a stand-in of sbatch was called with, one line each: its words, its folder, a variable."""
    place = tmp_path_factory.mktemp("bin")
    told = place / "told"
    command = place / "sbatch"
    command.write_text(
        "#!%s\nimport os, sys\n"
        "told = [*sys.argv[1:], os.getcwd(), os.environ.get('NCCL_DEBUG', ''), os.environ.get('HOME', '')]\n"
        "open(%r, 'w').write('\\n'.join(told))\nprint('Submitted batch job 7')\n"
        "code = int(os.environ.get('CODE', '0'))\nos.kill(os.getpid(), -code) if code < 0 else sys.exit(code)\n"
        % (sys.executable, str(told))
    )
    command.chmod(0o755)
    (place / "qsub").symlink_to(command)
    monkeypatch.setenv("PATH", "%s:%s" % (place, os.environ["PATH"]))
    return told


def test_copy_lies_beside_the_script_with_its_mode(folder):
    """The script itself is as it was."""
    applied(diagnosis(folder), submit=False)
    copy = folder / "job.maple.sh"
    assert copy.read_bytes() == FIXED and stat.S_IMODE(copy.stat().st_mode) == 0o750
    assert (folder / "job.sh").read_bytes() == SCRIPT
    assert sorted(os.listdir(folder)) == ["job.maple.sh", "job.sh"]


@pytest.mark.parametrize("kind", ["file", "link", "dangling", "folder"])
def test_nothing_is_overwritten(folder, kind):
    """Whatever has the name keeps it, and nothing is written through a link."""
    there, other = folder / "job.maple.sh", folder / "other"
    if kind == "file":
        there.write_text("mine")
    elif kind == "folder":
        there.mkdir()
    else:
        if kind == "link":
            other.write_text("mine")
        there.symlink_to(other)
    with pytest.raises(Complaint, match="is there already"):
        applied(diagnosis(folder), submit=False)
    assert not other.exists() or other.read_text() == "mine"
    assert sorted(set(os.listdir(folder)) - {"other"}) == ["job.maple.sh", "job.sh"]


def test_full_disk_leaves_nothing(folder, monkeypatch):
    """One line, and no half of a copy."""

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Complaint, match="no space left on device"):
        applied(diagnosis(folder), submit=False)
    assert os.listdir(folder) == ["job.sh"]


def test_job_of_another_user_is_not_touched(folder):
    """Root may diagnose it, and that is all."""
    with pytest.raises(Complaint, match="another user"):
        applied(diagnosis(folder, uid=os.getuid() + 1), submit=True)
    assert os.listdir(folder) == ["job.sh"]


def test_what_was_held_back_is_not_written(folder):
    """A fix that failed a check is only told."""
    found = diagnosis(folder)
    held = Cure("script_directive", "says", "ask", FIXED, None, held_back="bash would not take it")
    with pytest.raises(Complaint, match="no fix"):
        applied(Diagnosis(found.case, found.causes, cures=(held,)), submit=False)
    assert os.listdir(folder) == ["job.sh"]


def test_submission_is_that_of_the_first_with_the_copy(folder, sbatch, monkeypatch):
    """Words, work dir and variables are the first submission's; where one's home is, is that of now."""
    argv = (b"sbatch", b"-N", b"2", b"job.sh", b"job.sh", b"--lr", b"1")
    given = {b"NCCL_DEBUG": b"WARN", b"HOME": b"/elsewhere"}
    monkeypatch.setenv("NCCL_DEBUG", "INFO")
    applied(diagnosis(folder, argv, environment=given), submit=True)
    copy = str(folder / "job.maple.sh")
    assert sbatch.read_text().split("\n") == [
        "-N",
        "2",
        copy,
        "job.sh",
        "--lr",
        "1",
        str(folder),
        "WARN",
        os.environ["HOME"],
    ]


@pytest.mark.parametrize(("code", "told"), [("3", "exited with 3"), ("-15", "was ended by signal 15")])
def test_end_of_the_command_is_told(folder, sbatch, monkeypatch, code, told):
    """The copy stays, and the line says where."""
    monkeypatch.setenv("CODE", code)
    with pytest.raises(Complaint, match=told):
        applied(diagnosis(folder), submit=True)
    assert (folder / "job.maple.sh").exists()


def test_words_alone_need_no_copy(folder, sbatch, capsys):
    """Where only the command line changes, the script that is still there is submitted, or how to is said."""
    new = (b"sbatch", b"--time=20", b"job.sh")
    applied(diagnosis(folder, script=None, new_argv=new), submit=False)
    assert "sbatch --time=20 job.sh" in capsys.readouterr().err
    applied(diagnosis(folder, script=None, new_argv=new), submit=True)
    assert sbatch.read_text().split("\n")[:2] == ["--time=20", "job.sh"]
    assert os.listdir(folder) == ["job.sh"]
    (folder / "job.sh").write_bytes(SCRIPT + b"# later\n")  # no longer what was submitted
    applied(diagnosis(folder, script=None, new_argv=new), submit=True)
    assert (folder / "job.maple.sh").read_bytes() == SCRIPT


@pytest.mark.parametrize(
    ("scheduler", "argv", "expected"),
    [
        ("slurm", (b"sbatch", b"-N2"), ["sbatch", "-N2", "/w/copy"]),
        ("slurm", (b"/usr/bin/sbatch", b"-J", b"job.sh", b"job.sh"), ["sbatch", "-J", "job.sh", "/w/copy"]),
        ("pbs", (b"qsub", b"-l", b"select=1", b"-"), ["qsub", "-l", "select=1", "/w/copy"]),
        ("pbs", (b"qsub", b"-N", b"job.sh", b"job.sh"), ["qsub", "-N", "job.sh", "/w/copy"]),
    ],
)
def test_copy_takes_the_place_of_the_script(scheduler, argv, expected):
    """A value that is spelt like the script is none; a script that came by standard input becomes the file."""
    found = diagnosis("/w", argv, path=b"job.sh" if argv[-1] == b"job.sh" else b"", scheduler=scheduler)
    assert words(found.cures[0], found, "/w/copy") == expected


def test_name_of_the_copy(tmp_path):
    """Beside the script; in the work dir where that folder is no more; nothing that a terminal obeys."""
    (tmp_path / "in").mkdir()
    at = str(tmp_path)
    assert beside("in/a.sh", at) == at + "/in/a.maple.sh"
    assert beside("gone/a.slurm", at) == at + "/a.slurm.maple.sh"
    assert beside("", at) == at + "/job.maple.sh"
    assert beside("a\x1b[31m.sh", at) == at + "/a_[31m.maple.sh"
