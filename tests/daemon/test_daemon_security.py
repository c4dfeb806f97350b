"""No user learns of another, speaks for another, or keeps another from being served; no secret is written anywhere."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import socket
import stat
import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from maple_daemon.base.peers import peer_of
from maple_daemon.base.settings import Bounds, Busy, Limits
from maple_daemon.serve import queries
from maple_submit_filter.answer import decision, packing
from maple_submit_filter.answer import reply as answer
from maple_submit_filter.answer.decision import Decision, Rewritten
from maple_submit_filter.host import frames
from maple_submit_filter.host.frames import FileFacts, Reply, Request
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.site.modes import Policy
from maple_submit_filter.types.findings import Finding

from tests.daemon.asking import ask, ask_over
from tests.daemon.breaking import NOBODY, Broken, as_user, until
from tests.daemon.serving import WITH_A_FILE, WRONG, Daemon, receive, request
from tests.secrets import SECRETS, canaries

ALICE, BOB = 41001, 41002
MANY = {"rate": 100000, "burst": 100000, "connections": 500}
pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root can become several users")


@pytest.fixture(scope="module")
def daemon() -> Iterator[Broken]:
    """A daemon for tests that leave it as it is."""
    made = Broken(per_user=MANY)
    made.start()
    yield made
    made.end()


@pytest.fixture
def own(request: pytest.FixtureRequest) -> Iterator[Broken]:
    """One for a test alone, not started."""
    made = Broken(**{"per_user": MANY, **getattr(request, "param", {})})
    yield made
    made.end()


def asks(daemon: Daemon, uid: int, script: bytes = WRONG, **more: Any) -> Reply | None:
    """What a user is answered who submits a script."""
    return as_user(uid, lambda: daemon.ask(request(script, uid=uid, **more)))


def wants(daemon: Daemon, uid: int, question: object, kind: bytes = b"MPH1") -> dict[str, Any]:
    """What a user is told who asks about himself."""
    return as_user(uid, lambda: ask(daemon, question, kind))


def written_of(daemon: Daemon, uid: int, number: int) -> list[dict[str, Any]]:
    """A user's records, the oldest first, once there are so many."""
    until(lambda: len(wants(daemon, uid, {"ask": "records", "limit": 500}).get("found", [])) >= number)
    found: list[dict[str, Any]] = wants(daemon, uid, {"ask": "records", "limit": 500})["found"]
    return found[::-1]


# -- who calls ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [0, BOB, NOBODY, 0xFFFFFFFF])
def test_the_kernel_says_who_calls_and_a_request_that_says_otherwise_gets_no_answer(daemon: Broken, said: int) -> None:
    """Root, another user, the service's own user, nobody."""
    assert as_user(ALICE, lambda: daemon.ask(request(WRONG, uid=said))) is None
    assert asks(daemon, ALICE) is not None


def test_what_is_known_of_one_user_s_submission_is_not_known_of_another_s(daemon: Broken) -> None:
    """The same bytes, words and folder."""
    script = WRONG + b"# both\n"
    for uid in (ALICE, BOB):
        before = daemon.counted("maple_connections_total").get('how="decided"', 0)
        assert asks(daemon, uid, script) is not None
        assert daemon.counted("maple_connections_total")['how="decided"'] == before + 1


@pytest.mark.parametrize("how", ["the overflow uid", "of another user namespace"])
def test_whom_the_kernel_cannot_name_is_refused(own: Broken, how: str) -> None:
    """Everybody without a uid here would be one user."""
    if how == "the overflow uid":
        stranger = 65534
    else:
        stranger, own.under = ALICE, ("unshare", "--user", "--map-root-user")
    own.start()
    hung_up = as_user(stranger, lambda: _answer_to(own, frames.pack_request(request(uid=stranger))))
    as_overflow = as_user(stranger, lambda: _answer_to(own, frames.pack_request(request(uid=65534))))
    assert (hung_up, as_overflow) == (b"", b"")
    assert wants(own, stranger, {"ask": "records"}) == {}
    assert own.counted("maple_connections_total")['how="stranger"'] == 3
    assert own.ask(request()) is not None


def _answer_to(daemon: Daemon, data: bytes) -> bytes:
    with daemon.connect() as one, contextlib.suppress(OSError):
        one.sendall(data)
        return one.recv(65536)
    return b""


# -- one user's text, names and existence ---------------------------------------------------------------------------


def test_no_question_tells_one_user_of_another(own: Broken) -> None:
    """Every question there is, with every id of the other's in every place: the answer is that to an id of nobody's."""
    own.start()
    asks(own, ALICE)
    asks(own, ALICE, WRONG + b"# an edit\n")
    theirs = written_of(own, ALICE, 2)
    versions = wants(own, ALICE, {"ask": "versions", "scripts": True})["found"]
    names = {one[key] for one in versions for key in ("id", "lineage", "parent", "name", "path")}
    names |= {part["hash"] for one in versions for part in one["parts"]}
    names |= {one[key] for one in theirs for key in ("id", "version", "decision", "job")}
    names = {name for name in names if name}
    assert len(names) >= 8
    nobodys = {name: hashlib.sha256(name.encode()).hexdigest()[: len(name)] for name in sorted(names)}
    keys = ("version", "lineage", "record", "decision", "job", "id", "uid", "parent")
    for question in (*queries._QUESTIONS, "reading"):
        asked = [
            {"ask": question, key: one, "scripts": True} for key in keys for pair in nobodys.items() for one in pair
        ]
        told = as_user(BOB, lambda asked=asked: [ask(own, one) for one in asked])  # one process: to fork is dear here
        for real, blind, about in zip(told[::2], told[1::2], asked[::2]):
            assert real == blind, about
        mine = json.dumps(wants(own, BOB, {"ask": question, "uid": ALICE, "limit": 500}))
        assert not any(name in mine for name in names)
    assert wants(own, ALICE, {"ask": "version", "version": versions[0]["id"]})["found"]["script"]


def test_nobody_tells_of_another_s_files(own: Broken) -> None:
    """The record's id stands in the script that was submitted, where others may read it."""
    own.start()
    asks(own, ALICE)
    record = written_of(own, ALICE, 1)[0]
    told = {"record": record["id"], "parts": [["program", "train.py", "00", [1, 2]]], "values": []}
    before = wants(own, ALICE, {"ask": "versions"})
    assert wants(own, BOB, told, b"MPA1") == wants(own, BOB, {**told, "record": "0" * 16}, b"MPA1") == {"found": False}
    assert wants(own, ALICE, {"ask": "versions"}) == before


def test_a_nonce_of_another_s_is_nothing_but_a_number(own: Broken) -> None:
    """Neither while the other's helper is at work, nor afterwards: each has the record of what he himself did."""
    own.start()
    theirs = request(WITH_A_FILE, uid=ALICE)
    mine = request(WITH_A_FILE + b"echo mine\n", uid=BOB)._replace(nonce=theirs.nonce)

    (asked, tell_asked), (done, tell_done) = os.pipe(), os.pipe()

    def alice() -> None:
        with own.connect() as one:
            one.sendall(frames.pack_request(theirs))
            told = receive(one)
            assert told is not None and told.ask_helper
            os.write(tell_asked, b"x")
            os.read(done, 1)
            one.sendall(teaching(theirs.nonce, _found("MPL304")))
            one.shutdown(socket.SHUT_WR)
            one.recv(1)

    pid = _running(ALICE, alice)
    os.read(asked, 1)
    bob = _running(BOB, lambda: _stay(own, mine))
    until(lambda: '"helper"' in page(own) and own.counted("maple_open_connections")[""] >= 2)
    os.write(tell_done, b"x")
    os.waitpid(pid, 0)
    os.kill(bob, signal.SIGKILL)
    os.waitpid(bob, 0)
    assert [one["codes"] for one in written_of(own, ALICE, 1)] == [["MPL304"]]
    assert [one["codes"] for one in written_of(own, BOB, 1)] == [[]]
    assert asks_again(own, theirs) is not None


def _stay(daemon: Daemon, what: Request) -> None:
    """Ask, and hold the connection."""
    with daemon.connect() as one:
        one.sendall(frames.pack_request(what))
        receive(one)
        time.sleep(60)


def asks_again(daemon: Daemon, what: Request) -> Reply | None:
    """The same request once more."""
    return as_user(what.submission.uid, lambda: daemon.ask(what))


def _found(code: str, says: str = "something") -> bytes:
    """What a helper tells: a finding, and a file that there is none of."""
    finding = Finding(code, says, None, True, "", (), "", "")
    return packing.pack(Decision("findings", (finding,)), (FileFacts(b"/proc/nowhere/file", b""),))


def teaching(nonce: bytes, data: bytes) -> bytes:
    """The frame by which the front carries back what a helper learnt."""
    fields = struct.pack(">II", 1, 16) + nonce + struct.pack(">II", 13, len(data)) + data
    return b"MPL1" + struct.pack(">I", len(fields)) + fields


def taught(daemon: Daemon, uid: int, script: bytes, data: bytes) -> Reply | None:
    """Let a user's process say what its helper learnt; return what he is answered the next time."""

    def teach() -> None:
        what = request(script, uid=uid)
        with daemon.connect() as one:
            one.sendall(frames.pack_request(what))
            reply = receive(one)
            assert reply is not None and reply.ask_helper
            with contextlib.suppress(OSError):
                one.sendall(teaching(what.nonce, data))
                one.shutdown(socket.SHUT_WR)
                one.recv(1)

    as_user(uid, teach)
    return asks(daemon, uid, script)


@pytest.mark.parametrize(
    "path, facts, kept",
    [
        (b"/etc/passwd", b"1 2 3 4.000000000 5.000000000", True),
        (b"../../../../etc/shadow", b"", True),
        (b"/proc/self/mem", b"", True),
        (b"", b"", False),
        (b"/a" * 2048, b"", False),
        (b"x", b"1" * 160, False),
    ],
    ids=["absolute", "upwards", "a kernel's", "no path", "too long", "facts too long"],
)
def test_a_condition_is_the_user_s_own_and_no_file_is_opened_for_it(
    daemon: Broken, path: bytes, facts: bytes, kept: bool
) -> None:
    """It is given back as it came, to him alone; what no front would take is not kept."""
    script = WITH_A_FILE + b"# %s\n" % os.urandom(8).hex().encode()
    again = taught(daemon, ALICE, script, packing.pack(Decision("clean"), (FileFacts(path, facts),)))
    assert again is not None
    assert again.conditions == ((FileFacts(path, facts),) if kept else ())
    assert again.ask_helper == (not kept)
    other = asks(daemon, BOB, script)
    assert other is not None and other.ask_helper


def test_a_fifo_in_a_condition_holds_nobody(daemon: Broken, tmp_path: Any) -> None:
    """Opening it would wait for ever."""
    fifo = os.fsencode(str(tmp_path / "fifo"))
    os.mkfifo(fifo)
    script = WITH_A_FILE + b"# fifo %s\n" % os.urandom(8).hex().encode()
    again = taught(daemon, ALICE, script, packing.pack(Decision("clean"), (FileFacts(fifo, b"1"),)))
    assert again is not None and again.conditions[0].path == fifo
    assert asks(daemon, BOB) is not None


LIES = {
    "a code of his own": _found("hello-from-alice"),
    "a reason of his own": packing.pack(
        Decision("repaired", (), None, Rewritten(b"x", (b"sbatch", b"job.sh"), ("y",), ((1, "hello-from-alice"),))),
        (FileFacts(b"/proc/nowhere/file", b""),),
    ),
    "no JSON": b"\xff" * 1000,
    "very deep": b"[" * 500_000,
    "very long": b'{"x":[' + b"1," * 600_000 + b"1]}",
    "many findings": packing.pack(
        Decision("findings", tuple(Finding("MPL304", str(n), None, True, "", (), "", "") for n in range(900))),
        (FileFacts(b"/proc/nowhere/file", b""),),
    ),
    "another verdict": _found("MPL304").replace(b'"findings",', b'"hello",', 1),
    "lines that are none": packing.pack(Decision("clean"), (FileFacts(b"/x", b""),)).replace(b"[]", b"[[1,2,3]]", 1),
}


@pytest.mark.parametrize("lie", LIES)
def test_what_a_helper_cannot_have_learnt_is_not_believed(daemon: Broken, lie: str) -> None:
    """A user's process may say anything; it stands in nothing that others read, and others are served."""
    again = taught(daemon, ALICE, WITH_A_FILE + b"# %s\n" % lie.encode(), LIES[lie])
    assert again is not None and again.ask_helper
    assert asks(daemon, BOB) is not None
    assert "hello-from-alice" not in daemon.said + page(daemon)
    assert "Traceback" not in daemon.said


def page(daemon: Daemon) -> str:
    """The page of metrics."""
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(daemon.metrics)
        one.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        return b"".join(iter(lambda: one.recv(65536), b"")).decode()


# -- too much -------------------------------------------------------------------------------------------------------

TOO_MUCH = {
    "a frame past the bound": b"MPQ1" + struct.pack(">I", frames.MAX_REQUEST + 1) + b"x" * 100_000,
    "a million words": b"MPQ1" + struct.pack(">I", 8_000_000) + struct.pack(">II", 4, 0) * 1_000_000,
    "a field longer than its frame": b"MPQ1" + struct.pack(">I", 8) + struct.pack(">II", 8, 1 << 31),
    "a question past the bound": b"MPH1" + struct.pack(">I", queries.MOST_ASKED + 1) + b"x" * 100_000,
    "a deep question": b"MPH1" + struct.pack(">I", 400_000) + b"[" * 400_000,
    "what was read, past the bound": b"MPA1" + struct.pack(">I", queries.MOST_ASKED + 1) + b"x" * 100_000,
}


@pytest.mark.parametrize("what", TOO_MUCH)
def test_who_sends_too_much_is_hung_up_on_or_told_so(daemon: Broken, what: str) -> None:
    """And the next caller is served."""
    said = as_user(ALICE, lambda: _answer_to(daemon, TOO_MUCH[what]))
    assert said == b"" or b'{"wrong"' in said
    assert asks(daemon, BOB) is not None


def _hold(daemon: Daemon) -> None:
    """Say that eight megabytes come, and send none of them."""
    held = []
    while True:
        with contextlib.suppress(OSError):
            one = daemon.connect()
            one.sendall(b"MPQ1" + struct.pack(">I", frames.MAX_REQUEST))
            held.append(one)
        if len(held) > 400:
            held.clear()


def _hammer(daemon: Daemon) -> None:
    """Connect and hang up."""
    while True:
        with contextlib.suppress(OSError):
            daemon.connect().close()


def _submit(daemon: Daemon) -> None:
    """Submit other long scripts without a pause, and wait for no answer."""
    for number in range(1 << 30):
        with contextlib.suppress(OSError):
            daemon.ask(request(WRONG + b"echo %d\n" % number * 100, uid=ALICE, deadline=1))


def _query(daemon: Daemon) -> None:
    """Ask for all that there is, again and again."""
    while True:
        with contextlib.suppress(OSError, ValueError), daemon.connect() as one:
            ask_over(one, {"ask": "versions", "scripts": True, "limit": 500})


def _garble(daemon: Daemon) -> None:
    """A million empty words."""
    while True:
        with contextlib.suppress(OSError):
            _answer_to(daemon, TOO_MUCH["a million words"])


@pytest.mark.parametrize("how", [_hold, _hammer, _submit, _query, _garble], ids=lambda how: how.__name__[1:])
def test_one_user_s_flood_keeps_no_answer_from_another(own: Broken, how: Callable[[Daemon], None]) -> None:
    """Three processes of one user do their worst, within the usual bounds; every answer of the other's arrives."""
    with open(own.folder + "/daemon.toml", encoding="utf-8") as file:
        usual = [line for line in file if not line.startswith("per_user")]
    with open(own.folder + "/daemon.toml", "w", encoding="utf-8") as file:
        file.writelines(usual)
    own.start()
    for number in range(10):
        asks(own, ALICE, WRONG + b"# %d\n" % number)
    floods = [_running(ALICE, lambda: how(own)) for _ in range(3)]
    try:
        time.sleep(0.5)
        scripts = [WRONG + b"# %d\n" % (number // 2) for number in range(40)]
        replies = as_user(BOB, lambda: [_patiently(own, request(script, uid=BOB)) for script in scripts])
        assert None not in replies
    finally:
        for pid in floods:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    until(lambda: as_user(ALICE, lambda: _patiently(own, request(uid=ALICE))) is not None)


def _patiently(daemon: Daemon, what: Request) -> Reply | None:
    """Ask as the front does: where no connection fits any more, wait until one does."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as one:
        one.connect(daemon.socket)
        one.sendall(frames.pack_request(what))
        return receive(one)
    return None


def _running(uid: int, act: Callable[[], object]) -> int:
    """The process of a user that does it until it is killed."""
    pid = os.fork()
    if pid == 0:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        with contextlib.suppress(BaseException):
            act()
        os._exit(0)
    return pid


def test_a_share_is_a_user_s_own() -> None:
    """Of requests, of connections, of bytes; what is long counts for more, and time pays back."""
    now = [0.0]
    limits = Limits(Bounds(10, 10, 2, 3, 8 << 20), lambda: now[0])
    limits.enter(ALICE)
    limits.enter(ALICE)
    with pytest.raises(Busy):
        limits.enter(ALICE)
    limits.enter(BOB)
    with pytest.raises(Busy):
        limits.enter(BOB)
    with limits.holding(4 << 20, ALICE), pytest.raises(Busy), limits.holding(1, ALICE):
        raise AssertionError("one uid held more than its share")
    with limits.holding(1 << 20, BOB):
        pass
    limits.ask(ALICE)
    limits.spend(ALICE, 20 * 65536)
    with pytest.raises(Busy):
        limits.ask(ALICE)
    limits.ask(BOB)
    now[0] = 3.0
    limits.ask(ALICE)
    limits.spend(BOB, 65536)
    for _ in range(10):
        limits.ask(BOB)


# -- secrets --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def told() -> Iterator[tuple[Broken, list[Reply]]]:
    """A daemon that every secret has gone through: in scripts that are repaired and right, in words, environment,
    names, what a helper learnt and what was read of files; and all that it answered."""
    made = Broken(per_user=MANY)
    made.start()
    replies = [reply for secret in SECRETS.values() for reply in _through(made, secret) if reply is not None]
    written_of(made, ALICE, 4 * len(SECRETS))
    time.sleep(0.5)
    yield made, replies
    made.end()


def _through(daemon: Broken, secret: str) -> Iterator[Reply | None]:
    line = ("export %s\n" if "=" in secret.split("\n")[0] and "://" not in secret else "# %s\n") % secret
    script = WRONG.replace(b"export MASTER", line.encode() + b"export MASTER")
    for one in (script, script.replace(b" --node_rank=$SLURM_NODEID", b" --node_rank=0 --token " + secret.encode())):
        yield asks(daemon, ALICE, one)
        yield asks(daemon, ALICE, one, SBATCH_COMMENT=secret, MASTER_ADDR=secret)
    what = request(script, uid=ALICE)
    words = (b"sbatch", b"--comment=" + secret.encode(), b"--wckey", secret.encode(), b"job.sh")
    submission = what.submission._replace(argv=words, path=b"job.sh")
    yield as_user(ALICE, lambda: daemon.ask(what._replace(submission=submission, word=4)))
    says = "line 3: %s is not set" % secret
    heard = taught(daemon, ALICE, WITH_A_FILE + line.encode(), _found("MPL304", says))
    yield heard._replace(say=b"") if heard else None  # the words of his own helper, which he alone hears again
    record = what.nonce[:8].hex()
    values = [["data", secret, "train.py", 1, "00", "argparse"]]
    parts = [["program", "train.py", "00", [1, 2]]]
    wants(daemon, ALICE, {"record": record, "parts": parts, "values": values}, b"MPA1")


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_written_nowhere(told: tuple[Broken, list[Reply]], name: str) -> None:
    """Database and its log, journal, metrics, audit lines, and what is said on the terminal."""
    daemon, replies = told
    files = [os.path.join(at, file) for at, _, names in os.walk(daemon.folder) for file in names]
    texts = {path: _content(path) for path in files}
    texts |= {"metrics": page(daemon).encode(), "socket": b""}
    for number, reply in enumerate(replies):
        audits = [one.audit for one in (reply.change, reply.offer) if one is not None]
        texts["reply %d" % number] = b"\n".join((reply.audit, reply.say, *audits))
    asked = ({"ask": "versions", "scripts": True}, {"ask": "records", "limit": 500})
    texts |= {"question %d" % n: json.dumps(wants(daemon, ALICE, one)).encode() for n, one in enumerate(asked)}
    assert len(texts["question 0"]) > 1000 and any(path.endswith("memory.db") for path in texts)
    for canary in canaries(SECRETS[name]):
        assert [place for place, text in texts.items() if canary in text] == []


def _content(path: str) -> bytes:
    if not stat.S_ISREG(os.lstat(path).st_mode):
        return b""
    with open(path, "rb") as file:
        return file.read()


def test_the_journal_and_the_metrics_hold_no_text_of_a_script_and_metrics_no_user(own: Broken) -> None:
    """Neither its words, nor its name, nor its folder; the journal's one line names uid and record."""
    own.start()
    script = WRONG.replace(b"train.py", b"zanzibar.py") + b"# quagmire\n"
    what = request(script, uid=ALICE)
    named = what.submission._replace(path=b"/home/alice/ocelot.sh", cwd=b"/home/alice/xylophone")
    as_user(ALICE, lambda: own.ask(what._replace(submission=named)))
    written_of(own, ALICE, 1)
    until(lambda: '"submission"' in own.said)
    for word in ("zanzibar", "quagmire", "ocelot", "xylophone", "alice", "torchrun"):
        assert word not in own.said + page(own)
    lines = [json.loads(line) for line in own.said.splitlines() if '"submission"' in line]
    assert [(one["uid"], one["record"]) for one in lines] == [(ALICE, what.nonce[:8].hex())]
    for number in (str(ALICE), what.nonce[:8].hex(), what.hash.hex()):
        assert number not in page(own)


# -- the files of the service ---------------------------------------------------------------------------------------


def test_others_may_ask_at_the_socket_and_open_nothing_else(own: Broken) -> None:
    """The store is the service's alone, with its log; the page of metrics its group's."""
    os.umask(0)
    try:
        own.start()
    finally:
        os.umask(0o022)
    asks(own, ALICE)
    written_of(own, ALICE, 1)
    modes = {name: stat.S_IMODE(os.lstat(os.path.join(own.folder, name)).st_mode) for name in os.listdir(own.folder)}
    assert (modes["sock"], modes["metrics"], modes["sock.lock"]) == (0o666, 0o660, 0o600)
    stores = {name: mode for name, mode in modes.items() if name.startswith("memory.db")}
    assert "memory.db" in stores and set(stores.values()) == {0o600}
    with pytest.raises(PermissionError):
        as_user(ALICE, lambda: _content(own.store))
    with pytest.raises(PermissionError):
        as_user(ALICE, lambda: page(own))


def test_a_socket_is_not_made_through_a_link_of_another_s(own: Broken, tmp_path: Any) -> None:
    """What lies there and is no socket stays, and the daemon says so."""
    target = tmp_path / "precious"
    target.write_bytes(b"precious")
    os.symlink(target, own.socket)
    own.start(wait=False)
    assert own.process is not None and own.process.wait(30) == 2
    assert "no socket" in own.said and target.read_bytes() == b"precious"


def test_decisions_answer_as_the_rules_do_whoever_asks(daemon: Broken) -> None:
    """Guards the tests above: what both users are answered is what is right, and differs by nothing but the record."""
    expected = answer.answer(request(WRONG), GENERIC_SLURM, Policy(), ())
    assert expected.change is not None and len(WRONG) < decision.MOST_READ
    for uid in (ALICE, BOB):
        reply = asks(daemon, uid)
        assert reply is not None and reply.change is not None and reply.change.script is not None
        assert reply.change.script.splitlines()[:-1] == (expected.change.script or b"").splitlines()[:-1]


@pytest.mark.parametrize("number", [0, 3, 300])
def test_the_groups_of_a_caller_are_those_that_he_had_when_he_connected(number: int) -> None:
    """All of them, however many: the administrator's modes go by group."""
    groups = range(50_000, 50_000 + number)

    def seen() -> frozenset[int]:
        one, other = socket.socketpair()
        with one, other:
            return peer_of(one).gids

    assert as_user(ALICE, seen, groups) == {ALICE, *groups}
