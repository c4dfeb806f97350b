"""Lines that say the same thing: numbers, hashes and times put aside, the numbers that are names of faults kept."""

from __future__ import annotations

import re

from .screening import Screened

_FAULT = (
    r"\b(?:err(?:no|or)?|(?:exit|error|return)?[ _-]?(?:code|status)|exitcode|signal|sig|xid|rc|returned|task)s?"
    r"\b[ \t]*[:=]?[ \t]*\(?"
)
# each alternative begins with a letter of its own, so that all others are passed over
_NUMBER = (
    r"0[xX][0-9a-fA-F]+|-\d(?:[\d.,:_Tt-]*\d)?|\d(?:[\d.,:_Tt-]*\d)?"
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


def _masked(found: re.Match[str]) -> str:
    fault = found["fault"] or ""
    if fault and not fault.lower().startswith("task") and re.fullmatch(r"-?\d{1,5}", found["number"]):
        return found[0]
    return fault + "#"
