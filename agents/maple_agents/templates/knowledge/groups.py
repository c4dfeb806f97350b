"""Lists that many entries share, said once: `[groups]` of any file of the knowledge base, referred to as "@name"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .conditions import Wanted
from .entries import Entry

_NAME = re.compile(r"@([a-z][a-z0-9-]*)\Z")
Groups = Mapping[str, Sequence[str]]


def expanded(entry: Entry, groups: Groups) -> Entry:
    """Return *entry* with the words of each group in place of its name. Raises `ValueError` for a name of none."""
    told = {
        "match": _words(entry.match, groups),
        "without": _words(entry.without, groups),
        "explains": _words(entry.explains, groups),
        "needs": _condition(entry.needs, groups),
        "confirms": [_condition(one, groups) for one in entry.confirms],
        "excludes": [_condition(one, groups) for one in entry.excludes],
    }
    changed = {key: value for key, value in told.items() if value != getattr(entry, key)}
    return Entry.model_validate({**entry.model_dump(), **changed}) if changed else entry


def _words(words: Sequence[str], groups: Groups) -> list[str]:
    """Return each word once, in the order in which it is first said."""
    return list(dict.fromkeys(one for word in words for one in _meant(word, groups)))


def _meant(word: str, groups: Groups) -> Sequence[str]:
    name = _NAME.match(word)
    if name is None:
        return (word,)
    if name[1] not in groups:
        raise ValueError(
            "there is no group %s; there are %s" % (word, ", ".join("@" + one for one in groups) or "none")
        )
    return groups[name[1]]


def _condition(condition: Mapping[str, Wanted], groups: Groups) -> dict[str, Wanted]:
    return {name: _wanted(wanted, groups) for name, wanted in condition.items()}


def _wanted(wanted: Wanted, groups: Groups) -> Wanted:
    if not isinstance(wanted, list) or not all(isinstance(one, str) for one in wanted):
        return wanted
    told: list[str | int] = [*_words([one for one in wanted if isinstance(one, str)], groups)]
    return told
