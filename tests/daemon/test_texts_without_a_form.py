"""Text that nobody can write as bytes, half of a surrogate pair: who sends it is told so, and the store is well."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from maple_daemon.remember.memory import Keeper
from maple_daemon.serve.queries import ASK, TELL
from maple_daemon.store.protocol import NotKept

from tests.daemon.asking import ask, found, written
from tests.daemon.ending import SALT, Cluster
from tests.daemon.serving import WRONG, Daemon, request

HALVES = ("\ud800", "a\udfffb", "\udce9", "\udc00", "\ud83d")
PART = ["program", "train.py", "a" * 64, [1, 2]]
VALUE = ["optimizer", "adam", "train.py", 3, "a" * 64, "program"]


def _is_well(daemon: Daemon) -> None:
    """It knows what it knew, remembers on, and has complained of nothing."""
    number = len(found(daemon, ask="records", limit=500))
    assert daemon.ask(request()) is not None
    written(daemon, number + 1)
    assert "the store does not work" not in daemon.said and "not answered" not in daemon.said, daemon.said
    assert daemon.counted("maple_store_errors_total") == {"": 0}


def _asked(half: str) -> Iterator[tuple[bytes, dict[str, Any]]]:
    for kind in ("versions", "version", "records", "decision", "reading", "reading later", "failures", half):
        for key in ("lineage", "version", "job", "decision", "record", "seen"):
            yield ASK, {"ask": kind, key: half}
            yield ASK, {"ask": kind, key: "4711" + half}


def _told(record: str, half: str) -> Iterator[tuple[bytes, dict[str, Any]]]:
    whole: dict[str, Any] = {"record": record, "parts": [PART], "values": [VALUE], "read": ["a" * 64]}
    yield TELL, {**whole, "record": half}
    yield TELL, {**whole, "read": [half]}
    yield from ((TELL, {**whole, "parts": [_with(PART, place, half)]}) for place in (0, 1, 2))
    yield from ((TELL, {**whole, "values": [_with(VALUE, place, half)]}) for place in (0, 1, 2, 4, 5))
    looked = ["/home/me/train.py", "1 2 3", "a" * 64, "text"]
    yield from ((TELL, {**whole, "looked": [_with(looked, place, half)]}) for place in range(4))


def _with(row: list[Any], place: int, text: str) -> list[Any]:
    return [*row[:place], text, *row[place + 1 :]]


@pytest.mark.parametrize("half", HALVES, ids=ascii)
def test_no_question_says_anything_about_the_store(daemon: Daemon, half: str) -> None:
    """Every question with such a text at every place is answered: nothing found, or what is wrong with it."""
    daemon.ask(request())
    record = written(daemon, 1)[0]["id"]
    for kind, question in (*_asked(half), *_told(record, half)):
        told = ask(daemon, question, kind)
        assert set(told) <= {"found", "wrong"} and told, question
    _is_well(daemon)


def test_no_submission_does(daemon: Daemon) -> None:
    """Bytes that are no UTF-8, in words, paths, names and the script, are remembered and given back."""
    raw = b"caf\xe9 \xed\xa0\x80 \xff"
    for said in ({"path": raw}, {"cwd": b"/" + raw}, {"argv": (b"sbatch", raw)}, {"argv": (b"sbatch", b"-J" + raw)}):
        one = request(WRONG + b"# %r\n" % sorted(said))
        daemon.ask(one._replace(submission=one.submission._replace(**said)))  # type: ignore[arg-type]
    daemon.ask(request(WRONG + raw + b"\n#SBATCH -p " + raw))
    assert all(one["version"] for one in written(daemon, 5)), daemon.said
    _is_well(daemon)


def test_no_end_of_a_job_does(cluster: Cluster) -> None:
    """As the scheduler may tell it, every text of it such a one."""
    job = cluster.submit(WRONG)
    told = {"v": 1, "event": "ended", "scheduler": "slurm", "job": "4711", "uid": os.getuid(), "state": "FAILED"}
    for number, key in enumerate(("source", "state", "exit", "owner", "nodes", "name", "workdir", "stdout", "array")):
        text = json.dumps({**told, "job": str(9000 + number), key: "x\ud800"})
        cluster.leave("ended.%08d" % (9000 + number), text.encode(), os.getuid())
        name = "submitted,%d,%d,%d,%s,%s" % (9000 + number, os.getpid(), 1, "host", SALT)
        cluster.leave(name, b"", os.getuid())
    cluster.end(job, "FAILED", 60)
    _is_well(cluster.daemon)


def test_what_has_no_form_is_not_held_against_the_store() -> None:
    """Whoever keeps it says that it was not kept, and never that the store is broken."""
    complaints, refused = list[str](), list[str]()

    class Refusing:
        def close(self) -> None:
            pass

    keeper = Keeper(lambda: Refusing(), complaints.append)  # type: ignore[arg-type, return-value]
    keeper.refused = refused.append

    def change(store: object) -> None:
        raise NotKept("not kept: no such form")

    keeper.do(change)
    keeper.close()
    assert (complaints, refused) == ([], ["not kept: no such form"])
