"""The template repository as passages: what it says of each paradigm, and of the launchers that one paradigm has.

Models are no passages: their names tell nothing of how a training is divided.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...ask.sites import launch_templates as templates
from .. import paradigms
from ..paradigms import Paradigm
from .passages import Passage

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
    """Return every paradigm of the repository by its name. Raises `ValueError` where a file is wrong."""
    return {name: paradigms.load(name) for name in paradigms.names()}


def whole(every: Mapping[str, Paradigm]) -> list[Passage]:
    """Return one passage for each paradigm: all that is said of it."""
    return [_passage(name, "", one.title, " ".join([*_sentences(one), _phrases(one)])) for name, one in every.items()]


def parts(every: Mapping[str, Paradigm]) -> list[Passage]:
    """Return each sentence and each phrase as a passage, and the reason of each launch line that tells a paradigm."""
    found = [part for name, one in every.items() for part in _of(name, one)]
    owners = {one.when.launcher: owner(every, one.when.launcher) for one in templates.load()}
    for one in templates.load():
        name = owners[one.when.launcher]
        if name:
            source = "%s/%s.toml" % (templates.FOLDER, one.name)
            found.append(_passage(name, "launch/" + one.name, "", one.why, source))
    return found


def others() -> list[Passage]:
    """Return what speaks for no paradigm."""
    return [Passage("#%d" % number, "", text, "other", "") for number, text in enumerate(OTHERS)]


def paradigm_of(passage: Passage) -> str:
    """Return the name of the paradigm that a passage speaks of, "" where it speaks of none."""
    return passage.id.partition("#")[0]


def owner(every: Mapping[str, Paradigm], launcher: str) -> str:
    """Return the one paradigm that *launcher* stands for: none has it earlier in its list. "" where several do."""
    places = {name: list(one.launchers).index(launcher) for name, one in every.items() if launcher in one.launchers}
    first = [name for name, place in places.items() if place == min(places.values())]
    return first[0] if len(first) == 1 else ""


def _of(name: str, one: Paradigm) -> Iterator[Passage]:
    for number, text in enumerate([*_sentences(one), _phrases(one)]):
        yield _passage(name, "said/%d" % number, one.title, text)
    for number, text in enumerate(one.phrases):
        yield _passage(name, "phrase/%d" % number, "", text)


def _sentences(one: Paradigm) -> list[str]:
    return [one.says, *one.described]


def _phrases(one: Paradigm) -> str:
    return ", ".join(one.phrases)


def _passage(name: str, part: str, title: str, text: str, source: str = "") -> Passage:
    where = source or "templates/%s/%s.toml" % (paradigms.KIND, name)
    return Passage("%s#%s" % (name, part), title, " ".join(text.split()), "paradigm", where)
