"""The paradigm that a request describes: exact slots first, then search over what the repository says of each.

What the request says nothing of is not guessed: then the answer is None, and the model's memory decides elsewhere.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from ...base.slots import Slots
from .index import by_words_alone, search_words
from .minilm import configured
from .passages import Passage, Unavailable

if TYPE_CHECKING:
    from ..cluster import Cluster
from collections.abc import Iterable, Iterator, Mapping

from ...ask.sites import launch_templates as templates
from .. import paradigms
from ..paradigms import Paradigm
from .index import Curve, Curves, FusedIndex
from .passages import Embedder
from .vectors import Recent

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
        named = slots.text("paradigm")
        return Choice(named, 1.0, "slots", "the request says so") if named in load() else None
    launcher = slots.text("launcher")
    name = owner(load(), launcher)
    if name:
        return Choice(name, 1.0, "slots", "the launcher %s" % launcher)
    choice = search(unread(text, slots), judge or installed())
    return choice if choice and (cluster is None or _starts(choice.paradigm, cluster)) else None


_SENTENCES = re.compile(r"(?<=[.!?;])\s+|\n+")


def search(text: str, judge: Judge) -> Choice | None:
    """Return the paradigm that *text* describes, by search alone; None where none fits.

    A sentence of it has to say so by itself: a signature and a list's numbers describe nothing.
    """
    choice = _found(text, judge)
    if choice is None:
        return None
    sentences = [part for part in _SENTENCES.split(text) if part.strip()]
    by_one = len(sentences) < 2 or any(
        own.paradigm == choice.paradigm for part in sentences if (own := _found(part, judge))
    )
    return choice if by_one else None


def _found(text: str, judge: Judge) -> Choice | None:
    if len(search_words(text)) < FEWEST:
        return None
    judged = judge.judged(text, meaning=False)
    if judged.score < SURE and not judge.note:
        judged = judge.judged(text)
    if judged.score < ENOUGH or judged.passage is None:
        return None
    return Choice(judged.order[0], judged.score, judged.by, _because(judged, judged.passage), judge.note)


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
        return Judge(load(), configured())
    except Unavailable as error:
        return Judge(load(), note=by_words_alone(error))


def _starts(paradigm: str, cluster: Cluster) -> bool:
    """Tell whether the repository has a launch line for it there."""
    from .. import catalogue

    return bool(catalogue.fitting(load()[paradigm], cluster.site, cluster.file))


def _because(judged: Judged, passage: Passage) -> str:
    shown = passage.text if len(passage.text) <= 100 else passage.text[:99].rsplit(" ", 1)[0] + " …"
    return 'fits "%s" (%s), found by %s' % (shown, passage.source, judged.by)


# How well each paradigm fits a text: what every ranking says of it, weighed.
#
# Two indexes are asked, one of whole descriptions and one of their sentences and phrases, each by words and by meaning.
# A paradigm has of each ranking the value of its best passage. A third has what other requests are about: what is more
# like those describes no paradigm.

ByWords = Literal["words", "words and meaning"]
RANKINGS = ("meaning of parts", "meaning of all", "words of parts", "words of all")
AGAINST = ("meaning of others", "words of others")

# Fitted by tests/bench/retrieval_curves.py on one half of tests/cases/retrieval; the other half judges the fit.
CURVES = Curves(
    both=Curve(
        dict(zip(RANKINGS, (17.3, 13.5, 0.49, 0.754))), -5.04, 0.514, 0.131, against=dict(zip(AGAINST, (7.66, 0.349)))
    ),
    words=Curve(dict(zip(RANKINGS[2:], (0.794, 0.669))), -3.72, 0.88, -0.212, against={AGAINST[1]: 0.58}),
)


class Judged(NamedTuple):
    """The paradigms, the best first, and how sure the best is. *passage*: what spoke most for it; None: nothing."""

    order: tuple[str, ...]
    score: float
    passage: Passage | None
    by: ByWords


class Judge:
    """The descriptions of some paradigms, ready to be searched."""

    def __init__(self, every: Mapping[str, Paradigm], embedder: Embedder | None = None, note: str = "") -> None:
        """*note*: why there is no embedder."""
        passages = {"parts": parts(every), "all": whole(every), "others": others()}
        self._names = tuple(every)
        self._words = {of: FusedIndex(some, note=note) for of, some in passages.items()}
        recent = Recent(embedder) if embedder else None
        self._both = {of: FusedIndex(some, recent) for of, some in passages.items()} if recent else self._words

    @property
    def note(self) -> str:
        """What limits the judgement, "" where nothing does."""
        return next((index.note for index in self._both.values() if index.note), "")

    def judged(self, text: str, *, meaning: bool = True) -> Judged:
        """Return how well every paradigm fits. *meaning* False: by words alone, for which nothing is loaded."""
        rows = list(self._found(text, meaning))
        whole = meaning and not self.note
        curve = CURVES.both if whole else CURVES.words
        values = _values(rows)
        evidence = {name: curve.evidence(values.get(name, {})) for name in self._names}
        order = sorted(self._names, key=lambda name: -evidence[name])
        first, second = [*(evidence[name] for name in order), 0.0, 0.0][:2]
        others = values.get("", {})
        of_best = [row for row in rows if order and paradigm_of(row[1]) == order[0]]
        spoke = max(of_best, key=lambda row: curve.evidence({row[0]: row[2]}), default=None)
        by: ByWords = "words and meaning" if whole else "words"
        return Judged(tuple(order), curve.score(first, second, others), spoke[1] if spoke else None, by)

    def values(self, text: str, *, meaning: bool = True) -> dict[str, dict[str, float]]:
        """Return by paradigm its best passage's value in each of `RANKINGS`; under "" that in each of `AGAINST`."""
        return _values(self._found(text, meaning))

    def _found(self, text: str, meaning: bool) -> Iterator[tuple[str, Passage, float]]:
        """Yield the ranking, the passage and its value there, for every passage that was found."""
        for of, index in (self._both if meaning else self._words).items():
            for hit in index.search(text, len(index)):
                yield from (("%s of %s" % (rank.by, of), hit.passage, rank.value) for rank in hit.ranks)


def _values(rows: Iterable[tuple[str, Passage, float]]) -> dict[str, dict[str, float]]:
    values: dict[str, dict[str, float]] = {}
    for ranking, passage, value in rows:
        of = values.setdefault(paradigm_of(passage), {})
        of[ranking] = max(value, of.get(ranking, value))
    return values


# The template repository as passages: what it says of each paradigm, and of the launchers that one paradigm has.
#
# Models are no passages: their names tell nothing of how a training is divided.

# What requests are about that describe no paradigm: what they are more like than any description is not one.
OTHERS = (
    "Train a neural network on some nodes of the cluster.",
    "Fine-tune a model on several GPUs for some hours.",
    "Write a batch script that starts a training program.",
    "A job with nodes, GPUs, wall time, account, partition and queue.",
    "Download a pretrained model or a data set from the Hugging Face hub.",
    "The data set is stored in shards, files or a folder on scratch.",
    "Training options: learning rate, batch size, epochs, checkpoints, precision.",
    "Inference or evaluation of a language model.",
    "Multi-GPU and multi-node training in general.",
    "A model with billions of parameters needs many GPUs.",
    "Prepare and preprocess the data before training.",
    "Software environment: conda, modules, containers, Python and PyTorch versions.",
    "A simulation or calculation in physics, chemistry, biology or engineering.",
    "A question about the cluster, files, jobs or the queue.",
    "Something that has nothing to do with computing.",
)


def load() -> dict[str, Paradigm]:
    """Return every paradigm that a description may mean, by its name; what nothing describes is said, never guessed.

    Raises `ValueError` where a file is wrong.
    """
    every = {name: paradigms.load(name) for name in paradigms.names()}
    return {name: paradigm for name, paradigm in every.items() if paradigm.described}


def whole(every: Mapping[str, Paradigm]) -> list[Passage]:
    """Return one passage for each paradigm: all that is said of it."""
    return [
        _passage(name, "", paradigm.title, " ".join([*_sentences(paradigm), _phrases(paradigm)]))
        for name, paradigm in every.items()
    ]


def parts(every: Mapping[str, Paradigm]) -> list[Passage]:
    """Return each sentence and each phrase as a passage, and the reason of each launch line that tells a paradigm."""
    passages = [part for name, paradigm in every.items() for part in _of(name, paradigm)]
    owners = {file.when.launcher: owner(every, file.when.launcher) for file in templates.load()}
    for launch_file in templates.load():
        name = owners[launch_file.when.launcher]
        if name:
            source = "%s/%s.toml" % (templates.FOLDER, launch_file.name)
            passages.append(_passage(name, "launch/" + launch_file.name, "", launch_file.why, source))
    return passages


def others() -> list[Passage]:
    """Return what speaks for no paradigm."""
    return [Passage("#%d" % number, "", text, "other", "") for number, text in enumerate(OTHERS)]


def paradigm_of(passage: Passage) -> str:
    """Return the name of the paradigm that a passage speaks of, "" where it speaks of none."""
    return passage.id.partition("#")[0]


def owner(every: Mapping[str, Paradigm], launcher: str) -> str:
    """Return the one paradigm that *launcher* stands for: none has it earlier in its list. "" where several do."""
    places = {
        name: list(paradigm.launchers).index(launcher)
        for name, paradigm in every.items()
        if launcher in paradigm.launchers
    }
    first = [name for name, place in places.items() if place == min(places.values())]
    return first[0] if len(first) == 1 else ""


def _of(name: str, paradigm: Paradigm) -> Iterator[Passage]:
    for number, text in enumerate([*_sentences(paradigm), _phrases(paradigm)]):
        yield _passage(name, "said/%d" % number, paradigm.title, text)
    for number, text in enumerate(paradigm.phrases):
        yield _passage(name, "phrase/%d" % number, "", text)


def _sentences(paradigm: Paradigm) -> list[str]:
    return [paradigm.says, *paradigm.described]


def _phrases(paradigm: Paradigm) -> str:
    return ", ".join(paradigm.phrases)


def _passage(name: str, part: str, title: str, text: str, source: str = "") -> Passage:
    where = source or "templates/%s/%s.toml" % (paradigms.KIND, name)
    return Passage("%s#%s" % (name, part), title, " ".join(text.split()), "paradigm", where)
