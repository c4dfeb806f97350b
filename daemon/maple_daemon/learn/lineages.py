"""What users' earlier jobs came to, in memory: which lineage a submission is of, and how its changes stand.

Only users of whom something is known to be good or taken back are held. Before it is known for sure which version a
submission is (`looking`), its lineage is told as `versions` tells it, but for similarity: the same script, path and job
name, or given name and work dir. Where two lineages could be meant, nothing is known. Of a script whose job name would
take long to read, the path alone tells what was taken back: then a change is left out that might be made, no more.

What the end of a job says of the change that it was submitted with. Values in, values out.

Of each change (`answer.earlier`) of each lineage of a user's there is one `Standing`, and six events can
reach it: a job ran well with it or failed at launch with it; the same for a job that went as written though the change
was proposed for it; and nothing is learnt of all others.

    state      ran with it   failed with it   ran without   failed without    a SAFE fix is   an accepted fix is
    new        good          taken-back       -             -                 made            asked about
    good       good          taken-back       -             -                 made            made unasked
    taken-back cleared       -                kept-out      cleared           left out        left out
    cleared    cleared       -                -             -                 made            made, if one ran with it
    kept-out   -             -                -             -                 left out        left out

No arrow leads to a state further up, so whatever happens, in whatever order it is heard, and however often the same is
heard: a change is taken back once in its life at most, comes back once at most, and is never to and fro. That the bare
script ran says something only behind a failure with the change: four trainings of one rank each end well, too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Literal, NamedTuple, get_args

from maple_submit_filter.answer import reply
from maple_submit_filter.answer.earlier import Earlier, Good
from maple_submit_filter.host.frames import Request
from maple_submit_filter.types.job_records import Outcome, Record, Version
from maple_submit_filter.types.submission import Submission

from ..base.telemetry import cause, log
from ..outcomes.join import is_hash_of
from ..remember.description import Place, path_of, place_of
from ..store.protocol import Known

# Seconds. Python, torch and the launcher have begun by then, also from a cold parallel file system; what fails later
# has trained first, or waited for its peers.
AT_LAUNCH = 120.0
# Seconds. A launch that does not come together ends by its own time limits: torchrun's rendezvous and NCCL's process
# group after 10 minutes, other process groups after 30 (torch's defaults). What runs for longer than that has launched,
# whatever ended it: its time, the user, the node, a bug in the last epoch.
LONG = 3600.0
_BY_HAND = frozenset((1, 2, 9, 15))  # signals of a user, of scancel and qdel, or of a limit
State = Literal["new", "good", "taken-back", "cleared", "kept-out"]
MADE = ("repaired", "known-good", "accepted")  # verdicts of submissions that went changed
Ended = Literal["ran", "failed", ""]

MOST_READ, MOST_COMMENTS = 16 << 10, 100  # bytes, lines with #: a job's name is read in a millisecond or two
MOST_VERSIONS = 300  # of a user, the newest: as many as `looking` compares with


class User:
    """*lineages*: by what a submission shows; "" for what several show."""

    def __init__(self) -> None:
        self.standings: dict[str, dict[str, Standing]] = {}  # by lineage, by change
        self.earlier: dict[str, Earlier] = {}  # the same, as answers take it
        self.lineages: dict[Hashable, str] = {}

    def show(self, version: Version) -> None:
        """Take down by what submissions of a version's lineage are known."""
        for submission in _shown_by(version):
            self.lineages[submission] = (
                version.lineage if self.lineages.get(submission, version.lineage) == version.lineage else ""
            )


class Learned:
    """*revision*: of the rules and the site that decide now."""

    def __init__(self, revision: Callable[[], bytes]) -> None:
        self._revision = revision
        self._users: dict[int, User] = {}

    def of(self, request: Request, uid: int) -> Earlier | None:
        """Return what is known of the changes of this submission's lineage, None for nothing. Raises nothing."""
        user = self._users.get(uid)
        if user is None:
            return None
        try:
            return self._of(request, user)
        except Exception as error:  # an answer does not depend on what was learnt
            log().error("not known what was learnt", why=cause(error))
            return None

    def _of(self, request: Request, user: User) -> Earlier | None:
        whole = reply.whole(request.submission)
        earlier = user.earlier.get(_lineage(whole, user))
        if earlier is None and _is_long(whole):
            earlier = user.earlier.get(user.lineages.get(("file", whole.scheduler, path_of(whole)), ""))
            return earlier._replace(good={}) if earlier is not None else None
        return earlier._replace(revision=self._revision()) if earlier is not None else None

    def is_new(self, known: Known) -> bool:
        """Return whether that is not held yet."""
        user = self._users.get(known.uid)
        held = user.standings.get(known.lineage, {}).get(known.change) if user is not None else None
        return held is None or held.written() != known.standing

    def learn(self, uid: int, known: Iterable[Known], versions: Sequence[Version]) -> None:
        """Hold how a user's changes stand now. *versions*: of his, the newest first."""
        user = self._users.setdefault(uid, User())
        for change in known:
            standing = Standing.read(change.standing)
            user.standings.setdefault(change.lineage, {})[change.change] = standing
            user.earlier[change.lineage] = _earlier(user.standings[change.lineage])
        for version in versions[:MOST_VERSIONS]:
            user.show(version)

    def version(self, version: Version) -> None:
        """Take notice of a new version."""
        user = self._users.get(version.uid)
        if user is not None:
            user.show(version)

    def clear(self) -> None:
        """Forget everything."""
        self._users.clear()

    def __len__(self) -> int:
        return len(self._users)


def _lineage(whole: Submission, user: User) -> str:
    """Return the lineage, "" where it is not known. Reading the job's name takes longest, and comes last."""
    by_script = user.lineages.get(("script", whole.scheduler, hashlib.sha256(whole.script or b"").hexdigest()))
    if by_script is not None or _is_long(whole):
        return by_script or ""
    place = place_of(whole)
    for submission in _of_place(whole.scheduler, place, place.named):
        if submission in user.lineages:
            return user.lineages[submission]
    return ""


def _is_long(whole: Submission) -> bool:
    script = whole.script or b""
    return len(script) > MOST_READ or script.count(b"\n#") + len(whole.argv) > MOST_COMMENTS


def _earlier(standings: dict[str, Standing]) -> Earlier:
    good = {change: Good(standing.ran, standing.grounds) for change, standing in standings.items() if standing.is_good}
    return Earlier(good, {change: standing.failed for change, standing in standings.items() if standing.is_out})


def _shown_by(version: Version) -> list[Hashable]:
    place = Place(version.path, version.name, True, version.cwd)
    shown: list[Hashable] = [("script", version.scheduler, version.script_hash)]
    if version.path:
        shown.append(("file", version.scheduler, version.path))
    return shown + _of_place(version.scheduler, place, True)


def _of_place(scheduler: str, place: Place, named: bool) -> list[Hashable]:
    """Return by what a place is known, what says most first."""
    by_path: list[Hashable] = [("path", scheduler, place.path, place.name)] if place.path else []
    return by_path + ([("name", scheduler, place.name, place.cwd)] if named else [])


class Standing(NamedTuple):
    """*ran*: the last job that ran well with the change, on these *grounds*; *failed*: the one that failed with it."""

    state: State = "new"
    ran: str = ""
    grounds: str = ""
    failed: str = ""

    @staticmethod
    def read(text: str) -> Standing:
        """Return what was `written`; what cannot be read, of a later Maple perhaps, is new."""
        try:
            made = Standing(*json.loads(text))
        except (ValueError, TypeError, RecursionError):
            return Standing()
        is_whole = all(isinstance(part, str) for part in made) and made.state in get_args(State)
        return made if is_whole and made.written() == text else Standing()

    def written(self) -> str:
        """Return it as one text."""
        return json.dumps(list(self))

    @property
    def is_out(self) -> bool:
        """Whether the change is neither made nor offered."""
        return self.state in ("taken-back", "kept-out")

    @property
    def is_good(self) -> bool:
        """Whether what the user said yes to is made without asking."""
        return self.state in ("good", "cleared") and bool(self.ran)


class Trial(NamedTuple):
    """A job that ended, of a submission for which a change was proposed. *changed*: it was made."""

    job: str
    changed: bool
    ended: Ended
    grounds: str = ""


def after(standing: Standing, trial: Trial) -> Standing:
    """Return the standing after a job has ended."""
    if standing.state == "kept-out" or not trial.ended:
        return standing
    if not trial.changed:
        if standing.state != "taken-back":
            return standing
        return standing._replace(state="kept-out" if trial.ended == "ran" else "cleared")
    if trial.ended == "ran":
        state: State = "good" if standing.state in ("new", "good") else "cleared"
        return standing._replace(state=state, ran=trial.job, grounds=trial.grounds)
    if standing.state in ("new", "good"):
        return standing._replace(state="taken-back", failed=trial.job)
    return standing


def trial_of(record: Record, script_hash: str) -> Trial | None:
    """Return what a record with its outcome tells of the change that was proposed, None for nothing.

    *script_hash*: of the script as it was written, "" where its version is gone.
    """
    changed = was_changed(record, script_hash)
    if not record.change or record.outcome is None or changed is None:
        return None
    return Trial(record.job, changed, how_ended(record.outcome), record.grounds)


def was_changed(record: Record, script_hash: str) -> bool | None:
    """Return whether the job is the changed one, None where that is not known exactly.

    What the scheduler has counts most: the hash of the job's script, else its last line, which only a changed one has.
    """
    outcome = record.outcome
    ran = outcome.script_hash if outcome is not None else ""
    if record.verdict in MADE:
        return True if not ran or not record.submitted_hash or is_hash_of(ran, record.submitted_hash) else None
    if is_hash_of(ran, record.offered_hash):
        return True
    if ran:
        return False if script_hash and is_hash_of(ran, script_hash) and record.offered_hash != script_hash else None
    if record.offered_hash:
        return True if outcome is not None and outcome.record == record.id else None
    return False


def how_ended(outcome: Outcome) -> Ended:
    """Return "ran" for a launch that held, "failed" for one that did not, "" where the end says nothing of it."""
    if outcome.state == "completed":
        return "ran"
    if outcome.started is None or outcome.ended is None or outcome.state == "unknown":
        return ""
    seconds = outcome.ended - outcome.started
    if seconds >= LONG:
        return "ran"
    at_once = 0 <= seconds <= AT_LAUNCH and outcome.state in ("failed", "out-of-memory")
    return "failed" if at_once and not _by_hand(outcome) else ""


def _by_hand(outcome: Outcome) -> bool:
    """A shell says a signal that ended its last command as 128 and the signal's number."""
    if outcome.state == "out-of-memory":
        return False
    code = outcome.exit_code or 0
    return (outcome.signal or 0) in _BY_HAND or code - 128 in _BY_HAND or (code == 0 and not outcome.signal)
