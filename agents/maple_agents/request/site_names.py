"""What clusters and their centres are called, by the heads of the site files.

Whether an everyday word is a cluster's name: "vista" in "FSDP, vista, 4 nodes", not in "the vista from here".
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import tomllib
from maple_submit_filter.host import places

from .language.vocabulary import listed, texts
from .language.words import CLOCK, NAME, NUMBER, NUMERALS, SIGN, WORD, Token


class SiteNames(NamedTuple):
    """The names of a cluster. *id*: of its site file. *account_shapes*: expressions that its accounts match."""

    id: str
    name: str
    center: str = ""
    aliases: tuple[str, ...] = ()
    account_shapes: tuple[str, ...] = ()


@cache
def of_files() -> tuple[SiteNames, ...]:
    """Return the names in every site file in force. Only the head of a file is read: the tables are not needed."""
    sites: dict[str, SiteNames] = {}
    for folder in places.folders("site_configs"):
        for name in sorted(os.listdir(folder)):
            if name.endswith(".toml") and name not in ("example.toml", "generic-slurm.toml", "generic-pbs.toml"):
                site_names = _head(os.path.join(folder, name))
                if site_names is not None:
                    sites.setdefault(site_names.id, site_names)
    return tuple(sites.values())


def _head(path: str) -> SiteNames | None:
    try:
        with open(path, encoding="utf-8") as file:
            table = tomllib.loads(re.split(r"(?m)^\[", file.read(20000), maxsplit=1)[0])
        aliases, shapes = (tuple(table.get(name, ())) for name in ("aliases", "account_shapes"))
        return SiteNames(table["id"], table["name"], table.get("center", ""), aliases, shapes)
    except (OSError, ValueError, KeyError):
        return None


@cache
def centers() -> frozenset[str]:
    """Return the words that centres go by: ncsa, tacc, purdue."""
    return frozenset(site_names.center.split()[0].lower() for site_names in of_files() if site_names.center)


_WORDS = texts("everyday_names")
COMMON_WORDS = listed(_WORDS["common"])
_SHORT = ("pm", "ex")  # "5 pm", "my ex": these need more around them
_CUES = listed(_WORDS["cues"]) | centers()
_WEAK_CUES = listed(_WORDS["weak_cues"])  # they stand before any noun: "for aurora images", "use delta updates"
_CUES_BEHIND = listed(_WORDS["cues_behind"])
_NOT_BEHIND = listed(_WORDS["not_behind"])
_NAMED = listed(_WORDS["named"])
_UNITS = listed(_WORDS["units"])
_COUNTED = _UNITS | listed(_WORDS["counted"])
_PLACES = listed(_WORDS["places"])
_KEYS = _PLACES | listed(_WORDS["keys"])
_OTHER_KEYS = listed(_WORDS["other_keys"])
_PARTS = listed(_WORDS["parts"])
_WELL_KNOWN = listed(texts("places")["well_known"])
_FUNCTION_WORDS = listed(_WORDS["function_words"])


def stands_as_name(words: Sequence[Token], at: int, taken: int, name: str, capital: bool) -> bool:
    """Tell whether the everyday word *name*, *taken* words from *at* on, is a cluster's name here.

    It is by a word that leads to a place ("on delta", "delta cluster"), by its capital, and where it is an item of
    its own in a list of what the job wants. *capital*: whether it is written with one.
    """
    before = words[at - 1] if at else None
    behind = words[at + taken] if at + taken < len(words) else None
    key_time = [word.lex for word in words[at + taken :][:1]] == ["time"] and any(
        word.kind != WORD for word in words[at + taken + 1 :][:1]
    )  # "delta time 01:00:00"
    if behind is not None and behind.lex in _NOT_BEHIND and not key_time or _of_another_key(words, at):
        return False
    if name in _SHORT:
        return _stands_short(words, at, taken)
    if behind is not None and behind.lex in _CUES_BEHIND:
        return True
    if capital and not (at == 0 or words[at - 1].lex == "."):
        return True  # a sentence begins with a capital whatever its first word is
    if before is not None and (before.lex in _CUES or before.text in (":", "=", "@")):
        return before.lex not in _WEAK_CUES or _leads(words, at) and _ends(words, at + taken)
    return _begins(words, at) and _ends(words, at + taken)


def stands_elsewhere(words: Sequence[Token], at: int, taken: int) -> bool:
    """Tell whether the name of a cluster that no file describes is said as one."""
    before = words[at - 1].lex if at else ""
    behind = words[at + taken].lex if at + taken < len(words) else ""
    led = before in ("on", "at", "cluster", "for", "to", ":", "=", "@", "site") and behind not in _NOT_BEHIND
    return (led or behind in ("cluster", "supercomputer")) and not _of_another_key(words, at)


def _stands_short(words: Sequence[Token], at: int, taken: int) -> bool:
    before = words[at - 1].lex if at else ""
    if at > 1 and words[at - 2].kind == NUMBER or at and words[at - 1].kind == NUMBER:
        return False
    if before in ("on", "cluster", "site", ":", "=", "@", "for", "at"):
        return True
    behind = words[at + taken].lex if at + taken < len(words) else ""
    return before in _NAMED and _ends(words, at + taken) or at == 0 and behind in _NAMED


def _of_another_key(words: Sequence[Token], at: int) -> bool:
    """Tell whether the word is the value of a key that names no cluster: "dataset: aurora"."""
    return at > 1 and words[at - 1].lex in (":", "=") and words[at - 2].lex in _OTHER_KEYS


def _leads(words: Sequence[Token], at: int) -> bool:
    """Tell whether the word before may lead to a place: "of" only behind what a cluster has ("2 nodes of aurora")."""
    return words[at - 1].lex != "of" or at < 2 or words[at - 2].lex in _PARTS


def _begins(words: Sequence[Token], at: int) -> bool:
    """Tell whether an item of a list may begin here: behind a sign, a name, an amount, or the value of a key."""
    if at == 0 or words[at - 1].kind in (SIGN, NAME, CLOCK) or words[at - 1].lex in _UNITS:
        return True
    if (
        words[at - 1].text in COMMON_WORDS
        or at > 1
        and words[at - 1].lex == "or"
        and words[at - 2].text in COMMON_WORDS
    ):
        return True
    return at > 1 and words[at - 2].lex in _PLACES | {"time", "walltime", "node", "gpu", ":", "="}


def _ends(words: Sequence[Token], after: int) -> bool:
    """Tell whether the item ends before the word at *after*: a sign, a value, a key, a word that is no noun follows."""
    if after >= len(words):
        return True
    word, following = words[after], words[after + 1].lex if after + 1 < len(words) else ""
    if word.kind == NAME and word.text[0].isdigit():
        return False  # "delta 1e-4"
    if word.kind in (SIGN, NAME, CLOCK) or word.lex in _KEYS | _FUNCTION_WORDS or word.text in COMMON_WORDS:
        return True
    if word.kind == NUMBER or word.text in NUMERALS:
        return following in _COUNTED
    return following in _PLACES or word.lex in ("time", "gpu") or word.text in _WELL_KNOWN
