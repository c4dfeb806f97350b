"""The words behind a program: options with their values, overrides of the form a.b=c, and whether more may follow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from maple_submit_filter.types.text import NUL

from . import names

_OVERRIDE = re.compile(r"(\+{0,2})([A-Za-z_][\w./@-]*)=(.*)", re.DOTALL)
_OPTION = re.compile(r"(--?[A-Za-z][\w.-]*)(?:=(.*))?", re.DOTALL)
_SWEEPS = (b"-m", b"--multirun")  # of Hydra: no value, and values with commas behind it are several
_NEGATIVE = re.compile(r"-(?:\d|\.\d)")


class Argument(NamedTuple):
    """*name*: as written, "" of a positional word. *value*: "" of a flag, None unknown. *at*: index of its word.

    *form*: "option", "override" (a.b=c) or "word".
    """

    name: str
    value: str | None
    at: int
    form: str


class Arguments(NamedTuple):
    """*open_at*: index of the last word that may be any number of words; what stands before it may be overruled."""

    all: tuple[Argument, ...]
    open_at: int = -1

    def sure(self) -> list[Argument]:
        """Return those that nothing unknown can overrule."""
        return [one for one in self.all if one.at > self.open_at]

    @property
    def is_open(self) -> bool:
        """Whether an option may be there that is not seen."""
        return self.open_at >= 0


def arguments(words: Sequence[bytes]) -> Arguments:
    """Return the words behind a program taken apart; a word with a token of an unknown value is unknown."""
    found: list[Argument] = []
    open_at, at = -1, 0
    while at < len(words):
        one = _argument(words, at)
        if one.value is None and (one.form == "word" or _is_flag(one, words[at])):
            open_at = at
        found.append(one)
        taken = one.form == "option" and one.value != "" and b"=" not in words[at]
        at += 2 if taken else 1
    return Arguments(tuple(found), open_at)


def _is_flag(one: Argument, word: bytes) -> bool:
    """Return whether a name takes no value, so that the unknown word behind it is one of its own."""
    what = names.known(one.name) if b"=" not in word else None
    return one.form == "option" and what is not None and bool(what.fixed)


def _argument(words: Sequence[bytes], at: int) -> Argument:
    text = _text(words[at])
    head = text if text is not None else _text(words[at].split(b"=", 1)[0] + b"=") if b"=" in words[at] else None
    option = _OPTION.fullmatch(head) if head else None
    if option is not None and option[2] is None:
        return Argument(option[1], _following(words, at), at, "option")
    override = _OVERRIDE.fullmatch(head) if head else None
    if option is None and override is None:
        return Argument("", text, at, "word")
    name, value = (option[1], option[2]) if option is not None else (override[2], override[3]) if override else ("", "")
    return Argument(name, value if text is not None else None, at, "option" if option is not None else "override")


def _following(words: Sequence[bytes], at: int) -> str | None:
    """Return the value behind an option, "" where the next word is an option or an override of its own."""
    if at + 1 >= len(words):
        return ""
    text = _text(words[at + 1])
    if text is None:
        return None
    if words[at] in _SWEEPS and _OVERRIDE.fullmatch(text):
        return ""
    is_value = not text.startswith("-") or bool(_NEGATIVE.match(text))
    return text if is_value and text else ""


def _text(word: bytes) -> str | None:
    return word.decode("utf-8", "replace") if NUL not in word else None
