"""Where the user's earlier cases lie: one small file in his own state folder, no text of a log in it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace

from maple_submit_filter.types.job_records import Record, Version

from ..base import new_file
from ..base.secrets.masking import masked
from .fix.kinds.insertion import without_footer
from .read.templates import template
from .values import Case, Cause, Cure, Diagnosis, Evidence

# What the user's own earlier jobs came to: the same line in the log, what was its cause, and whether the fix helped.
#
# A case is known again by its signature: a hash of the line that proved the cause (of the excerpt, where none was
# known), numbers and folders put aside. What an earlier job proves it proves by its end: the fix was in a job that then
# ran. Or the user said what it was. A cause that the rules are sure of stays the first whatever earlier jobs say.

SURE = 6.0  # score from which a cause is proven by the rules: strong words, and nothing against them
BY_HELP, BY_USER = 0.9, 0.7  # confidence in a cause whose cure helped, and in one that the user named
LEAST_LETTERS = 12  # of a line that says enough to be known again
MOST = 300  # cases that are remembered
MOST_SAYS = 200  # characters
_FOLDERS = re.compile(r"(?:[\w.~+@-]*/)+")


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier job of the user's. *by*: who named the cause, "rule", "case", "model" or "user".

    *kind*, *says*: of the fix that was offered, "" for none; *fixed*: hash of the script with it. *helped*: whether
    *later*, the job that had the fix, ran; None where that is not known.
    """

    signature: str
    cause: str
    entry: str
    job: str
    at: float
    by: str = "rule"
    kind: str = ""
    says: str = ""
    fixed: str = ""
    later: str = ""
    helped: bool | None = None

    @property
    def counts(self) -> bool:
        """Return whether it tells what the cause was."""
        return self.by == "user" or self.helped is True


def signature(diagnosis: Diagnosis) -> str:
    """Return what the case is known by again; "" where no line of the log says enough."""
    first = diagnosis.causes[0]
    if first.cause == "none":
        return ""
    lines = diagnosis.excerpt[-1:] if first.cause == "unknown" else first.evidence[:1]
    text = " ".join(_plain(evidence.text) for evidence in lines)
    if sum(letter.isalpha() for letter in text) < LEAST_LETTERS:
        return ""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def recalled(diagnosis: Diagnosis, earlier: Sequence[Earlier]) -> Diagnosis:
    """Return the diagnosis with what an earlier job of the same signature came to; there are no cures in it yet."""
    known = next((case for case in _same(diagnosis, earlier) if case.counts), None)
    if known is None:
        return diagnosis
    first, says = diagnosis.causes[0], _as_in(known, diagnosis.case.ended.id)
    if first.score >= SURE or first.cause == known.cause:
        if first.cause != known.cause:
            return diagnosis
        if first.score < SURE:
            sure = max(first.confidence, _confidence(known))
            first = replace(first, by="case", confidence=sure, likely=False)
        return _noted(replace(diagnosis, causes=(first, *diagnosis.causes[1:])), says)
    named = next((cause for cause in diagnosis.causes if cause.cause == known.cause), None)
    if named is None:
        named = Cause(known.entry, known.cause, "the same as in job %s" % known.job, 0.0, 0.0, _shown(diagnosis))
    named = replace(named, by="case", confidence=_confidence(known), likely=False)
    others = [
        replace(cause, confidence=0.0) for cause in diagnosis.causes if cause.cause not in (known.cause, "unknown")
    ]
    return _noted(replace(diagnosis, causes=(named, *others)), says)


def not_again(diagnosis: Diagnosis, mark: str, earlier: Sequence[Earlier]) -> Diagnosis:
    """Return the diagnosis without the changes that did not help an earlier job of the signature *mark*."""
    own = diagnosis.case.ended.id
    same = [case for case in earlier if mark and case.signature == mark and (case.job != own or case.later != own)]
    failed = {_fix(case.kind, case.says): case for case in reversed(same) if case.helped is False}
    for case in same:
        if case.helped:
            failed.pop(_fix(case.kind, case.says), None)
    return replace(diagnosis, cures=tuple(_held(cure, failed) for cure in diagnosis.cures))


def remembered(diagnosis: Diagnosis, mark: str, earlier: Sequence[Earlier], at: float) -> list[Earlier]:
    """Return the cases with this one, the newest first. *mark*: its signature; *at*: now."""
    known = [_judged(case, diagnosis, mark) for case in earlier]
    first, job = diagnosis.causes[0], diagnosis.case.ended.id
    if not mark or not job or first.cause in ("none", "unknown"):
        return known[:MOST]
    before = next((case for case in known if (case.job, case.signature) == (job, mark)), None)
    if before is not None and (before.by == "user" or before.helped is not None):
        return known[:MOST]
    cure = next(
        (applicable for applicable in diagnosis.cures if applicable.script is not None and not applicable.held_back),
        None,
    )
    made = Earlier(mark, first.cause, first.entry, job, at, first.by)
    if cure is not None and cure.script is not None:
        made = replace(made, kind=cure.kind, says=cure.says[:MOST_SAYS], fixed=digest(cure.script))
    return [made, *(case for case in known if case != before)][:MOST]


def confirmed(job: str, mark: str, cause: str, entry: str, earlier: Sequence[Earlier], at: float) -> list[Earlier]:
    """Return the cases with the user's own word about a job, which stands in place of what was said of it."""
    before = next((case for case in earlier if (case.job, case.signature) == (job, mark)), None)
    made = Earlier(mark, cause, entry, job, at, "user")
    if before is not None and before.cause == cause:
        made = replace(before, by="user", at=at)
    return [made, *(case for case in earlier if case != before)][:MOST]


def digest(script: bytes) -> str:
    """Return the hash by which a script is known again, whether or not it went through the front."""
    return hashlib.sha256(without_footer(script)).hexdigest()


def _plain(text: str) -> str:
    return " ".join(template(_FOLDERS.sub("", text)).split())


def _same(diagnosis: Diagnosis, earlier: Sequence[Earlier]) -> list[Earlier]:
    """Return the cases of the same signature; of the very same job only what the user said of it."""
    mark, own = signature(diagnosis), diagnosis.case.ended.id
    return [case for case in earlier if mark and case.signature == mark and (case.job != own or case.by == "user")]


def _confidence(earlier: Earlier) -> float:
    return BY_HELP if earlier.helped else BY_USER


def _as_in(earlier: Earlier, own: str) -> str:
    if earlier.job == own:
        return "you said that this job was %s" % earlier.cause
    if earlier.helped and earlier.says:
        return "as in job %s, where “%s” helped: job %s ran with it" % (earlier.job, earlier.says, earlier.later)
    return "as in job %s, which was %s, you said" % (earlier.job, earlier.cause)


def _noted(diagnosis: Diagnosis, says: str) -> Diagnosis:
    return replace(diagnosis, case=replace(diagnosis.case, notes=(*diagnosis.case.notes, says)))


def _shown(diagnosis: Diagnosis) -> tuple[Evidence, ...]:
    return diagnosis.excerpt[-1:] if diagnosis.causes[0].cause == "unknown" else diagnosis.causes[0].evidence


def _fix(kind: str, says: str) -> tuple[str, str]:
    return kind, _plain(says[:MOST_SAYS])


def _held(cure: Cure, failed: dict[tuple[str, str], Earlier]) -> Cure:
    known = failed.get(_fix(cure.kind, cure.says))
    if known is None or cure.script is None and cure.argv is None:
        return cure
    why = "job %s had this change after job %s, and ended in the same way" % (known.later, known.job)
    return replace(cure, script=None, argv=None, fix=None, safety="tell", held_back=why)


def _judged(earlier: Earlier, diagnosis: Diagnosis, mark: str) -> Earlier:
    """Return the case as this job shows it: its fix was in this script, and the same line came again."""
    asked, job = diagnosis.case.asked, diagnosis.case.ended.id
    if not earlier.fixed or earlier.helped is not None or earlier.signature != mark or earlier.job == job:
        return earlier
    if asked is None or asked.script is None or digest(asked.script) != earlier.fixed:
        return earlier
    return replace(earlier, helped=False, later=job)


NAME = "cases.json"
MOST_BYTES = 512 << 10
ASK_SECONDS = 0.5  # that the service has to tell how a job ended
_TYPES = {field.name: field.type for field in fields(Earlier)}

Finish = Callable[[Diagnosis], Diagnosis]


def with_cases(diagnosis: Diagnosis, finish: Finish) -> Diagnosis:
    """Return what *finish* (which finds cures) makes of a diagnosis, with what earlier jobs of the user's tell.

    Only of his own job, which has an id; of every other it is what *finish* makes. Raises nothing of its own.
    """
    if not _is_own(diagnosis.case):
        return finish(diagnosis)
    mark, known = signature(diagnosis), _known()
    known = settled(known, mark)
    made = not_again(finish(recalled(diagnosis, known)), mark, known)
    now = remembered(made, mark, known, time.time())
    if now != known:
        with contextlib.suppress(OSError), new_file.opened() as folder:
            write(folder, now)
    return made


def confirm(diagnosis: Diagnosis, cause: str, entry: str = "") -> str:
    """Remember what the user says that the cause was; return why that cannot be, "" where it is done."""
    mark = signature(diagnosis)
    if not _is_own(diagnosis.case):
        return "only one's own job, by its id"
    if not mark:
        return "its log holds no line that such a job could be known by again"
    try:
        with new_file.opened() as folder:
            write(folder, confirmed(diagnosis.case.ended.id, mark, cause, entry, read(folder), time.time()))
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return ""


def read(folder: int) -> list[Earlier]:
    """Return the cases, the newest first; what is none of ours is left out."""
    data = new_file.read(folder, NAME, MOST_BYTES)
    try:
        table = json.loads(data) if data else []
    except (ValueError, RecursionError):
        return []
    rows = table if isinstance(table, list) else []
    return [Earlier(**row) for row in rows if _fits(row)]


def write(folder: int, cases: Sequence[Earlier]) -> None:
    """Put the cases there, secrets masked. Raises `OSError`."""
    rows = [asdict(replace(earlier, says=masked(earlier.says))) for earlier in cases]
    while len(data := json.dumps(rows, separators=(",", ":")).encode()) > MOST_BYTES:
        rows = rows[: len(rows) // 2]
    new_file.write(folder, NAME, data)


def settled(cases: Sequence[Earlier], mark: str) -> list[Earlier]:
    """Return the cases with what became of the fixes of those of signature *mark*, as the service knows it."""
    open_ = [
        earlier for earlier in cases if mark and earlier.signature == mark and earlier.fixed and earlier.helped is None
    ]
    if not open_:
        return list(cases)
    try:
        ran = _ran({earlier.fixed for earlier in open_})
    except Exception:  # who does not answer, or says what is not understood, tells nothing
        return list(cases)
    return [
        replace(earlier, helped=True, later=ran[earlier.fixed])
        if earlier in open_ and earlier.fixed in ran
        else earlier
        for earlier in cases
    ]


def _ran(hashes: set[str]) -> dict[str, str]:
    """Return of scripts by their hash a job that completed with it."""
    from ..ask.memory.service import ask
    from ..ask.memory.versions import record, version

    rows = ask({"ask": "versions", "limit": 500}, seconds=ASK_SECONDS)
    completed: dict[str, str] = {}
    made: list[Version] = [version(row) for row in rows]
    for run in made:
        if run.script_hash not in hashes or run.script_hash in completed:
            continue
        answer = ask({"ask": "records", "version": run.id}, seconds=ASK_SECONDS)
        records: list[Record] = [record(each) for each in answer]
        jobs = [each.job for each in records if each.outcome is not None and each.outcome.state == "completed"]
        completed.update({run.script_hash: jobs[0]} if jobs else {})
    return completed


def _known() -> list[Earlier]:
    with contextlib.suppress(OSError), new_file.opened(make=False) as folder:
        return read(folder)
    return []


def _is_own(case: Case) -> bool:
    """Return whether it is a job of the caller's: nobody but root is told of another's, and root remembers none."""
    if not case.ended.id or os.getuid() != os.geteuid():
        return False
    return case.asked.uid == os.getuid() if case.asked is not None else os.getuid() != 0


def _fits(value: object) -> bool:
    if not isinstance(value, dict) or set(value) != set(_TYPES):
        return False
    texts = (value for name, value in value.items() if name not in ("at", "helped"))
    return (
        isinstance(value["at"], (int, float))
        and value["helped"] in (None, True, False)
        and all(isinstance(value, str) and len(value) <= 1000 for value in texts)
    )
