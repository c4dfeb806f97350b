"""Repairs that were held back: which rules' changes were not made, and for what reason, without a word of a script.

Figures of an installation for its administrators: from audit lines, the service's memory and the doctor.

No user is named: a user is one of a number. What one source cannot tell is said, and costs no other its place.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, TypeVar

from maple_agents.forecast.needs import Forecast
from maple_agents.forecast.replay import coverage, play, score
from maple_agents.forecast.runs import Run
from maple_agents.templates import proofs
from maple_submit_filter.types.job_records import STATES

from ..base.settings import Settings
from ..decide.rules_in_force import read as in_force
from ..install.doctor import examine
from ..install.refusals import Refused
from ..install.report import audit
from ..install.report.store import CHANGED, FAILED, facts_of
from ..outcomes.join import DAY, MONTH
from ..store import open_store
from ..store.protocol import Store, StoreError
from .failures import as_written, by_week, failures, refused_since
from .shapes import Contradicted, Failures, Foretold, Health, HeldBack, Proof, Submissions, Window

MOST = 1 << 20  # bytes of one decision
_NUMBER = re.compile(r"\d+")


def held_back(decisions: Iterable[tuple[int, bytes]]) -> list[HeldBack]:
    """Return the reasons by rule, the most frequent first. *decisions*: uid, and what the store keeps to be shown.

    Of a reason the numbers and what stands behind its colon are left out: those are of one script.
    """
    scripts: dict[tuple[str, str], list[int]] = {}
    for uid, kept in decisions:
        for reason in dict.fromkeys(_reasons(kept)):
            scripts.setdefault(reason, []).append(uid)
    rows = (
        HeldBack(code=code, why=why, scripts=len(uids), users=len(set(uids)))
        for (code, why), uids in scripts.items()
    )  # fmt: skip
    return sorted(rows, key=lambda row: (-row["scripts"], row["code"], row["why"]))


def _reasons(kept: bytes) -> Iterator[tuple[str, str]]:
    """Yield rule and reason of a decision; what is kept for the front alone is in another form, and passed over."""
    try:
        decision = json.loads(zlib.decompressobj().decompress(kept, MOST))
        for row in decision["held_back"]:
            yield str(row["code"]), _NUMBER.sub("N", str(row["why"]).partition(": ")[0])[:100]
    except (zlib.error, ValueError, KeyError, TypeError):
        return


NEWEST = 2_000  # runs whose forecasts are looked at, and decisions whose held-back changes are
MOST_ENDS = 200_000
DONE = {
    **dict.fromkeys(CHANGED, "changed"),
    "accepted": "changed after a yes",
    "declined": "offered, and declined",
    "would-repair": "would be changed",
    "rule-mode": "would be changed",
    "taken-back": "change taken back",
    "unread": "not read",
}
Part = TypeVar("Part")


class Source(NamedTuple):
    """What is looked at. *prefix*: the installation, or None. *settings*: of its service, or None."""

    prefix: Path | None
    settings: Settings | None
    since: str


def window(source: Source, now: datetime.datetime) -> Window:
    """Return the figures from *since* on. Raises `Refused` where *since* is no time."""
    first, silent = audit.begin(source.since, now), list[str]()

    def known(part: Callable[[], Part], name: str) -> Part | None:
        try:
            return part()
        except (Refused, StoreError, OSError, ValueError) as error:
            silent.append("%s: %s" % (name, getattr(error, "says", "") or error))
            return None

    with closing(_Memory(source.settings)) as memory:
        return Window(
            made=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            since=first,
            site=known(lambda: _site(source), "site") or "",
            submissions=known(lambda: _submissions(source, memory.store(), first, now), "submissions"),
            failures=known(lambda: _failures(memory.store(), first), "failures"),
            forecasts=known(lambda: foretold(memory.store().newest_runs(NEWEST)), "forecasts"),
            facts=known(lambda: _facts(memory.store()), "facts"),
            as_written=known(lambda: as_written(memory.store().counted(first[:10])), "rules against outcomes"),
            refused=known(lambda: refused_since(memory.store(), first, now), "submissions without a job"),
            held_back=known(lambda: held_back(memory.store().newest_decisions(NEWEST)), "changes held back"),
            proofs=known(lambda: _proofs(_site(source)), "verified") or [],
            health=known(lambda: _health(source, memory, now), "health") or [],
            silent=silent,
        )


class _Memory:
    """The service's memory, opened once it is asked for; where it cannot be, each who asks hears why."""

    def __init__(self, settings: Settings | None) -> None:
        self._named = settings.store if settings is not None else ""
        self._open: Store | None = None

    @property
    def is_kept(self) -> bool:
        return bool(self._named)

    def store(self) -> Store:
        if not self._named:
            raise StoreError("there is no service that remembers (maple admin install --daemon)")
        if self._open is None:
            self._open = open_store(self._named, create=False)
        return self._open

    def close(self) -> None:
        if self._open is not None:
            self._open.close()


def _site(source: Source) -> str:
    conf = source.settings.conf if source.settings is not None else ""
    return in_force(conf or str(_prefix(source) / "current" / "etc" / "front.conf")).site.id


def _prefix(source: Source) -> Path:
    if source.prefix is None:
        raise Refused("no installation is named", "name it: --prefix")
    return source.prefix


def _submissions(source: Source, store: Store, first: str, now: datetime.datetime) -> Submissions:
    rows = [counted for counted in store.counted(first[:10]) if counted.verdict != "trial"]
    memory = facts_of(rows, first[:10])
    seen = audit.facts_of(audit.gather(source.prefix, source.since, now)) if source.prefix is not None else None
    return Submissions(
        weeks=by_week((counted.day, what_was_done(counted.verdict, counted.code), counted.jobs) for counted in rows),
        rules=memory["rules"],
        partitions=memory["partitions"],
        users=seen["users"] if seen is not None else None,
        ms=seen["ms"] if seen is not None else {},
        late=seen["late"] if seen is not None else [],
    )


def what_was_done(verdict: str, rules: str = "a rule") -> str:
    """Return what was done, in words; an offer that was not taken is among those that went as written."""
    if verdict in DONE:
        return DONE[verdict]
    return "as written, with a finding" if rules else "nothing found"


def _failures(store: Store, first: str) -> Failures:
    moment = datetime.datetime.fromisoformat(first.replace("Z", "+00:00")).timestamp()
    return failures(store.ended(FAILED, moment, MOST_ENDS), store.causes(moment))


def foretold(runs: Sequence[tuple[int, Run]]) -> Foretold:
    """Return how near forecasts of these runs (uid, run) come, each from those that had ended before it was sent."""
    named = [run._replace(asked=run.asked._replace(user=str(uid))) for uid, run in runs]
    played = list(play(named))
    scored = score(played, lambda job: job.answer.seconds if isinstance(job.answer, Forecast) else None)
    held = coverage(played)
    return Foretold(runs=len(played), told=scored.jobs, twice=scored.twice, under=scored.under, held=held.micro)


def _facts(store: Store) -> list[Contradicted]:
    rows = sorted(store.candidates(0), key=lambda row: (-row.failed, row.code, row.fact))
    return [Contradicted(code=row.code, fact=row.fact, users=row.users, ran=row.ran, failed=row.failed) for row in rows]


def _proofs(site: str) -> list[Proof]:
    return [
        Proof(paradigm=name, on=str(proof.on), result=proof.result, where=proof.where, launch=proof.launch)
        for name, proof in sorted(proofs.load(site).items())
    ]


def _health(source: Source, memory: _Memory, now: datetime.datetime) -> list[Health]:
    checks = examine(source.prefix, os.environ.get("PATH", "")) if source.prefix is not None else []
    rows = [Health(name=check.name, state=check.state, says=check.says, todo=check.todo) for check in checks]
    return rows + ([_of_memory(memory.store()), heard(memory.store(), now)] if memory.is_kept else [])


def heard(store: Store, now: datetime.datetime) -> Health:
    """Return whether the hooks are called: when an end was last heard, and of which part of a day the job is known."""
    at = now.timestamp()
    sent, joined = store.unjoined(at - DAY), [record for record in store.joined(NEWEST) if record.at >= at - DAY]
    last = next(iter(store.ended(STATES, at - MONTH, 1)), None)
    silent = last is None or (bool(sent) and not joined)
    says = "no end of a job was heard"
    if last is not None:
        hours = max(0.0, at - (last.ended or at)) / 3600
        says = "an end was heard %.0f hours ago, from %s" % (hours, last.source or "nobody named")
    says += "; the job of %d of the %d submissions of a day is known" % (len(joined), len(joined) + len(sent))
    todo = "does the scheduler call the hooks? maple admin doctor --job" if silent else ""
    return Health(name="heard", state="note" if silent else "ok", says=says, todo=todo)


def _of_memory(store: Store) -> Health:
    wrong = store.check()
    says = "; ".join(wrong) or "sound"
    return Health(name="memory", state="wrong" if wrong else "ok", says=says, todo="maple admin check" if wrong else "")
