"""Jobs that the controller has forgotten, from the accounting; a cluster may have none."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..commands import Said
from ..errors import SchedulerError
from ..protocol import Job, JobState
from . import tables as slurm_tables
from .errors import slurm_refusal
from .jobs import job_of

_FIELDS = {
    "JobID": "id",
    "JobName": "name",
    "User": "user",
    "State": "state",
    "Reason": "reason",
    "Partition": "partition",
    "Account": "account",
    "NodeList": "nodes",
    "WorkDir": "work_dir",
    "Submit": "submitted",
    "Start": "started",
    "End": "ended",
    "ExitCode": "exit_code",
    "Comment": "comment",
    "StdOut": "stdout",  # since 24.05
    "StdErr": "stderr",
    "SubmitLine": "submit_line",
}


_NONE = "accounting storage is disabled"  # 25.11 says so only here; before, --helpformat failed


class Accounting:
    """sacct, asked through *run*, which takes a command and its words."""

    def __init__(self, run: Callable[[str, Sequence[str]], Said]) -> None:
        self._run = run
        self._known: dict[str, str] | None = None

    def jobs(self, ids: Sequence[str]) -> list[Job]:
        """Return the jobs and tasks among *ids* that it remembers; none where there is no accounting.

        Raises `SchedulerError` where there is one that does not answer.
        """
        fields = self._fields()
        if not fields:
            return []
        separator = slurm_tables.mark()
        words = ["-X", "-n", "-p", "--delimiter=" + separator, "-j", ",".join(ids), "--format=" + ",".join(fields)]
        said = self._run("sacct", words)
        if said.code and _NONE in said.err.lower():
            self._known = {}
            return []
        if said.code:
            raise slurm_refusal("asking sacct", said)
        return [job_of(row, {}) for row in slurm_tables.parsable(said.out, list(fields.values()), separator)]

    def besides(self, found: Sequence[Job], missing: Sequence[str]) -> list[Job]:
        """Return the jobs among *missing* that it remembers, of which the controller, who knows *found*, has none.

        Where it does not answer, and *found* holds any, each of them is in a state that nobody knows.
        """
        try:
            return self.jobs(missing) if missing else []
        except SchedulerError:
            if not found:
                raise
            return [Job(one, JobState.UNKNOWN) for one in missing]

    def _fields(self) -> dict[str, str]:
        """Return the fields of ours that this sacct knows, asked once."""
        if self._known is None:
            known = self._help()
            self._known = {name: field for name, field in _FIELDS.items() if name in known}
        return self._known

    def _help(self) -> set[str]:
        try:
            said = self._run("sacct", ["--helpformat"])
        except SchedulerError as error:
            if error.transient:
                raise
            return set()  # no such command
        return set() if said.code else set(said.out.split())
