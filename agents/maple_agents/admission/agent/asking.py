"""The agent asked: three samples for what the readers left empty, and what of them is believed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ...ask.models.protocol import Limit, Model
from . import remembered
from .folder import Folder
from .judge import believed
from .remembered import Found
from .samples import Claim, sample

SAMPLES = 3
USUAL = Limit()


class Answer(NamedTuple):
    """*claims* that hold, *asked*: the names that were asked for; *calls* of the model; *found*: to remember."""

    claims: tuple[Claim, ...]
    asked: tuple[str, ...]
    calls: int
    found: Found
    wrong: tuple[str, ...] = ()


def ask(
    model: Model | None, top: str, script: str, known: Iterable[str], before: Found, limit: Limit = USUAL
) -> Answer:
    """Return what is known of a job beyond what the readers *know*. *top*: its own folder; *before*: of the last time.

    Without a model, what was found before and still holds. Raises nothing that a model or a file could cause.
    """
    folder = Folder(top)
    wanted = remembered.to_ask(known, before, folder, script)
    if model is None or not wanted:
        return Answer(tuple(claim for claim, _ in remembered.still(before, folder)), (), 0, before)
    samples = [sample(model, folder, wanted, limit) for _ in range(SAMPLES)]
    claims = believed([each.claims for each in samples], folder.seen, wanted)
    found = remembered.found(claims, wanted, before, folder, script)
    wrong = tuple(dict.fromkeys(each.wrong for each in samples if each.wrong))
    return Answer(tuple(claim for claim, _ in found.claims), wanted, sum(each.asked for each in samples), found, wrong)
