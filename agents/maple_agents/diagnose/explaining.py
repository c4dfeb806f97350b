"""The way of a diagnosis at the edge: evidence found, logs read, script decided on, causes, cures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from maple_submit_filter.answer.decision import Decision, decide
from maple_submit_filter.host.bounded_file import read_file

from ..templates.knowledge import anchors, entries
from .advise.chosen import advised_by_choice
from .diagnosing import diagnose
from .earlier_cases_kept import with_cases
from .values import Case, Cited, Diagnosis


def case_of(
    job: str | None,
    logs: Sequence[str],
    script: str | None,
    site_id: str | None,
    words: Sequence[str],
    state: str | None,
    exit_code: int | None,
) -> Case:
    """Return what is to be explained, by job id or from files. Raises `Complaint` where nothing can be found."""
    from .gather import by_files, by_job
    from .gather.log_of_job import with_submitted

    if job is None:
        case = by_files(logs, script, site_id, words, state, exit_code)
        return case if script is not None else with_submitted(case, logs, site_id)
    return by_job(job, logs=logs, script=script, site_id=site_id, words=words)


def explained(case: Case, model: str | None = None) -> Diagnosis:
    """Return why the job failed, and what would cure it. Logs and files are read here, as the user."""
    from .fix import cures
    from .read import read

    known = entries()
    digest = read(case.logs, anchors(known))
    decision = decided(case)

    def finished(found: Diagnosis) -> Diagnosis:
        found = replace(found, cures=cures(found, digest, decision, known))
        found = replace(found, cited=_cited(found))
        return advised_by_choice(found, digest, decision, known, model)

    return with_cases(diagnose(case, digest, decision, known), finished)


def _cited(found: Diagnosis) -> tuple[Cited, ...]:
    from .documents.found import cited

    return cited(found)


def decided(case: Case) -> Decision | None:
    """Return what `decide` says of the script as it was submitted, None where there is none.

    Files that the script names are read only where the job is one's own: root would read what its owner may not.
    """
    if case.asked is None or case.asked.script is None:
        return None
    return decide(case.asked, case.site, read_file if case.asked.uid == os.getuid() else None)
