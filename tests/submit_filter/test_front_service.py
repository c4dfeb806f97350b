"""What a service with an account of its own may have submitted: a repair of the very script, and nothing to root."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import socket
import stat
import time
from typing import Any, Iterator

import pytest
from maple_submit_filter.answer import trailer
from maple_submit_filter.host import frames

from tests.doubles.stand import Stand, build, compiled

USER, SERVICE = 42001, 42004
SCRIPT = b'#!/bin/bash\n#SBATCH -N 2\nrm -rf "$TMP/x"\nsrun -n 8 python train.py --out /scratch/me\n'
HELPED = SCRIPT + b"# fixed\n"
GOOD = SCRIPT.replace(b"srun -n 8", b"srun --nodes=2 --ntasks-per-node=4")
ORIGINAL = hashlib.sha256(SCRIPT).hexdigest()
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="several users take part, so root starts them")


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The double of sbatch."""
    return compiled("sbatch", str(tmp_path_factory.mktemp("double")))


@pytest.fixture(params=["front", "front sanitized"])
def stand(request: pytest.FixtureRequest, double: str) -> Iterator[Stand]:
    """An installation whose helper repairs in its own way, in a folder that every user can reach."""
    folder = "/tmp/maple-test-%d-%d" % (os.getpid(), time.monotonic_ns())
    one = Stand(folder, build(request.param.endswith("sanitized")), double)
    one.write("job.sh", SCRIPT)
    one.helper("fixes", socket=folder + "/s", service_uid=SERVICE, socket_ms=20000)
    for inner, _, names in os.walk(folder):
        for name in (".", *names):
            path = os.path.join(inner, name)
            os.chmod(path, stat.S_IMODE(os.stat(path).st_mode) | 0o055)
    os.chmod(folder, 0o777)
    os.chmod(one.conf, 0o644)
    yield one
    shutil.rmtree(folder)
    shutil.rmtree("/tmp/maple-%d" % USER, ignore_errors=True)


def submitted(stand: Stand, change: Any, user: int = USER, account: int = SERVICE, **more: Any) -> bytes:
    """The script that is submitted where a service of that account answers so, once. *more*: of the reply."""
    path = stand.folder + "/s"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        os.chmod(path, 0o777)
        service = os.fork()
        if service == 0:
            os.setuid(account)  # the kernel tells who listened last
            listening.listen()
            one, _ = listening.accept()
            head = one.recv(8, socket.MSG_WAITALL)
            if not head:  # the front does not believe us
                time.sleep(20)
                os._exit(0)
            size = frames.size_of(head, frames.REQUEST, frames.MAX_REQUEST)
            request = frames.unpack_request(head + one.recv(size, socket.MSG_WAITALL))
            one.sendall(frames.pack_reply(frames.Reply(request.nonce, request.hash, change, **more)))
            time.sleep(20)
            os._exit(0)
    try:
        while not listens(path):
            time.sleep(0.01)
        seen = stand.run(True, ["job.sh"], preexec_fn=lambda: os.setuid(user) if user else None)
    finally:
        os.kill(service, signal.SIGKILL)
        os.waitpid(service, 0)
        os.unlink(path)
    assert seen.exit == 0
    return seen.script


def listens(path: str) -> bool:
    """Whether somebody listens there; asked of the kernel's list, so that no connection is used up."""
    with open("/proc/net/unix") as file:
        return any(line.endswith(" " + path + "\n") and line.split()[3] == "00010000" for line in file)


CLOSED = trailer.close(GOOD, ("MPL203",), "r", ORIGINAL)


REPAIRS = [
    GOOD,
    CLOSED,
    trailer.close(SCRIPT, ("MPL1",), "r", ORIGINAL),
    SCRIPT.replace(b"#SBATCH", b"##SBATCH"),
    SCRIPT.replace(b"srun", b'cd "$PBS_O_WORKDIR" && srun'),
    SCRIPT.replace(b" --out /scratch/me", b""),
]


@pytest.mark.parametrize("script", REPAIRS, ids=len)
def test_a_repair_of_the_script_is_taken(stand: Stand, script: bytes) -> None:
    """Launchers, their options and numbers in the lines that are there, and the closing comment."""
    assert submitted(stand, frames.Change(script)) == script


LIES = {
    "another script": b"#!/bin/bash\nsrun evil\n",
    "another program": SCRIPT.replace(b"train.py", b"evil.py"),
    "a path that is there shortened": SCRIPT.replace(b'"$TMP/x"', b'"$TMP"/'),
    "a word that is no launch's lost": SCRIPT.replace(b'"$TMP/x"', b'""'),
    "words of a launch turned round": SCRIPT.replace(b"train.py --out /scratch/me", b"--out /scratch/me train.py"),
    "a word of a launch twice": SCRIPT.replace(b"train.py", b"train.py train.py"),
    "another variable": SCRIPT.replace(b"$TMP", b"$HOME"),
    "a line more": SCRIPT.replace(b"srun", b"srun\nsrun", 1),
    "a line less": SCRIPT.replace(b"#SBATCH -N 2\n", b""),
    "a second command": SCRIPT.replace(b"srun -n 8", b"srun -n 8 python; srun -n 8"),
    "a program of the line's own behind it": SCRIPT.replace(b"/scratch/me", b"/scratch/me & python train.py"),
    "a redirection": SCRIPT.replace(b"/scratch/me", b"> /scratch/me"),
    "a command put in": SCRIPT.replace(b"srun -n", b"srun -n `python`"),
    "another interpreter": SCRIPT.replace(b"/bin/bash", b"/tmp/bash"),
    "a word behind a NUL": SCRIPT.replace(b"srun -n", b"srun\0 -n"),
    "another's closing comment": trailer.close(GOOD, ("MPL203",), "r", "0" * 64),
    "a command for a closing comment": GOOD + b"evil # maple: repaired (" + ORIGINAL.encode() + b"\n",
    "a command behind the closing comment": CLOSED + b"evil\n",
    "a long line": SCRIPT.replace(b"-n 8", b"-n 8" + b" -n 8" * 1000),
    "a directive made a command": SCRIPT.replace(b"#SBATCH -N 2", b"SBATCH -N 2"),
    "the interpreter made a comment": SCRIPT.replace(b"#!/", b"##!/"),
    "a command behind a folder": SCRIPT.replace(b"srun", b'cd "$PBS_O_WORKDIR" && evil; srun'),
    "all empty lines": SCRIPT + b"\n" * 100,
}


@pytest.mark.parametrize("name", LIES)
def test_what_is_no_repair_of_the_script_is_decided_by_the_helper(stand: Stand, name: str) -> None:
    """So nothing is lost where the service was right."""
    assert submitted(stand, frames.Change(LIES[name])) == HELPED


def test_an_offer_has_the_same_bounds(stand: Stand) -> None:
    """What the user would be asked about is not what would go without a word; neither may be a lie."""
    change = frames.Change(GOOD)
    assert submitted(stand, change, question=b"so?", offer=frames.Change(LIES["another program"])) == HELPED
    assert submitted(stand, change, question=b"so?", offer=frames.Change(CLOSED)) == GOOD


def test_no_more_than_some_lines_are_changed(stand: Stand) -> None:
    """A repair is small, however long the script."""
    script = b"#!/bin/bash\n" + b"srun -n 8 a\n" * 65
    stand.write("job.sh", script)
    some, all_of_them = script.replace(b"-n 8", b"-n 4", 64), script.replace(b"-n 8", b"-n 4")
    assert submitted(stand, frames.Change(some)) == some
    assert submitted(stand, frames.Change(all_of_them)) == script + b"# fixed\n"


@pytest.mark.parametrize("word", [b"--task-prolog=evil", b"--uid=0", b"--export=LD_PRELOAD=x", b"-oevil", b"-D/tmp"])
def test_no_word_of_a_service_s_own_is_put_on_the_command_line(stand: Stand, word: bytes) -> None:
    """Options that a repair has are."""
    assert submitted(stand, frames.Change(GOOD, (b"sbatch", word, b"job.sh"))) == HELPED
    assert submitted(stand, frames.Change(GOOD, (b"sbatch", b"--nodes=2", b"-n8", b"job.sh"))) == GOOD


def test_root_takes_nothing_from_a_service_that_is_not_root(stand: Stand) -> None:
    """Not even a repair; from root it does, and everybody does."""
    assert submitted(stand, frames.Change(GOOD), user=0) == HELPED
    assert submitted(stand, frames.Change(GOOD), user=0, account=0) == GOOD
    assert submitted(stand, frames.Change(SCRIPT + b"echo more\n"), account=0) == SCRIPT + b"echo more\n"


def test_a_service_of_somebody_else_s_is_not_heard(stand: Stand) -> None:
    """Whoever took the socket's place: neither root nor the caller nor the account that front.conf names."""
    assert submitted(stand, frames.Change(GOOD), account=SERVICE + 1) == HELPED
    assert submitted(stand, frames.Change(GOOD), account=USER) == GOOD


def test_what_is_said_drives_no_terminal(stand: Stand) -> None:
    """Neither by control characters nor by those that UTF-8 writes as two bytes; letters and dashes stay."""
    stand.helper("drives")
    seen = stand.run(True, ["job.sh"], environment={"MAPLE": "verbose"})
    assert b"maple: ?[2J \xc2?2J \xe2\x80\x93 \xc3\xa9\n" in seen.stderr
