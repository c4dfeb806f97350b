"""What Maple says of a case: the submission as the front would send it, and the decision."""

from __future__ import annotations

import os
from functools import cache
from typing import Mapping, NamedTuple, Optional, Sequence

from maple_agents.ask import sites
from maple_submit_filter.answer.decision import Decision, Rewritten, decide, understood
from maple_submit_filter.host.bounded_file import read_file
from maple_submit_filter.plan.build import plan
from maple_submit_filter.request.pbs import submission as pbs
from maple_submit_filter.request.slurm import submission as slurm
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM, Site
from maple_submit_filter.types.launch_plan import LaunchPlan
from maple_submit_filter.types.submission import Submission

from tests.reality.corpus import GENERIC, Case
from tests.reality.corpus import GENERIC_PBS as GENERIC_PBS_ID

GENERICS = {GENERIC: GENERIC_SLURM, GENERIC_PBS_ID: GENERIC_PBS}
WRAPPED = b"#!/bin/sh\n# This script was created by sbatch --wrap.\n\n"


class Answer(NamedTuple):
    """A decision and the submission it is about."""

    submission: Submission
    decision: Decision

    @property
    def proven(self) -> tuple[str, ...]:
        """Return the codes of the proven findings."""
        return tuple(finding.code for finding in self.decision.findings if finding.proven)

    @property
    def changed(self) -> bool:
        """Return whether another script or another command line would be submitted."""
        new = self.decision.repaired
        return new is not None and (
            new.script not in (None, self.submission.script) or new.argv != self.submission.argv
        )


@cache
def site(name: str) -> Site:
    """Return the site of that id."""
    return GENERICS.get(name) or sites.load(name)


def submission(case: Case, cwd: str, environment: Optional[Mapping[bytes, bytes]] = None) -> Submission:
    """Return the case as it arrives when it is submitted in *cwd*."""
    words = [os.fsencode(word if word != "{}" else case.file_name) for word in case.words]
    if case.scheduler == "pbs":
        return _by_qsub(case, words, cwd, environment)
    came = "wrap" if case.script is None else "stdin" if case.stdin else "file"
    path = os.fsencode(case.file_name) if came == "file" else b""
    return Submission(
        "slurm", (b"sbatch", *words), _script(case), came, path, os.fsencode(cwd), os.getuid(), environment or {}
    )


def _by_qsub(case: Case, words: Sequence[bytes], cwd: str, environment: Optional[Mapping[bytes, bytes]]) -> Submission:
    """The variables are those that the lab's submitter has; its home is called otherwise."""
    said = {os.fsencode(name): os.fsencode(value) for name, value in case.environment if not name.startswith("MAPLE_")}
    login = {b"HOME": b"/home/user", b"USER": b"user", b"LOGNAME": b"user", b"SHELL": b"/bin/bash"}
    own = {**login, **said, **(environment or {})}
    return pbs.submission_from_words((b"qsub", *words), os.fsencode(cwd), own, lambda _: case.script, os.getuid())


def _script(case: Case) -> bytes:
    if case.script is not None:
        return case.script
    command = next(word.split("=", 1)[1] for word in case.words if word.startswith("--wrap="))
    return WRAPPED + command.encode() + b"\n"


def ask(case: Case, cwd: str, environment: Optional[Mapping[bytes, bytes]] = None) -> Answer:
    """Return what Maple decides about the case."""
    asked = submission(case, cwd, environment)
    return Answer(asked, decide(asked, site(case.site), peruse=read_file))


def planned(case: Case, cwd: str) -> LaunchPlan:
    """Return the launch plan of the case as it is submitted in *cwd*."""
    asked = submission(case, cwd)
    if case.scheduler == "pbs":
        job = understood(asked, None)
        assert job is not None, f"{case.name}: qsub would refuse it, so there is nothing to plan"
        script, settings, arguments = job.script, job.settings, job.arguments
    else:  # also a job of several components, which Maple itself leaves alone
        words = slurm.read_argv(asked.argv)
        script = slurm.read_script(asked.script or b"")
        settings, arguments = slurm.settings(words, {}, script), words.args
    return plan(asked, script, settings, site(case.site), arguments, lambda path: _read(cwd, path))


def _read(cwd: str, path: bytes) -> Optional[bytes]:
    try:
        with open(os.path.join(os.fsencode(cwd), path), "rb") as file:
            return file.read(1 << 20)
    except OSError:
        return None


def repaired(case: Case, answer: Answer) -> Case:
    """Return the case as Maple would submit it in its place."""
    return _rewritten(case, answer.decision.repaired)


def offered(case: Case, answer: Answer) -> Case:
    """Return the case as Maple would submit it if every offer were accepted."""
    return _rewritten(case, answer.decision.offered)


def _rewritten(case: Case, new: Optional[Rewritten]) -> Case:
    if new is None:
        return case
    words = tuple(os.fsdecode(word) for word in new.argv[1:])
    words = tuple("{}" if word == case.file_name else word for word in words)
    script = case.script if new.script is None or case.script is None else new.script
    return case.with_script(script, words, f"{case.name}+repaired")
