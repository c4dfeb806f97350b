"""What is submitted is written down as versions and records; its owner may ask for it, nobody else, and no secret."""

from __future__ import annotations

import hashlib
import os
import signal
import struct
import time

import pytest
from maple_submit_filter.answer import reply as answer
from maple_submit_filter.host import frames
from maple_submit_filter.host.frames import Request
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.site.modes import Policy

from tests.daemon.asking import ask, ask_over, found, written
from tests.daemon.breaking import Broken, children, until
from tests.daemon.serving import WITH_A_FILE, WRONG, Daemon, receive, request

CLEAN = b"#!/bin/bash\n#SBATCH --nodes=1\nsrun python train.py\n"
SECRET = "hf_" + "aB3dE5gH7jK9mN1pQ3sT"


def test_a_repeat_is_a_row_and_an_edit_is_a_version(daemon: Daemon) -> None:
    """Each with its verdict, its rules, and the hash of what was handed over."""
    replies = [daemon.ask(one) for one in (request(), request(), request(CLEAN), request(CLEAN + b"echo done\n"))]
    first, again, clean, edited = written(daemon, 4)
    assert first["version"] == again["version"] != clean["version"]
    assert [one["how"] for one in (first, again, clean)] == ["decided", "memory", "decided"]
    assert [one["verdict"] for one in (first, clean)] == ["repaired", "clean"]
    assert (first["codes"], first["mode"], clean["codes"]) == (["MPL304"], "repair", [])
    for reply, record in zip(replies[:2], (first, again)):
        assert reply is not None and reply.change is not None and reply.change.script is not None
        assert record["submitted_hash"] == hashlib.sha256(reply.change.script).hexdigest()
    assert clean["submitted_hash"] == ""
    versions = {one["id"]: one for one in found(daemon, ask="versions", scripts=True)}
    assert len(versions) == 3
    assert versions[edited["version"]]["parent"] == clean["version"]
    assert versions[first["version"]]["script"].encode() == WRONG
    counted = daemon.counted("maple_remembered_total")
    assert (counted['what="repeat"'], counted['what="version"']) == (1, 3)
    assert counted['what="reused"'] >= 2


def test_what_was_decided_is_kept_as_check_says_it(daemon: Daemon) -> None:
    """With the launch plan; nothing is kept of it twice."""
    daemon.ask(request())
    daemon.ask(request())
    keys = {one["decision"] for one in written(daemon, 2)}
    assert len(keys) == 1
    told = found(daemon, ask="decision", decision=keys.pop())
    assert (told["verdict"], told["findings"][0]["code"], told["findings"][0]["line"]) == ("repaired", "MPL304", 6)
    assert told["plan"]["steps"][0]["launchers"] == ["srun", "torchrun"]
    assert told["repaired"]["script"] != WRONG.decode()


def test_what_the_helper_decided_is_what_is_written_down(daemon: Daemon, tmp_path: object) -> None:
    """Also where the daemon knew an answer that no longer held, because a file had changed."""
    os.chdir(str(tmp_path))
    asked = [request(WITH_A_FILE), request(WITH_A_FILE), request(WITH_A_FILE)]
    _write("WHICH=$SLURM_NODEID\nMASTER_ADDR=$(hostname)\n")
    repaired = _through_helper(daemon, asked[0])
    daemon.ask(asked[1])
    _write("echo nothing\n")
    other = _through_helper(daemon, asked[2])
    records = written(daemon, 3)
    assert [one["how"] for one in records] == ["helper", "memory", "helper"]
    assert [one["verdict"] for one in records[:2]] == [repaired, repaired]
    assert records[2]["verdict"] == other


def _write(text: str) -> None:
    with open("where.sh", "w", encoding="utf-8") as file:
        file.write(text)


def _through_helper(daemon: Daemon, one: Request) -> str:
    """Ask, then say what the helper decides; return its verdict, "" for nothing found."""
    reply = answer.answer(one, GENERIC_SLURM, Policy(), ())
    fields = b"".join(struct.pack(">II", tag, len(text)) + text for tag, text in ((1, one.nonce), (13, reply.learnt)))
    with daemon.connect() as connection:
        connection.sendall(frames.pack_request(one))
        assert receive(connection) is not None
        connection.sendall(b"MPL1" + struct.pack(">I", len(fields)) + fields)
        connection.recv(1)
    from maple_submit_filter.answer import packing

    decision = packing.unpack(reply.learnt)[0]
    return decision.verdict


def test_a_submission_that_is_answered_too_late_is_written_down_too(daemon: Daemon) -> None:
    """The caller's helper has answered it; how is not known."""
    with daemon.connect() as long:  # the one worker is busy with it
        long.sendall(frames.pack_request(request(WRONG + b"srun python other.py $A\n" * 3000)))
        time.sleep(0.1)
        short = request(deadline=1)
        assert daemon.ask(short) is None
        receive(long)
    late = {one["id"]: one for one in written(daemon, 2)}[answer.record_id(short)]
    assert (late["how"], late["verdict"], late["decision"]) == ("late", "", "")
    assert [one["script"] for one in found(daemon, ask="versions", scripts=True) if one["id"] == late["version"]] == [
        WRONG.decode()
    ]


def test_a_script_is_read_though_the_process_that_reads_it_is_gone_meanwhile(daemon: Daemon) -> None:
    """Another one reads it: what befell a process says nothing about what it read."""
    daemon.ask(request(CLEAN))
    written(daemon, 1)
    assert daemon.process is not None
    (reader,) = (pid for pid in children(daemon.process.pid) if b"reader.py" in _command(pid))
    os.kill(reader, signal.SIGSTOP)
    daemon.ask(request())
    os.kill(reader, signal.SIGKILL)
    assert all(one["version"] for one in written(daemon, 2))


def test_what_nobody_could_decide_is_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller's helper decided it; that it was submitted is known."""
    own = Broken(NO_DECIDER).start()
    try:
        until(lambda: "cannot be started" in own.said)
        assert own.ask(request(deadline=50)) is None
        assert [(one["how"], one["verdict"]) for one in written(own, 1)] == [("busy", "")]
    finally:
        own.end()


def _command(pid: int) -> bytes:
    with open("/proc/%d/cmdline" % pid, "rb") as file:
        return file.read()


NO_DECIDER = """
import asyncio
real = asyncio.create_subprocess_exec
async def create(*words, **more):
    if any(str(word).endswith("worker.py") for word in words):
        raise OSError(24, "Too many open files")
    return await real(*words, **more)
asyncio.create_subprocess_exec = create
"""


def test_what_is_switched_off_is_not_written_down(daemon: Daemon) -> None:
    """Neither script nor that there was one."""
    daemon.ask(request(CLEAN, MAPLE="off"))
    daemon.ask(request())
    (record,) = written(daemon, 1)
    assert record["verdict"] == "repaired"
    assert len(found(daemon, ask="versions")) == 1


def test_no_secret_is_in_the_database_the_log_or_an_answer(daemon: Daemon) -> None:
    """Wherever it stands in a submission, also where a repaired script holds it; the answer holds it all the same."""
    script = WRONG + b"export HF_TOKEN=%s\ncurl -H 'Authorization: Bearer %s' x\n" % ((SECRET.encode(),) * 2)
    for _ in range(2):
        reply = daemon.ask(request(script, NCCL_TOKEN=SECRET, HOME="/" + SECRET))
        assert reply is not None and reply.change is not None and SECRET.encode() in (reply.change.script or b"")
    written(daemon, 2)
    answers = repr([ask(daemon, {"ask": "versions", "scripts": True}), ask(daemon, {"ask": "records"})])
    key = found(daemon, ask="records")[0]["decision"]
    answers += repr(ask(daemon, {"ask": "decision", "decision": key}))
    assert "[masked]" in answers
    daemon.stop()
    kept = b"".join(_read(os.path.join(daemon.folder, name)) for name in os.listdir(daemon.folder))
    assert SECRET not in answers
    assert SECRET.encode() not in kept + _decompressed(daemon.store)


def _read(path: str) -> bytes:
    if not os.path.isfile(path):
        return b""
    with open(path, "rb") as file:
        return file.read()


def _decompressed(path: str) -> bytes:
    """Every blob of the store, unpacked where it is packed."""
    import sqlite3
    import zlib

    store = sqlite3.connect(path)
    blobs = [row[0] for row in store.execute("SELECT script FROM versions UNION ALL SELECT learnt FROM decisions")]
    assert blobs
    return b"".join(zlib.decompress(one) if one[:1] == b"x" else one for one in blobs)


@pytest.mark.skipif(os.getuid() != 0, reason="becomes other users")
def test_nobody_is_told_of_another_users_jobs(daemon: Daemon) -> None:
    """Whatever is asked, by whatever id."""
    os.chmod(daemon.folder, 0o711)
    daemon.ask(request())
    (record,) = written(daemon, 1)
    questions = [
        {"ask": "versions"}, {"ask": "versions", "lineage": record["version"]}, {"ask": "records"},
        {"ask": "version", "version": record["version"]}, {"ask": "decision", "decision": record["decision"]},
        {"ask": "records", "version": record["version"]},
    ]  # fmt: skip
    assert all(ask(daemon, one)["found"] for one in questions[2:])
    for question in questions:
        assert _as(12345, daemon, question)["found"] in ([], None)
    told = {"record": record["id"], "parts": [["program", "x.py", "a" * 32, [1, 2]]], "values": []}
    assert _as(12345, daemon, told, b"MPA1") == {"found": False}
    assert ask(daemon, told, b"MPA1") == {"found": True}


def _as(uid: int, daemon: Daemon, question: object, kind: bytes = b"MPH1") -> dict[str, object]:
    """The answer to a question that a process of that uid asks."""
    import json

    ends = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresuid(uid, uid, uid)
            with daemon.connect() as one:
                os.write(ends[1], json.dumps(ask_over(one, question, kind)).encode())
        finally:
            os._exit(0)
    os.close(ends[1])
    with os.fdopen(ends[0], "rb") as file:
        answer = file.read()
    os.waitpid(child, 0)
    told: dict[str, object] = json.loads(answer)
    return told


def test_files_that_were_read_are_part_of_the_version_and_other_files_make_another(daemon: Daemon) -> None:
    """The record is of the version with the files that it ran with; the files that were there before come back."""

    def tell(record: str, digest: str) -> None:
        parts = [["program", "/p/train.py", digest * 32, [1, 20]]]
        values = [["lr", "0." + digest, "/p/train.py", 3, digest * 32, "program"]]
        assert ask(daemon, {"record": record, "parts": parts, "values": values}, b"MPA1") == {"found": True}

    for number, digest in enumerate("121", 1):
        daemon.ask(request(CLEAN))
        tell(written(daemon, number)[-1]["id"], digest)
        time.sleep(0.3)
    one, two, three = written(daemon, 3)
    assert one["version"] == three["version"] != two["version"]
    versions = {kept["id"]: kept for kept in found(daemon, ask="versions", scripts=True)}
    assert versions[two["version"]]["parent"] == one["version"]
    assert [value["value"] for value in versions[two["version"]]["values"] if value["name"] == "lr"] == ["0.2"]
    assert versions[two["version"]]["script"].encode() == CLEAN


def test_what_is_read_before_the_submission_is_written_down_is_not_lost(daemon: Daemon) -> None:
    """The user's process may be quicker than ours."""
    asked = request(CLEAN)
    daemon.ask(asked)
    told = {"record": answer.record_id(asked), "parts": [["program", "/p/x.py", "a" * 32, [1, 2]]], "values": []}
    assert ask(daemon, told, b"MPA1") == {"found": True}
    written(daemon, 1)
    end = time.monotonic() + 30
    while not any(part["kind"] == "program" for part in found(daemon, ask="versions")[0]["parts"]):
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"{", b"[" * 100_000, b'{"ask": 1}', b'{"ask": "versions", "limit": -1}', b'{"ask": "drop"}',
        b'{"ask": "decision", "decision": "zz"}', b'{"ask": "records", "job": "%s"}' % (b"x" * 2000),
        b'{"ask": "versions", "lineage": "\' OR 1=1 --"}',
    ],
    ids=lambda text: repr(text[:30]),
)  # fmt: skip
def test_a_question_that_cannot_be_answered_is_told_so(daemon: Daemon, body: bytes) -> None:
    """In one line, or nothing is found; the next question is answered."""
    told = ask(daemon, body)
    assert told.get("found") in ([], None) and len(told.get("wrong", "").splitlines()) <= 1
    assert told
    assert ask(daemon, {"ask": "records"}) == {"found": []}


@pytest.mark.parametrize(
    "told",
    [
        {"parts": [["launch", "", "a" * 32, [1, 2]]]}, {"parts": [["program", "x", "a", [1]]]}, {"parts": [[]] * 100},
        {"parts": [["program", "x" * 5000, "a", [1, 2]]]}, {"values": [["a", "b", "c", -1, "d", "e"]]},
        {"values": [["a", 1, "c", 1, "d", "e"]]}, {"values": "x"}, {"record": ["x"]},
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_told_of_files_is_held_to_its_form(daemon: Daemon, told: dict[str, object]) -> None:
    """And to its bounds."""
    daemon.ask(request(CLEAN))
    (record,) = written(daemon, 1)
    assert "wrong" in ask(daemon, {"record": record["id"], "parts": [], "values": [], **told}, b"MPA1")


def test_a_question_of_half_a_megabyte_is_hung_up_on(daemon: Daemon) -> None:
    """Before it is read."""
    assert ask(daemon, b"x" * (600 << 10)) == {}


def test_what_was_heard_outlives_the_service(daemon: Daemon) -> None:
    """An edit after it is a version of the same job."""
    daemon.ask(request(CLEAN))
    before = written(daemon, 1)[0]["version"]
    daemon.stop()
    daemon.start()
    daemon.ask(request(CLEAN))
    daemon.ask(request(CLEAN + b"echo done\n"))
    records = written(daemon, 3)
    assert [one["version"] for one in records[:2]] == [before, before]
    (edited,) = [one for one in found(daemon, ask="versions") if one["id"] != before]
    assert (edited["parent"], edited["lineage"]) == (before, before)


def test_the_numbers_of_the_site_name_nobody(daemon: Daemon) -> None:
    """A partition that the site does not know is a user's own text, and is not counted by name."""
    daemon.ask(request(WRONG.replace(b"#SBATCH --nodes", b"#SBATCH --partition=my-secret-name\n#SBATCH --nodes", 1)))
    written(daemon, 1)
    daemon.stop()
    from maple_daemon.store.sqlite import open_sqlite

    (row,) = open_sqlite(daemon.store).counted()
    assert (row.code, row.partition, row.verdict, row.jobs) == ("MPL304", "other", "repaired", 1)


def test_a_version_that_was_purged_is_written_anew(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    """In process: what the service holds in memory gives way to what the store says, after a while."""
    import asyncio

    from maple_daemon.base.peers import Peer
    from maple_daemon.decide import rules_in_force
    from maple_daemon.decide.handlers import Handled
    from maple_daemon.remember import drafts, lookup, memory
    from maple_daemon.store.protocol import Caps
    from maple_daemon.store.sqlite import open_sqlite

    monkeypatch.setattr(lookup, "KNOWN_SECONDS", 0.0)
    monkeypatch.setattr(lookup, "BRIEF_SECONDS", 0.0)
    monkeypatch.setattr(lookup, "WRITTEN_SECONDS", -1.0)
    path, uid = daemon.folder + "/other.db", os.getuid()

    async def kept() -> list[int]:
        keeper = memory.Keeper(lambda: open_sqlite(path), lambda why: None)
        looker = lookup.Looker(keeper, keeper, lambda: "", lambda what, number: None)
        await looker.start()
        found = []
        for _ in range(2):
            done: asyncio.Future[object] = asyncio.get_running_loop().create_future()
            asked = request(CLEAN)
            handled, peer = Handled(None, "late", b"k" * 32), Peer(1, uid, frozenset(), 1)
            draft = drafts.draft_of(asked, peer, handled, None, rules_in_force.generic(), time.time(), 0.0)
            looker.wait(draft, lambda draft, brief, done=done: done.set_result(brief))
            assert await done is not None
            found.append(await keeper.ask(lambda store: len(store.versions(uid)), 10) or 0)
            keeper.do(lambda store: store.purge(time.time(), Caps(), uid))
        await looker.stop(1)
        keeper.close()
        return found

    assert asyncio.run(kept()) == [1, 1]
