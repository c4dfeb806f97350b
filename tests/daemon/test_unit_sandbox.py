"""The service lives under what its units allow it: every system call it makes is one that they let through."""

from __future__ import annotations

import ctypes.util
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from maple_daemon.base.settings import Settings

from tests.daemon import sandbox
from tests.daemon.asking import found, written
from tests.daemon.ending import Cluster
from tests.daemon.serving import WRONG, Daemon

UNITS = Path(__file__).parents[2] / "packaging" / "systemd"
RECORDED = Path(__file__).with_name("syscalls.txt")
SERVICES = ("maple-daemon.service", "user/maple-daemon.service")
LATER = WRONG.replace(b"train.py", b"train.py --lr 0.1")
# Of systemd.exec(5), systemd 252: what a user's manager puts into force without PrivateUsers, which needs no privilege.
FOR_A_USER = {
    "NoNewPrivileges", "RestrictAddressFamilies", "RestrictNamespaces", "RestrictRealtime", "RestrictSUIDSGID",
    "LockPersonality", "SystemCallArchitectures", "SystemCallFilter", "SystemCallErrorNumber",
}  # fmt: skip
NOT_FOR_A_USER = {
    "PrivateTmp", "PrivateDevices", "PrivateNetwork", "PrivateUsers", "ProtectSystem", "ProtectHome", "ProtectHostname",
    "ProtectClock", "ProtectKernelTunables", "ProtectKernelModules", "ProtectKernelLogs", "ProtectControlGroups",
    "CapabilityBoundingSet", "AmbientCapabilities", "ReadWritePaths", "RemoveIPC",
}  # fmt: skip
needs_libseccomp = pytest.mark.skipif(not ctypes.util.find_library("seccomp"), reason="there is no libseccomp")
needs_systemd = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd-analyze")


@pytest.fixture(params=SERVICES)
def under(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The words that put what a unit allows in force for what stands behind them."""
    return sys.executable, sandbox.__file__, str(UNITS / request.param), str(RECORDED)


@pytest.fixture
def confined(tmp_path: Path, under: tuple[str, ...]) -> Iterator[Cluster]:
    """A service under the filter, and what submits to it, which is under none."""
    made = Cluster(str(tmp_path), under)
    yield made
    if made.daemon.process is not None and made.daemon.process.poll() is None:
        made.daemon.stop(signal.SIGKILL)
    shutil.rmtree(made.daemon.folder)


@needs_libseccomp
def test_the_whole_story_is_told_under_the_filter(confined: Cluster) -> None:
    """It answers, remembers versions (which a child reads), hears how a job ended, reads its rules anew, and stops."""
    daemon = confined.daemon
    job = confined.submit(WRONG)
    assert job.reply is not None and job.reply.change is not None
    confined.submit(LATER)
    first, second = written(daemon, 2)
    assert first["version"] and second["version"] and first["version"] != second["version"], daemon.said
    versions = {one["id"]: one for one in found(daemon, ask="versions")}
    assert versions[second["version"]]["parent"] == first["version"]
    confined.end(job, "FAILED", 60)
    assert found(daemon, ask="records", job=str(job.number))[0]["outcome"]["state"] == "failed"
    assert daemon.process is not None
    daemon.process.send_signal(signal.SIGHUP)
    _until_said(daemon, "reloaded")
    confined.submit(WRONG.replace(b"train.py", b"other.py"))
    assert written(daemon, 3)[-1]["version"], daemon.said
    assert daemon.stop() == 0


@needs_libseccomp
def test_a_service_that_was_killed_starts_again_under_the_filter(confined: Cluster) -> None:
    """And has what it had."""
    job = confined.submit(WRONG)
    written(confined.daemon, 1)
    confined.daemon.stop(signal.SIGKILL)
    confined.daemon.start()
    assert [one["id"] for one in written(confined.daemon, 1)] == [job.record]


@needs_libseccomp
def test_what_is_run_before_the_service_runs_under_the_filter(under: tuple[str, ...], tmp_path: Path) -> None:
    """`maple-daemon --check`, which opens the store too."""
    settings = tmp_path / "daemon.toml"
    settings.write_text('socket = "%s/sock"\nstore = "%s/memory.db"\n' % (tmp_path, tmp_path))
    check = "from maple_daemon.cli.daemon import main; main()", "--config", str(settings), "--check"
    done = subprocess.run([*under, sys.executable, "-c", *check], capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, 1) and "Traceback" not in done.stderr, done


@needs_libseccomp
def test_libraries_that_bind_memory_and_threads_are_refused_and_live(under: tuple[str, ...]) -> None:
    """numpy, which sqlite-utils imports where it is there; being nicer; other addresses than those on this machine."""
    pytest.importorskip("numpy")
    program = """
import ctypes, errno, os, socket, numpy
numpy.ones((300, 300)) @ numpy.ones((300, 300))
def refused(what, *given):
    try:
        what(*given)
    except OSError as error:
        return error.errno
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall(237, 0, 0, 0, 0, 0, 0)  # mbind of x86-64
print(refused(os.nice, 5), refused(socket.socket, socket.AF_INET), refused(os.chown, "/", 0, 0), ctypes.get_errno())
socket.socket(socket.AF_UNIX)
"""
    done = subprocess.run([*under, sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done
    nice, internet, chown, mbind = map(int, done.stdout.split())
    assert (nice, internet, chown) == (1, 97, 1)
    assert mbind == 1 or os.uname().machine != "x86_64"


@needs_systemd
def test_what_is_recorded_of_systemd_is_what_it_prints() -> None:
    """Where it is of the same version; of another one, what the filter names is at least there."""
    recorded = RECORDED.read_text()
    groups = sandbox.read_groups(recorded)
    version = subprocess.run(["systemd-analyze", "--version"], capture_output=True, text=True).stdout.split()[1]
    same = "systemd %s " % version in recorded.splitlines()[0]
    for name, recorded_words in groups.items():
        told = subprocess.run(["systemd-analyze", "syscall-filter", name], capture_output=True, text=True).stdout
        words = [line.strip() for line in told.splitlines()[1:] if line.startswith("    ") and "#" not in line]
        assert words and (not same or sorted(words) == sorted(recorded_words)), name


@needs_systemd
@pytest.mark.parametrize("unit", SERVICES)
def test_systemd_knows_every_line(unit: str, tmp_path: Path) -> None:
    """Of both services; a key that is unknown would be passed over in silence."""
    for name in ("maple-daemon.service", "maple-daemon.socket"):
        text = (UNITS / unit).with_name(name).read_text().replace("/usr/bin/env maple-daemon", "/bin/true")
        (tmp_path / name).write_text(text)
    command = ["systemd-analyze", "--man=no", "verify", str(tmp_path / "maple-daemon.service")]
    if unit.startswith("user/"):
        command.insert(1, "--user")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert not [line for line in done.stderr.splitlines() if "maple-daemon" in line], done.stderr


def test_the_unit_of_a_user_takes_what_a_users_manager_can_enforce() -> None:
    """All of that which the unit of everybody has, as it has it, and nothing of the rest."""
    of_all, of_user = ((UNITS / name).read_text() for name in SERVICES)
    for key in sorted(FOR_A_USER):
        assert sandbox.lines_of(of_user, key) == sandbox.lines_of(of_all, key) != [], key
    assert not [key for key in NOT_FOR_A_USER if sandbox.lines_of(of_user, key)]


def test_every_line_of_the_sandbox_is_one_or_the_other() -> None:
    """A line that is added to the unit of everybody is thought of for the user's too."""
    keys = {line.partition("=")[0] for line in (UNITS / SERVICES[0]).read_text().splitlines()}
    sandboxing = ("Private", "Protect", "Restrict", "SystemCall", "NoNew", "Lock", "Capab", "Ambient", "Remove", "Read")
    assert {key for key in keys if key.startswith(sandboxing)} <= FOR_A_USER | NOT_FOR_A_USER


def _until_said(daemon: Daemon, what: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while what not in daemon.said:
        assert time.monotonic() < end, daemon.said
        time.sleep(0.05)


def test_what_starts_by_itself_fits_into_what_the_units_grant(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a node of many cores too: processes with their threads, and libraries start none for each core."""
    monkeypatch.setattr(os, "cpu_count", lambda: 256)
    processes = Settings().worker_count + 1
    for unit in map(str.splitlines, ((UNITS / name).read_text() for name in SERVICES)):
        told = dict(line.split("=", 1) for line in unit if "=" in line and not line.startswith("#"))
        assert int(told["TasksMax"]) >= 2 * processes + 8
        assert "OPENBLAS_NUM_THREADS=1" in told["Environment"]
