"""Lines that say the same thing: numbers, hashes and times put aside, the numbers that are names of faults kept."""

from __future__ import annotations

import re

_NUMBER = re.compile(
    r"(?P<fault>\b(?:err(?:no|or)?|(?:exit|error|return)?[ _-]?(?:code|status)|exitcode|signal|sig|xid|rc"
    r"|returned|task)s?"
    r"\b[ \t]*[:=]?[ \t]*\(?)?"
    r"(?P<number>0x[0-9a-fA-F]+|-?\d[\d.,:_T-]*\d|-?\d|\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b)",
    re.I,
)
_NAMES = re.compile(r"""'[^']*'|"[^"]*"|\S*[/\\]\S*|\S*[\d#_.:=@]\S*""")


def template(text: str) -> str:
    """Return *text* with `#` for its numbers. Exit codes, signals and errno stay: they tell one death from another."""
    return _NUMBER.sub(_masked, text)


def shape(text: str) -> str:
    """Return the plain words of *text* alone: what is left where even names are put aside."""
    return " ".join(_NAMES.sub("*", text).split()[:12])


def _masked(found: re.Match[str]) -> str:
    fault = found["fault"] or ""
    if fault and not fault.lower().startswith("task") and re.fullmatch(r"-?\d{1,5}", found["number"]):
        return found[0]
    return fault + "#"
