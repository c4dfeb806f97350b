"""From a request to a reply: from memory, else from a worker, else by the caller's own helper."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol

from maple_submit_filter.answer import decision as decide
from maple_submit_filter.answer import reply as answers
from maple_submit_filter.answer.decision import Decision
from maple_submit_filter.answer.earlier import Earlier, pack
from maple_submit_filter.host.frames import FileFacts, Reply, Request
from maple_submit_filter.rules import rules
from maple_submit_filter.site.facts import Site
from maple_submit_filter.site.modes import Policy

from ..base.peers import Peer
from ..base.settings import Busy
from .exact import UNTOLD, Known, Memory, key_of, known_of
from .rules_in_force import InForce
from .workers import Decided

LEAST_DEADLINE, MOST_DEADLINE = 0.01, 5.0  # seconds; a front that says nothing gets `USUAL_DEADLINE`
USUAL_DEADLINE = 0.05
MOST_FINDINGS = 200  # that a helper may tell of
AT_ONCE = 64 << 10  # bytes of script and decision that are gone through on the loop: a few milliseconds
DIRECTIVES_AT_ONCE = 1 << 10  # bytes of a script of nothing but directives of PBS: a few milliseconds, too


class Forged(Exception):
    """The request says that it comes from somebody else than the kernel says."""


class Deciders(Protocol):
    """Whoever works out what is not known yet."""

    def decide(self, uid: int, frame: bytes) -> asyncio.Future[Decided]:
        """Return what will be decided. Raises `Busy`."""


class News(Protocol):
    """Who knows what else a user is to be told."""

    def waits(self, uid: int) -> bool:
        """Return whether there is anything: asked for each answer."""

    def line(self, uid: int, says: bytes) -> bytes:
        """Return what *says* does not say already as a line, and hold it for told. Raises nothing."""


class Wish(NamedTuple):
    """*record*: whose files are wanted, unless all of *unless* are as they were."""

    record: str
    unless: tuple[FileFacts, ...] = ()


class Handled(NamedTuple):
    """*how*: "memory", "decided", "helper" (only the caller's helper can), "unread" (too long), "off", "late" or
    "busy" (nobody can decide now).

    Of the last two there is no reply. *earlier*: what of earlier jobs the reply was made with. *mode*: in force.
    *decision*: what the reply was made of, None where only the helper can say it. *seconds*: that it took.
    """

    reply: Reply | None
    how: str
    key: bytes = b""
    earlier: Earlier | None = None
    mode: str = ""
    decision: Decision | None = None
    seconds: float = 0.0


class Handler:
    """Answers requests of all users; remembers by user."""

    def __init__(self, in_force: InForce, memory: Memory, deciders: Deciders) -> None:
        self.in_force, self.memory, self.deciders = in_force, memory, deciders
        self._aside = ThreadPoolExecutor(1, "long")
        self._working: dict[bytes, asyncio.Future[Known]] = {}  # asked for right now, so that it is decided once
        self.kept: Callable[[bytes, int], Awaitable[bytes | None]] = _no_store
        self.keep: Callable[[bytes, int, bytes], None] = lambda key, uid, data: None
        self.heard: Callable[[Request, Peer, Handled], None] = _nobody
        self.earlier: Callable[[Request, int], Earlier | None] = lambda request, uid: None
        self.wish: Callable[[Request, Peer, bytes], Wish | None] = lambda request, peer, key: None
        self.news: News | None = None
        self.over: Callable[[int, bytes, bytes], None] = lambda uid, nonce, taught: (
            None
        )  # a conversation, and what it taught

    async def answer(self, request: Request, frame: bytes, peer: Peer) -> Handled:
        """Return the reply, or None when it would come too late. Raises `Forged` and `ValueError`.

        Whoever sends it says afterwards that it was `heard`: nobody waits for what is written down.
        """
        if request.submission.uid != peer.uid:
            raise Forged("uid %d says it is %d" % (peer.uid, request.submission.uid))
        began = time.monotonic()
        mode = await self._mode(request, peer)
        handled, decision = await self._handled(request, frame, peer, mode)
        handled = handled._replace(mode=mode, decision=decision, seconds=time.monotonic() - began)
        handled = self._telling(request, peer, handled)
        return self._wishing(request, peer, handled)

    def _telling(self, request: Request, peer: Peer, handled: Handled) -> Handled:
        """Return the same with what else the user is to be told, where this reply will be shown on a terminal.

        Where the helper is asked, its word is shown in place of ours; a front that has waited long enough is gone.
        """
        if self.news is None or not self.news.waits(peer.uid) or handled.decision is None or handled.reply is None:
            return handled
        if not _is_read(request) or handled.seconds * 1000 >= _patience(request):
            return handled
        if request.submission.environment.get(b"MAPLE_NEWS") == b"no":
            return handled
        if handled.mode == "observe":
            return handled
        says = handled.reply.say
        return handled._replace(reply=handled.reply._replace(say=self.news.line(peer.uid, says) + says))

    def _wishing(self, request: Request, peer: Peer, handled: Handled) -> Handled:
        """Return the same with what should be read of the user's files."""
        wish = self.wish(request, peer, handled.key) if handled.reply else None
        if wish is None or handled.reply is None:
            return handled
        return handled._replace(reply=handled.reply._replace(read=wish.record, read_unless=wish.unless))

    async def _mode(self, request: Request, peer: Peer) -> str:
        """Return the mode in force. Where it goes by partition, all directives are read: of many not on the loop."""
        given = request, self.in_force.policy, peer.gids
        if not self.in_force.policy.partitions or len(request.submission.script or b"") <= DIRECTIVES_AT_ONCE:
            return answers.mode_of(*given)
        return await asyncio.get_running_loop().run_in_executor(self._aside, answers.mode_of, *given)

    async def _handled(self, request: Request, frame: bytes, peer: Peer, mode: str) -> tuple[Handled, Decision | None]:
        if mode == "off" or request.submission.script is None:
            return Handled(answers.unasked(request), "off"), None
        key = key_of(request, peer.uid, self.in_force.facts)
        if len(request.submission.script) > decide.MOST_READ:
            return Handled(Reply(request.nonce, request.hash), "unread", key), decide.TOO_LONG
        known, how = self.memory.get(key) or await self._kept(key, peer.uid), "memory"
        if known is None:
            try:
                known, how = await self._in_time(key, request, frame, peer), "decided"
            except Busy:  # the caller's helper decides; that there was a submission is known all the same
                return Handled(None, "busy", key), None
        if known is None:
            return Handled(None, "late", key), None
        # Not in the key: what was decided is the same. What is done with it is settled anew by each answer.
        earlier = self.earlier(request, peer.uid)
        if known.decision is None:
            return Handled(_by_helper(request, earlier), "helper", key, earlier), None
        try:
            reply = await self._reply(request, mode, known.decision, known, earlier)
        except ValueError:  # a user's own helper said what cannot be
            self.memory.put(key, UNTOLD)
            return Handled(_by_helper(request, earlier), "helper", key, earlier), None
        return Handled(reply, how, key, earlier), known.decision

    async def _reply(
        self, request: Request, mode: str, decision: Decision, known: Known, earlier: Earlier | None
    ) -> Reply:
        """Return what is known, as it is answered now. A long script takes long: others are served meanwhile."""
        given = request, self.in_force.site, self.in_force.policy, mode, decision, known, earlier
        if known.size + len(request.submission.script or b"") <= AT_ONCE:
            return _replied(*given)
        return await asyncio.get_running_loop().run_in_executor(self._aside, _replied, *given)

    async def _kept(self, key: bytes, uid: int) -> Known | None:
        """Return what the store knows, which outlives this process; None also where it does not answer at once."""
        kept = await self.kept(key, uid)
        if kept is None:
            return None
        try:
            known = known_of(kept)
        except ValueError:  # a damaged one is decided anew, and written again
            return None
        self.memory.put(key, known)
        return known

    def learn(self, key: bytes, uid: int, data: bytes) -> bool:
        """Remember what a helper learnt of the submission of that key; return whether it could be read."""
        try:
            known = known_of(data)
        except ValueError:
            return False
        decision, files = known.decision, known.files
        if decision is None or not files or not all(_usable(file_facts) for file_facts in files):
            return False
        if len(decision.findings) > MOST_FINDINGS or not named_by(decision) <= words_of(self.in_force.site):
            return False
        self.memory.put(key, known)
        self.keep(key, uid, data)
        return True

    async def _in_time(self, key: bytes, request: Request, frame: bytes, peer: Peer) -> Known | None:
        """Return what is decided within the caller's deadline, else None; it is decided all the same, for the next."""
        working = self._working.get(key)
        if working is None:
            working = asyncio.ensure_future(self._decided(key, peer.uid, self.deciders.decide(peer.uid, frame)))
            self._working[key] = working
            working.add_done_callback(lambda done: self._done(key, done))
        seconds = request.deadline / 1000 or USUAL_DEADLINE
        done, _ = await asyncio.wait({working}, timeout=min(MOST_DEADLINE, max(LEAST_DEADLINE, seconds)))
        return working.result() if done and not working.cancelled() else None

    def _done(self, key: bytes, done: asyncio.Future[Known]) -> None:
        self._working.pop(key, None)
        with contextlib.suppress(asyncio.CancelledError):
            done.exception()  # looked at, so that nobody complains that it was not

    async def _decided(self, key: bytes, uid: int, deciding: asyncio.Future[Decided]) -> Known:
        facts = self.in_force.facts
        decided = await deciding
        known = known_of(decided.learnt) if decided.learnt and not decided.wants_files else UNTOLD
        if facts == self.in_force.facts and (decided.learnt or decided.wants_files or decided.too_long):
            self.memory.put(key, known)
            if known.decision is not None:
                self.keep(key, uid, decided.learnt)
        return known


async def _no_store(key: bytes, uid: int) -> bytes | None:
    return None


def _nobody(request: Request, peer: Peer, handled: Handled) -> None:
    """Nobody listens."""


def _is_read(request: Request) -> bool:
    """Return whether stderr is a terminal. With MAPLE=verbose text is shown elsewhere too, and only *may_ask* tells."""
    words = request.submission.environment.get(b"MAPLE", b"").split(b",")
    return request.terminal and (request.may_ask or b"verbose" not in words)


def _patience(request: Request) -> float:
    """Return how many milliseconds the front waits."""
    return request.deadline or USUAL_DEADLINE * 1000


def _by_helper(request: Request, earlier: Earlier | None) -> Reply:
    return Reply(request.nonce, request.hash, ask_helper=True, earlier=pack(earlier) if earlier else b"")


def _replied(
    request: Request, site: Site, policy: Policy, mode: str, decision: Decision, known: Known, earlier: Earlier | None
) -> Reply:
    """Raises `ValueError` where what was decided does not fit the request."""
    try:
        reply = answers.answered(request, site, policy, mode, decision, earlier, known.once)
    except Exception as error:
        raise ValueError("what was decided does not fit: %s" % type(error).__name__) from error
    packed = pack(earlier) if earlier else b""  # for the helper, where a file is not as it was or we are not believed
    return reply._replace(conditions=known.files, earlier=packed)


def named_by(decision: Decision) -> set[str]:
    """Return the rules and templates that a decision names; they are counted and logged, and so no user's own text."""
    made = [rewritten for rewritten in (decision.repaired, decision.offered) if rewritten is not None]
    return {finding.code for finding in decision.findings} | {
        because for rewritten in made for _, because in rewritten.because
    }


def words_of(site: Site) -> set[str]:
    """Return all that may have been said by: rules, and the site's launch templates."""
    return {rule.code for rule in rules()} | {
        "%s revision %d" % (launch_template.name, launch_template.revision) for launch_template in site.launch_templates
    }


def _usable(file: FileFacts) -> bool:
    return 0 < len(file.path) < 4096 and b"\0" not in file.path and len(file.facts) < 160
