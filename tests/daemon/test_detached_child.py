"""A user's files are read by a process of his own, after the submission and unseen by it; a version once."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.daemon.asking import ask, found, written
from tests.daemon.detached import PROGRAM, SCRIPT, Site, child
from tests.doubles.stand import PYTHON, Stand, build, compiled


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The double of sbatch."""
    return compiled("sbatch", str(tmp_path_factory.mktemp("double")))


@pytest.fixture
def site(request: pytest.FixtureRequest, tmp_path: Any, double: str) -> Iterator[Site]:
    """A login node whose daemon serves; its settings come as the fixture's parameter."""
    made = Site(Stand(str(tmp_path), build(), double), **getattr(request, "param", {}))
    made.daemon.start()
    yield made
    if made.daemon.process is not None and made.daemon.process.poll() is None:
        made.daemon.stop(signal.SIGKILL)
    shutil.rmtree(made.daemon.folder)


def test_what_stands_in_the_program_and_its_config_is_known_with_its_place(site: Site) -> None:
    """After one submission, with file and line."""
    site.submit()
    values = site.values({"learning_rate": "0.5", "epochs": "3"})
    lr, epochs = values["learning_rate"], values["epochs"]
    assert (lr["file"], lr["line"], lr["by"]) == ("train.py", 5, "program")
    assert (epochs["file"], epochs["line"], epochs["by"]) == ("conf.yaml", 1, "config")
    parts = {one["name"]: one["hash"] for one in found(site.daemon, ask="versions")[0]["parts"]}
    assert (lr["part"], epochs["part"]) == (parts["train.py"], parts["conf.yaml"])


def counted(site: Site, what: str) -> int:
    """How often the daemon has counted something."""
    return int(site.daemon.counted("maple_remembered_total").get('what="%s"' % what, 0))


def until(site: Site, what: str, number: int) -> None:
    """Wait until so many are counted."""
    end = time.monotonic() + 60
    while counted(site, what) < number:
        assert time.monotonic() < end, "%s %d; %s" % (what, counted(site, what), site.daemon.said)
        time.sleep(0.05)
    assert counted(site, what) == number


def left(site: Site) -> list[str]:
    """Processes of this front's child that are there now."""
    there = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                words = file.read()
        except OSError:
            continue
        if os.fsencode(site.stand.folder) in words and b"child.py" in words:
            there.append(pid)
    return there


def none_left(site: Site) -> None:
    """Wait until no child is there."""
    end = time.monotonic() + 60
    while left(site):
        assert time.monotonic() < end
        time.sleep(0.05)


def newest(site: Site) -> dict[str, Any]:
    """The version of the last submission."""
    record = found(site.daemon, ask="records")[0]
    version: dict[str, Any] = found(site.daemon, ask="version", version=record["version"])
    return version


def read_for(version: dict[str, Any]) -> list[str]:
    """The names of the files that were read for a version."""
    return sorted(one["name"] for one in version["parts"] if one["name"] and one["hash"] in version["read"].split())


FILES = ["conf.yaml", "model.py", "train.py"]


def test_a_version_is_read_once(site: Site) -> None:
    """However often it is submitted, and also with other words that lead to the same files."""
    site.submit()
    until(site, "reading", 1)
    for _ in range(3):
        site.submit()
    written(site.daemon, 4)
    none_left(site)
    assert counted(site, "reading") == 1
    assert len(found(site.daemon, ask="versions")) == 1
    assert read_for(newest(site)) == FILES


def test_only_the_file_that_changed_is_read_again(site: Site) -> None:
    """It makes another version of the same script; what the others say is known, and the history tells so."""
    site.submit()
    site.values({"learning_rate": "0.5", "epochs": "3"})
    first = newest(site)
    site.stand.write("conf.yaml", b"epochs: 5\n")
    site.submit()
    until(site, "reading", 2)
    written(site.daemon, 2)
    site.values({"learning_rate": "0.5", "epochs": "5"})
    second = newest(site)
    assert (second["parent"], second["lineage"]) == (first["id"], first["lineage"])
    assert second["script_hash"] == first["script_hash"]
    assert read_for(second) == ["conf.yaml"]
    shown = history(site)
    assert "conf.yaml: read again: it changed (epochs=5 line 1)" in shown
    assert "train.py: known before (" in shown and "learning_rate=0.5 line 5" in shown


def history(site: Site) -> str:
    """What `maple history --why` shows."""
    program = "from maple_agents.cli.main import main; main()"
    words = [sys.executable, "-c", program, "history", "--why", "job.sh"]
    environment = {**os.environ, "MAPLE_SOCKET": site.daemon.socket}
    done = subprocess.run(words, env=environment, cwd=site.stand.work, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def test_an_edited_script_reads_no_file_again(site: Site) -> None:
    """What its files say is known; an argument that is given now wins over the default."""
    site.submit()
    until(site, "reading", 1)
    site.stand.write("job.sh", SCRIPT.replace(b"conf.yaml", b"conf.yaml --seed 9"))
    site.submit()
    until(site, "reading", 2)
    written(site.daemon, 2)
    values = site.values({"learning_rate": "0.5", "epochs": "3", "seed": "9"})
    assert read_for(newest(site)) == []
    assert values["learning_rate"]["line"] == 5


def test_a_service_that_was_started_anew_knows_which_files_were_last(site: Site) -> None:
    """A submission that nobody has read for yet is of the version with these."""
    site.submit()
    site.values({"epochs": "3"})
    site.stand.write("conf.yaml", b"epochs: 5\n")
    site.submit()
    until(site, "reading", 2)
    edited = newest(site)["id"]
    site.daemon.stop()
    site.configure(child=site.stand.write("nothing.py", b""))
    site.daemon.start()
    site.submit()
    records = written(site.daemon, 3)
    assert [one["version"] == edited for one in records] == [False, True, True]


def test_files_that_were_not_read_are_not_called_changed(site: Site) -> None:
    """Of a version whose files nobody has read nothing is said of them."""
    site.submit()
    site.values({"learning_rate": "0.5"})
    site.configure(child=site.stand.write("nothing.py", b""))
    site.stand.write("job.sh", SCRIPT.replace(b"python train.py", b"python -u train.py"))
    site.submit()
    written(site.daemon, 2)
    lines = [line for line in history(site).splitlines() if line.startswith("* ")]
    assert lines[0].endswith("changed: launch") and lines[1].endswith("first version")


def test_a_file_that_was_not_there_is_read_when_it_is(site: Site) -> None:
    """A list of packages beside the program."""
    site.submit()
    until(site, "reading", 1)
    site.stand.write("requirements.txt", b"torch==2.4.0\n")
    site.submit()
    until(site, "reading", 2)
    site.values({"packages": "torch==2.4.0"})
    assert read_for(newest(site)) == ["requirements.txt"]


def test_many_submissions_at_once_are_all_read(site: Site) -> None:
    """One process at a time reads what waits."""
    for at in range(12):
        site.submit("--nodes=%d" % (at + 1), "job.sh")
    end = time.monotonic() + 60
    while counted(site, "reading") < 12:
        assert time.monotonic() < end, site.daemon.said
        if not left(site):
            site.submit()  # the next one takes along what waits
        time.sleep(0.05)
    while not _all_have_their_program(site):  # what was read is written after it is counted
        assert time.monotonic() < end, site.daemon.said
        time.sleep(0.05)


def _all_have_their_program(site: Site) -> bool:
    versions = [one for one in found(site.daemon, ask="versions") if len(one["argv"]) == 3]
    named = [any(part["name"] == "train.py" for part in one["parts"]) for one in versions]
    return len(named) == 12 and all(named)


@pytest.mark.parametrize(
    "site",
    [{"admission": {"read_files": False}}, {"admission": {"not_groups": [os.getgid()]}}],
    indirect=True,
    ids=["all", "group"],
)
def test_the_administrator_may_have_no_files_read(site: Site) -> None:
    """At all, or of a group's members."""
    site.submit()
    written(site.daemon, 1)
    none_left(site)
    assert (counted(site, "wish"), counted(site, "reading")) == (0, 0)


@pytest.mark.parametrize("how", ["off", "job"])
def test_nothing_is_read_where_maple_is_off_or_inside_a_job(site: Site, how: str) -> None:
    """By the user's word, or in a batch job."""
    site.submit(environment={"MAPLE": "off"} if how == "off" else {"SLURM_JOB_ID": "7"})
    none_left(site)
    assert counted(site, "reading") == 0


def test_without_the_child_s_line_nothing_is_wished_for(site: Site) -> None:
    """After the daemon has read front.conf anew."""
    site.configure(child=None)
    assert site.daemon.process is not None
    site.daemon.process.send_signal(signal.SIGHUP)
    while "reloaded" not in site.daemon.said:
        time.sleep(0.05)
    site.submit()
    written(site.daemon, 1)
    assert counted(site, "wish") == 0


def _fifo(path: str) -> None:
    os.mkfifo(path)


def _kernel(path: str) -> None:
    os.symlink("/proc/kcore", path)


def _large(path: str) -> None:
    with open(path, "wb") as file:
        file.truncate(1 << 30)


def _circle(path: str) -> None:
    os.symlink(path, path)


def _deep(path: str) -> None:
    with open(path, "wb") as file:
        file.write(b"(" * 100_000)


def _heavy(path: str) -> None:
    with open(path, "wb") as file:
        file.write(b"x = [" + b"(1,2),[3],{4:5}," * 8000 + b"]\n")


def _endless(path: str) -> None:
    os.symlink("/dev/zero", path)


@pytest.mark.parametrize("name", ["train.py", "conf.yaml"])
@pytest.mark.parametrize(
    "made", [_fifo, _kernel, _large, _circle, _deep, _heavy, _endless], ids=lambda one: one.__name__.strip("_")
)
def test_a_file_that_is_no_use_harms_nothing(site: Site, name: str, made: Any) -> None:
    """Nothing hangs, nothing is left, and what the others say is known."""
    path = os.path.join(site.stand.work, name)
    os.unlink(path)
    made(path)
    site.submit()
    until(site, "reading", 1)
    none_left(site)
    if name == "conf.yaml":
        assert site.values({"learning_rate": "0.5"})


def test_configs_that_name_each_other_end(site: Site) -> None:
    """Accelerate's config names DeepSpeed's, which is itself."""
    site.stand.write("conf.yaml", b"epochs: 3\ndeepspeed_config:\n  deepspeed_config_file: conf.yaml\n")
    site.submit()
    site.values({"epochs": "3"})
    none_left(site)


SECRET = "hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345"


def test_no_secret_of_a_file_leaves_the_user_s_process(site: Site) -> None:
    """Neither in the database, nor in the log, nor in an answer."""
    secret = b'p.add_argument("--token", default="%s")\np.add_argument("--model", default="%s")\n' % (
        (SECRET.encode(),) * 2
    )
    site.stand.write("train.py", PROGRAM + secret)
    site.stand.write("conf.yaml", b"epochs: 3\npassword: %s\ndata: %s\n" % ((SECRET.encode(),) * 2))
    site.submit()
    site.values({"epochs": "3", "learning_rate": "0.5"})
    site.submit()
    written(site.daemon, 2)
    answers = json.dumps([found(site.daemon, ask="versions", scripts=True), found(site.daemon, ask="records")])
    site.stand.write("conf.yaml", b"epochs: 4\npassword: %s\n" % SECRET.encode())
    with site.daemon.connect() as one:
        memory = _process_memory(site, one)
    site.daemon.stop()
    kept = b"".join(_content(os.path.join(site.daemon.folder, name)) for name in os.listdir(site.daemon.folder))
    assert SECRET not in answers
    assert SECRET.encode() not in kept
    assert SECRET.encode() not in memory


def _process_memory(site: Site, one: socket.socket) -> bytes:
    """All that the daemon holds now."""
    assert site.daemon.process is not None
    found = []
    with open("/proc/%d/maps" % site.daemon.process.pid, encoding="utf-8") as maps:
        ranges = [line.split()[0].split("-") for line in maps if " rw" in line]
    with open("/proc/%d/mem" % site.daemon.process.pid, "rb", 0) as memory:
        for first, last in ranges:
            try:
                memory.seek(int(first, 16))
                found.append(memory.read(int(last, 16) - int(first, 16)))
            except (OSError, OverflowError, ValueError):
                continue
    return b"".join(found)


def _content(path: str) -> bytes:
    if not os.path.isfile(path):
        return b""
    with open(path, "rb") as file:
        return file.read()


@pytest.mark.skipif(os.getuid() != 0, reason="becomes another user")
def test_another_user_is_given_no_submission_and_can_tell_nothing(site: Site) -> None:
    """By whatever record; the one whose it is has it after him."""
    site.configure(child=site.stand.write("nothing.py", b""))  # nobody takes it
    os.chmod(site.daemon.folder, 0o711)
    site.submit()
    (record,) = written(site.daemon, 1)
    told = {"record": record["id"], "parts": [["program", "x.py", "a" * 32, [1, 2]]], "values": []}
    assert as_uid(12345, site, {"ask": "reading", "record": record["id"]}) == {"found": None}
    assert as_uid(12345, site, {"ask": "reading", "record": ""}) == {"found": None}
    assert as_uid(12345, site, told, b"MPA1") == {"found": False}
    assert ask(site.daemon, {"ask": "reading", "record": record["id"]})["found"]["record"] == record["id"]
    assert ask(site.daemon, {"ask": "reading", "record": record["id"]}) == {"found": None}


def as_uid(uid: int, site: Site, question: object, kind: bytes = b"MPH1") -> Any:
    """The answer that a process of that uid gets."""
    body = json.dumps(question).encode()
    program = (
        "import os, socket, sys\n"
        "os.setgroups([]); os.setresuid(%d, %d, %d)\n"
        "one = socket.socket(socket.AF_UNIX); one.connect(sys.argv[1])\n"
        "one.sendall(sys.stdin.buffer.read()); one.shutdown(1)\n"
        "sys.stdout.buffer.write(b''.join(iter(lambda: one.recv(65536), b'')))\n" % (uid, uid, uid)
    )
    frame = kind + struct.pack(">I", len(body)) + body
    words = ["/usr/bin/python3", "-c", program, site.daemon.socket]
    done = subprocess.run(words, input=frame, capture_output=True, timeout=30, check=True)
    return json.loads(done.stdout[8:])


def versions_with(value: str, uid: int, site: Site) -> list[dict[str, Any]]:
    """A user's versions, as soon as the newest has that value."""
    end = time.monotonic() + 60
    while True:
        versions: list[dict[str, Any]] = as_uid(uid, site, {"ask": "versions"})["found"]
        if versions and any(one["name"] == value for one in versions[0]["values"]):
            return versions
        assert time.monotonic() < end, "only %r; %s" % (versions, site.daemon.said)
        time.sleep(0.05)


@pytest.mark.skipif(os.getuid() != 0, reason="becomes another user")
def test_a_user_s_files_are_read_as_the_user(double: str) -> None:
    """By a daemon that could read more: what the user may not read is not read, and nobody else has the values."""
    folder = tempfile.mkdtemp(prefix="maple-child-", dir="/tmp")
    os.chmod(folder, 0o755)
    site = Site(Stand(folder, build(), double))
    os.chmod(site.daemon.folder, 0o711)
    os.chmod(os.path.join(site.stand.work, "conf.yaml"), 0o600)
    site.configure(child_python=PYTHON, service_uid=0)
    site.daemon.start()

    def before() -> None:
        os.setgroups([])
        os.setresgid(12345, 12345, 12345)
        os.setresuid(12345, 12345, 12345)

    try:
        site.submit(preexec_fn=before, environment={"RECORD": "/dev/null"})
        until(site, "reading", 1)
        versions = versions_with("learning_rate", 12345, site)
        assert [one["name"] for one in versions[0]["parts"] if one["name"]] == ["train.py", "model.py"]
        assert found(site.daemon, ask="versions") == []
        none_left(site)
    finally:
        site.daemon.stop(signal.SIGKILL)
        shutil.rmtree(site.daemon.folder)
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    "looked",
    [
        [["/x", "1", "a"]], [["", "1", "a", ""]], [["/x\0y", "1", "a", ""]], [["/x", "1" * 160, "a", ""]],
        [["/x", "1", "a", "x" * (129 << 10)]], [["/" + "x" * 4096, "1", "a", ""]], [["/\u1234", "1", "a", ""]],
        [["/x", 1, "a", ""]], [["/x", "1", "a", ""]] * 65, "x",
    ],
    ids=lambda one: repr(one)[:40],
)  # fmt: skip
def test_how_files_were_is_held_to_its_form(site: Site, looked: object) -> None:
    """And to its bounds: it goes back to the user's front."""
    site.configure(child=site.stand.write("nothing.py", b""))
    site.submit()
    (record,) = written(site.daemon, 1)
    told = {"record": record["id"], "parts": [], "values": [], "looked": looked}
    assert "wrong" in ask(site.daemon, told, b"MPA1")
    assert site.submit().exit == 0


def test_a_child_that_finds_no_daemon_ends_without_a_word(site: Site) -> None:
    """Gone, or somebody else's."""
    site.daemon.stop()
    words = [sys.executable, "-BIS", child(), site.stand.conf, "0" * 32]
    done = subprocess.run(words, capture_output=True, timeout=30, check=False)
    assert (done.stdout, done.stderr) == (b"", b"")
    assert done.returncode == 1
