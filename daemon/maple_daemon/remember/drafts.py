"""What was heard of one submission, before it is known which version of which job it is."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from maple_submit_filter.answer import reply as answers
from maple_submit_filter.answer.audit_line import read_audit
from maple_submit_filter.answer.decision import Decision
from maple_submit_filter.answer.earlier import Earlier, change_of, grounds_of, pack, proposed, unpack
from maple_submit_filter.host.frames import Change, Reply, Request
from maple_submit_filter.request.slurm.submission import wrapped
from maple_submit_filter.types.job_records import TRIAL_SCRIPT, Record

from ..base.peers import Peer
from ..base.settings import bytes_of
from ..decide.handlers import Handled
from ..decide.rules_in_force import InForce

MOST_SCRIPT = 64 << 10  # bytes, of which is told what was changed: a millisecond
_TEMPLATE = re.compile(r"[a-z0-9-]+ revision \d+")


class Draft(NamedTuple):
    """*verdict* and *codes* as the audit line has them. *at*: since 1970. *seconds*: from the request to the reply."""

    request: Request
    peer: Peer
    how: str
    key: bytes
    decision: Decision | None
    submitted_hash: str
    offered_hash: str
    verdict: str
    codes: tuple[str, ...]
    mode: str
    at: float
    seconds: float
    earlier: Earlier | None = None
    revision: bytes = b""  # of site and rules that decided
    conditions: bool = False  # what was decided is a user's own process's word
    hidden_offer: bool = False  # a change was offered that the job's script does not show

    @property
    def id(self) -> str:
        """The record's id, which the last line of a repaired script names too."""
        return answers.record_id(self.request)

    @property
    def same(self) -> tuple[bytes, int]:
        """What tells a submission and what was decided of it; the second changes with the user's files."""
        return self.key, hash(self.decision)

    @property
    def size(self) -> int:
        """Bytes that it takes while it waits."""
        return bytes_of(self.request.submission)


def draft_of(
    request: Request, peer: Peer, handled: Handled, decision: Decision | None, in_force: InForce, at: float,
    seconds: float,
) -> Draft:  # fmt: skip
    """Return what was heard."""
    empty = Draft(request, peer, handled.how, handled.key, decision, "", "", "", (), handled.mode, at, seconds)
    made = empty._replace(earlier=handled.earlier, revision=in_force.facts)
    return _answered(made, handled.reply, decision)


def by_helper(draft: Draft, decision: Decision, in_force: InForce) -> Draft:
    """Return the draft with what the caller's helper decided; its reply was the one that this decision comes to."""
    earlier = unpack(pack(draft.earlier)) if draft.earlier is not None else None
    reply = answers.answered(draft.request, in_force.site, in_force.policy, draft.mode, decision, earlier)
    return _answered(draft._replace(how="helper", decision=decision), reply, decision)


def record_of(
    draft: Draft, host: str, version: str, decision: str, partition: str, in_force: InForce,
    proposal: tuple[str, str] | None = None,
) -> Record:  # fmt: skip
    """Return the draft as it is kept. A partition that the site does not name is a user's own text.

    *proposal*: of a draft that is the same, where it is known.
    """
    names = {row.name for row in in_force.site.partitions}
    change, grounds = ("", "") if draft.hidden_offer else proposal or proposal_of(draft)
    return Record(
        draft.id, version, draft.peer.uid, draft.at, host, draft.peer.pid, draft.peer.started, draft.mode,
        _verdict(draft), draft.codes, draft.how, draft.submitted_hash, offered_hash=draft.offered_hash,
        decision=decision, change=change, grounds=grounds,
        place=partition if partition in names else "other" if partition else "",
        keys=tuple(_keys(draft)) if change else (),
    )  # fmt: skip


def _verdict(draft: Draft) -> str:
    return "trial" if draft.request.submission.script == TRIAL_SCRIPT else draft.verdict


def proposal_of(draft: Draft) -> tuple[str, str]:
    """Return which change was proposed and on which grounds, "" for none; of drafts that are the `same` it is too."""
    made = proposed(draft.decision) if draft.decision is not None else None
    long = len(draft.request.submission.script or b"") > MOST_SCRIPT
    if draft.decision is None or made is None or long:
        return "", ""
    submission = answers.whole(draft.request.submission)
    return change_of(submission, made), grounds_of(draft.decision, made, draft.revision)


def _keys(draft: Draft) -> Iterator[tuple[str, str]]:
    """Yield each rule that would change something, with the template revision or the site key that spoke with it.

    Of a decision of the user's own process only what `handlers.learn` has checked: rules and templates that there are.
    """
    made = proposed(draft.decision) if draft.decision is not None else None
    if draft.decision is None or made is None:
        return
    because = {word for _, word in made.because}
    speaking = {says.partition(" ")[0] for says in made.says}
    facts = {finding.code: finding.site_fact for finding in draft.decision.findings if not draft.conditions}
    codes = sorted({finding.code for finding in draft.decision.findings} & (speaking | because))
    templates = sorted(word for word in because if _TEMPLATE.fullmatch(word))
    for code in codes:
        if code in because or not templates:
            yield code, facts.get(code, "")
        else:
            yield from ((code, template) for template in templates)


def told_of(draft: Draft) -> Iterable[tuple[str, object]]:
    """Return what the journal says of it: no text of the user's."""
    return (
        ("record", draft.id), ("uid", draft.peer.uid), ("pid", draft.peer.pid), ("job", draft.request.hash.hex()),
        ("verdict", draft.verdict), ("codes", list(draft.codes)), ("mode", draft.mode), ("how", draft.how),
        ("change", draft.submitted_hash[:16]), ("ms", round(draft.seconds * 1000, 1)),
    )  # fmt: skip


def _answered(draft: Draft, reply: Reply | None, decision: Decision | None) -> Draft:
    """Return the draft with what the reply hands over; there is no audit line where nothing was found."""
    if reply is None:
        return draft
    line = reply.change.audit if reply.change else reply.audit
    audit_line = read_audit(line) if line else None
    offered = _hash_of(reply.offer, draft.request)
    by_user = draft.how == "helper" or bool(reply.conditions)
    return draft._replace(
        submitted_hash=_hash_of(reply.change, draft.request),
        offered_hash=offered,
        conditions=by_user,
        hidden_offer=reply.offer is not None and not offered,
        verdict=audit_line.verdict if audit_line else decision.verdict if decision else "",
        codes=audit_line.codes if audit_line else (),
    )


def _hash_of(change: Change | None, request: Request) -> str:
    """Return the hash of the script that a change hands over, "" where only words differ or nothing does."""
    if change is None:
        return ""
    if change.script is not None:
        return hashlib.sha256(change.script).hexdigest()
    if request.submission.came == "wrap" and change.argv and request.word < len(change.argv):
        return hashlib.sha256(wrapped(change.argv[request.word][request.offset :])).hexdigest()
    return ""
