"""Values as rows and back. What cannot be read back is left out: a row of a broken store harms nobody.

What SQLite and PostgreSQL each bring: a way to run a statement, all or nothing.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from maple_submit_filter.types.job_records import Outcome, Part, Reached, Record, Value, Version

MOST_SCRIPT = 4 << 20  # bytes of a script that is read back


def of_version(version: Version) -> tuple[object, ...]:
    """Return id, uid, lineage, at, the rest as JSON, and the script compressed."""
    fields = version._replace(script=b"")._asdict()
    fields["parts"] = [list(part) for part in version.parts]
    fields["values"] = [list(value) for value in version.values]
    del fields["script"]
    return version.id, version.uid, version.lineage, version.at, _json(fields), zlib.compress(version.script, 6)


def version(row: Sequence[Any]) -> Version | None:
    """Return the version of a row (told, script), None where it cannot be read."""
    try:
        fields = json.loads(row[0])
        unpacked = zlib.decompressobj()
        script = unpacked.decompress(bytes(row[1]), MOST_SCRIPT)
        if unpacked.unconsumed_tail or not unpacked.eof:
            return None
        fields["parts"] = tuple(Part(kind, name, digest, tuple(lines)) for kind, name, digest, lines in fields["parts"])
        fields["values"] = tuple(Value(*entry) for entry in fields["values"])
        fields["argv"] = tuple(fields["argv"])
        return Version(**{**fields, "script": script})
    except (ValueError, TypeError, KeyError, zlib.error):
        return None


def of_record(record: Record) -> tuple[object, ...]:
    """Return id, uid, version, at, job, and all of it as JSON; how it ended and how far it came have their own rows."""
    fields = record._replace(outcome=None)._asdict()
    del fields["reached"]
    return record.id, record.uid, record.version, record.at, record.job, _json(fields)


def record(row: Sequence[Any]) -> Record | None:
    """Return the record of a row (told, job, and what is told of outcome and progress), None if it cannot be read."""
    try:
        fields = json.loads(row[0])
        fields["codes"] = tuple(fields["codes"])
        fields["keys"] = tuple((code, fact) for code, fact in fields.get("keys", ()))
        made = Record(**fields)._replace(job=row[1])
        how_far = reached((row[3],)) if len(row) > 3 and row[3] else None
        return made._replace(outcome=outcome((row[2],)) if row[2] else None, reached=how_far)
    except (ValueError, TypeError, KeyError):
        return None


def of_outcome(outcome: Outcome, now: float) -> tuple[object, ...]:
    """Return job, uid, when, state, and all of it as JSON."""
    return outcome.job, outcome.uid, outcome.ended or now, outcome.state, _json(outcome._asdict())


def outcome(row: Sequence[Any]) -> Outcome | None:
    """Return the outcome of a row (told), None where it cannot be read."""
    try:
        return Outcome(**json.loads(row[0]))
    except (ValueError, TypeError):
        return None


def of_reached(reached: Reached, uid: int) -> tuple[object, ...]:
    """Return record, uid, version, at, and all of it as JSON."""
    return reached.record, uid, reached.version, reached.at, _json(reached._asdict())


def reached(row: Sequence[Any]) -> Reached | None:
    """Return how far a run came, of a row (told), None where it cannot be read."""
    try:
        return Reached(**json.loads(row[0]))
    except (ValueError, TypeError):
        return None


def ended(row: Sequence[Any]) -> Outcome | None:
    """Return the outcome of a row (told, at) with its time, None where it cannot be read."""
    made = outcome(row)
    return made if made is None or made.ended else made._replace(ended=float(row[1]), started=None)


_json = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode


class Change(NamedTuple):
    """One statement with `?` for values, run once for each of *values*."""

    statement: str
    values: Sequence[Sequence[object]]


class Runner(Protocol):
    """Everything raises `StoreError`; `NotKept` where a value is at fault and nothing else."""

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Sequence[Any]]:
        """Return what a question comes to."""

    def change(self, *changes: Change) -> list[int]:
        """Make all of the changes or none, and return how many rows each touched."""

    def size(self) -> int:
        """Return the bytes that rows take, about."""

    def shrink(self) -> None:
        """Give back the room of what was removed."""

    def check(self) -> list[str]:
        """Return what is wrong, [] for nothing."""

    def backup(self, path: str) -> None:
        """Write a whole copy; *path* must not exist."""

    def close(self) -> None:
        """Let go."""
