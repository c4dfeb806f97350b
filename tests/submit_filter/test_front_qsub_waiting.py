"""Where qsub does not end at once, it is qsub that the caller has to do with: terminal, signals, exit and leftovers."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import time
from typing import Any, Callable, Iterator

import pytest

from tests.doubles.stand import ASKED_OF_QSUB, Stand, build, compiled, on_terminal

ASKED = ASKED_OF_QSUB
PLAIN = b"#!/bin/bash\n./simulate\n"


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The double of qsub."""
    return compiled("qsub", str(tmp_path_factory.mktemp("double")))


@pytest.fixture(params=["front", "sanitized"])
def stand(request: pytest.FixtureRequest, tmp_path: Any, double: str) -> Stand:
    """An installation: with the front that is shipped, and the one under sanitizers."""
    program = build(request.param == "sanitized")
    one = Stand(str(tmp_path / "stand"), program, double, "qsub")
    one.setup()
    return one


def comes_true(holds: Callable[[], bool]) -> bool:
    """Whether it comes true within ten seconds."""
    for _ in range(1000):
        if holds():
            return True
        time.sleep(0.01)
    return False


# -- the terminal ---------------------------------------------------------------------------------------------------


def told(record: bytes) -> bytes:
    """The record without the number of the terminal, which no two runs share."""
    return re.sub(rb"/dev/pts/\d+", b"/dev/pts/N", record)


INTERACTIVE = [
    (["-I"], b"", b"hostname\nexit\n"),
    (["-I", "job.sh"], ASKED, b"exit\n"),
    (["job.sh"], b"#PBS -I\n" + ASKED, b"hostname\nexit\n"),
    (["job.sh"], b"#PBS -I\n" + PLAIN, b"exit\n"),
    (["-I", "-W", "block=true"], b"", b"exit\n"),
    (["job.sh"], ASKED, b""),
    ([], b"", ASKED + b"\x04"),
    (["-"], b"", PLAIN + b"\x04"),
]


@pytest.mark.parametrize("words, script, keys", INTERACTIVE, ids=str)
def test_on_a_terminal_everything_is_as_without_maple(
    stand: Stand, words: list[str], script: bytes, keys: bytes
) -> None:
    """What is shown, what is typed into the job, the exit, and what qsub sees of its terminal."""
    stand.write("job.sh", script)
    seen = []
    for path in (stand.real, stand.front):
        shown = on_terminal(path, ["qsub", *words], stand.environment(), stand.work, keys)
        seen.append((shown, told(stand.record)))
    assert seen[0] == seen[1]
    assert b"terminals 111" in seen[1][1] and b"7.pbs01" in seen[1][0][0]


def test_a_repaired_interactive_script_keeps_its_terminal(stand: Stand) -> None:
    """The copy's directives ask for the terminal as those of the original do."""
    stand.helper("fixes")
    stand.write("job.sh", b"#PBS -I\n" + ASKED)
    shown, status = on_terminal(
        stand.front, ["qsub", "job.sh"], stand.environment(), stand.work, b"hostname\nexit\n", b"ready"
    )
    assert (status, b"terminals 111" in stand.record, b"\ntyped hostname\n" in stand.record) == (0, True, True)
    assert b"# fixed" in stand.record and b"qsub: job 7.pbs01 completed\n" in shown


# -- the blocking job -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [["-W", "block=true", "job.sh"], ["job.sh"], ["-Wblock=true"]], ids=str)
@pytest.mark.parametrize("status", [0, 7, 137, -29])
@pytest.mark.parametrize("kind", ["keeps", "fixes"])
def test_the_exit_of_a_blocking_job_is_the_caller_s(stand: Stand, how: list[str], status: int, kind: str) -> None:
    """By option, by directive and from a pipe; with the id on stdout before the job has ended."""
    stand.helper(kind)
    stand.setup(job_exit=status)
    script = ASKED if "job.sh" in how and len(how) > 1 else b"#PBS -W block=true\n" + ASKED
    stand.write("job.sh", script)
    bare, maple = stand.both(how, **({} if "job.sh" in how else {"stdin": script}))
    assert bare[1:] == maple[1:] == (b"7.pbs01\n", b"", status & 255)
    assert (b"# fixed" in maple.record) == (kind == "fixes")


@contextlib.contextmanager
def waiting(stand: Stand, maple: bool, words: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A qsub that waits for its job; whatever happens, it is ended."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(stand.folder, "record"))
    path = stand.front if maple else stand.real
    process = subprocess.Popen(
        ["qsub", *words], executable=path, env=stand.environment(), cwd=stand.work,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert comes_true(lambda: b"\nwaits\n" in stand.record)
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL])
@pytest.mark.parametrize("kind", ["keeps", "fixes"])
def test_a_signal_reaches_the_qsub_that_waits(stand: Stand, number: signal.Signals, kind: str) -> None:
    """It is the process that the caller started, and deletes the job and ends as it does alone."""
    stand.helper(kind)
    stand.setup(job_seconds=50)
    stand.write("job.sh", ASKED)
    ends = []
    for maple in (False, True):
        with waiting(stand, maple, ["-Wblock=true", "job.sh"]) as process:
            assert os.path.samefile("/proc/%d/exe" % process.pid, stand.real)
            process.send_signal(number)
            ends.append((process.communicate(timeout=20), process.returncode))
    assert ends[0] == ends[1]
    assert ends[1][1] == (2 if number != signal.SIGKILL else -9)


def test_a_job_that_vanished_is_waited_for_by_qsub_itself(stand: Stand) -> None:
    """A queue that routes it nowhere: nobody ever answers, and ending qsub is for the caller to do, at the same pid."""
    stand.setup(queues_to_nowhere="prod")
    stand.write("job.sh", ASKED)
    ends = []
    for maple in (False, True):
        with waiting(stand, maple, ["-q", "prod", "-W", "block=true", "job.sh"]) as process:
            assert process.stdout is not None and process.stdout.readline() == b"7.pbs01\n"
            assert os.path.samefile("/proc/%d/exe" % process.pid, stand.real) and process.poll() is None
            process.terminate()
            ends.append((process.communicate(timeout=20), process.returncode))
    assert ends[0] == ends[1] and ends[1][1] == 2


# -- the server -----------------------------------------------------------------------------------------------------

REFUSALS: list[tuple[list[str], dict[str, Any]]] = [
    ([], {"down": 1}),
    ([], {"hook": "Account_Name is required to be set."}),
    ([], {"hook": "two\nlines"}),
    (["-q", "nosuch"], {"queues": "workq"}),
    (["-q", "@elsewhere"], {}),
    (["-l", "select=1:nosuch=1"], {}),
    (["-l", "place=scatter", "-l", "nodes=2"], {}),
    (["-l", "select=9"], {"most_chunks": 4}),
    (["-W", "block=true", "-q", "closed"], {"queues_disabled": "closed"}),
]


@pytest.mark.parametrize("kind", ["keeps", "fixes"])
@pytest.mark.parametrize("words, setup", REFUSALS, ids=str)
def test_a_refusal_is_qsub_s_own(stand: Stand, words: list[str], setup: dict[str, Any], kind: str) -> None:
    """Server down, a hook, a queue, a resource, a limit: the same text and exit, the script repaired or not."""
    stand.helper(kind)
    stand.setup(**setup)
    stand.write("job.sh", ASKED.replace(b"#PBS", b"# PBS"))
    bare, maple = stand.both([*words, "job.sh"])
    assert bare[1:] == maple[1:]
    assert bare.exit != 0 and bare.stderr.startswith((b"qsub: ", b"Connection refused\n", b"Unknown Host.\n"))


# -- what a plain submission leaves behind --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["keeps", "fixes", "hangs"])
def test_the_process_left_behind_holds_what_the_caller_gave_and_nothing_of_maple_s(stand: Stand, kind: str) -> None:
    """A caller's pipe on stdout ends with qsub, one on a higher descriptor with the process left behind."""
    stand.setup(background_seconds=50)
    stand.helper(kind, helper_ms=500)
    stand.write("job.sh", ASKED)
    held = []
    for maple in (False, True):
        out, into = os.pipe()
        seen = stand.run(maple, ["job.sh"], pass_fds=(into,))  # returns, so stdout has ended
        os.close(into)
        left = int(seen.lines(b"background")[0])
        try:
            assert comes_true(lambda left=left: set(descriptors(left)).isdisjoint({0, 1, 2}))
            held.append([target.partition(":")[0] for target in descriptors(left).values()])
            assert not ended(out)
        finally:
            os.kill(left, signal.SIGKILL)
        assert comes_true(lambda out=out: ended(out))
        os.close(out)
    assert held[0] == held[1] == ["pipe"]


def descriptors(pid: int) -> dict[int, str]:
    """The open descriptors of a process, and where they lead."""
    folder = "/proc/%d/fd/" % pid
    return {int(name): os.readlink(folder + name) for name in os.listdir(folder)}


def ended(pipe: int) -> bool:
    """Whether nobody holds the other end any more."""
    return bool(select.select([pipe], [], [], 0)[0]) and os.read(pipe, 1) == b""


@pytest.mark.parametrize(
    "words, environment",
    [(["-f"], {}), (["-V"], {}), (["-W", "block=true"], {}), ([], {"PBS_JOBID": "1.pbs01"})],
    ids=str,
)
def test_where_qsub_leaves_no_process_none_is_left(stand: Stand, words: list[str], environment: dict[str, str]) -> None:
    """In the foreground, with all variables, waiting, and inside a job."""
    stand.setup(background_seconds=50)
    stand.helper("fixes")
    stand.write("job.sh", ASKED)
    bare, maple = stand.both([*words, "job.sh"], environment=environment)
    assert bare.lines(b"background") == maple.lines(b"background") == []
    assert bare[1:] == maple[1:] and maple.exit == 0
