"""What was heard becomes records, versions and site-wide numbers, off the loop; a repeat is one small row."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from maple_submit_filter.answer import packing
from maple_submit_filter.answer.audit_line import host
from maple_submit_filter.answer.decision import Decision
from maple_submit_filter.answer.reply import record_id
from maple_submit_filter.host.frames import Request
from maple_submit_filter.types.job_records import Part, Record, Value, Version

from ..base.peers import Peer
from ..base.telemetry import cause, log
from ..decide.handlers import Handled
from ..decide.rules_in_force import InForce
from . import drafts
from .drafts import Draft
from .lookup import Brief, Looker, put
from .memory import Keeper

MOST_RECENT = 4096  # records whose files may be told of
MOST_EARLY = 256  # of which files were told before they were written


class Files(NamedTuple):
    """What the user's own process has read."""

    parts: tuple[Part, ...]
    values: tuple[Value, ...]
    read: tuple[str, ...] | None


class Recorder:
    """*read*, *write*: the store's threads. *in_force*: what decides now. *told* hears what was done, to be counted.

    *at_once*: writes a record down where it lasts until it is in the store.
    """

    def __init__(
        self, read: Keeper, write: Keeper, in_force: Callable[[], InForce], tell: Callable[[str, int], None],
        at_once: Callable[[Record], None] = lambda record: None,
    ) -> None:  # fmt: skip
        self._write, self._in_force, self._tell, self._at_once = write, in_force, tell, at_once
        self._looker = Looker(read, write, lambda: in_force().snapshot, tell)
        self._pending: dict[tuple[int, bytes], Draft] = {}  # by uid and nonce; a helper may have its word yet
        self._recent: OrderedDict[tuple[int, str], str] = OrderedDict()  # record → base of its version
        self._early: dict[tuple[int, str], Files | None] = {}  # records that are not written yet: what was told of them
        self._host = host()

    async def start(self) -> None:
        """Begin to look at what is heard."""
        await self._looker.start()

    async def renew(self) -> None:
        """Take notice of a site that may be another."""
        await self._looker.start()

    def seen(self, version: Callable[[Version], None]) -> None:
        """Tell of each new version from now on."""
        self._looker.seen = version

    def forget(self) -> None:
        """Hold nothing of anybody but what waits to be written."""
        self._looker.forget()
        self._recent.clear()

    async def stop(self, seconds: float = 2.0) -> None:
        """Write what waits; what is not looked at within *seconds* is recorded without its version."""
        for uid, nonce in list(self._pending):
            self.over(uid, nonce, b"")
        for draft in await self._looker.stop(seconds):
            self._write_down(draft, None)

    def heard(self, request: Request, peer: Peer, handled: Handled, decision: Decision | None, seconds: float) -> None:
        """Take down a submission, and raise nothing. What is switched off is not taken down."""
        if handled.how == "off":
            return
        try:
            self._early[peer.uid, record_id(request)] = None
            draft = drafts.draft_of(request, peer, handled, decision, self._in_force(), time.time(), seconds)
            if handled.how == "helper" or (handled.reply is not None and handled.reply.conditions):
                self._at_once(self._bare(draft))
                self._pending[peer.uid, request.nonce] = draft
            else:
                self._settle(draft)
        except Exception as error:  # an answer does not depend on what is remembered of it
            self._early.pop((peer.uid, record_id(request)), None)
            log().error("not recorded", why=cause(error))

    def over(self, uid: int, nonce: bytes, taught: bytes) -> None:
        """A user's conversation is over; *taught*: what his helper decided in place of what was answered."""
        draft = self._pending.pop((uid, nonce), None)
        if draft is None:
            return
        try:
            if taught:
                draft = drafts.by_helper(draft, packing.unpack(taught)[0], self._in_force())
        except Exception as error:  # what a user's own process says may be anything
            log().warning("not learnt", record=draft.id, why=type(error).__name__)
        self._settle(draft)

    def analysed(
        self, uid: int, record: str, parts: tuple[Part, ...], values: tuple[Value, ...],
        read: tuple[str, ...] | None = None,
    ) -> bool:  # fmt: skip
        """Keep what the user's own process has read of his files for a record of his; False: there is none."""
        if (uid, record) in self._early and sum(files is not None for files in self._early.values()) < MOST_EARLY:
            self._early[uid, record] = Files(parts, values, read)
            return True
        base = self._recent.get((uid, record))
        return base is not None and self._looker.files(uid, base, record, parts, values, read)

    def _settle(self, draft: Draft) -> None:
        log().info("submission", **dict(drafts.told_of(draft)))
        brief = self._looker.known(draft)
        if brief is None:
            self._at_once(self._bare(draft))
            self._looker.wait(draft, self._write_down)
            return
        self._tell("repeat", 1)
        self._write_down(draft, brief)

    def _bare(self, draft: Draft) -> Record:
        """Return what is known at once: neither version nor what was proposed."""
        return drafts.record_of(draft, self._host, "", "", "", self._in_force(), ("", ""))

    def _write_down(self, draft: Draft, brief: Brief | None) -> None:
        """Write the record, which counts it."""
        uid = draft.peer.uid
        if brief is None:
            self._tell("unversioned", 1)
            brief = Brief("", "", "", 0.0)
        else:
            put(self._recent, (uid, draft.id), brief.base, MOST_RECENT)
        version = self._looker.current(uid, brief.base)
        try:
            record = drafts.record_of(
                draft, self._host, version, brief.decision, brief.partition, self._in_force(), brief.proposal
            )
        except Exception as error:  # this one is not recorded, and the next one counts
            self._early.pop((uid, draft.id), None)
            log().error("not recorded", record=draft.id, why=cause(error))
            return
        self._at_once(record)
        self._write.keep_record(record)
        early = self._early.pop((uid, draft.id), None)
        if early is not None and brief.base:
            self._looker.files(uid, brief.base, draft.id, *early)
