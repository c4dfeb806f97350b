"""Whatever is broken around Maple, the same bytes are submitted with the same exit code as by the bare command."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any, Callable, Iterator, Optional

import pytest
from maple_submit_filter.answer.audit_line import AuditLine, read_audit
from maple_submit_filter.host import frames

from tests.doubles.stand import ASKED, LIB, PYTHON, Seen, Stand, build, compiled, on_terminal


@pytest.fixture(scope="module")
def doubles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The doubles of sbatch and qsub."""
    folder = str(tmp_path_factory.mktemp("doubles"))
    return {command: compiled(command, folder) for command in ("sbatch", "qsub")}


@pytest.fixture(params=["sbatch", "sbatch sanitized", "qsub", "qsub sanitized"])
def stand(request: pytest.FixtureRequest, tmp_path: Any, doubles: dict[str, str]) -> Stand:
    """An installation whose helper mends every script, and a script that Maple is asked about.

    Once with the front that is shipped and once with the one under sanitizers.
    """
    command, _, sanitized = request.param.partition(" ")
    one = Stand(str(tmp_path), build(bool(sanitized)), doubles[command], command)
    one.helper("fixes")
    one.write("job.sh", ASKED)
    return one


def as_written(stand: Stand, words: Optional[list[Any]] = None, **how: Any) -> Seen:
    """Check that the call is as without Maple, and return it."""
    bare, maple = stand.both(words or ["job.sh"], environment={"RECORD_EXIT": "3", **how.pop("environment", {})}, **how)
    assert bare == maple
    assert maple.record and maple.exit == 3
    return maple


# -- who answers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    ["dies", "garbage", "huge", "is too long", "cut word", "liar", "otherhash", "short", "forks", "otherword", "keeps"],
)
def test_a_helper_that_answers_wrongly_is_not_heard(stand: Stand, kind: str) -> None:
    """Killed, garbage, 100 MB, half an answer; an answer to another question, about another script or file."""
    stand.helper(kind, helper_ms=3000)
    as_written(stand)


@pytest.mark.parametrize("kind", ["no verdict", "asks the helper"])
def test_an_answer_without_a_verdict_is_none(stand: Stand, kind: str) -> None:
    """Nothing of it is said, and nothing of it is kept; the helper itself has nobody else to ask."""
    stand.helper(kind)
    seen = stand.run(True, ["job.sh"], environment={"MAPLE": "verbose"})
    assert seen.script == ASKED
    assert b"maple: submitted as written: no answer in time\n" in seen.stderr and b"fixed" not in seen.stderr


@pytest.mark.parametrize(("kind", "lines"), [("fixes", 1), ("two lines", 0)])
def test_what_is_kept_is_one_line_or_nothing(stand: Stand, kind: str, lines: int) -> None:
    """Whatever else the answer is good for: a line end in it would make two records of one."""
    stand.helper(kind)
    assert stand.run(True, ["job.sh"]).script == ASKED + b"# fixed\n"
    path = Path(stand.state, "maple", "audit.jsonl")
    assert (path.read_bytes().count(b"\n") if path.exists() else 0) == lines


def test_an_answer_that_comes_after_the_deadline_is_not_taken(stand: Stand) -> None:
    """Though it would have been right."""
    stand.helper("is late", helper_ms=200)
    as_written(stand)


def test_a_helper_that_hangs_is_left_and_ended(stand: Stand) -> None:
    """The submission goes on at the deadline, and no process of Maple's stays."""
    stand.helper("hangs", helper_ms=300)
    seen = as_written(stand)
    assert b"children none" in seen.record
    assert not processes_with(stand.helpers)


def kept(stand: Stand) -> list[AuditLine]:
    """The audit lines in the user's own file."""
    try:
        with open(stand.home + "/.local/state/maple/audit.jsonl", "rb") as file:
            return [read_audit(line) for line in file.read().splitlines()]
    except FileNotFoundError:
        return []


def test_an_answer_that_comes_too_late_is_counted(stand: Stand) -> None:
    """The line says which job, where, how long it was waited and for whom; and nothing of the script."""
    stand.helper("hangs", helper_ms=300)
    as_written(stand)
    (line,) = kept(stand)
    assert (line.verdict, line.late, line.uid, line.came) == ("late", ("helper",), os.getuid(), "file")
    assert line.ms is not None and line.ms >= 300
    assert line.host == os.uname().nodename and len(line.record) == 16
    assert line.job == hashlib.sha256(ASKED).hexdigest()


@pytest.mark.parametrize("kind", ["dies", "garbage", "short"])
def test_a_helper_that_answers_wrongly_was_not_late(stand: Stand, kind: str) -> None:
    """What is broken is for the doctor; a site must not take it for a slow login node."""
    stand.helper(kind, helper_ms=30000)
    stand.run(True, ["job.sh"])
    assert kept(stand) == []


def processes_with(text: str) -> list[str]:
    """The command lines that hold *text*."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                line = file.read()
        except OSError:
            continue
        if os.fsencode(text) in line:
            found.append(pid)
    return found


@pytest.mark.parametrize("path", ["/proc/nowhere/python3", "/etc/passwd", "/"])
def test_an_interpreter_that_is_gone_is_not_missed(stand: Stand, path: str) -> None:
    """Nor one that cannot be run."""
    stand.configure(python=path, helper=os.path.join(stand.helpers, "fixes.py"))
    as_written(stand)


@pytest.mark.parametrize("fault", ["missing", "empty", "binary", "writable", "folder", "relative", "long"])
def test_a_broken_configuration_leaves_the_next_command_in_path(stand: Stand, fault: str) -> None:
    """The real command is found behind the front in PATH."""
    break_configuration(stand, fault)
    path = "%s:%s:/usr/bin" % (os.path.dirname(stand.front), os.path.dirname(stand.real))
    as_written(stand, environment={"PATH": path})


def break_configuration(stand: Stand, fault: str) -> None:
    content = {"empty": b"", "binary": os.urandom(4000), "long": b"#" * 20000}
    content["relative"] = b"real_%s=%s\n" % (stand.command.encode(), stand.command.encode())
    if fault == "writable":
        os.chmod(stand.conf, 0o666)
        return
    os.unlink(stand.conf)
    if fault == "folder":
        os.mkdir(stand.conf)
    elif fault in content:
        stand.write(stand.conf, content[fault])
        os.chmod(stand.conf, 0o644)


@pytest.mark.parametrize(("mode", "read"), [(0o644, True), (0o600, True), (0o664, False), (0o646, False)])
def test_a_configuration_that_others_may_write_is_not_read(stand: Stand, mode: int, read: bool) -> None:
    """Whoever writes it chooses what runs in the caller's name."""
    stand.helper("fixes")
    os.chmod(stand.conf, mode)
    path = "%s:%s:/usr/bin" % (os.path.dirname(stand.front), os.path.dirname(stand.real))
    seen = stand.run(True, ["job.sh"], environment={"PATH": path})
    assert seen.script == (ASKED + b"# fixed\n" if read else ASKED)


@pytest.mark.skipif(os.getuid() != 0, reason="gives files away")
@pytest.mark.parametrize(
    ("front", "conf", "read"), [(0, 0, True), (12345, 12345, True), (12345, 0, True), (0, 12345, False)]
)
def test_a_configuration_is_the_caller_s_root_s_or_the_front_s_owner_s(
    stand: Stand, front: int, conf: int, read: bool
) -> None:
    """Who owns the front decides anyhow what runs."""
    os.chown(stand.front, front, front)
    os.chown(stand.conf, conf, conf)
    path = "%s:%s:/usr/bin" % (os.path.dirname(stand.front), os.path.dirname(stand.real))
    seen = stand.run(True, ["job.sh"], environment={"PATH": path})
    assert seen.script == (ASKED + b"# fixed\n" if read else ASKED)


@pytest.mark.parametrize(("most", "taken"), [("60000", True), ("60001", False), ("0", False), ("20s", False)])
def test_a_deadline_out_of_bounds_is_the_usual_one(stand: Stand, most: str, taken: bool) -> None:
    """Of a quarter of a second, after which nobody is waited for."""
    stand.helper("is late", helper_ms=most)
    assert stand.run(True, ["job.sh"]).script == (ASKED + b"# fixed\n" if taken else ASKED)


def test_a_front_that_finds_only_itself_says_so_and_ends(stand: Stand) -> None:
    """By link, by copy, or as the real command of its own configuration: never a loop."""
    copies = os.path.join(stand.folder, "copies")
    os.mkdir(copies)
    copy = os.path.join(copies, stand.command)
    shutil.copy(stand.front, copy)
    stand.configure(**{"real_" + stand.command: copy})
    seen = stand.run(True, ["job.sh"], environment={"PATH": "%s:%s" % (os.path.dirname(stand.front), copies)})
    assert seen.exit == 127
    assert seen.stdout == b"" and seen.stderr.startswith(b"maple: cannot run the real %s:" % stand.command.encode())


def test_the_front_works_as_a_link(stand: Stand) -> None:
    """Its configuration is the one beside the real file."""
    link = os.path.join(stand.folder, "elsewhere", stand.command)
    os.mkdir(os.path.dirname(link))
    os.symlink(stand.front, link)
    stand.front = link
    assert stand.run(True, ["job.sh"]).script == ASKED + b"# fixed\n"


# -- the daemon -----------------------------------------------------------------------------------------------------


class Daemon(threading.Thread):
    """A socket that treats each connection as it is told to."""

    def __init__(self, path: str, treat: Callable[[socket.socket], object]) -> None:
        super().__init__(daemon=True)
        self.treat, self.asked = treat, 0
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen()
        self.start()

    def run(self) -> None:
        while True:
            try:
                one, _ = self.socket.accept()
            except OSError:
                return
            self.asked += 1
            with one, contextlib.suppress(OSError):
                self.treat(one)

    def end(self) -> None:
        """Stop listening. Closed under the thread's hands, the next test's socket could get the same number."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.join(10)
        self.socket.close()


def answer_rightly(one: socket.socket) -> int:
    """Say that the daemon answered, by what it adds; return for how long it is waited for."""
    head = one.recv(8, socket.MSG_WAITALL)
    body = one.recv(frames.size_of(head, frames.REQUEST, frames.MAX_REQUEST), socket.MSG_WAITALL)
    request = frames.unpack_request(head + body)
    change = frames.Change((request.submission.script or b"") + b"# daemon\n")
    one.sendall(frames.pack_reply(frames.Reply(request.nonce, request.hash, change)))
    return request.deadline


@pytest.fixture
def socket_path(tmp_path: Any) -> Iterator[str]:
    """A short path: socket names are."""
    folder = "/tmp/maple-test-%d-%d" % (os.getpid(), time.monotonic_ns())
    os.mkdir(folder, 0o700)
    yield folder + "/s"
    shutil.rmtree(folder)


def test_the_daemon_is_asked_first(stand: Stand, socket_path: str) -> None:
    """It hears how long it is waited for, and what it says is done; the helper is not started."""
    waits: list[int] = []
    daemon = Daemon(socket_path, lambda one: waits.append(answer_rightly(one)))
    stand.helper("fixes", socket=socket_path, socket_ms=20000, helper_ms=30000)
    assert stand.run(True, ["job.sh"]).script == ASKED + b"# daemon\n"
    assert daemon.asked == 1 and waits == [20000]
    daemon.end()


@pytest.mark.parametrize(
    "treat",
    [lambda one: None, lambda one: one.sendall(b"x" * 4000), lambda one: time.sleep(2)],
    ids=["hangs up", "garbage", "says nothing"],
)
def test_a_daemon_that_does_not_answer_is_replaced_by_the_helper(
    stand: Stand, socket_path: str, treat: Callable[[socket.socket], object]
) -> None:
    """At its deadline, or as soon as it is clear."""
    daemon = Daemon(socket_path, treat)
    stand.helper("fixes", socket=socket_path, socket_ms=200)
    assert stand.run(True, ["job.sh"]).script == ASKED + b"# fixed\n"
    assert daemon.asked == 1
    daemon.end()


def test_a_daemon_that_reads_no_long_script_is_replaced_at_its_deadline(stand: Stand, socket_path: str) -> None:
    """What the socket does not take waits no longer than an answer may."""
    answered, ended = threading.Event(), list[bool]()
    daemon = Daemon(socket_path, lambda one: ended.append(not answered.wait(20)))
    stand.helper("fixes", socket=socket_path, socket_ms=200)
    script = stand.write("long.sh", ASKED + b"#\n" * (1 << 20))
    assert stand.run(True, ["long.sh"]).script.endswith(b"#\n# fixed\n"), script
    assert not ended
    answered.set()
    daemon.end()


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)], ids=str)
def test_the_daemon_is_asked_whatever_number_its_socket_has(
    stand: Stand, socket_path: str, closed: tuple[int, ...]
) -> None:
    """That of a standard descriptor, too, where the caller closed one."""
    daemon = Daemon(socket_path, answer_rightly)
    stand.helper("fixes", socket=socket_path, socket_ms=20000)
    seen = stand.run(True, ["job.sh"], preexec_fn=partial(_close, closed))
    assert (seen.script, daemon.asked) == (ASKED + b"# daemon\n", 1)
    daemon.end()


def _close(descriptors: tuple[int, ...]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def test_a_stale_socket_is_passed_over(stand: Stand, socket_path: str) -> None:
    """Nobody listens there, which takes no time: where the helper has no answer either, nobody was late."""
    socket.socket(socket.AF_UNIX).bind(socket_path)
    stand.helper("fixes", socket=socket_path)
    assert stand.run(True, ["job.sh"]).script == ASKED + b"# fixed\n"
    stand.helper("dies", socket=socket_path, socket_ms=30000)
    os.remove(stand.home + "/.local/state/maple/audit.jsonl")
    as_written(stand)
    assert kept(stand) == []


# -- the user's folders ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cache", [None, "", "relative", "/proc/nowhere", "/proc", "/dev/null"])
def test_without_a_cache_the_copy_lies_in_a_folder_of_the_host(stand: Stand, cache: Optional[str]) -> None:
    """Root has no home: it may be anybody's. There is /run/user, and /tmp everywhere."""
    seen = stand.run(True, ["job.sh"], environment={"XDG_CACHE_HOME": cache, "HOME": cache})
    assert seen.script == ASKED + b"# fixed\n"
    path = os.fsdecode(seen.values(b"argv")[1])
    assert path.startswith(("/run/user/", "/tmp/maple-%d" % os.getuid())) and path.endswith("/job.sh")


@pytest.mark.parametrize("fault", ["a file", "a link", "another's", "submit a file", "submit a link"])
def test_a_cache_folder_that_is_not_safe_is_not_used(stand: Stand, fault: str) -> None:
    """The copy does not go there, and what stands there is left alone."""
    cache = os.path.join(stand.folder, "cache")
    other = os.path.join(stand.folder, "other")
    os.makedirs(other)
    os.makedirs(cache + ("/maple" if fault.startswith("submit") else ""))
    place = cache + ("/maple/submit" if fault.startswith("submit") else "/maple")
    if fault.endswith("a file"):
        stand.write(place, b"mine")
    elif fault.endswith("a link"):
        os.symlink(other, place)
    else:
        os.mkdir(place)
        if os.getuid() != 0:
            pytest.skip("only root can give a folder away")
        os.chown(place, 12345, 12345)
    seen = stand.run(True, ["job.sh"], environment={"XDG_CACHE_HOME": cache})
    if fault.startswith("submit"):
        assert seen.script == ASKED
    else:
        assert seen.script == ASKED + b"# fixed\n" and not seen.values(b"argv")[1].startswith(os.fsencode(cache))
    assert os.listdir(other) == []


def test_a_full_disk_leaves_the_script_as_written(stand: Stand) -> None:
    """A limit on file sizes stands for it; nothing is left behind."""

    def before() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (40000, 40000))

    stand.write("job.sh", ASKED + b"#" * 50000)
    seen = stand.run(True, ["job.sh"], preexec_fn=before, environment={"RECORD": "/dev/null"})
    assert seen.exit == 0 and seen.stdout == stand.accepted
    left = [name for _, _, names in os.walk(stand.home + "/.cache") for name in names]
    assert left == []


def test_a_working_directory_that_is_gone_is_no_hindrance(stand: Stand) -> None:
    """The script is named by its whole path."""
    gone = os.path.join(stand.folder, "gone")
    path = os.path.join(stand.work, "job.sh")

    def before() -> None:
        os.rmdir(os.getcwd())

    seen = []
    stand.helper("keeps")
    for maple in (False, True):
        os.mkdir(gone)
        seen.append(stand.run(maple, [path], cwd=gone, preexec_fn=before))
    assert seen[0] == seen[1]
    assert b"cwd No such file or directory" in seen[1].record


UNREADABLE: dict[str, Callable[[str], None]] = {
    "gone": lambda path: None,
    "a folder": os.mkdir,
    "a link to nothing": lambda path: os.symlink("/proc/nowhere", path),
    "a link to itself": lambda path: os.symlink(path, path),
    "of mode 0": lambda path: os.close(os.open(path, os.O_CREAT, 0)),  # which root reads all the same
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_an_unreadable_script_is_refused_by_the_command_itself(stand: Stand, kind: str) -> None:
    """The front says nothing about it, and the command is run with it."""
    path = os.path.join(stand.work, "job.sh")
    os.unlink(path)
    UNREADABLE[kind](path)
    stand.helper("keeps")
    as_written(stand)


# -- the script -----------------------------------------------------------------------------------------------------

SCRIPTS = {
    "4 MB": ASKED + b"# filler\n" * 460000,
    "over 4 MiB": ASKED + b"# filler\n" * 500000,
    "NUL": ASKED + b"\0\0",
    "CRLF": ASKED.replace(b"\n", b"\r\n"),
    "BOM": b"\xef\xbb\xbf" + ASKED,
    "Latin-1": ASKED + b"echo \xe9\xe8\n",
    "no newline": ASKED[:-1],
    "empty": b"",
    "blank": b"\n\n",
    "no interpreter": b"srun x\n",
    "off": ASKED + b"#  maple:\toff \r\n",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_odd_scripts_go_as_written(stand: Stand, name: str) -> None:
    """The helper that really decides answers here; none of these is a reason to fail."""
    stand.configure(helper=os.path.join(LIB, "maple_submit_filter", "helper.py"), mode="observe", helper_ms=1000)
    stand.write("job.sh", SCRIPTS[name])
    assert as_written(stand).script == SCRIPTS[name]


def test_a_script_that_switches_maple_off_is_not_asked_about(stand: Stand) -> None:
    """Only a comment line of its own does so."""
    stand.write("job.sh", ASKED + b"# maple: off\n")
    assert stand.run(True, ["job.sh"]).script == ASKED + b"# maple: off\n"
    stand.write("job.sh", ASKED + b"echo '# maple: off'\n")
    assert stand.run(True, ["job.sh"]).script.endswith(b"# fixed\n")


def test_a_named_pipe_is_left_unread(stand: Stand) -> None:
    """It can be read once only, and sbatch is who reads it; qsub takes none."""
    fifo = os.path.join(stand.work, "fifo.sh")
    os.mkfifo(fifo)
    if stand.command == "qsub":
        assert as_written(stand, ["fifo.sh"]).stderr == b"qsub: script not a file\n"
        return

    def write() -> None:
        with open(fifo, "wb") as file:
            file.write(ASKED)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    seen = stand.run(True, ["fifo.sh"])
    writer.join(10)
    assert seen.script == ASKED
    assert seen.values(b"argv")[1] == b"fifo.sh"


# -- the environment ------------------------------------------------------------------------------------------------

HOSTILE = {
    "PYTHONPATH": "/proc/nowhere",
    "PYTHONHOME": "/proc/nowhere",
    "PYTHONSTARTUP": "/proc/nowhere",
    "PYTHONINSPECT": "1",
    "PYTHONDEBUG": "1",
    "LD_LIBRARY_PATH": "/proc/nowhere",
    "LD_PRELOAD": "/proc/nowhere.so",
    "LANG": None,
    "LC_ALL": "xx_YY.nothing",
    "TMPDIR": "/proc/nowhere",
    "PATH": "/proc/nowhere",
    "IFS": " x",
    "BASH_ENV": "/proc/nowhere",
    "ENV": "/proc/nowhere",
    "SLURM_CONF": "/proc/nowhere",
    "PBS_CONF_FILE": "/proc/nowhere",
    "PBS_DPREFIX": "#",
    "MAPLE_X": "y" * 100000,
}


def test_a_hostile_environment_changes_nothing(stand: Stand) -> None:
    """Neither for the real command, nor for the answer."""
    bare, seen = stand.both(["job.sh"], environment=HOSTILE)
    assert seen.script == ASKED + b"# fixed\n"
    assert seen.values(b"environ") == bare.values(b"environ")


def test_an_empty_environment_and_no_path_at_all(stand: Stand) -> None:
    """Nothing is looked up there that must be there."""
    names = ("PATH", "HOME", "BASH_FUNC_module%%", "EMPTY", "XDG_CACHE_HOME", "XDG_STATE_HOME")
    bare, seen = stand.both(["job.sh"], environment=dict.fromkeys(names))
    assert seen.script == ASKED + b"# fixed\n"
    assert seen.values(b"environ") == bare.values(b"environ")


@pytest.mark.parametrize(
    "kind, most",
    [("RLIMIT_NOFILE", 4), ("RLIMIT_NOFILE", 6), ("RLIMIT_FSIZE", 0), ("RLIMIT_STACK", 200000), ("RLIMIT_CORE", 0)],
)
def test_tiny_limits_are_no_hindrance(stand: Stand, kind: str, most: int) -> None:
    """The real command gets the same limits; what Maple cannot do within them it leaves."""

    def before() -> None:
        resource.setrlimit(getattr(resource, kind), (most, most))

    if kind == "RLIMIT_FSIZE":
        seen = stand.run(True, ["job.sh"], preexec_fn=before, environment={"RECORD": None})
        assert seen.exit == 0 and seen.stdout == stand.accepted
        return
    stand.helper("keeps")
    as_written(stand, preexec_fn=before)


def test_where_memory_may_not_be_had_the_file_on_standard_input_is_as_it_was(stand: Stand) -> None:
    """A limit on files holds for memory that reads like one; what is read is the user's, from where it stood."""
    path = stand.write("two.sh", b"first line\n" + ASKED)

    def before() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    with open(path, "rb", buffering=0) as file:
        file.seek(11)
        seen = stand.run(True, [], stdin_file=file, preexec_fn=before, environment={"MAPLE": "verbose"})
    assert seen.script == ASKED
    assert b"maple: submitted as written: the repaired script could not be handed over\n" in seen.stderr


def test_the_off_switch_asks_nobody(stand: Stand) -> None:
    """The environment's, alone or in a list, and the site's."""
    as_written(stand, environment={"MAPLE": "off"})
    bare, maple = stand.both(["job.sh"], environment={"MAPLE": "verbose,off"})
    assert maple == bare._replace(stderr=b"maple: submitted as written: MAPLE=off\n" + bare.stderr)
    stand.helper("fixes", mode="off")
    as_written(stand)


# -- signals and streams --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_while_maple_thinks_ends_the_submission(stand: Stand, number: signal.Signals) -> None:
    """As it would end the bare command; the helper ends as well."""
    stand.helper("hangs", helper_ms=30000)
    env = stand.environment()
    process = subprocess.Popen([stand.command, "job.sh"], executable=stand.front, env=env, cwd=stand.work)
    wait_until(lambda: bool(processes_with(os.path.join(stand.helpers, "hangs.py"))))
    process.send_signal(number)
    assert process.wait(10) == -number
    wait_until(lambda: not processes_with(os.path.join(stand.helpers, "hangs.py")))
    assert not os.path.exists(env["RECORD"])


def wait_until(holds: Callable[[], bool]) -> None:
    """Fail if it does not come true in ten seconds."""
    for _ in range(1000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("it never came true")


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGTSTP])
def test_a_stop_while_maple_thinks_is_only_a_pause(stand: Stand, number: signal.Signals) -> None:
    """As Ctrl-Z and fg make it."""
    stand.helper("hangs", helper_ms=500)
    env = stand.environment()
    process = subprocess.Popen([stand.command, "job.sh"], executable=stand.front, env=env, cwd=stand.work)
    wait_until(lambda: bool(processes_with(os.path.join(stand.helpers, "hangs.py"))))
    process.send_signal(number)
    time.sleep(0.7)
    process.send_signal(signal.SIGCONT)
    assert process.wait(10) == 0
    assert os.path.exists(env["RECORD"])


def test_the_exit_status_and_the_death_of_the_command_are_the_caller_s(stand: Stand) -> None:
    """The front is gone by then."""
    for status in ("0", "1", "255"):
        assert stand.run(True, ["job.sh"], environment={"RECORD_EXIT": status}).exit == int(status)
    assert stand.run(True, ["job.sh"], environment={"RECORD_KILL": "11"}).exit == -11


@pytest.mark.parametrize("which", ["stdout", "stderr"])
def test_a_stream_nobody_reads_is_no_hindrance_to_maple(stand: Stand, which: str) -> None:
    """Verbose and with a closed pipe, the front says nothing and dies of nothing."""
    out, into = os.pipe()
    os.close(out)

    def before() -> None:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)

    try:
        stand.run(True, ["job.sh"], environment={"MAPLE": "verbose"}, preexec_fn=before, **{which: into})
        record = stand.record
    finally:
        os.close(into)
    assert b"SigPnd:\t0000000000000000" in record
    assert b"# fixed" in record


@pytest.mark.parametrize("stand", ["qsub"], indirect=True)
def test_a_stream_that_is_nearly_full_holds_no_submission(stand: Stand) -> None:
    """Of what is said only so much is written as a pipe takes at once; the real qsub itself says nothing here."""
    stand.helper("says much")
    out, into = os.pipe()
    os.write(into, b"x" * (fcntl.fcntl(into, fcntl.F_GETPIPE_SZ) - 8192))
    try:
        stand.run(True, ["job.sh"], environment={"MAPLE": "verbose"}, stderr=into)
        assert b"# fixed" in stand.record
    finally:
        os.close(into)
        os.close(out)


def test_nothing_is_said_but_on_a_terminal_or_when_asked_for(stand: Stand) -> None:
    """And stdout is never touched."""
    quiet = stand.run(True, ["job.sh"])
    said = stand.run(True, ["job.sh"], environment={"MAPLE": "verbose"})
    assert quiet.stderr == (b"sbatch: a word on stderr\n" if stand.command == "sbatch" else b"")
    assert said.stderr == b"maple: fixed\n" + quiet.stderr
    assert said.stdout == quiet.stdout == stand.accepted


# -- the terminal ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "told"), [("repair", True), ("warn", True), ("observe", False)])
def test_a_late_answer_is_told_on_a_terminal_but_where_the_site_only_observes(
    stand: Stand, mode: str, told: bool
) -> None:
    """There users are to see nothing of it; who asks for words gets them."""
    stand.helper("hangs", helper_ms=300, mode=mode)
    late = b"submitted as written: no answer in time"
    assert (late in typed(stand, b"")) == told
    assert late in typed(stand, b"", MAPLE="verbose")


def submitted(stand: Stand) -> bytes:
    """The script that the double was given last."""
    return Seen(stand.record, b"", b"", 0).script


def typed(stand: Stand, keys: bytes, **environment: str) -> bytes:
    """Submit on a terminal, type *keys* at the question, and return what was shown."""
    after = b"[y/N]" if keys else b""
    argv, env = [stand.command, "job.sh"], stand.environment(**environment)
    return on_terminal(stand.front, argv, env, stand.work, keys, after)[0]


@pytest.mark.parametrize(
    "keys, taken",
    [(b"y\n", True), (b"yes\n", True), (b"\n", False), (b"n\n", False), (b"\x04", False), (b"yeti\n", False)],
)
def test_an_offer_is_taken_only_by_a_clear_yes(stand: Stand, keys: bytes, taken: bool) -> None:
    """The default is no, which is said: the script goes as it was written."""
    stand.helper("offers")
    shown = typed(stand, keys)
    assert b"maple: one line more" in shown and b"Ctrl-C nothing" in shown
    assert (b"maple: submitted as written" in shown) == (not taken)
    assert submitted(stand) == (ASKED + b"# fixed\n" if taken else ASKED)


def test_the_time_at_a_question_is_not_the_front_s(stand: Stand) -> None:
    """The site is told what Maple took; a user may think as long as he likes."""
    stand.helper("offers")
    argv, env = [stand.command, "job.sh"], stand.environment()
    on_terminal(stand.front, argv, env, stand.work, b"y\n", b"[y/N]", pause=4)
    with open(stand.home + "/.local/state/maple/audit.jsonl", "rb") as file:
        (line,) = file.read().splitlines()
    assert json.loads(line)["ms"] < 4000


def test_ctrl_c_at_an_offer_submits_nothing(stand: Stand) -> None:
    """It ends the command, as always."""
    stand.helper("offers")
    typed(stand, b"\x03")
    assert not os.path.exists(os.path.join(stand.folder, "record"))


def test_who_does_not_want_to_be_asked_is_not(stand: Stand) -> None:
    """MAPLE_ASK=no, or no terminal."""
    stand.helper("offers")
    assert b"[y/N]" not in typed(stand, b"", MAPLE_ASK="no")
    assert submitted(stand) == ASKED
    as_written(stand)


# -- many at once ---------------------------------------------------------------------------------------------------


def test_a_loop_that_reads_names_from_stdin_submits_every_file(stand: Stand) -> None:
    """`while read f; do sbatch "$f"; done < list`: the front does not touch the list."""
    for number in range(5):
        stand.write("job%d.sh" % number, ASKED)
    stand.write("list", b"".join(b"job%d.sh\n" % number for number in range(5)))
    line = "while read f; do %s $f; done < list" % stand.command
    done = subprocess.run(
        ["bash", "-c", line], cwd=stand.work, env=stand.environment(), capture_output=True, timeout=60
    )
    assert done.stdout == stand.accepted * 5


def test_two_hundred_at_once_are_all_submitted(stand: Stand) -> None:
    """Each leaves one whole audit line, and none is in another's way when the copy is made."""
    stand.helper("fixes", helper_ms=60000)
    env = stand.environment(RECORD=None)
    many = (
        200 if (stand.command, os.path.getsize(stand.front)) == ("sbatch", os.path.getsize(build())) else 20
    )  # under sanitizers each costs tenfold
    running = [
        subprocess.Popen(
            [stand.command, "job.sh"], executable=stand.front, env=env, cwd=stand.work,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
        for _ in range(many)
    ]  # fmt: skip
    assert [one.communicate(timeout=120)[0] for one in running] == [stand.accepted] * many
    assert [one.returncode for one in running] == [0] * many
    with open(stand.home + "/.local/state/maple/audit.jsonl", "rb") as file:
        lines = file.read().split(b"\n")
    assert len(lines) == many + 1 and lines[-1] == b""
    assert all(line.startswith(b'{"who":"double","ms":') for line in lines[:-1])


def test_the_spool_of_the_site_gets_each_user_s_lines(stand: Stand) -> None:
    """In a file that belongs to the user; a file of another's, or a link, is not written to."""
    spool = os.path.join(stand.folder, "spool")
    os.mkdir(spool)
    stand.helper("fixes", audit=spool)
    stand.run(True, ["job.sh"])
    name = os.path.join(spool, "%d.jsonl" % os.getuid())
    with open(name, "rb") as file:
        assert file.read().count(b"\n") == 1
    os.unlink(name)
    target = stand.write("elsewhere", b"")
    os.symlink(target, name)
    stand.run(True, ["job.sh"])
    assert os.stat(target).st_size == 0


def test_the_helper_keeps_no_environment_and_no_descriptor(stand: Stand) -> None:
    """Nothing of the caller's reaches it but the working directory and the uid."""
    out = os.path.join(stand.folder, "helper-saw")
    stand.write(
        os.path.join(stand.helpers, "looks.py"),
        b"import os\nopen(%r, 'w').write(repr((sorted(os.environ), sorted(os.listdir('/proc/self/fd')))))\n" % out,
    )
    stand.configure(helper=os.path.join(stand.helpers, "looks.py"))
    extra = os.open("/dev/null", os.O_RDONLY)
    stand.run(True, ["job.sh"], pass_fds=(extra,), environment={"PYTHONPATH": "/x", "SECRET": "1"})
    os.close(extra)
    with open(out) as file:
        environment, descriptors = eval(file.read())
    assert environment == ["LC_ALL", "PATH"]
    assert len(descriptors) == 5 and descriptors[:3] == ["0", "1", "2"]  # its own file and the listing are two more


def test_who_was_too_late_is_told_apart(stand: Stand, socket_path: str) -> None:
    """A daemon that hangs costs its own deadline; where the helper then answers, the submission was served."""
    daemon = Daemon(socket_path, lambda one: time.sleep(0.5))
    stand.helper("hangs", socket=socket_path, socket_ms=100, helper_ms=200)
    stand.run(True, ["job.sh"])
    stand.helper("fixes", socket=socket_path, socket_ms=100, helper_ms=30000)
    stand.run(True, ["job.sh"])
    daemon.end()
    with open(stand.home + "/.local/state/maple/audit.jsonl", "rb") as file:
        first, second = file.read().splitlines()
    assert read_audit(first).late == ("daemon", "helper")
    assert b'"late"' not in second


def test_the_python_of_the_tests_is_the_one_pinned() -> None:
    """Guards the tests themselves: the interpreter named in front.conf is there."""
    assert os.access(PYTHON, os.X_OK)
