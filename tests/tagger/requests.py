"""Requests made up by a seed: what a job wants, said in one of the ways in which people say it.

With what belongs to no slot (greetings, data sizes, deadlines), what speaks of earlier jobs, and corrections.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tests.tagger import pasted, spoken
from tests.tagger.marked import ASIDE, Marked, text_of
from tests.tagger.noise import noisy
from tests.tagger.teller import Teller

LABELS = (
    "O",
    ASIDE,
    "nodes",
    "gpus",
    "gpus_per_node",
    "gpus_total",
    "gpu",
    "ranks_per_node",
    "ranks",
    "cpus",
    "memory",
    "walltime",
    "account",
    "place",
    "site",
    "program",
    "arguments",
    "environment",
    "modules",
    "container",
    "variables",
    "filesystems",
    "data",
    "mail",
    "mail_on",
    "array",
    "dependency",
    "job_name",
    "output",
    "launcher",
    "paradigm",
    "model",
)


_SHARE = {"en": 0.55, "de": 0.1, "es": 0.09, "fr": 0.09, "it": 0.07, "zh": 0.1}


class Labelled(NamedTuple):
    """*spans*: where a slot's value stands: its first character, the one behind its last, and the slot."""

    text: str
    spans: tuple[tuple[int, int, str], ...]
    language: str
    way: str


_WAYS: dict[str, tuple[Callable[[Teller], Marked], float]] = {
    "terse": (spoken.terse, 0.26),
    "sentences": (spoken.sentences, 0.3),
    "keys": (spoken.keys, 0.1),
    "mail": (spoken.mail, 0.09),
    "command": (pasted.command, 0.09),
    "directives": (pasted.directives, 0.04),
    "structured": (pasted.structured, 0.05),
    "mixture": (spoken.mixture, 0.08),
    "reply": (spoken.reply, 0.04),
    "dialogue": (spoken.dialogue, 0.05),
}


def requests(count: int, seed: int) -> Iterator[Labelled]:
    """Yield *count* requests; the same ones for the same *seed*."""
    for number in range(count):
        yield request(random.Random(seed * 1_000_003 + number))


def request(chance: random.Random) -> Labelled:
    """Return one request."""
    language = chance.choices(list(_SHARE), list(_SHARE.values()))[0]
    teller = Teller(chance, language)
    way = chance.choices(list(_WAYS), [weight for _, weight in _WAYS.values()])[0]
    marked = noisy(_WAYS[way][0](teller), chance)
    spans, at = [], 0
    for part in marked:
        if part.label:
            spans.append((at, at + len(part.text), part.label))
        at += len(part.text)
    return Labelled(text_of(marked), tuple(spans), language, way)


def labels(text: str, spans: Sequence[tuple[int, int, str]], places: Sequence[tuple[int, int]]) -> list[str]:
    """Return the label of each piece of *text* that stands at *places*."""
    by_sign = ["O"] * (len(text) + 1)
    for start, end, label in spans:
        by_sign[start:end] = [label] * (end - start)
    return [by_sign[start] for start, _ in places]


def main() -> None:
    """Print some, to be read."""
    for one in requests(40, 1):
        print("%s %s: %r" % (one.language, one.way, one.text))
        print("    ", ["%s=%s" % (label, one.text[start:end]) for start, end, label in one.spans])


if __name__ == "__main__":
    main()
