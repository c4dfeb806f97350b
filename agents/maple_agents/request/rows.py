"""A table of one job, a row of keys and a row of values, as lines of "key: value": CSV, tabs, bars of Markdown.

Two rows of values are two jobs: nothing is made of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .language.languages import Translated
from .language.vocabulary import texts

_KEYS = frozenset(" ".join(key.split()) for key in texts("rows")["keys"].split(","))
_CELL = re.compile(r"[^,;|\t\n]+")
_RULE = re.compile(r"[|: \t-]+\Z")
_FEWEST = 3  # cells of a row


def as_lines(text: str) -> Translated | None:
    """Return *text* with its table as lines of "key: value", None where it has none; values keep their characters."""
    rows = [row for row in _rows(text) if not _RULE.match(row[0])]
    at = next((at for at, (_, cells) in enumerate(rows) if _is_head(cells)), None)
    if at is None or at + 1 >= len(rows) or len(rows[at + 1][1]) != len(rows[at][1]):
        return None
    if at + 2 < len(rows) and len(rows[at + 2][1]) == len(rows[at][1]):
        return None
    keys, values = rows[at][1], rows[at + 1][1]
    first, last = keys[0].start(), values[-1].end()
    parts, places = [text[:first].rstrip("|")], [*range(len(text[:first].rstrip("|")))]
    for key, value in zip(keys, values):
        head = key[0].strip() + ": "
        parts.append(head + value[0].strip() + "\n")
        begin = value.start() + len(value[0]) - len(value[0].lstrip())
        places += [begin] * len(head) + [*range(begin, begin + len(value[0].strip()))] + [value.end() - 1]
    rest = len(text) - len(text[last:].lstrip("|"))
    return Translated("".join([*parts, text[rest:]]), (*places, *range(rest, len(text) + 1)))


def _rows(text: str) -> Iterator[tuple[str, list[re.Match[str]]]]:
    """Yield each line that is not blank, and its cells."""
    for line in re.finditer(r"[^\n]+", text):
        if line[0].strip():
            yield line[0], [cell for cell in _CELL.finditer(text, *line.span()) if cell[0].strip()]


def _is_head(cells: Sequence[re.Match[str]]) -> bool:
    names = [" ".join(cell[0].lower().replace("_", " ").split()) for cell in cells]
    return len(names) >= _FEWEST and all(name in _KEYS for name in names)
