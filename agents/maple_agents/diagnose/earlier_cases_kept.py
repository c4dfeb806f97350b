"""Where the user's earlier cases lie: one small file in his own state folder, no text of a log in it."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields, replace

from maple_submit_filter.types.job_records import Record, Version

from ..base import own_files
from ..base.secrets.masking import masked
from .earlier_cases import Earlier, confirmed, not_again, recalled, remembered, signature
from .values import Case, Diagnosis

NAME = "cases.json"
MOST_BYTES = 512 << 10
ASK_SECONDS = 0.5  # that the service has to tell how a job ended
_TYPES = {one.name: one.type for one in fields(Earlier)}

Finish = Callable[[Diagnosis], Diagnosis]


def with_cases(found: Diagnosis, finish: Finish) -> Diagnosis:
    """Return what *finish* (which finds cures) makes of a diagnosis, with what earlier jobs of the user's tell.

    Only of his own job, which has an id; of every other it is what *finish* makes. Raises nothing of its own.
    """
    if not _is_own(found.case):
        return finish(found)
    mark, known = signature(found), _known()
    known = settled(known, mark)
    made = not_again(finish(recalled(found, known)), mark, known)
    now = remembered(made, mark, known, time.time())
    if now != known:
        with contextlib.suppress(OSError), own_files.opened() as folder:
            write(folder, now)
    return made


def confirm(found: Diagnosis, cause: str, entry: str = "") -> str:
    """Remember what the user says that the cause was; return why that cannot be, "" where it is done."""
    mark = signature(found)
    if not _is_own(found.case):
        return "only one's own job, by its id"
    if not mark:
        return "its log holds no line that such a job could be known by again"
    try:
        with own_files.opened() as folder:
            write(folder, confirmed(found.case.ended.id, mark, cause, entry, read(folder), time.time()))
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return ""


def read(folder: int) -> list[Earlier]:
    """Return the cases, the newest first; what is none of ours is left out."""
    data = own_files.read(folder, NAME, MOST_BYTES)
    try:
        told = json.loads(data) if data else []
    except (ValueError, RecursionError):
        return []
    rows = told if isinstance(told, list) else []
    return [Earlier(**one) for one in rows if _fits(one)]


def write(folder: int, cases: Sequence[Earlier]) -> None:
    """Put the cases there, secrets masked. Raises `OSError`."""
    rows = [asdict(replace(one, says=masked(one.says))) for one in cases]
    while len(data := json.dumps(rows, separators=(",", ":")).encode()) > MOST_BYTES:
        rows = rows[: len(rows) // 2]
    own_files.write(folder, NAME, data)


def settled(cases: Sequence[Earlier], mark: str) -> list[Earlier]:
    """Return the cases with what became of the fixes of those of signature *mark*, as the service knows it."""
    open_ = [one for one in cases if mark and one.signature == mark and one.fixed and one.helped is None]
    if not open_:
        return list(cases)
    try:
        ran = _ran({one.fixed for one in open_})
    except Exception:  # who does not answer, or says what is not understood, tells nothing
        return list(cases)
    return [
        replace(one, helped=True, later=ran[one.fixed]) if one in open_ and one.fixed in ran else one for one in cases
    ]


def _ran(hashes: set[str]) -> dict[str, str]:
    """Return of scripts by their hash a job that completed with it."""
    from ..ask.memory.asking import ask
    from ..ask.memory.remembered import record, version

    told = ask({"ask": "versions", "limit": 500}, seconds=ASK_SECONDS)
    found: dict[str, str] = {}
    made: list[Version] = [version(one) for one in told]
    for one in made:
        if one.script_hash not in hashes or one.script_hash in found:
            continue
        answer = ask({"ask": "records", "version": one.id}, seconds=ASK_SECONDS)
        records: list[Record] = [record(each) for each in answer]
        jobs = [each.job for each in records if each.outcome is not None and each.outcome.state == "completed"]
        found.update({one.script_hash: jobs[0]} if jobs else {})
    return found


def _known() -> list[Earlier]:
    with contextlib.suppress(OSError), own_files.opened(make=False) as folder:
        return read(folder)
    return []


def _is_own(case: Case) -> bool:
    """Return whether it is a job of the caller's: nobody but root is told of another's, and root remembers none."""
    if not case.ended.id or os.getuid() != os.geteuid():
        return False
    return case.asked.uid == os.getuid() if case.asked is not None else os.getuid() != 0


def _fits(one: object) -> bool:
    if not isinstance(one, dict) or set(one) != set(_TYPES):
        return False
    texts = (value for name, value in one.items() if name not in ("at", "helped"))
    return (
        isinstance(one["at"], (int, float))
        and one["helped"] in (None, True, False)
        and all(isinstance(value, str) and len(value) <= 1000 for value in texts)
    )
