"""Lines that say the same thing: numbers, hashes and times put aside, the numbers that are names of faults kept."""

from __future__ import annotations

import re

from ...base.expressions import needed
from .literals import automaton

# Expressions of many alternatives, tried only where they can match: most lines hold no literal of any alternative.

SHORTEST = 2  # letters of a literal


class Screened:
    """A regular expression whose `search` gives what that of `re` gives, mostly sooner."""

    def __init__(self, pattern: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        self.expression = re.compile(pattern, flags)
        self.any_case = bool(flags & re.I)
        self.literals = needed(pattern, flags, SHORTEST)
        small = {literal.lower() if self.any_case else literal for literal in self.literals}
        self._find = automaton(tuple(sorted(literal.encode() for literal in small))) if small else None

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first match in *text*, None for none."""
        return self.expression.search(text) if self.may_match(text) else None

    def may_match(self, text: str) -> bool:
        """Return False only where nothing in *text* can match."""
        if self._find is None:
            return True
        if self.any_case:
            if not text.isascii():  # letters that are others' small or great ones in no table but that of `re`
                return True
            text = text.lower()
        return bool(self._find(text.encode("utf-8", "surrogatepass")))


_FAULT = (
    r"\b(?:err(?:no|or)?|(?:exit|error|return)?[ _-]?(?:code|status)|exitcode|signal|sig|xid|rc|returned|task)s?"
    r"\b[ \t]*[:=]?[ \t]*\(?"
)
# each alternative begins with a letter of its own, so that all others are passed over; IPv4 is no number of IPv6
_NUMBER = (
    r"0[xX][0-9a-fA-F]+|-\d(?:[\d.,:_Tt-]*\d)?|(?<!IPv)\d(?:[\d.,:_Tt-]*\d)?"
    r"|[a-fA-F](?<=\b[a-fA-F])(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{7,}\b"
)
_NUMBERS = re.compile(_NUMBER)
_FAULTS = Screened(_FAULT, re.I)
_NAMED = re.compile(rf"(?P<fault>{_FAULT})?(?P<number>{_NUMBER})", re.I)
_NAMES = re.compile(r"""'[^']*'|"[^"]*"|\S*[/\\]\S*|\S*[\d#_.:=@]\S*""")
_NAME = re.compile(r"[/\\\d#_.:=@]")
WORDS = 12  # of a shape


def template(text: str) -> str:
    """Return *text* with `#` for its numbers. Exit codes, signals and errno stay: they tell one death from another."""
    return _NAMED.sub(_masked, text) if _FAULTS.may_match(text) else _NUMBERS.sub("#", text)


def shape(text: str) -> str:
    """Return the plain words of *text* alone: what is left where even names are put aside."""
    if "'" in text or '"' in text:  # what is quoted may go over several words
        return " ".join(_NAMES.sub("*", text).split()[:WORDS])
    return " ".join("*" if _NAME.search(word) else word for word in text.split()[:WORDS])


def _masked(match: re.Match[str]) -> str:
    fault = match["fault"] or ""
    if fault and not fault.lower().startswith("task") and re.fullmatch(r"-?\d{1,5}", match["number"]):
        return match[0]
    return fault + "#"
