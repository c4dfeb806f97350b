"""Seeded garbage to everything of the service that reads what a user sends: it is refused or read, never worse."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from maple_daemon.base.peers import Peer
from maple_daemon.decide import rules_in_force
from maple_daemon.decide.exact import Memory
from maple_daemon.decide.handlers import Forged, Handler
from maple_daemon.decide.workers import Decided
from maple_daemon.remember.memory import Keeper
from maple_daemon.remember.readings import Readings
from maple_daemon.serve import queries
from maple_daemon.serve.queries import Questions
from maple_daemon.store import open_store
from maple_submit_filter.answer import decision as decide
from maple_submit_filter.answer import earlier, packing
from maple_submit_filter.host import frames
from maple_submit_filter.host.frames import FrameError
from maple_submit_filter.site.facts import GENERIC_SLURM

from tests.daemon.serving import WITH_A_FILE, WRONG, request

SEED = 20260101
FRAMES = 100_000
UID = 41001


def mutated(chance: random.Random, data: bytes, most: int = 6) -> bytes:
    """The same with some bytes flipped, cut out, doubled or put elsewhere; now and then cut short."""
    text = bytearray(data)
    for _ in range(chance.randrange(1, most)):
        at, size = chance.randrange(len(text) + 1), chance.randrange(1, 40)
        kind = chance.randrange(6)
        if kind == 0 and at < len(text):
            text[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            text[at : at + size] = b""
        elif kind == 2:
            text[at:at] = chance.randbytes(size)
        elif kind == 3:
            text[at:at] = text[at : at + size]
        elif kind == 4 and at + 4 <= len(text):
            text[at : at + 4] = chance.choice((0, 1, 0xFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)).to_bytes(4, "big")
        elif kind == 5 and chance.random() < 0.2:
            del text[at:]
    return bytes(text)


def whole(frame: bytes) -> bytes:
    """The frame with the size that it has, so that its fields are reached."""
    return frame[:4] + (len(frame) - 8).to_bytes(4, "big") + frame[8:] if len(frame) >= 8 else frame


SOUND = [
    frames.pack_request(request(script, uid=UID, SBATCH_PARTITION="gpu", MASTER_ADDR="node1"))
    for script in (WRONG, WITH_A_FILE, b"", b"\0\xff" * 50)
]


def test_a_hundred_thousand_mangled_requests_are_refused_or_read() -> None:
    """No other exception than `FrameError`; and many are read, so that this reaches the fields."""
    chance, read = random.Random(SEED), 0
    for number in range(FRAMES):
        frame = mutated(chance, SOUND[number % len(SOUND)])
        try:
            frames.unpack_request(whole(frame) if number % 4 else frame)
            read += 1
        except FrameError:
            pass
    assert FRAMES // 20 < read < FRAMES * 19 // 20


def _blobs() -> list[bytes]:
    """What was decided of sound submissions."""
    made = []
    for script in (WRONG, WITH_A_FILE, b"#!/bin/bash\nsrun python train.py\n"):
        decision = decide.decide(request(script).submission, GENERIC_SLURM, lambda path: b"WHICH=0\n")
        made.append(packing.pack(decision, (frames.FileFacts(b"./where.sh", b"1 2 3"),)))
    return made


def test_what_was_learnt_is_refused_or_read() -> None:
    """Mangled text, and sound JSON with values that do not belong there."""
    chance, blobs, read = random.Random(SEED + 1), _blobs(), 0
    for number in range(20_000):
        blob = blobs[number % len(blobs)]
        data = mutated(chance, blob) if number % 2 else json.dumps(_odd(chance, json.loads(blob))).encode()
        try:
            packing.unpack(data)
            read += 1
        except ValueError:
            pass
        earlier.unpack(data)
    assert 200 < read < 19_800


ODD: list[Any] = [
    None, True, False, 0, -1, 1 << 70, 1.5, float("inf"), "", "\ud800", "\0", "x" * 5000, "é", [], [[]], {},
       {"a": []}, ["x"] * 2000, "0" * 64, [0, 1], "MPL304"]  # fmt: skip


def _odd(chance: random.Random, value: Any) -> Any:
    """The same value with odd ones in some places, or things more or less."""
    if chance.random() < 0.05:
        return chance.choice(ODD)
    if isinstance(value, dict):
        kept = {key: _odd(chance, one) for key, one in value.items() if chance.random() > 0.03}
        return (
            {**kept, chance.choice(("x", "limit", "ask", "record")): chance.choice(ODD)}
            if chance.random() < 0.1
            else kept
        )
    if isinstance(value, list):
        return [_odd(chance, one) for one in value if chance.random() > 0.03]
    return value


class Deciding:
    """Decides by chance, at once: what was decided of something else, nothing, or that a file is wanted."""

    def __init__(self, chance: random.Random) -> None:
        self.chance, self.blobs = chance, _blobs()

    def decide(self, uid: int, frame: bytes) -> asyncio.Future[Decided]:
        """Return what will be decided."""
        made: asyncio.Future[Decided] = asyncio.get_running_loop().create_future()
        blob = self.chance.choice((b"", *self.blobs))
        made.set_result(Decided(blob if self.chance.random() < 0.9 else mutated(self.chance, blob), not blob))
        return made


async def _conversations(number: int) -> tuple[int, int]:
    chance = random.Random(SEED + 2)
    handler = Handler(rules_in_force.generic(), Memory(), Deciding(chance))
    answered = refused = 0
    for turn in range(number):
        frame = whole(mutated(chance, SOUND[turn % len(SOUND)], 4))
        try:
            asked = frames.unpack_request(frame)
            peer = Peer(1, asked.submission.uid if turn % 5 else UID, frozenset(), 1)
            handled = await handler.answer(asked._replace(deadline=1000), frame, peer)
            assert handled.reply is not None
            assert frames.unpack_reply(frames.pack_reply(handled.reply)).nonce == asked.nonce
            if handled.how == "helper":
                handler.learn(handled.key, peer.uid, mutated(chance, chance.choice(_BLOBS)))
            answered += 1
        except (ValueError, Forged):
            refused += 1
    return answered, refused


_BLOBS = _blobs()


def test_whatever_is_asked_and_decided_comes_to_a_reply_or_is_refused() -> None:
    """A decision of something else, mangled, or taught by a mangled helper: never more than the caller's own loss."""
    answered, refused = asyncio.run(_conversations(5_000))
    assert answered > 500 and refused > 500


class Learner:
    """Believes everything."""

    def analysed(self, *words: object) -> bool:
        """Return whether there is such a record."""
        return True


QUESTIONS: list[dict[str, Any]] = [
    *({"ask": name, "version": "0" * 32, "lineage": "x", "job": "7", "decision": "00" * 32, "scripts": True, "limit": 5}
      for name in (*queries._QUESTIONS, "reading")),
    {"record": "0" * 16, "parts": [["program", "train.py", "00", [1, 2]]], "read": ["00"],
     "values": [["lr", "0.1", "train.py", 3, "00", "argparse"]], "looked": [["train.py", "1 2 3", "00", "extract"]]},
]  # fmt: skip


@pytest.fixture
def keeper(tmp_path: Any) -> Iterator[Keeper]:
    """The thread of an empty store; what it complains of is a defect here."""
    said: list[str] = []
    made = Keeper(lambda: open_store(str(tmp_path / "memory.db")), said.append)
    yield made
    made.close()
    assert [one for one in said if "not kept" not in one] == []


async def _questions(keeper: Keeper, number: int) -> tuple[int, int]:
    chance = random.Random(SEED + 3)
    questions = Questions(keeper, Learner(), Readings(lambda: 0.0))
    found = wrong = 0
    for turn in range(number):
        told = QUESTIONS[turn % len(QUESTIONS)]
        body = json.dumps(_odd(chance, told) if turn % 3 else told).encode()
        body = mutated(chance, body) if turn % 2 else body
        kind = queries.TELL if "record" in told else queries.ASK
        answer = await questions.answer(kind if turn % 7 else chance.choice(queries.KINDS), body, UID)
        assert answer[:4] == queries.ANSWER and int.from_bytes(answer[4:8], "big") == len(answer) - 8
        said = json.loads(answer[8:])
        assert len(said) == 1 and isinstance(said.get("wrong", ""), str)
        found, wrong = found + ("found" in said), wrong + ("wrong" in said)
    return found, wrong


def test_every_question_is_answered_in_one_frame(keeper: Keeper) -> None:
    """With what was found, or with one line of what is wrong; the store goes on working."""
    found, wrong = asyncio.run(_questions(keeper, 10_000))
    assert found > 1000 and wrong > 1000
