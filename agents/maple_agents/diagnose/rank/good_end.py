"""Whether a log tells of a run that ended well: what of a good end is a program's word, and what only its script's."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from ...templates.knowledge.entries import Fact
from ..read import bare
from ..read.progress import is_of_work, is_stamp, is_sure_end
from ..recognise.log_facts import ENDINGS
from ..values import Cause, Digest, Event, Place, Severity
from .ranking import Ranked, of_earlier_run, said_to_have_ended, survived

_LAUNCHER_SAID = re.compile(r"^(?:srun|mpirun|mpiexec|prterun): (?:error|fatal): |^\[(?:mpiexec|proxy)\S*@")
_STATUS = re.compile(r"(?i)\b0\b|success")
LAST = 5  # ordinary lines that a script may still say after its program was said to have died


def none(digest: Digest, given: Mapping[str, Fact]) -> Cause:
    """Return that nothing went wrong; only a sign of a good end makes that a success."""
    word = digest.ended_well or digest.planned
    if not word and given.get("job.state") != "completed":
        return Cause(
            "",
            "none",
            "no failure is seen: it went on to the end of the log, which does not tell how it ended",
            4.0,
            0.7,
        )
    says = "the job succeeded" + (": “%s”" % word if word else "")
    return Cause("", "none", says, 6.0, 0.9)


def succeeded(given: Mapping[str, Fact], digest: Digest, rows: Sequence[Ranked], harmless: Collection[Place]) -> bool:
    """Return whether nothing went wrong: by the scheduler's word, unless a rank died for good at the log's end."""
    sure = [ranked for ranked in rows if ranked.role == "cause" and ranked.matches and ranked.score >= 6.0]
    state = given.get("job.state")
    if state == "completed":
        return not any(_died(ranked, digest) for ranked in sure)
    if state is None and rows and _meant(rows, digest):
        return True
    if state is not None or rows and not digest.ended_well:
        return False
    if digest.ended_well:
        died = any(_died(ranked, digest) for ranked in sure) or is_stamp(digest.ended_well) and _last(digest, harmless)
        return not (died or _refused(digest, harmless) or _stopped(rows, digest) or _dead_before(digest, harmless))
    return digest.progress > 0 and not any(
        event.severity >= Severity.ERROR and event.place not in harmless and not survived(event, digest)
        for event in digest.events
    )


def _dead_before(digest: Digest, harmless: Collection[Place]) -> bool:
    """Return whether a death stands between the last step and the first word of an end, which then is the script's:
    it says so whatever became of its program. A trainer's own word for its end is none of that.
    """
    closed = digest.closed
    if closed is None or is_sure_end(digest.ended_well):
        return False
    own = (event for event in digest.events if event.place.file == closed.file and event.place not in harmless)
    dead = (event for event in own if (event.last or event.place).line < closed.line and _is_last(event, digest))
    caught = is_of_work(digest.ended_well)  # an exception may be caught, and the program goes on to say that it trained
    step = _last_step(digest, closed.file)
    return any(
        event.severity == Severity.FATAL
        or not caught
        and event.exception
        and event.severity == Severity.ERROR
        and event.place.line > step
        for event in dead
    )


def _last_step(digest: Digest, file: str) -> int:
    """Return the line of *file* that tells of training last, 0 for none."""
    return digest.last_progress.line if digest.last_progress and digest.last_progress.file == file else 0


def _is_last(event: Event, digest: Digest) -> bool:
    """Return whether no more than a script's own words stand behind *event*."""
    return event.behind <= LAST and not survived(event, digest) and not of_earlier_run(event, digest)


def _stopped(rows: Sequence[Ranked], digest: Digest) -> bool:
    """Return whether a cause is said in an error's own words before a bare "done", and no training is seen behind it:
    then the script said so whatever had become of its program.
    """
    end = digest.ended_well
    if _STATUS.search(end) or digest.progress and (is_of_work(end) or is_sure_end(end)):
        return False
    sure = (match.event for row in rows if row.role == "cause" and row.score >= 6.0 for match in row.matches)
    return any(
        event.severity >= Severity.ERROR
        and event.place.line > _last_step(digest, event.place.file)
        and not survived(event, digest)
        for event in sure
    )


def _last(digest: Digest, harmless: Collection[Place]) -> bool:
    """Return whether an error is nearly the last word: a script that then says what time it is says no more."""
    loud = (event for event in digest.events if event.severity >= Severity.ERROR and event.place not in harmless)
    return any(event.behind <= LAST and not survived(event, digest) for event in loud)


def _refused(digest: Digest, harmless: Collection[Place]) -> bool:
    """Return whether a launcher complained, something gave up, or an exception is nearly the last word, and no training
    is seen.

    A script that says that it ended then need not have run anything.
    """
    if digest.progress:
        return False
    loud = (event for event in digest.events if event.severity >= Severity.ERROR and event.place not in harmless)
    return any(
        event.severity == Severity.FATAL
        or _LAUNCHER_SAID.search(bare(event.text))
        or event.exception
        and event.behind <= LAST
        and not survived(event, digest)
        for event in loud
    )


def _meant(rows: Sequence[Ranked], digest: Digest) -> bool:
    """Return whether the scheduler alone ended it, and that was no failure: the log says that it was planned, or goes
    on to a good end behind the word that took the nodes away.
    """
    rows = [row for row in rows if row.cause in ENDINGS or _is_loud(row)] if digest.planned else rows
    if any(row.cause not in ENDINGS for row in rows):
        return False
    if all(row.cause == "time_limit" for row in rows):
        return bool(digest.planned) and not any(
            event.exception and not survived(event, digest) for event in digest.events
        )
    again = all(row.cause == "preempted_or_requeued" for row in rows)
    return (
        again
        and bool(digest.ended_well)
        and all(_went_on(match.event, digest) for row in rows for match in row.matches)
    )


def _is_loud(ranked: Ranked) -> bool:
    """Return whether an error says it, and not only a warning."""
    return any(match.event.severity >= Severity.ERROR for match in ranked.matches) or not ranked.matches


def _went_on(event: Event, digest: Digest) -> bool:
    """Return whether more than a script's own words stand behind *event*: training, or much."""
    last = event.last or event.place
    more = is_sure_end(digest.ended_well) or _last_step(digest, last.file) > last.line
    return event.behind > LAST or bool(event.behind) and more


def _died(ranked: Ranked, digest: Digest) -> bool:
    """Return whether the words stand at the end of what their process said, and are those of an error.

    Where a process is said to have died a few lines may stand behind it, of the script that went on; of an exception
    as well, if they do not say that all is done. A mere complaint must be the last word.
    """
    return any(_ended_there(match.event, digest) for match in ranked.matches)


def _ended_there(event: Event, digest: Digest) -> bool:
    if digest.last_progress is not None and digest.last_progress.file != event.place.file:
        return False  # output and errors are two files, and nobody knows what stands before what
    if event.severity < Severity.ERROR or survived(event, digest) or of_earlier_run(event, digest):
        return False
    died = event.severity == Severity.FATAL or said_to_have_ended(event.last or event.place, digest)
    died = died or bool(event.exception) and (not digest.ended_well or is_stamp(digest.ended_well))
    return event.behind <= (LAST if died else 0)


__all__ = ["LAST", "none", "succeeded"]
