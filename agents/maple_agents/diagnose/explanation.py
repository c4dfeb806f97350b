"""The way of a diagnosis at the edge: evidence found, logs read, script decided on, causes, cures."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

from maple_submit_filter.answer.decision import Decision, decide
from maple_submit_filter.answer.report import printable
from maple_submit_filter.host.bounded_file import read_file

from ..ask.models.protocol import Limit, Message, Model, Schema
from ..base.complaint import Complaint
from ..templates.knowledge import anchors, entries
from ..templates.knowledge.entries import Entry
from .diagnosis import diagnose
from .earlier_cases import with_cases
from .values import Case, Cited, Diagnosis, Digest


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
    from .gather.which_job import with_submitted

    if job is None:
        case = by_files(logs, script, site_id, words, state, exit_code)
        return case if script is not None else with_submitted(case, logs, site_id)
    return by_job(job, logs=logs, script=script, site_id=site_id, words=words)


def explained(case: Case, model: str | None = None) -> Diagnosis:
    """Return why the job failed, and what would cure it. Logs and files are read here, as the user."""
    from .fix import cures
    from .fix.script_places import script_places
    from .read import read

    known = entries()
    digest = read(case.logs, anchors(known))
    decision = decided(case)

    def finished(diagnosis: Diagnosis) -> Diagnosis:
        diagnosis = replace(diagnosis, cures=cures(diagnosis, digest, decision, known))
        diagnosis = replace(diagnosis, script=script_places(diagnosis))
        diagnosis = replace(diagnosis, cited=_cited(diagnosis))
        return advised_by_choice(diagnosis, digest, decision, known, model)

    return with_cases(diagnose(case, digest, decision, known), finished)


def _cited(diagnosis: Diagnosis) -> tuple[Cited, ...]:
    from .documents import folders

    if not folders.any_kept():  # to search them takes more to load than a log takes to read
        return ()
    from .documents.search import cited

    return cited(diagnosis)


def decided(case: Case) -> Decision | None:
    """Return what `decide` says of the script as it was submitted, None where there is none.

    Files that the script names are read only where the job is one's own: root would read what its owner may not.
    """
    if case.asked is None or case.asked.script is None:
        return None
    own = read_file if case.asked.uid == os.getuid() else None
    return decide(case.asked, case.site, own, own)


# Which model is asked about a failure, if any: as for `maple new`, by `--model`, the environment or `model.toml`.


def advised_by_choice(
    diagnosis: Diagnosis, digest: Digest, decision: Decision | None, known: Mapping[str, Entry], named: str | None
) -> Diagnosis:
    """Return *diagnosis* with what the model that is set makes of it; what was in its way is a note.

    *named*: the `--model` of the command; "off" and "none" are no model. Raises `Complaint` where it names none that
    there can be.
    """
    from ..ask.models.choice import choose
    from ..ask.models.protocol import ModelError

    try:
        choice = choose("none" if named == "off" else named or "")
    except ModelError as error:
        if named:
            raise Complaint("--model: %s" % error) from error
        return _noted(diagnosis, ["%s; diagnosed without a model" % error])  # a setting that nobody asked for here
    if choice is None:
        return diagnosis
    from .advise.model_advice import advised, sure
    from .documents.search import nearest

    notes: list[str] = []
    close = nearest(diagnosis, known) if diagnosis.causes[0].cause == "unknown" else ()
    model = Announced(choice.model)
    result = advised(diagnosis, digest, decision, known, model, choice.limit, nearest=close, tell=notes.append)
    if named and not model.asked and diagnosis.causes[0].cause != "none":
        notes.append("the model was not asked: %s" % (
            "the rules are sure" if sure(diagnosis.causes[0]) else "there is no line to show it"
        ))  # fmt: skip
    return _noted(result, notes)


class Announced:
    """A model that says on a terminal when it is asked, and how long that may take: nobody likes to guess."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.asked = False

    @property
    def name(self) -> str:
        """The name of the model behind it."""
        return self._model.name

    def answer(self, messages: Sequence[Message], schema: Schema, limit: Limit = Limit()) -> object:  # noqa: B008
        """See `Model.answer`."""
        self.asked = True
        if sys.stderr is not None and sys.stderr.isatty():
            loaded = "" if "://" in self.name else ", once it is loaded"
            line = "maple: asking the model %s, which may take %g s%s" % (self.name, limit.seconds, loaded)
            print(printable(line), file=sys.stderr, flush=True)
        return self._model.answer(messages, schema, limit)


def _noted(diagnosis: Diagnosis, notes: list[str]) -> Diagnosis:
    return replace(diagnosis, case=replace(diagnosis.case, notes=(*diagnosis.case.notes, *notes)))
