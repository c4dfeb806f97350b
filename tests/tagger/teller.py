"""One person with one job: which slots are said, and each of them as that person says it."""

from __future__ import annotations

import random

from tests.tagger.marked import Marked, Part, chosen, filled, joined, only_aside
from tests.tagger.phrases import phrases
from tests.tagger.values import Values

_COMMON = {
    "walltime": 0.85,
    "account": 0.7,
    "place": 0.6,
    "program": 0.8,
    "arguments": 0.12,
    "paradigm": 0.35,
    "launcher": 0.2,
    "model": 0.25,
    "gpu": 0.25,
    "environment": 0.25,
    "modules": 0.18,
    "container": 0.14,
    "cpus": 0.18,
    "memory": 0.18,
    "mail": 0.14,
    "array": 0.11,
    "dependency": 0.08,
    "job_name": 0.15,
    "output": 0.12,
    "variables": 0.14,
    "filesystems": 0.07,
    "data": 0.14,
    "site": 0.22,
    "ranks_per_node": 0.13,
    "ranks": 0.08,
}


CORRECTED = (
    "nodes",
    "gpus",
    "gpus_per_node",
    "walltime",
    "account",
    "place",
    "memory",
    "cpus",
    "gpu",
    "job_name",
    "environment",
    "array",
)


class Teller:
    """One person with one job: which slots are said, and the phrases of the language."""

    def __init__(self, chance: random.Random, language: str) -> None:
        self.chance, self.language = chance, language
        self.values = Values(chance, language)
        self.phrases = phrases(language)
        self.slots = self._slots()

    def _slots(self) -> list[str]:
        share = self.chance.choice([0.5, 0.8, 1.0, 1.0, 1.5, 2.5])
        found = [
            slot for slot, often in _COMMON.items() if self.chance.random() < (often if often > 0.5 else often * share)
        ]
        size = self.chance.choices(
            [["shape"], ["nodes"], ["nodes", "gpus_per_node"], ["gpus"], ["nodes", "gpus"], ["gpus_total"], []],
            [0.2, 0.26, 0.2, 0.2, 0.04, 0.06, 0.04],
        )[0]
        found += size
        self.chance.shuffle(found)
        if self.chance.random() < 0.6:  # the program first or last
            for slot in ("program", "model"):
                if slot in found:
                    found.remove(slot)
                    found.insert(0 if self.chance.random() < 0.75 else len(found), slot)
        return self._neighbours(found)

    def _neighbours(self, found: list[str]) -> list[str]:
        for first, second in (("nodes", "gpus_per_node"), ("program", "arguments")):
            if first in found and second in found and self.chance.random() < 0.85:
                found.remove(second)
                found.insert(found.index(first) + 1, second)
        return found

    def fragment(self, kind: str, slot: str) -> Marked:
        """Return a slot said in a piece of a list ("terse") or of a sentence ("clause"), at times corrected."""
        table = self.phrases[kind]
        if self.language != "en" and kind == "terse" and self.chance.random() < 0.3:
            table = phrases("en")["terse"]
        template = self.chance.choice(table[slot] if slot in table else self.phrases["terse"][slot])
        said = _apart(filled(template, self.values))
        return self._corrected(said, slot) if slot in CORRECTED and self.chance.random() < 0.07 else said

    def _corrected(self, said: Marked, slot: str) -> Marked:
        """Return *said* taken back, and another value in its place, with its unit or without."""
        template = chosen(self.chance.choice(self.phrases["said"]["correction"]), self.chance)
        new: Marked = (Part(self.values.of(slot), slot),)
        if self.chance.random() < 0.4:
            new = filled(self.chance.choice(self.phrases["terse"][slot]), self.values)
        pieces = template.replace("{old}", "\0o\0").replace("{new}", "\0n\0").split("\0")
        return joined(only_aside(said) if one == "o" else new if one == "n" else one for one in pieces)

    def said(self, kind: str) -> Marked:
        """Return a sentence that fills no slot: "start", "end", "chat", "aside"."""
        template = self.chance.choice(self.phrases["said"][kind])
        return filled(template, self.values, aside=kind == "aside")

    def joint(self) -> str:
        """Return what stands between two parts of a sentence."""
        return self.chance.choice(self.phrases["said"]["joint"])

    def key(self, slot: str) -> Marked:
        """Return a slot as "key: value"."""
        keys = self.phrases["key"]
        name = self.chance.choice(keys[slot]) if slot in keys else slot
        name = self.chance.choice(
            [name, name, name, name.capitalize(), name.title(), name.upper(), name.replace(" ", "_"), "**%s**" % name]
        )
        sign = self.sign(len(name))
        value: Marked = (Part(self.values.of(slot), slot),)
        if slot in ("nodes", "gpus", "cpus") and self.chance.random() < 0.1:
            value = filled(self.chance.choice(self.phrases["terse"][slot]), self.values)
        return joined([name + sign, value])

    def sign(self, length: int) -> str:
        """Return what stands between a key of *length* and its value."""
        leader = self.chance.choice("....-_ ") * max(2, 20 - length)
        usual = [
            ": ",
            ": ",
            ": ",
            "=",
            " = ",
            ":",
            " - ",
            " ",
            "\t",
            " : ",
            " -> ",
            " is ",
            " := ",
            " => ",
            ":\t",
            "\n",
            ": ",
            "? ",
        ]
        return " %s " % leader if self.chance.random() < 0.08 else self.chance.choice(usual)

    def keyed(self) -> list[str]:
        """Return the slots as keys can say them."""
        flat = [one for slot in self.slots for one in (("nodes", "gpus_per_node") if slot == "shape" else (slot,))]
        return flat + (["mail_on"] if "mail" in flat and self.chance.random() < 0.4 else [])

    def sometimes(self, often: float, kind: str, joint: str = " ") -> Marked:
        """Return a sentence that fills no slot, or nothing."""
        return joined([self.said(kind), joint]) if self.chance.random() < often else ()


def _apart(said: Marked) -> Marked:
    """Return *said* with a blank behind a number in letters: "two nodes", never "twonodes"."""
    found = []
    for at, part in enumerate(said):
        before = said[at - 1] if at else Part("")
        glued = before.label and before.text[-1:].isascii() and before.text[-1:].isalpha() and part.text[:1].isalpha()
        found.append(
            part._replace(text=" " + part.text) if glued and not part.label and part.text not in ("s", "x") else part
        )
    return tuple(found)
