"""Which model is asked about a failure, if any: as for `maple new`, by `--model`, the environment or `model.toml`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

from maple_submit_filter.answer.decision import Decision
from maple_submit_filter.answer.report import printable

from ...ask.models.protocol import Limit, Message, Model, Schema
from ...base.complaint import Complaint
from ...templates.knowledge.entries import Entry
from ..values import Diagnosis, Digest


def advised_by_choice(
    diagnosis: Diagnosis, digest: Digest, decision: Decision | None, known: Mapping[str, Entry], named: str | None
) -> Diagnosis:
    """Return *diagnosis* with what the model that is set makes of it; what was in its way is a note.

    *named*: the `--model` of the command; "off" and "none" are no model. Raises `Complaint` where it names none that
    there can be.
    """
    from ...ask.models.choosing import choose
    from ...ask.models.protocol import ModelError

    try:
        choice = choose("none" if named == "off" else named or "")
    except ModelError as error:
        if named:
            raise Complaint("--model: %s" % error) from error
        return _noted(diagnosis, ["%s; diagnosed without a model" % error])  # a setting that nobody asked for here
    if choice is None:
        return diagnosis
    from ..documents.found import nearest
    from .advising import SURE, advised

    notes: list[str] = []
    close = nearest(diagnosis, known) if diagnosis.causes[0].cause == "unknown" else ()
    model = Announced(choice.model)
    found = advised(diagnosis, digest, decision, known, model, choice.limit, nearest=close, tell=notes.append)
    if named and not model.asked and diagnosis.causes[0].cause != "none":
        notes.append("the model was not asked: %s" % (
            "the rules are sure" if diagnosis.causes[0].confidence >= SURE else "there is no line to show it"
        ))  # fmt: skip
    return _noted(found, notes)


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
            said = "maple: asking the model %s, which may take %g s%s" % (self.name, limit.seconds, loaded)
            print(printable(said), file=sys.stderr, flush=True)
        return self._model.answer(messages, schema, limit)


def _noted(diagnosis: Diagnosis, notes: list[str]) -> Diagnosis:
    return replace(diagnosis, case=replace(diagnosis.case, notes=(*diagnosis.case.notes, *notes)))
