"""Which model is asked about a failure, if any: as for `maple new`, by `--model`, the environment or `model.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from maple_submit_filter.decide import Decision

from ..cli.complaint import Complaint
from .knowledge.entries import Entry
from .values import Diagnosis, Digest


def advised_by_choice(
    diagnosis: Diagnosis, digest: Digest, decision: Decision | None, known: Mapping[str, Entry], named: str | None
) -> Diagnosis:
    """Return *diagnosis* with what the model that is set makes of it; what was in its way is a note.

    *named*: the `--model` of the command; "off" and "none" are no model. Raises `Complaint` where it names none that
    there can be.
    """
    from ..models.choosing import choose
    from ..models.protocol import ModelError

    try:
        choice = choose("none" if named == "off" else named or "")
    except ModelError as error:
        if named:
            raise Complaint("--model: %s" % error) from error
        return _noted(diagnosis, ["%s; diagnosed without a model" % error])  # a setting that nobody asked for here
    if choice is None:
        return diagnosis
    from .advising import advised
    from .documents_found import nearest

    notes: list[str] = []
    close = nearest(diagnosis, known) if diagnosis.causes[0].cause == "unknown" else ()
    found = advised(
        diagnosis, digest, decision, known, choice.model, choice.limit, nearest=close, tell=notes.append
    )  # fmt: skip
    return _noted(found, notes)


def _noted(diagnosis: Diagnosis, notes: list[str]) -> Diagnosis:
    return replace(diagnosis, case=replace(diagnosis.case, notes=(*diagnosis.case.notes, *notes)))
