"""What the end of a job says of the change that it was submitted with. Values in, values out.

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

import json
from typing import Literal, NamedTuple, get_args

from maple_submit_filter.types.job_records import Outcome, Record

from ..outcomes.join import is_hash_of

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


class Standing(NamedTuple):
    """*ran*: the last job that ran well with the change, on these *grounds*; *failed*: the one that failed with it."""

    state: State = "new"
    ran: str = ""
    grounds: str = ""
    failed: str = ""

    @staticmethod
    def read(told: str) -> Standing:
        """Return what was `written`; what cannot be read, of a later Maple perhaps, is new."""
        try:
            made = Standing(*json.loads(told))
        except (ValueError, TypeError, RecursionError):
            return Standing()
        is_whole = all(isinstance(one, str) for one in made) and made.state in get_args(State)
        return made if is_whole and made.written() == told else Standing()

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
