"""A text with its labels while it is put together: parts of text, each of one slot or of none."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from typing import NamedTuple

from tests.tagger.values import Values

_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_PLACE = re.compile(r"\{(~?)(\w+)\}")
ASIDE = "X"


class Part(NamedTuple):
    """*label*: the slot that the text fills, "" where it fills none."""

    text: str
    label: str = ""


Marked = tuple[Part, ...]


def filled(template: str, values: Values, aside: bool = False) -> Marked:
    """Return a template with its choices taken and its places filled; *aside*: nothing of it speaks of this job."""
    template = chosen(template, values.chance).replace("\\n", "\n")
    found, at = [], 0
    for place in _PLACE.finditer(template):
        found.append(Part(template[at : place.start()]))
        found.append(Part(values.of(place[2]), "" if place[1] else _label(place[2])))
        at = place.end()
    found.append(Part(template[at:]))
    if aside:
        return tuple(Part(part.text, ASIDE) for part in found if part.text)
    return tuple(part for part in found if part.text)


def _label(name: str) -> str:
    return {"venv": "environment", "venvdir": "environment", "hours": "walltime", "minutes": "walltime"}.get(name, name)


def chosen(template: str, chance: random.Random) -> str:
    """Return a template with one of each choice taken."""
    while True:
        found = _CHOICE.search(template)
        if found is None:
            return template
        template = template[: found.start()] + chance.choice(found[1].split("|")) + template[found.end() :]


def joined(parts: Iterable[Marked | str]) -> Marked:
    """Return marked texts and plain ones as one."""
    found: list[Part] = []
    for part in parts:
        found += [Part(part)] if isinstance(part, str) else part
    return tuple(part for part in found if part.text)


def only_aside(marked: Marked) -> Marked:
    """Return a marked text of which nothing holds any more."""
    return tuple(Part(part.text, ASIDE if part.label else "") for part in marked)


def text_of(marked: Marked) -> str:
    """Return the text alone."""
    return "".join(part.text for part in marked)
