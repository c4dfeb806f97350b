"""The process that the front leaves behind to read files: neither the caller nor the real command sees it."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable, Optional

import pytest
from maple_submit_filter.answer import packing
from maple_submit_filter.host import frames
from maple_submit_filter.host.frames import FileFacts, Reply

from tests.doubles.stand import ASKED, HERE, Stand, build, compiled, on_terminal
from tests.submit_filter.test_front_faults import Daemon

RECORD = "0123456789abcdef0123456789abcdef"
CHILD = os.path.join(HERE, "child.py")


class Children:
    """Where the doubles of the child tell what they are."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(path)
        self._socket.listen()
        self._open: list[socket.socket] = []

    def next(self, seconds: float = 60) -> Optional[dict[str, Any]]:
        """What the next child is; None: there is none in that time."""
        self._socket.settimeout(seconds)
        try:
            one, _ = self._socket.accept()
        except TimeoutError:
            return None
        one.settimeout(60)
        self._open.append(one)
        with one.makefile("rb") as file:
            told: dict[str, Any] = json.loads(file.readline())
        return told

    def let_go(self) -> None:
        """End them."""
        for one in self._open:
            one.close()
        self._open.clear()

    def close(self) -> None:
        """End them, and take no more."""
        self.let_go()
        self._socket.close()


class Place:
    """A front, a daemon that wishes for a reading, and where the child reports."""

    def __init__(self, stand: Stand, folder: str) -> None:
        self.stand, self.folder = stand, folder
        self.children = Children(folder + "/c")
        self.fields: dict[str, Any] = {"read": RECORD}
        self.raw = b""
        self.daemon = Daemon(folder + "/d", self._answer)
        self.configure()
        stand.write("job.sh", ASKED)

    def configure(self, **keys: object) -> None:
        """Write front.conf with the child's line."""
        sound: dict[str, object] = {
            "socket": self.folder + "/d",
            "socket_ms": 20000,
            "child": CHILD,
            "report": self.children.path,
        }
        self.stand.configure(**{name: value for name, value in {**sound, **keys}.items() if value is not None})

    def _answer(self, one: socket.socket) -> None:
        head = one.recv(8, socket.MSG_WAITALL)
        body = one.recv(frames.size_of(head, frames.REQUEST, frames.MAX_REQUEST), socket.MSG_WAITALL)
        request = frames.unpack_request(head + body)
        frame = frames.pack_reply(Reply(request.nonce, request.hash, **self.fields))
        one.sendall(frame[:4] + struct.pack(">I", len(frame) - 8 + len(self.raw)) + frame[8:] + self.raw)

    def close(self) -> None:
        """End all of it."""
        self.daemon.end()
        self.children.close()


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The double of sbatch."""
    return compiled("sbatch", str(tmp_path_factory.mktemp("double")))


@pytest.fixture(params=["shipped", "sanitized"])
def place(request: pytest.FixtureRequest, double: str) -> Iterator[Place]:
    """With the front that is shipped and with the one under sanitizers; others than root may enter."""
    folder = tempfile.mkdtemp(prefix="maple-detach-", dir="/tmp")
    os.chmod(folder, 0o755)
    made = Place(Stand(folder + "/stand", build(request.param == "sanitized"), double), folder)
    yield made
    made.close()
    shutil.rmtree(folder)


def child_of(place: Place, **how: Any) -> dict[str, Any]:
    """Submit, and return what the child is; it waits."""
    place.stand.run(True, ["job.sh"], **how)
    told = place.children.next()
    assert told is not None
    return told


def no_child(place: Place, **how: Any) -> None:
    """Submit; nothing is left behind."""
    assert place.stand.run(True, ["job.sh"], **how).exit == 0
    assert place.children.next(0.7) is None


def test_the_real_command_and_its_caller_see_nothing_of_it(place: Place) -> None:
    """No child, signal, limit, mask, descriptor or byte of output is other than in a bare call; it still runs."""
    bare, maple = place.stand.both(["job.sh"], environment={"RECORD_EXIT": "3"})
    assert bare == maple and maple.exit == 3 and b"children none" in maple.record
    told = place.children.next()
    assert told is not None and os.path.exists("/proc/%d" % told["pid"])


def test_it_is_nobody_s_child_in_a_session_of_its_own_with_nothing_of_the_caller_s(place: Place) -> None:
    """But working directory and uid; descriptors 0 to 2 lead nowhere, and the environment is a short list."""
    secret = os.open(place.stand.work, os.O_RDONLY)
    os.set_inheritable(secret, True)
    told = child_of(place, close_fds=False, environment={"SECRET": "x"})
    os.close(secret)
    assert [os.path.normpath(told["argv"][0]), told["argv"][1]] == [place.stand.conf, RECORD] and told["flags"] == [
        1,
        1,
        1,
    ]
    assert told["cwd"] == place.stand.work
    assert told["environment"] == {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    assert {fd: name for fd, name in told["fds"].items() if int(fd) < 3} == dict.fromkeys("012", "/dev/null")
    assert not [name for name in told["fds"].values() if name.startswith(("socket:", "pipe:", place.stand.work))]
    assert told["pid"] != told["session"] == told["group"] != os.getsid(0)
    assert told["parent"] != os.getpid() and told["terminal"] is False


def test_it_is_bounded_and_yields_to_everybody(place: Place) -> None:
    """Processor time, memory, files, processes, time; no signal is blocked or ignored, whatever the caller's are."""

    def before() -> None:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.signal(signal.SIGXCPU, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM, signal.SIGTERM, signal.SIGCHLD])
        os.umask(0)

    told = child_of(place, preexec_fn=before)
    limits = {name: most for name, (_, most) in told["limits"].items()}
    assert limits == {"CPU": 2, "AS": 64 << 20, "CORE": 0, "FSIZE": 0, "NPROC": 0, "NOFILE": 64}
    assert told["nice"] == min(19, os.getpriority(os.PRIO_PROCESS, 0) + 10)
    assert 0 < told["alarm"] <= 30
    ours = {signal.SIGPIPE, signal.SIGXFSZ, 32, 33}  # Python's own, and those that glibc keeps for its threads
    assert told["blocked"] == 0 and not told["ignored"] & ~sum(1 << (number - 1) for number in ours)
    assert told["no_new_privileges"] == "1" and told["umask"] == "0077"


def test_what_takes_too_much_processor_time_is_ended(place: Place) -> None:
    """By the kernel."""
    place.configure(burn="yes")
    until_over(child_of(place)["pid"])


def until_over(pid: int) -> None:
    """Wait until a process has ended."""
    end = time.monotonic() + 60
    while not _is_over(pid):
        assert time.monotonic() < end
        time.sleep(0.05)


def _is_over(pid: int) -> bool:
    """Whether a process is gone, or waits for whoever keeps orphans."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def test_a_shell_that_takes_the_job_s_id_does_not_wait_for_it(place: Place) -> None:
    """`jid=$(sbatch job.sh)` has its end of file while the child is there."""
    environment = place.stand.environment()
    words = ["bash", "-c", 'jid=$(sbatch job.sh 2>&1); echo $? "$jid"']
    done = subprocess.run(words, env=environment, cwd=place.stand.work, capture_output=True, timeout=60, check=False)
    told = place.children.next()
    assert told is not None and not _is_over(told["pid"])
    assert done.stdout.startswith(b"0 ") and b"Submitted batch job 7" in done.stdout and done.stderr == b""


def test_a_terminal_keeps_its_foreground_group(place: Place) -> None:
    """What is shown and the exit are as in a bare call, and the child cannot open the terminal."""
    env, work = place.stand.environment(RECORD_EXIT="5"), place.stand.work
    words = [
        "bash",
        "-ic",
        "sbatch job.sh; s=$?; read -r -t 0 x; [ $(ps -o tpgid= $$) = $(ps -o pgid= $$) ] && exit $s",
    ]
    shown, status = on_terminal("/bin/bash", words, env, work)
    told = place.children.next()
    assert told is not None and told["terminal"] is False
    assert status == 5 and b"Submitted batch job 7" in shown


@pytest.mark.parametrize("how", ["ignored", "blocked"])
def test_the_caller_s_way_with_ended_children_is_kept(place: Place, how: str) -> None:
    """SIGCHLD ignored or blocked: none is pending, and waitpid(-1) finds nobody."""

    def before() -> None:
        if how == "ignored":
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        else:
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])

    bare, maple = place.stand.both(["job.sh"], preexec_fn=before)
    assert bare == maple and b"children none" in maple.record
    assert place.children.next() is not None


def new_children(known: set[str]) -> set[str]:
    """Return the children of this process that are not among *known*."""
    found = Path("/proc/self/task/%d/children" % os.getpid()).read_text("ascii").split()
    return set(found) - known


def test_a_caller_hears_of_one_ended_child(place: Place) -> None:
    """The submission itself; whoever keeps orphans hears of the other."""
    heard: list[int] = []
    own = new_children(set())  # what other tests of this process have started
    before = signal.signal(signal.SIGCHLD, lambda number, frame: heard.append(number))
    try:
        told = child_of(place)
        place.children.let_go()
        until_over(told["pid"])
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert len(heard) == 1
    assert not new_children(own)


_NO_IDS = ("../../x", "ABCDEF", "0" * 65, "-c", "a b", "0\0")


@pytest.mark.parametrize(
    "change",
    [
        lambda place: place.fields.clear(),
        lambda place: place.configure(child=None),
        lambda place: place.configure(child="relative/child.py"),
        lambda place: place.configure(child_python="/proc/nowhere/python3"),
        *(lambda place, bad=bad: place.fields.update(read=bad) for bad in _NO_IDS),
    ],
)  # fmt: skip
def test_without_a_wish_a_child_or_an_id_nothing_is_started(place: Place, change: Callable[[Place], None]) -> None:
    """And the submission is as ever."""
    change(place)
    no_child(place)


def _another_s(path: str) -> None:
    os.chown(path, 4711, 4711)


def _open_to(mode: int) -> Callable[[str], None]:
    return lambda path: os.chmod(path, os.stat(path).st_mode | mode)


@pytest.mark.skipif(os.getuid() != 0, reason="gives files away")
@pytest.mark.parametrize("which", ["program", "folder", "folder above"])
@pytest.mark.parametrize("fault", [_another_s, _open_to(0o020), _open_to(0o002)], ids=["owner", "group", "everybody"])
def test_what_another_may_change_is_not_run_in_ones_name(
    place: Place, which: str, fault: Callable[[str], None]
) -> None:
    """The program, or any folder that leads to it: whoever may rename there may put another in its place."""
    folder = place.folder + "/release/admission"
    os.makedirs(folder)
    program = shutil.copy(CHILD, folder + "/child.py")
    os.chown(program, 0, 0)
    place.configure(child=program)
    child_of(place)
    os.chown(program, 0, 4711)  # a group of others, for the mode to speak of
    os.chown(folder, 0, 4711)
    os.chown(os.path.dirname(folder), 0, 4711)
    child_of(place)
    fault({"program": program, "folder": folder, "folder above": os.path.dirname(folder)}[which])
    no_child(place)


def test_a_sticky_bit_guards_what_lies_in_a_folder_and_no_file(place: Place) -> None:
    """In a folder such as /tmp others replace nothing of ours; what they may write to is theirs as well."""
    folder = place.folder + "/everybody's"
    os.mkdir(folder)
    os.chmod(folder, 0o1777)
    program = shutil.copy(CHILD, folder + "/child.py")
    place.configure(child=program)
    child_of(place)
    os.chmod(program, 0o1757)
    no_child(place)


@pytest.mark.skipif(os.getuid() != 0, reason="gives files away")
def test_root_runs_nothing_that_the_front_s_owner_may_change(place: Place) -> None:
    """Others do: whoever owns the front can have anything run in their name anyway."""
    program = shutil.copy(CHILD, place.folder + "/child.py")
    place.configure(child=program)
    os.chown(place.stand.front, 4711, 4711)
    child_of(place)
    os.chown(program, 4711, 4711)
    no_child(place)


@pytest.mark.skipif(os.getuid() != 0, reason="gives files away")
@pytest.mark.parametrize("key", ["child", "child_python"])
def test_a_link_is_followed_to_what_it_leads_to(place: Place, key: str) -> None:
    """Owners are looked at where the thing lies, and that is what runs, whatever becomes of the link."""
    things = {"child": CHILD, "child_python": os.path.realpath("/usr/bin/python3")}
    target = shutil.copy(things[key], place.folder + "/thing")
    os.chmod(target, 0o755)
    link = place.folder + "/link"
    os.symlink(target, link)
    os.chown(link, 4711, 4711, follow_symlinks=False)
    place.configure(**{key: link})
    words = child_of(place)["words"]
    assert target in words and link not in words
    os.chown(target, 4711, 4711)
    no_child(place)


@pytest.mark.parametrize("variable", ["SLURM_JOB_ID", "PBS_JOBID"])
def test_inside_a_job_nothing_is_started(place: Place, variable: str) -> None:
    """The job's step would wait for it, or end it."""
    no_child(place, environment={variable: "7"})


def test_it_starts_only_if_a_file_is_not_as_it_was(place: Place) -> None:
    """Also one that was not there, and is now."""
    kept = place.stand.write("train.py", b"lr = 1\n").encode()
    absent = os.path.join(place.stand.work, "absent.py").encode()
    facts = tuple(FileFacts(path, packing.facts_of(path)) for path in (kept, absent))
    place.fields["read_unless"] = facts
    no_child(place)
    place.stand.write("absent.py", b"")
    child_of(place)
    os.unlink(absent)
    no_child(place)
    place.stand.write("train.py", b"lr = 2\n")
    child_of(place)


def test_files_beyond_those_that_are_looked_at_may_have_changed(place: Place) -> None:
    """So it starts."""
    kept = place.stand.write("train.py", b"lr = 1\n").encode()
    place.fields["read_unless"] = (FileFacts(kept, packing.facts_of(kept)),) * 65
    child_of(place)


def test_a_wish_holds_though_the_answer_does_not(place: Place) -> None:
    """A file that the decision took has changed, so the helper decides; the reading is wanted all the more."""
    place.fields["conditions"] = (FileFacts(b"/proc/nowhere", b"1 2 3"),)
    place.stand.helper("fixes", socket=place.folder + "/d", socket_ms=20000, child=CHILD, report=place.children.path)
    assert place.stand.run(True, ["job.sh"]).script == ASKED + b"# fixed\n"
    told = place.children.next()
    assert told is not None and told["argv"][1] == RECORD


def test_a_field_that_is_not_known_is_skipped(place: Place) -> None:
    """As this one is by a front that is older."""
    place.raw = struct.pack(">II", 99, 5) + b"later"
    assert child_of(place)["argv"][1] == RECORD


def test_a_reply_without_a_wish_is_as_it_ever_was() -> None:
    """Byte for byte."""
    reply = Reply(bytes(16), bytes(32), say=b"x")
    fields = [(1, bytes(16)), (2, bytes(32)), (3, b"\0"), (6, b"x")]
    body = b"".join(struct.pack(">II", tag, len(text)) + text for tag, text in fields)
    assert frames.pack_reply(reply) == b"MPR1" + struct.pack(">I", len(body)) + body
    wish = reply._replace(read=RECORD, read_unless=(FileFacts(b"/x", b"1"), FileFacts(b"/y", b"")))
    assert frames.unpack_reply(frames.pack_reply(wish)) == wish


@pytest.mark.skipif(os.getuid() != 0, reason="becomes another user, whom a limit of processes binds")
def test_where_no_process_can_be_made_there_is_none(place: Place) -> None:
    """And the submission is as ever; nothing is said."""

    def before() -> None:
        os.setgroups([])
        os.setresgid(12345, 12345, 12345)
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        os.setresuid(12345, 12345, 12345)

    os.chmod(place.folder + "/d", 0o777)
    record = {"RECORD": "/dev/null"}
    bare, maple = place.stand.both(["job.sh"], preexec_fn=before, environment=record)
    assert bare == maple and maple.stdout == place.stand.accepted
    assert place.children.next(1) is None


def test_a_front_that_is_traced_submits_as_ever(place: Place) -> None:
    """With strace, which follows each process."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("there is no strace")
    words = [strace, "-f", "-o", "/dev/null", place.stand.front, "job.sh"]
    environment = place.stand.environment(ASAN_OPTIONS="detect_leaks=0")
    with subprocess.Popen(words, env=environment, cwd=place.stand.work, stdout=subprocess.PIPE) as done:
        assert place.children.next() is not None
        place.children.let_go()
        assert b"Submitted batch job 7" in done.communicate(timeout=30)[0]
    assert done.returncode == 0
