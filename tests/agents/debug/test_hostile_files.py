"""Files in a log's place that are none, that change, that are another's, or far too many: through the real command."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.agents.debug.fix_called import LOG, SECONDS, Called, environment, fix

NOBODY = 65534
DIRECTIONS = ("--state", "failed", "--exit-code", "1", "--site", "generic-slurm")
WRONG: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda path: None, "no such file or directory"),
    "folder": (lambda path: path.mkdir(), "is a folder"),
    "pipe": (os.mkfifo, "is no regular file"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "is no regular file"),
    "loop": (lambda path: path.symlink_to(path), "too many levels of symbolic links"),
}


@pytest.mark.parametrize("name", WRONG)
def test_one_line_says_what_is_wrong(tmp_path: Path, name: str) -> None:
    """Alone it ends the command, one line on stderr."""
    make, says = WRONG[name]
    make(tmp_path / "a.log")
    said = fix("--log", "a.log", *DIRECTIONS, cwd=tmp_path)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1) and says in said.err


def test_what_remains_is_diagnosed(tmp_path: Path) -> None:
    """Beside a good log each of them is a line, and the cause is found."""
    words = []
    for name, (make, _) in WRONG.items():
        make(tmp_path / name)
        words += ["--log", name]
    (tmp_path / "empty").touch()
    (tmp_path / "good").write_text(LOG)
    said = fix(*words, "--log", "empty", "--log", "good", *DIRECTIONS, "--json", cwd=tmp_path)
    assert said.code == 0 and said.cause == "port_in_use"
    assert all(any(says in one and name in one for one in said.json["missing"]) for name, (_, says) in WRONG.items())


def test_an_empty_log_explains_nothing(tmp_path: Path) -> None:
    """It is no error, and no cause."""
    (tmp_path / "a.log").touch()
    said = fix("--log", "a.log", *DIRECTIONS, cwd=tmp_path)
    assert said.code == 1 and said.out.splitlines()[1].startswith("unknown: ")


def test_a_line_of_a_hundred_megabytes(tmp_path: Path) -> None:
    """It hides nothing that stands behind it."""
    with (tmp_path / "a.log").open("wb") as file:
        for _ in range(100):
            file.write(b"x" * (1 << 20))
        file.write(b"\n" + LOG.encode())
    assert fix("--log", "a.log", *DIRECTIONS, "--json", cwd=tmp_path).cause == "port_in_use"


def test_a_gigabyte_without_lines(tmp_path: Path) -> None:
    """A hole of a gigabyte, as a crash may leave it, between the beginning and the end."""
    with (tmp_path / "a.log").open("wb") as file:
        file.write(b"started\n")
        file.seek(1 << 30)
        file.write(b"\n" + LOG.encode())
    assert fix("--log", "a.log", *DIRECTIONS, "--json", cwd=tmp_path).cause == "port_in_use"


@pytest.mark.parametrize("change", ["grows", "is cut", "is deleted"])
def test_a_log_that_changes_meanwhile(tmp_path: Path, change: str) -> None:
    """Whatever becomes of it while it is read, the command ends with an answer and no mistake of its own."""
    path, done = tmp_path / "a.log", threading.Event()
    path.write_text(LOG + "step 1\n" * 200_000)

    def changing() -> None:
        while not done.wait(0.05):
            if change == "grows":
                with path.open("a") as file:
                    file.write("step 2\n" * 10_000)
            elif change == "is cut":
                path.write_text(LOG)
            else:
                path.unlink(missing_ok=True)

    other = threading.Thread(target=changing)
    other.start()
    try:
        said = fix("--log", "a.log", *DIRECTIONS, cwd=tmp_path)
    finally:
        done.set()
        other.join()
    assert said.code in (0, 1, 2) and "mistake" not in said.err and said.err.count("\n") <= 1


def test_ten_thousand_files(tmp_path: Path) -> None:
    """A folder full of them hides the one that is meant."""
    for at in range(10_000):
        (tmp_path / ("other-%d.out" % at)).touch()
    (tmp_path / "slurm-4711.out").write_text(LOG)
    said = fix("4711", "--json", cwd=tmp_path, env={"PATH": "/proc/nowhere"})
    assert said.code == 0 and said.cause == "port_in_use"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can reach, unlike pytest's own."""
    with TemporaryDirectory(prefix="maple-hostile-") as name:
        os.chmod(name, 0o777)
        yield Path(name)


# The interpreter may lie where only root can read: what is needed is loaded before another user is become.
AS_NOBODY = """
import contextlib, io, os, sys
from maple_agents.cli.fix.command import fix
from maple_agents.cli.main import run
for form in ([], ["--json"]):
    with contextlib.redirect_stdout(io.StringIO()):
        run(["--log", "c.log", *%r, *form], fix, "maple-fix")
        run(["--log", "absent.log", *%r, *form], fix, "maple-fix")
os.setgroups([])
os.setresgid(%d, %d, %d)
os.setresuid(%d, %d, %d)
sys.exit(run(sys.argv[1:], fix, "maple-fix"))
""" % (DIRECTIONS, DIRECTIONS, *(NOBODY,) * 6)


def as_nobody(*words: str, cwd: Path) -> Called:
    """Call `maple-fix` as a user who owns nothing."""
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, *words], cwd=cwd, env=environment(cwd), capture_output=True, timeout=SECONDS,
        check=False,
    )  # fmt: skip
    return Called(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_what_belongs_to_others_is_not_read(open_folder: Path) -> None:
    """Not directly, and not through a link: the kernel's word is the line."""
    for name in ("a.log", "c.log"):
        (open_folder / name).write_text(LOG)
    (open_folder / "a.log").chmod(0o600)
    (open_folder / "b.log").symlink_to("/etc/shadow")
    said = as_nobody("--log", "a.log", "--log", "b.log", *DIRECTIONS, cwd=open_folder)
    assert (said.code, said.out) == (2, "") and "a.log: permission denied" in said.err
    words = ("--log", "a.log", "--log", "b.log", "--log", "c.log", *DIRECTIONS, "--json")
    told = as_nobody(*words, cwd=open_folder)
    assert told.cause == "port_in_use" and len(told.json["missing"]) == 2 and "root:" not in told.out
