"""What remembers: one Protocol, SQLite and PostgreSQL behind it. SQL stands in this package only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from maple_agents.forecast.runs import Run, RunSum
from maple_submit_filter.types.job_records import Outcome, Reached, Record, Version

NOBODY = -1  # the uid of users whom this host does not know
LEAST_USERS = 3  # that sums are told over, whatever is set: of two, each would know the other


class StoreError(Exception):
    """The store cannot be used now (locked, full, corrupt, gone): answers go on without memory. One line."""


class NotKept(StoreError):
    """This one thing cannot be kept (a text or number that the store has no form for); the store itself is well."""


class Caps(NamedTuple):
    """What is kept at most. *days*: since a version was last submitted; *bytes*: of the whole store."""

    days: int = 180
    versions_of_user: int = 5_000
    records_of_user: int = 50_000
    bytes: int = 2 << 30
    decisions_of_user: int = 20_000


BETWEEN = "+"  # the codes of one submission


class Counted(NamedTuple):
    """A site-wide number without any user in it: how many submissions had these findings, and how those jobs ended."""

    day: str  # YYYY-MM-DD, UTC
    code: str  # of the rules that spoke, all of one submission together ("MPL203+MPL301"); "" none did
    partition: str
    verdict: str
    state: str  # of the outcome, "" not known
    jobs: int


class Due(NamedTuple):
    """A joined submission whose job has ended. *counted*: the state that it was counted with, "" not yet.

    *text*: the record as it was read, so that nobody's later word about it is overwritten.
    """

    record: Record
    counted: str
    text: str


class Known(NamedTuple):
    """How a change of a user's lineage stands; *standing*: as `learning.Standing` is written."""

    uid: int
    lineage: str
    change: str
    at: float
    standing: str


class Candidate(NamedTuple):
    """How jobs ended for which a rule changed something, over all users; no user is in it.

    *fact*: the template revision or site key that spoke with the rule, "" for none. *users*: how many.
    """

    code: str
    fact: str
    users: int
    ran: int
    failed: int


class Gone(NamedTuple):
    """What a purge removed, in rows."""

    versions: int
    records: int
    decisions: int


class Store(Protocol):
    """Everything raises `StoreError`. Every question names the uid that asks, and answers nothing of another's."""

    def decision(self, key: bytes, uid: int) -> bytes | None:
        """Return what was decided of exactly this submission, None where that is not known."""

    def keep_decision(self, key: bytes, uid: int, learnt: bytes, at: float) -> None:
        """Remember a decision; the key holds the revision of site and rules."""

    def newest_decisions(self, limit: int) -> list[tuple[int, bytes]]:
        """Return uid and bytes of the decisions that were kept last, of all users, for the service itself."""

    def keep_version(self, version: Version) -> None:
        """Remember a version; one of the same id is left as it is."""

    def renew_version(self, version: Version) -> bool:
        """Put what is known of a version now in place of what was; False: this uid has none of that id."""

    def version(self, uid: int, version: str) -> Version | None:
        """Return a user's version of that id."""

    def versions(self, uid: int, lineage: str = "", limit: int = 100) -> list[Version]:
        """Return a user's versions, the newest first, of one lineage or of all; what cannot be read is left out."""

    def keep_record(self, record: Record) -> None:
        """Remember a submission, and count it; one that is there already is neither kept nor counted again."""

    def keep_records(self, records: Sequence[Record]) -> None:
        """Remember submissions at once, as `keep_record` does each; one that cannot be kept costs no other its place.

        Raises `NotKept` where there is such a one, once the others are kept.
        """

    def move_record(self, record: str, uid: int, version: str) -> bool:
        """Say that a submission was of another version; False: there is no such record of this uid."""

    def records(
        self, uid: int, version: str = "", job: str = "", limit: int = 100, server: bool = True
    ) -> list[Record]:
        """Return a user's submissions with their outcomes, the newest first.

        *server* False: *job* leaves out the server of PBS, `141` for `141.pbs01`, and that alone is looked for.
        """

    def unjoined(self, since: float, uid: int | None = None) -> list[Record]:
        """Return submissions whose job is not known, oldest first; *uid* None: of all, for the service itself."""

    def join(self, record: str, uid: int, job: str, how: str) -> bool:
        """Say which job a record became.

        False: there is no such record of this uid, it is joined already, or the job belongs to another of his records.
        """

    def keep_outcomes(self, outcomes: Iterable[Outcome]) -> int:
        """Remember how jobs ended, also of jobs that no record is joined to yet; return how many jobs were new.

        A later word about a job stands in place of an earlier one. One that has no form in the store is left out.
        """

    def keep_reached(self, uid: int, reached: Reached) -> bool:
        """Remember how far a run came, in place of what was known; False: this uid has no such record with a job."""

    def unended(self, limit: int = 1000) -> list[Record]:
        """Return joined submissions that are not known to have ended, oldest first, for the service itself."""

    def joined(self, limit: int = 200) -> list[Record]:
        """Return the newest submissions of all users whose job is known, for the service itself."""

    def due(self, limit: int = 1000) -> list[Due]:
        """Return submissions whose job has ended since they were counted, oldest first, for the service itself."""

    def settle(self, due: Due, ended: str, verdict: str = "") -> bool:
        """Count how a submission's job ended, in place of how it was counted before; False: somebody else did.

        *ended*: "ran", "failed" or "", of a job that a change was made for: that is counted by rule and user.
        *verdict*: what the submission's turns out to have been, "" for what it was.
        """

    def standing(self, uid: int, lineage: str, change: str) -> str:
        """Return how a change of a user's lineage stands, "" where nothing is known."""

    def keep_standing(self, known: Known, before: str) -> bool:
        """Remember how a change stands now; False: it does not stand as *before* any more."""

    def standings(self, since: float = 0.0) -> list[Known]:
        """Return how changes of all users stand, of those that were kept since, for the service itself."""

    def candidates(self, users: int) -> list[Candidate]:
        """Return how rules did over all users, of what so many users, but three at least, have in common."""

    def ended(self, states: Sequence[str], since: float, limit: int) -> list[Outcome]:
        """Return ends of all users in these states, those that were last first, for the service itself.

        An end whose time nobody told stands at the time when it was heard, and has no start then.
        """

    def unrecorded(self, uid: int, limit: int = 100) -> list[Outcome]:
        """Return ends of a user's jobs that no submission of his became, those that were last first."""

    def keep_cause(self, uid: int, job: str, cause: str, at: float) -> bool:
        """Remember the class of failure that a user's own process read in a job's logs, in place of an earlier word.

        False: this uid has neither a submission nor an end of that job. *job* may leave out the server of PBS.
        """

    def causes(self, since: float) -> dict[tuple[str, int], str]:
        """Return the classes that were told since, by job and uid, for the service itself."""

    def keep_told(self, job: str, uid: int, at: float) -> bool:
        """Remember that a user was told of the end of a job; False: that is known already."""

    def notices(self, since: float) -> list[tuple[str, int, float]]:
        """Return job, uid and time of ends that users were told of since, for the service itself."""

    def keep_runs(self, runs: Iterable[tuple[int, Run]]) -> int:
        """Remember what jobs of these uids asked for and used, and return how many were taken, known ones too.

        One that is there is told anew, and what is not told now stays. *uid* `NOBODY`: of a user unknown here.
        """

    def runs(self, uid: int, name: str = "", limit: int = 200) -> list[Run]:
        """Return a user's ended runs, of one job name or of all, the newest end first; nothing for `NOBODY`."""

    def last_runs(self, limit: int) -> list[tuple[int, Run]]:
        """Return the last whole run of each job name of each user, the newest first, for the service itself."""

    def newest_runs(self, limit: int) -> list[tuple[int, Run]]:
        """Return the runs of all known users that ended last, for the service itself."""

    def run_count(self) -> int:
        """Return how many runs are kept, of all users."""

    def run_sums(self) -> list[RunSum]:
        """Return what all runs came to, of those ends that three users at least have in common."""

    def purges(self) -> int:
        """Return how often a user was purged: whoever holds something in memory looks whether it is to be forgotten."""

    def count(self, rows: Iterable[Counted]) -> None:
        """Add to the site-wide numbers."""

    def counted(self, since: str = "") -> list[Counted]:
        """Return the site-wide numbers since a day."""

    def purge(self, now: float, caps: Caps, uid: int | None = None) -> Gone:
        """Remove what is too old or too much; *uid*: everything of that user instead."""

    def check(self) -> list[str]:
        """Return what is wrong with the store, [] for nothing."""

    def backup(self, path: str) -> None:
        """Write a whole copy that can be put in its place; *path* must not exist."""

    def close(self) -> None:
        """Let go of files and connections."""
