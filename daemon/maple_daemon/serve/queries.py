"""What a user asks about himself over the same socket: frames of JSON, answered for the uid that the kernel names.

"MPH1" asks: {"ask": "versions" | "version" | "records" | "decision" | "runs", …}; {"ask": "failures", "seen": JOB}
takes the failures that the user was not told of yet; his own process that reads his files asks {"ask": "reading",
"record"} which to read. "MPA1" tells what it has read: {"record", "parts", "values"} as `types.job_records` has them,
each part and value a list, and {"read", "looked"}: hashes of the parts that were read now, and of each file path,
facts, hash, extract, as `readings` has them. Or how far a run of his came: {"record", "reached": {"step": …}}, numbers
as `types.job_records.Reached` has them. Or why a job of his failed: {"job", "cause": CLASS}, one of the stable names of
classes, which nothing can hide in. Or which alarms of his running jobs wait to be said: {"alarms": [[job, name,
kind, sentence]]}; what is found then is {"told": [[job, kind]], "running": whether the store knows of a running job}.
"MPJ1" is the answer to both: {"found": …} or {"wrong": one line}.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol, get_args

from maple_agents.base.secrets.masking import masked
from maple_agents.progress.notices import MOST_SAID, Waiting
from maple_agents.progress.values import AlarmKind
from maple_submit_filter.types.job_records import Part, Reached, Record, Value, Version

from ..outcomes.events import JOB
from ..outcomes.join import without_jobs
from ..remember.memory import Keeper
from ..remember.readings import Looked
from ..remember.versions import FILES
from ..store.protocol import NotKept, Store

ASK, TELL, ANSWER = b"MPH1", b"MPA1", b"MPJ1"
KINDS = (ASK, TELL)
MOST_ASKED = 512 << 10  # bytes
MOST_ANSWER = 16 << 20
MOST_ROWS = 500
MOST_SCRIPTS = 50  # versions with their scripts in one answer
MOST_PARTS, MOST_VALUES, MOST_TEXT = 64, 1000, 1000
MOST_LOOKED, MOST_PATH, MOST_FACTS, MOST_EXTRACT = 64, 4096, 160, 128 << 10
SECONDS = 2.0
Fields = dict[str, Any]
Question = Callable[[Store, int, Fields], Any]


class Learner(Protocol):
    """Who is told what was read of a user's files."""

    def analysed(
        self, uid: int, record: str, parts: tuple[Part, ...], values: tuple[Value, ...], read: tuple[str, ...] | None
    ) -> bool:
        """Keep it; return whether there is such a record of this uid. *read*: the parts read now, None: all."""


class Reading(Protocol):
    """Who knows which files are to be read."""

    def take(self, uid: int, record: str) -> Fields | None:
        """Return what this uid's process should read now."""

    def later(self, uid: int, record: str) -> None:
        """Let the one that reads now have that one as well."""

    def done(self, uid: int, record: str, looked: tuple[Looked, ...]) -> None:
        """Remember how the files were."""


class Failing(Protocol):
    """Who knows which jobs failed that their owners were not told of."""

    def take(self, uid: int, seen: str) -> Sequence[Sequence[Any]]:
        """Return them, and hold them for told."""


class Alarming(Protocol):
    """Who knows which alarms users are to be told of."""

    def hold(self, uid: int, alarms: Sequence[Waiting]) -> Sequence[tuple[str, str]]:
        """Hold exactly these; return job and kind of those that were told since."""


class Wrong(ValueError):
    """What was asked cannot be answered: one line."""


class Questions:
    """Answers from the store, and hands on what is told."""

    def __init__(
        self, read: Keeper, learner: Learner, reading: Reading, failing: Failing | None = None,
        write: Keeper | None = None, alarming: Alarming | None = None,
    ) -> None:  # fmt: skip
        self._read, self._learner, self._reading, self._failing = read, learner, reading, failing
        self._write, self._alarming = write, alarming

    async def answer(self, kind: bytes, body: bytes, uid: int) -> bytes:
        """Return the frame that answers. Raises nothing that a question could cause."""
        try:
            fields = _object(body)
            answer = await self._heard(fields, uid) if kind == TELL else await self._asked(fields, uid)
            text = json.dumps({"found": answer}).encode()
            if len(text) > MOST_ANSWER:
                raise Wrong("the answer is too long; ask for fewer versions")
        except Wrong as error:
            text = json.dumps({"wrong": str(error)}).encode()
        return ANSWER + len(text).to_bytes(4, "big") + text

    async def _asked(self, fields: Fields, uid: int) -> Any:
        if fields.get("ask") == "reading":
            return self._reading.take(uid, _text(fields, "record"))
        if fields.get("ask") == "reading later":
            return self._reading.later(uid, _text(fields, "record"))
        if fields.get("ask") == "failures":
            seen = _text(fields, "seen")
            return [list(failure) for failure in self._failing.take(uid, seen)] if self._failing is not None else []
        question = _QUESTIONS.get(_text(fields, "ask"))
        if question is None:
            raise Wrong("unknown question; known are %s" % ", ".join(_QUESTIONS))
        answer = await self._read.ask(lambda store: _found(question, store, uid, fields), SECONDS)
        if answer is None:
            raise Wrong("the memory does not answer now; ask again later")
        if isinstance(answer, Wrong):
            raise answer
        return answer["is"]

    async def _heard(self, fields: Fields, uid: int) -> Any:
        if "alarms" in fields:
            alarms = [_alarm(row) for row in _list(fields, "alarms", MOST_ALARMS)]
            before = self._alarming.hold(uid, alarms) if self._alarming is not None else ()
            records = await self._read.ask(lambda store: store.records(uid, limit=MOST_GOING), SECONDS)
            return {"told": [list(row) for row in before], "running": any(map(_is_going, records or ()))}
        keeper, now = self._write or self._read, time.time()
        if "cause" in fields:
            job, cause = _text(fields, "job"), _cause(_text(fields, "cause"))
            return bool(await keeper.ask(lambda store: store.keep_cause(uid, job, cause, now), SECONDS))
        if "reached" not in fields:
            return self._told(fields, uid)
        reached = _reached(_text(fields, "record"), fields["reached"], now)
        return bool(await keeper.ask(lambda store: store.keep_reached(uid, reached), SECONDS))

    def _told(self, fields: Fields, uid: int) -> bool:
        parts = tuple(_part(row) for row in _list(fields, "parts", MOST_PARTS))
        values = tuple(_value(row) for row in _list(fields, "values", MOST_VALUES))
        looked = tuple(_looked(row) for row in _list(fields, "looked", MOST_LOOKED))
        read = _hashes(fields["read"]) if "read" in fields else None
        record = _text(fields, "record")
        kept = self._learner.analysed(uid, record, parts, values, read)
        if kept or not parts:
            self._reading.done(uid, record, looked)
        return kept


def _found(question: Question, store: Store, uid: int, fields: Fields) -> Fields | Wrong:
    """Return the answer, or what is wrong with the question: that is no fault of the store's."""
    try:
        return {"is": question(store, uid, fields)}
    except Wrong as error:
        return error
    except NotKept:
        return Wrong("nothing of that form is kept")


def _versions(store: Store, uid: int, fields: Fields) -> list[Fields]:
    """Of one lineage, or of all; with "scripts" true with their scripts."""
    scripts = fields.get("scripts") is True
    most = _number(fields, MOST_SCRIPTS if scripts else MOST_ROWS)
    versions = store.versions(uid, _text(fields, "lineage"), most)
    return [_version(version, scripts) for version in versions]


def _one_version(store: Store, uid: int, fields: Fields) -> Fields | None:
    """With its script; None where it is no longer kept."""
    version = store.version(uid, _text(fields, "version"))
    return _version(version, True) if version else None


def _records(store: Store, uid: int, fields: Fields) -> list[Fields]:
    """Of one version, of one job, or all. A job's id may leave out the server of PBS, as users type it."""
    version, job, most = _text(fields, "version"), _text(fields, "job"), _number(fields, MOST_ROWS)
    records = store.records(uid, version, job, most)
    if job and "." not in job and not records:
        records = store.records(uid, version, job, most, server=False)
    if any(not record.job for record in records):
        records = without_jobs(records, store.joined(), time.time())
    return [_record(record) for record in records]


def _decision(store: Store, uid: int, fields: Fields) -> Any:
    """As `maple check --json` has it, None where it is gone."""
    try:
        kept = store.decision(bytes.fromhex(_text(fields, "decision")), uid)
        return json.loads(zlib.decompressobj().decompress(kept, MOST_ANSWER)) if kept else None
    except (ValueError, zlib.error):
        return None


def _runs(store: Store, uid: int, fields: Fields) -> list[Fields]:
    """What one's own ended jobs asked for and used: of one name, or of all."""
    runs = store.runs(uid, _text(fields, "name"), _number(fields, MOST_ROWS))
    return [{**run._asdict(), "asked": {**run.asked._asdict(), "work": run.asked.work._asdict()}} for run in runs]


def _ends(store: Store, uid: int, fields: Fields) -> list[Fields]:
    """How one's own jobs ended that no submission became: sent past Maple, or before it was there."""
    return [end._asdict() for end in store.unrecorded(uid, _number(fields, MOST_ROWS))]


_QUESTIONS: dict[str, Question] = {
    "versions": _versions,
    "version": _one_version,
    "records": _records,
    "decision": _decision,
    "runs": _runs,
    "ends": _ends,
}


def _record(record: Record) -> Fields:
    outcome, reached = record.outcome, record.reached
    return {
        **record._asdict(),
        "outcome": outcome._asdict() if outcome else None,
        "reached": reached._asdict() if reached else None,
    }


def _version(version: Version, script: bool) -> Fields:
    made = {**version._asdict(), "script": version.script.decode("utf-8", "surrogateescape") if script else None}
    return {
        **made,
        "parts": [part._asdict() for part in version.parts],
        "values": [value._asdict() for value in version.values],
    }


def _object(body: bytes) -> Fields:
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        raise Wrong("not JSON") from None
    if not isinstance(fields, dict):
        raise Wrong("not an object")
    return fields


def _text(fields: Fields, key: str) -> str:
    value = fields.get(key, "")
    if not isinstance(value, str) or len(value) > MOST_TEXT or "\0" in value or not _is_written(value, "strict"):
        raise Wrong("%s: not a text of at most %d characters" % (key, MOST_TEXT))
    return value


def _number(fields: Fields, most: int) -> int:
    value = fields.get("limit", min(100, most))
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise Wrong("limit: not a number from 1")
    return min(value, most)


MOST_ALARMS, MOST_GOING = 20, 50
KINDS_OF_ALARMS = get_args(AlarmKind)


def _alarm(row: list[Any]) -> Waiting:
    """Return an alarm: a job, its name, a kind that there is, and a sentence."""
    texts = _texts(tuple(row)) if len(row) == 4 else []
    if not texts or texts[2] not in KINDS_OF_ALARMS or not JOB.fullmatch(texts[0]):
        raise Wrong("an alarm is job, name, kind, sentence")
    return Waiting(texts[0], masked(texts[1])[:60], texts[2], masked(texts[3])[:MOST_SAID])


def _is_going(record: Record) -> bool:
    return bool(record.job) and (record.outcome is None or record.outcome.state in ("pending", "running", "requeued"))


def _cause(name: str) -> str:
    """Return the name of a class of failures, if it is one."""
    from maple_agents.templates.knowledge.entries import FAILURES

    if name not in FAILURES:
        raise Wrong("cause: no class of failures")
    return name


NUMBERS = ("step", "total", "began", "step_seconds", "checkpoint", "checkpoint_at")
MOST_NUMBER = 1e15


def _reached(record: str, fields: Any, at: float) -> Reached:
    """Return how far a run came: numbers alone, which nothing can hide in."""
    if not isinstance(fields, dict) or not set(fields) <= set(NUMBERS):
        raise Wrong("reached: not an object of %s" % ", ".join(NUMBERS))
    for name, value in fields.items():
        whole = name in ("total", "checkpoint")
        fits = isinstance(value, int) or isinstance(value, float) and not whole
        if value is not None and (isinstance(value, bool) or not fits or not 0 <= value <= MOST_NUMBER):
            raise Wrong("reached: %s is no number of its kind" % name)
    return Reached(record, "", at, **fields)


def _list(fields: Fields, key: str, most: int) -> list[list[Any]]:
    value = fields.get(key, [])
    if not isinstance(value, list) or len(value) > most or not all(isinstance(row, list) for row in value):
        raise Wrong("%s: not a list of at most %d lists" % (key, most))
    return value


def _part(row: list[Any]) -> Part:
    try:
        kind, name, digest, (first, last) = row
    except (ValueError, TypeError):
        raise Wrong("a part is kind, name, hash, lines") from None
    texts = _texts((kind, name, digest))
    if kind not in FILES or not all(_is_line(line) for line in (first, last)):
        raise Wrong("a part of this kind, or its lines, cannot be told")
    return Part(texts[0], texts[1], texts[2], (first, last))


def _value(row: list[Any]) -> Value:
    if len(row) != 6 or not _is_line(row[3]):
        raise Wrong("a value is name, value, file, line, part, by")
    name, value, file, part, by = _texts((*row[:3], *row[4:]))
    return Value(name, masked(value), file, row[3], part, by)


def _hashes(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > MOST_PARTS:
        raise Wrong("read: not a list of at most %d hashes" % MOST_PARTS)
    return tuple(_texts(tuple(value)))


def _looked(row: list[Any]) -> Looked:
    """A file's path, facts, hash and extract; the front will be handed the first two, and takes no others."""
    if len(row) != 4 or not all(isinstance(each, str) for each in row):
        raise Wrong("a file that was looked for is path, facts, hash, extract")
    path, facts, digest, extract = row
    if not 0 < len(path) < MOST_PATH or len(facts) >= MOST_FACTS or len(extract) > MOST_EXTRACT or len(digest) > 64:
        raise Wrong("a file that was looked for: too long")
    if not _is_written(digest + extract) or any(
        "\0" in text or max(text, default="") > "\xff" for text in (path, facts)
    ):
        raise Wrong("a file that was looked for: not bytes without a NUL")
    return Looked(path, facts, digest, extract)


def _texts(values: tuple[Any, ...]) -> list[str]:
    if not all(isinstance(text, str) and len(text) <= MOST_TEXT and _is_written(text) for text in values):
        raise Wrong("not texts of at most %d characters" % MOST_TEXT)
    return list(values)


def _is_written(text: str, bytes_: str = "surrogateescape") -> bool:
    """Return whether a text can be written as bytes: JSON also has halves of pairs, which nobody has a form for."""
    try:
        text.encode("utf-8", bytes_)
    except UnicodeEncodeError:
        return False
    return True


def _is_line(line: Any) -> bool:
    return isinstance(line, int) and not isinstance(line, bool) and 0 <= line < 1 << 31
