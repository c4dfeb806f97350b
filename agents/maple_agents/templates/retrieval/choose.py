"""The paradigm that a request describes: exact slots first, then search over what the repository says of each.

What the request says nothing of is not guessed: then the answer is None, and the model's memory decides elsewhere.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Literal, NamedTuple

from ...base.slots import Slots
from . import described, fts
from .embedder import Unavailable
from .index import by_words_alone
from .judging import Judge, Judged
from .minilm import configured
from .passages import Passage

if TYPE_CHECKING:
    from ..cluster import Cluster

By = Literal["slots", "words", "words and meaning"]
FEWEST = 2  # words that tell something; of fewer nothing is concluded
ENOUGH = 0.85  # below this score nothing fits; of 75 held-out requests that describe no paradigm 1 got past it
SURE = 0.99  # words alone that are so sure need no model, whose loading takes seconds


class Choice(NamedTuple):
    """The paradigm that fits best. *score*: how sure, 0 to 1. *by*: what told it. *because*: shown to people.

    *note*: what limits the answer ("found by words alone …"), "" where nothing does.
    """

    paradigm: str
    score: float
    by: By
    because: str
    note: str = ""


def choose(text: str, slots: Slots, cluster: Cluster | None = None, judge: Judge | None = None) -> Choice | None:
    """Return the paradigm that *text* describes, None where it describes none that *cluster* can start.

    *slots*: what was read from *text* already; those words are not searched with. A paradigm that was said decides, and
    a launcher that one paradigm has; a paradigm that was said and is unknown is never exchanged for one that looks like
    it. *judge*: searches in place of the installed one. Raises `ValueError` where a file of the repository is wrong.
    """
    if "paradigm" in slots:
        said = slots.text("paradigm")
        return Choice(said, 1.0, "slots", "the request says so") if said in described.load() else None
    launcher = slots.text("launcher")
    name = described.owner(described.load(), launcher)
    if name:
        return Choice(name, 1.0, "slots", "the launcher %s" % launcher)
    found = search(unread(text, slots), judge or installed())
    return found if found and (cluster is None or _starts(found.paradigm, cluster)) else None


def search(text: str, judge: Judge) -> Choice | None:
    """Return the paradigm that *text* describes, by search alone; None where none fits."""
    if len(fts.words(text)) < FEWEST:
        return None
    found = judge.judged(text, meaning=False)
    if found.score < SURE and not judge.note:
        found = judge.judged(text)
    if found.score < ENOUGH or found.passage is None:
        return None
    return Choice(found.order[0], found.score, found.by, _because(found, found.passage), judge.note)


def unread(text: str, slots: Slots) -> str:
    """Return *text* with blanks in place of the words that slots were read from."""
    letters = list(text)
    for slot in slots.values():
        if slot.origin.by == "request":
            letters[slot.origin.start : slot.origin.end] = " " * len(letters[slot.origin.start : slot.origin.end])
    return "".join(letters)


@functools.lru_cache(maxsize=1)
def installed() -> Judge:
    """Return the judge of the repository with the embedder that is installed, made once. Loads no model yet."""
    try:
        return Judge(described.load(), configured())
    except Unavailable as error:
        return Judge(described.load(), note=by_words_alone(error))


def _starts(paradigm: str, cluster: Cluster) -> bool:
    """Tell whether the repository has a launch line for it there."""
    from .. import catalogue

    return bool(catalogue.fitting(described.load()[paradigm], cluster.site, cluster.file))


def _because(found: Judged, passage: Passage) -> str:
    shown = passage.text if len(passage.text) <= 100 else passage.text[:99].rsplit(" ", 1)[0] + " …"
    return 'fits "%s" (%s), found by %s' % (shown, passage.source, found.by)
