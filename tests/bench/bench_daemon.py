"""What the service does in a second on one core, what it takes of a submission, and of memory: `make bench-daemon`."""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from maple_submit_filter.host import frames

from tests.bench.calling import Course, Heard
from tests.bench.installed import Installed
from tests.bench.measure import Call, Row, interleaved, table
from tests.bench.scripts import script
from tests.daemon.serving import Daemon, request
from tests.miniapps.started import ROOT

CALLERS = 200
RATE = 1000  # a second, the target
KNOWN, NEW, ROUNDS = 6000, 200, 3
MANY = int(os.environ.get("MAPLE_SUBMISSIONS", "100000"))
NO_BOUNDS = {"rate": 1e9, "burst": 1e9, "connections": 4096}
TICKS = os.sysconf("SC_CLK_TCK")
ECHO = """
import asyncio, sys
async def echo(reader, writer):
    head = await reader.readexactly(8)
    writer.write(head + await reader.readexactly(int.from_bytes(head[4:], "big")))
    await writer.drain()
    await reader.read(1)
    writer.close()
async def main():
    server = await asyncio.start_unix_server(echo, sys.argv[1], backlog=1024)
    print("listening", flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


class Served(NamedTuple):
    """How a course went. *cpu*: seconds of the service, its own process alone; *of_all*: its workers too."""

    heard: Heard
    cpu: float
    of_all: float

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.heard.took) / self.heard.seconds

    def late(self, share: float) -> float:
        """Milliseconds within which that share was answered."""
        return sorted(self.heard.took)[int(share * (len(self.heard.took) - 1))] * 1e3

    @property
    def each(self) -> float:
        """Milliseconds on the processor for each answer."""
        return self.cpu * 1e3 / len(self.heard.took)


class Rows(NamedTuple):
    """Frames that are asked, written to files."""

    paths: tuple[str, ...]
    uids: tuple[int, ...]

    def course(self, daemon: Daemon, number: int, rate: float = 0.0, callers: int = CALLERS) -> Course:
        """Ask them in turn."""
        return Course(daemon.socket, self.paths, self.uids, callers, number, rate)


def written(folder: Path, scripts: Sequence[bytes], users: int = 1) -> Rows:
    """A frame of each script; by several users in turn, where we may be others."""
    folder.mkdir()
    own = os.getuid()
    uids = [(20000 + number % users if users > 1 and own == 0 else own) for number in range(len(scripts))]
    for number, source in enumerate(scripts):
        (folder / str(number)).write_bytes(frames.pack_request(request(source, uid=uids[number])))
    asked_as = tuple(uid if uid != own else -1 for uid in uids)
    return Rows(tuple(str(folder / str(number)) for number in range(len(scripts))), asked_as)


def job(lines: int, number: int) -> bytes:
    """A script that is right, or wrong in one of three ways, and like no other; it reads no file."""
    return re.sub(rb"config_\d+.yaml ", b"$CONFIG ", script(lines, number % 4)) + b"# %d\n" % number


def tried(course: Course, pid: int) -> Served:
    """Let the callers go, from another core than the service's where there is one."""
    before, all_before = spent(pid), sum(spent(one) for one in family(pid))
    with pinned(-1):
        done = subprocess.run([sys.executable, "-m", "tests.bench.calling"], input=json.dumps(course._asdict()),
                              capture_output=True, text=True, cwd=ROOT, timeout=3000)  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    heard = Heard(**json.loads(done.stdout))
    return Served(heard, spent(pid) - before, sum(spent(one) for one in family(pid)) - all_before)


def spent(pid: int) -> float:
    """Seconds that a process has been on the processor, all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def family(pid: int) -> list[int]:
    """A process and its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *map(int, children)]


def resident(pid: int) -> float:
    """MiB in RAM that are the process's own."""
    found = re.search(r"^Pss_Anon:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    assert found
    return int(found[1]) / 1024


@contextmanager
def pinned(which: int) -> Iterator[None]:
    """Run, and start others, on one core alone."""
    whole = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(whole)[which]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, whole)


@contextmanager
def served(conf: str = "", **settings: object) -> Iterator[Daemon]:
    """A daemon on one core, workers and all."""
    daemon = Daemon(conf, per_user=NO_BOUNDS, connections=4096, **settings)
    os.chmod(daemon.folder, 0o755)  # other users ask too
    try:
        with pinned(0):
            daemon.start()
        yield daemon
        daemon.stop()
    finally:
        if daemon.process is not None and daemon.process.poll() is None:
            daemon.process.kill()
            daemon.process.wait()
        shutil.rmtree(daemon.folder)


@contextmanager
def echoed(daemon: Daemon) -> Iterator[int]:
    """An echo on the socket of a daemon that has ended; gives its process id."""
    with pinned(0):
        echo = subprocess.Popen([sys.executable, "-c", ECHO, daemon.socket], stdout=subprocess.PIPE)
    try:
        assert echo.stdout is not None and echo.stdout.readline() == b"listening\n"
        yield echo.pid
    finally:
        echo.kill()
        echo.wait()
        os.unlink(daemon.socket)


def rounds(rows: Rows, number: int, rate: float, **settings: object) -> tuple[list[Served], list[Served]]:
    """The same course with a daemon that knows every script, and with an echo on its socket, in turn."""
    known, echo = [], []
    with served(**settings) as daemon:
        for _ in range(ROUNDS):
            assert daemon.process is not None
            tried(rows.course(daemon, 2 * len(rows.paths), callers=4), daemon.process.pid)
            known.append(tried(rows.course(daemon, number, rate), daemon.process.pid))
            daemon.stop()
            with echoed(daemon) as pid:
                tried(rows.course(daemon, 200), pid)
                echo.append(tried(rows.course(daemon, number, rate), pid))
            with pinned(0):
                daemon.start()
    for one in known:
        assert set(one.heard.replies) == {"0", "1"}, one.heard.replies
    return known, echo


@pytest.mark.parametrize("kept", ["in memory alone", "with store and recording"])
def test_known_versions(tmp_path: Path, kept: str) -> None:
    """Targets: 1,000 answers a second on one core; at that rate 99 of 100 within 10 ms, 200 clients."""
    rows = written(tmp_path / "frames", [job(200, number) for number in range(40)])
    settings: dict[str, Any] = {} if "store" in kept else {"store": ""}
    print("\nKnown versions, %s; %d callers, scripts of 200 lines, service on one core" % (kept, CALLERS))
    print("  %-34s%9s%9s%9s%9s%11s" % ("", "a second", "p50 ms", "p99 ms", "cpu ms", "in echoes"))
    for name, rate in (("as many as there can be", 0.0), ("%d a second come" % RATE, float(RATE))):
        known, echo = rounds(rows, KNOWN, rate, **settings)
        for title, one in ((name + ", answers", known), (name + ", echo", echo)):
            ratio = middle(one, "each") / middle(echo, "each")
            print("  %-34s%9.0f%9.1f%9.1f%9.3f%11.1f" % (title, middle(one, "rate"),
                  statistics.median(s.late(0.5) for s in one), statistics.median(s.late(0.99) for s in one),
                  middle(one, "each"), ratio))  # fmt: skip


def middle(served: Sequence[Served], what: str) -> float:
    """The median of the rounds."""
    return statistics.median(getattr(one, what) for one in served)


@pytest.mark.parametrize("kept", ["in memory alone", "with store and recording"])
def test_unknown_submissions(tmp_path: Path, kept: str) -> None:
    """Every script is another; workers decide, and with a store a process reads what it is."""
    settings: dict[str, Any] = {} if "store" in kept else {"store": ""}
    print("\nUnknown submissions, %s; 8 callers, service and workers on one core" % kept)
    for lines in (30, 200):
        scripts = [job(lines, number) for number in range(NEW)]
        rows = written(tmp_path / str(lines), scripts)
        with served(**settings) as daemon:
            assert daemon.process is not None
            one = tried(rows.course(daemon, NEW, callers=8), daemon.process.pid)
            print("  %-34s%9.0f a second%9.1f ms on the processor" % (
                  "%d lines" % lines, one.rate, one.of_all * 1e3 / NEW))  # fmt: skip


@pytest.mark.timeout(3000)
def test_memory_over_many_submissions(tmp_path: Path) -> None:
    """Many users, each with versions of his jobs; the service's own memory at several points of the way."""
    scripts = [job(30, number) for number in range(MANY // 100)]
    rows = written(tmp_path / "frames", scripts, users=150)
    print("\nMemory over %d submissions by %d users, with store and recording" % (MANY, len(set(rows.uids))))
    with served(workers=2) as daemon:
        assert daemon.process is not None
        pid, done = daemon.process.pid, 0
        for share in (1, 10, 25, 50, 75, 100):
            tried(rows.course(daemon, MANY * share // 100 - done, callers=8), pid)
            done = MANY * share // 100
            time.sleep(1)
            own, others = resident(pid), sum(resident(one) for one in family(pid)[1:])
            print("  %7d submissions %7.1f MiB, its workers %6.1f" % (done, own, others))
        store = os.path.getsize(daemon.store) + os.path.getsize(daemon.store + "-wal")
        print("  store %.1f MiB; %s" % (store / (1 << 20), daemon.counted("maple_remembered_total")))


def test_the_front_with_a_known_job(tmp_path: Path) -> None:
    """Target: on top of the real command no more than four starts of /bin/true."""
    socket = "/tmp/maple-bench-%d.sock" % os.getpid()
    installed = Installed(tmp_path, "/bin/true", socket=socket)
    conf = installed.prefix / "current/etc/front.conf"
    for kind, mistakes in (("right", 0), ("wrong", 1)):
        (tmp_path / f"{kind}.sh").write_bytes(script(200, mistakes))
    env = installed.environment()
    daemon = Daemon(str(conf), per_user=NO_BOUNDS, socket=socket).start()
    try:
        assert "MPL301" in installed.says(str(tmp_path / "wrong.sh"))
        calls = [Call("/bin/true", ["/bin/true", str(tmp_path / "right.sh")], env)]
        calls += [Call(f"{kind} script, known", [installed.front, str(tmp_path / f"{kind}.sh")], env)
                  for kind in ("right", "wrong")]  # fmt: skip
        times = interleaved(calls, 100)
        answers = daemon.counted("maple_connections_total")
    finally:
        daemon.stop()
        shutil.rmtree(daemon.folder)
    rows = [Row("/bin/true"), *(Row(call.name, "/bin/true", 4) for call in calls[1:])]
    print(table("The front with a job that the service knows, before /bin/true", times, "/bin/true", rows))
    print("  answers: %s" % answers)
