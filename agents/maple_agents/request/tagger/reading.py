"""What the tagger reads in a request: spans that hold a slot, each in the normal form that the grammar gives it.

The grammar is the normaliser: a span is put into the plainest English phrase for its slot and read. Names that nobody
can know beforehand (accounts, job names, paths) are taken letter by letter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...base.slots import Slots
from .. import site_names, words
from ..language import languages
from .model import ASIDE, OTHER, Tagged, tag

FRAMES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "nodes": ("%s nodes", ("nodes",)),
    "gpus": ("%s GPUs", ("gpus_total",)),
    "gpus_per_node": ("2 nodes, %s GPUs per node", ("gpus_per_node",)),
    "gpus_total": ("%s GPUs in total", ("gpus_total",)),
    "gpu": ("on %s GPUs", ("gpu",)),
    "ranks_per_node": ("2 nodes, %s ranks per node", ("ranks_per_node",)),
    "cpus": ("%s cores per task", ("cpus_per_task",)),
    "memory": ("memory %s", ("memory",)),
    "walltime": ("for %s", ("walltime",)),
    "array": ("as an array %s", ("array",)),
    "dependency": ("after job %s", ("dependency",)),
    "launcher": ("with %s", ("launcher",)),
    "paradigm": ("with %s", ("paradigm",)),
    "model": ("fine-tune a %s model", ("model",)),
    "variables": ("set %s", ("variables",)),
    "container": ("container %s", ("container",)),
    "program": ("run %s", ("program",)),
    "filesystems": ("filesystems %s", ("filesystems",)),
    "site": ("on %s", ("site",)),
}
LETTERS = ("account", "place", "job_name", "output", "mail", "data", "environment", "modules", "arguments", "mail_on")
_JOINTS = frozenset(",;:.")


class Span(NamedTuple):
    """A run of pieces with one label. *text*: as it stands in the request; *margin*: of its least certain piece."""

    label: str
    start: int
    end: int
    text: str
    margin: float


class Tagging(NamedTuple):
    """A span with what it comes to. *value*: in normal form, "" where the grammar makes nothing of it."""

    span: Span
    value: str


class Reading(NamedTuple):
    """All that the tagger reads: what holds a slot, and each piece with its label."""

    taggings: tuple[Tagging, ...]
    pieces: tuple[Tagged, ...]

    def held(self, start: int, end: int) -> tuple[str, float]:
        """Return the label that the characters from *start* to *end* have, and how sure it is; "" where they differ."""
        inside = [tagged for tagged in self.pieces if tagged.piece.start < end and start < tagged.piece.end]
        kinds = {OTHER if tagged.label == ASIDE else tagged.label for tagged in inside}
        return (kinds.pop() if len(kinds) == 1 else "", min((tagged.margin for tagged in inside), default=0.0))


def read(text: str) -> Reading:
    """Return what the tagger reads in *text*."""
    pieces = tag(text)
    english = languages.english(text, ()) if pieces else None
    readings = tuple(Tagging(span, normal(span.label, _in_english(span, english))) for span in spans(text, pieces))
    return Reading(readings, tuple(pieces))


def spans(text: str, pieces: Sequence[Tagged]) -> Iterator[Span]:
    """Yield the runs of pieces that hold a slot."""
    at = 0
    while at < len(pieces):
        last = at
        while last + 1 < len(pieces) and pieces[last + 1].label == pieces[at].label:
            last += 1
        if pieces[at].label not in (OTHER, ASIDE):
            run = [tagged for tagged in pieces[at : last + 1]]
            while len(run) > 1 and run[-1].piece.text in _JOINTS:
                run.pop()
            start, end = run[0].piece.start, run[-1].piece.end
            yield Span(run[0].label, start, end, text[start:end], min(tagged.margin for tagged in run))
        at = last + 1


def _in_english(span: Span, english: languages.Translated | None) -> str:
    if english is None or span.label in LETTERS:
        return span.text
    places = zip(english.text, english.places, strict=False)
    return "".join(sign for sign, place in places if span.start <= place < span.end).strip()


def normal(label: str, text: str) -> str:
    """Return the normal form of what stands in a span of this *label*, "" where it has none."""
    if label in LETTERS:
        return text
    those = site_names.of_files() if label == "site" else ()
    frame, names = FRAMES.get(label, ("", ()))
    slots: Slots = words.read_english(frame % text, those).slots if frame else Slots()
    return next((str(slots[name].value) for name in names if name in slots), "")
