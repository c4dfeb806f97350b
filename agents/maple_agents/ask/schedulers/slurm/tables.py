"""Tables that Slurm's commands print in a form of our choice, read without guessing.

The fields are separated by a mark drawn for each call, so no job name, comment or path can look like a separator. Each
record begins with the mark as well: what stands between two records (headings, line ends) belongs to none.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence


def mark() -> str:
    """Return a new separator: printable, without a percent sign, and known to nobody before."""
    return "<%s>" % secrets.token_hex(8)


def form(fields: Sequence[str], separator: str) -> str:
    """Return the format (`squeue -o`, `sinfo -o`) that prints *fields*, each a letter like `%i`."""
    return separator + "".join(one + separator for one in fields) + "."


def rows(text: str, names: Sequence[str], separator: str) -> list[dict[str, str]]:
    """Return the records of *text* by the names of their fields."""
    pieces = text.split(separator)
    size = len(names) + 1
    return [dict(zip(names, pieces[at : at + size - 1])) for at in range(1, len(pieces) - size + 1, size)]


def parsable(text: str, names: Sequence[str], separator: str) -> list[dict[str, str]]:
    """Return the records of `sacct -p --delimiter`: the separator follows each field, a line end each record."""
    pieces = text.split(separator)
    size = len(names)
    found = [pieces[at : at + size] for at in range(0, len(pieces) - size, size)]
    return [dict(zip(names, [one[0].removeprefix("\n"), *one[1:]])) for one in found]
