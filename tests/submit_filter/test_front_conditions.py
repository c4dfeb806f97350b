"""An answer that depends on files holds while they are as they were; who looks is never held by a file that hangs."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from maple_submit_filter.answer import packing
from maple_submit_filter.host import bounded_file, frames
from maple_submit_filter.host.frames import Change, FileFacts, Reply

from tests.daemon.breaking import Broken, asked, double, until, without_helper
from tests.doubles.stand import FRONT, LIB, Stand, build, compiled

HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = (
    "-std=c11",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-O1",
    "-g",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
)
ENV = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
WITH_A_FILE = b"""#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
source ./where.sh
TORCHRUN="torchrun --nnodes=2 --nproc-per-node=4 --node_rank=$WHICH --master_addr=$MASTER_ADDR --master_port=29500"
srun bash -c "$TORCHRUN train.py"
"""
RIGHT = b"WHICH='$SLURM_NODEID'\nMASTER_ADDR=head\n"


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The front's parser in a program of its own, under sanitizers."""
    parts = [os.path.join(FRONT, name) for name in sorted(os.listdir(FRONT)) if name.endswith(".c")]
    parts = [one for one in parts if os.path.basename(one) not in ("front.c", "fuzz.c")]
    path = str(tmp_path_factory.mktemp("driver") / "conditions")
    subprocess.run(["cc", *FLAGS, "-I", FRONT, "-o", path, os.path.join(HERE, "conditions.c"), *parts], check=True)
    return path


@pytest.mark.parametrize("seed", [1, 20260101, 77])
def test_mangled_replies_are_refused_or_read_but_never_worse(driver: str, seed: int) -> None:
    """Under sanitizers; a sound one is believed, and what a helper learnt goes back byte for byte."""
    done = subprocess.run([driver, str(seed), "5000"], env=ENV, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("5000 replies, ")
    assert 500 < int(done.stdout.split()[2]) < 4500


@contextlib.contextmanager
def files(folder: str) -> Iterator[list[bytes]]:
    """Files of every kind, and names of none."""
    os.chdir(folder)
    for name in ("plain", "empty", "old", "future", "exact"):
        with open(name, "wb") as file:
            file.write(b"" if name == "empty" else name.encode())
    os.utime("old", ns=(0, -1_500_000_001))
    os.utime("future", ns=(0, 4_000_000_000_000_000_009))
    os.utime("exact", ns=(0, 1_700_000_000_000_000_000))
    os.mkdir("folder")
    os.mkfifo("fifo")
    os.symlink("plain", "link")
    os.symlink("nothing", "dangling")
    os.symlink("round", "round")
    os.link("plain", "other-name")
    with open(b"caf\xe9 \n x", "wb"):
        pass
    with open("large", "wb") as file:
        file.truncate(1 << 40)
    named = [os.fsencode(name) for name in os.listdir(os.fsencode("."))]
    yield [*named, *(b"./" + one for one in named), os.fsencode(folder) + b"/plain", b"/dev/null",
           b"nothing", b"plain/x", b"folder/", b"folder/../plain", b"x" * 300, b"/x" * 2000]  # fmt: skip


def test_the_front_and_the_helper_see_the_same_in_every_file(driver: str, tmp_path: Any) -> None:
    """What the helper wrote down holds in the front, to the byte; anything else does not."""
    back = os.getcwd()
    with files(str(tmp_path)) as paths:
        try:
            fields = [(b"%s\0%s" % (path, packing.facts_of(path)), True) for path in paths]
            fields += [(field + b"0", False) for field, _ in fields]
            fields += [(b"%s\0%s" % (path, _other(packing.facts_of(path))), False) for path in paths]
            fields += [(b"", False), (b"plain", False), (b"\0", False), (b"\0x", False), (b"x" * 4096 + b"\0", False)]
            text = b"".join(b"%d\n%s\n" % (len(field), field) for field, _ in fields)
            done = subprocess.run([driver, "hold"], input=text, env=ENV, capture_output=True, timeout=60)
        finally:
            os.chdir(back)
    assert done.stderr == b""
    found = [line == "yes" for line in done.stdout.decode().split()]
    assert [(field[:40], says) for (field, _), says in zip(fields, found)] == [(f[:40], holds) for f, holds in fields]


def _other(facts: bytes) -> bytes:
    """Facts of another file: the last digit is another, or there is a file where there was none."""
    return facts[:-1] + b"%d" % ((int(facts[-1:]) + 1) % 10) if facts else b"1 2 3 4.000000000 5.000000000"


@pytest.mark.parametrize(
    "change",
    [
        lambda path: os.truncate(path, 100),
        lambda path: os.utime(path),
        lambda path: os.chmod(path, 0o600),
        lambda path: os.unlink(path),
        lambda path: _copied(path),
        lambda path: _same_size_and_time(path),
        lambda path: _folder_there(path),
    ],
    ids=["longer", "touched", "its mode", "removed", "replaced by a copy", "rewritten, its time put back", "a folder"],
)
def test_whatever_is_done_to_a_file_is_seen(driver: str, tmp_path: Any, change: Any) -> None:
    """Also where size and time are what they were."""
    path = str(tmp_path / "file")
    with open(path, "wb") as file:
        file.write(RIGHT)
    field = os.fsencode(path) + b"\0" + packing.facts_of(os.fsencode(path))
    time.sleep(0.05)  # a tick of the clock that files are dated by
    for expected in ("yes", "no"):
        text = b"%d\n%s\n" % (len(field), field)
        done = subprocess.run([driver, "hold"], input=text, env=ENV, capture_output=True, timeout=60)
        assert done.stdout.decode().strip() == expected
        if expected == "yes":
            change(path)


def _copied(path: str) -> None:
    shutil.copy2(path, path + ".new")
    os.rename(path + ".new", path)


def _folder_there(path: str) -> None:
    os.unlink(path)
    os.mkdir(path)


def _same_size_and_time(path: str) -> None:
    was = os.stat(path)
    with open(path, "r+b") as file:
        file.write(b"X")
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))


# -- the whole way --------------------------------------------------------------------------------------------------


@pytest.fixture(params=["", "sanitized"], ids=["shipped", "sanitized"])
def stand(request: pytest.FixtureRequest, tmp_path: Any) -> Stand:
    """An installation of the front, with a script that takes a file."""
    one = Stand(str(tmp_path), build(bool(request.param)), compiled("sbatch", str(tmp_path)))
    one.write("job.sh", WITH_A_FILE)
    one.write("where.sh", RIGHT)
    return one


def test_a_condition_that_holds_no_more_sends_the_front_to_its_helper_which_teaches_the_daemon(stand: Stand) -> None:
    """From the helper, from memory, from the helper since the file changed, and from memory again."""
    daemon = Broken().start()
    try:
        helper = os.path.join(LIB, "maple_submit_filter", "helper.py")
        stand.configure(socket=daemon.socket, socket_ms=20_000, helper=helper)
        known, said = {"memory": 0.0, "learnt": 0.0}, []  # type: tuple[dict[str, float], list[bytes]]
        for content, how in ((None, "learnt"), (None, "memory"), (b"WHICH=0\nMASTER_ADDR=head\n", "learnt"),
                             (None, "memory")):  # fmt: skip
            if content is not None:
                stand.write("where.sh", content)
            bare, maple = stand.both(["job.sh"], environment={"MAPLE": "verbose"})
            assert (maple.stdout, maple.exit) == (bare.stdout, bare.exit)
            until(partial(_has_counted, daemon, how, known[how]))
            known = {name: _counted(daemon, name) for name in known}
            said.append(maple.stderr)
        assert said[0] == said[1] and b"submitted as written" in said[0] and b"MPL" not in said[0]
        assert said[2] == said[3] and b"MPL304" in said[2]
    finally:
        daemon.end()


def _counted(daemon: Broken, how: str) -> float:
    return daemon.counted("maple_connections_total").get('how="%s"' % how, 0)


def _has_counted(daemon: Broken, how: str, before: float) -> bool:
    return _counted(daemon, how) > before


def test_an_answer_whose_file_is_as_it_was_is_taken_and_one_whose_file_is_not_is_left(stand: Stand) -> None:
    """By a double that says so; without a helper the script goes as written."""
    where = os.fsencode(os.path.join(stand.work, "where.sh"))
    for facts, taken in ((packing.facts_of(where), True), (b"", False), (packing.facts_of(where) + b"0", False)):
        with double(lambda one, facts=facts: one.sendall(_depending(one, where, facts))) as path:  # type: ignore[misc]
            without_helper(stand, path)
            assert stand.run(True, ["job.sh"]).script == WITH_A_FILE + (b"# held\n" if taken else b"")


def _depending(one: socket.socket, *files: bytes) -> bytes:
    request = asked(one)
    change = Change((request.submission.script or b"") + b"# held\n")
    conditions = tuple(FileFacts(path, facts) for path, facts in zip(files[::2], files[1::2]))
    return frames.pack_reply(Reply(request.nonce, request.hash, change, conditions=conditions))


@contextlib.contextmanager
def hanging() -> Iterator[str]:
    """A folder on a file system that answers nothing: FUSE, with nobody behind it."""
    folder = "/tmp/maple-hanging-%d" % os.getpid()
    os.mkdir(folder)
    device = -1
    try:
        device = os.open("/dev/fuse", os.O_RDWR)
        how = "fd=%d,rootmode=40000,user_id=0,group_id=0" % device
        subprocess.run(
            ["mount", "-i", "-t", "fuse", "none", folder, "-o", how], pass_fds=[device], check=True, capture_output=True
        )
    except (OSError, subprocess.CalledProcessError):
        if device >= 0:
            os.close(device)
        os.rmdir(folder)
        pytest.skip("no such file system can be mounted here")
    try:
        yield folder
    finally:
        os.close(device)
        subprocess.run(["umount", "-l", folder], capture_output=True)
        os.rmdir(folder)


@pytest.mark.parametrize("helper", ["", "fixes"], ids=["no helper", "a helper"])
def test_a_file_that_hangs_holds_no_submission(stand: Stand, helper: str) -> None:
    """At the deadline it is passed over, and no process of ours stays."""
    with hanging() as folder:
        where = os.fsencode(folder) + b"/where.sh"
        with double(lambda one: one.sendall(_depending(one, where, b"1 2 3"))) as path:
            if helper:
                stand.helper(helper, socket=path, socket_ms=300)
            else:
                without_helper(stand, path, 300)
            done: list[Any] = []
            call = threading.Thread(target=lambda: done.append(stand.run(True, ["job.sh"])))
            call.start()
            call.join(50)
            assert done and done[0].exit == 0
            assert done[0].script == WITH_A_FILE + (b"# fixed\n" if helper else b"")
            assert b"children none" in done[0].record


def test_a_file_that_was_changed_just_now_is_let_rest_before_it_is_read(tmp_path: Any) -> None:
    """Many kernels date files by a clock of 4 to 10 ms: another change in the same tick would look like none."""
    path = os.fsencode(str(tmp_path / "file"))
    with open(path, "wb") as file:
        file.write(RIGHT)
    watched = packing.Watched(bounded_file.read_file)
    assert watched(path) == RIGHT
    assert time.time() - os.stat(path).st_ctime >= 0.01
    assert watched.files == [FileFacts(path, packing.facts_of(path))]
    assert watched(path + b"-not-there") is None
