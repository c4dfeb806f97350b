"""Cases as TOML files, a `[[case]]` each: what all corpora of scripts share, and the only writer.

| Key | Holds |
|---|---|
| `name` | a few words, of their own within the file |
| `why` | what is wrong, or why nobody must speak of it; a case in which nothing is found has to say it |
| `finds` | what is found; empty: nothing |
| `[[case.file]]` | a file beside the script: `path`, `text`, and `executable = true` where it is |

A text of several lines ends with a newline. One that does not, or that holds bytes which such a text cannot (a carriage
return, three quotes, no UTF-8), stands under its key with `_bytes` behind it, a character for each byte.

`python -m tests.case_files add FILE NAME SCRIPT WHY` appends a script to a file as a case in which nothing is found,
`python -m tests.case_files show FILE NAME` prints the script of one, byte for byte.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Optional

import tomllib

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases")
Row = dict[str, Any]
_BARE = re.compile(r"[\t\n -~\u00a0-\U0010ffff]*", re.ASCII)  # what may stand between three quotes as it is
_FIRST, _LAST = ("name", "site", "why"), ("script", "script_bytes", "file")


class File(NamedTuple):
    """A file beside a script. *path* counts from the folder that the job is submitted from."""

    path: str
    content: bytes
    executable: bool


def rows(path: str, keys: Collection[str]) -> list[Row]:
    """Return the cases of a file, sorted by name; *keys* are those a case may have beside the shared ones.

    Raises `ValueError` with one line for a key that is not known, a name that is taken, a silence without a reason.
    """
    with open(path, "rb") as opened:
        found: list[Row] = tomllib.load(opened)["case"]
    allowed = {"name", "why", "finds", "file", *keys, *(key + "_bytes" for key in keys)}
    names = [str(row["name"]) for row in found]
    for row in found:
        where = "%s: %s" % (os.path.basename(path), row["name"])
        if unknown := sorted(set(row) - allowed):
            raise ValueError("%s: %s: no such key" % (where, unknown[0]))
        if not row["finds"] and not row.get("why"):
            raise ValueError("%s: a case that stays silent says why it must" % where)
        if names.count(str(row["name"])) > 1:
            raise ValueError("%s: two cases have this name" % where)
    return sorted(found, key=lambda row: str(row["name"]))


def text(row: Mapping[str, Any], key: str) -> Optional[bytes]:
    """Return the bytes under a key, None where the row has none."""
    odd: Optional[str] = row.get(key + "_bytes")
    if odd is not None:
        return odd.encode("latin-1")
    plain: Optional[str] = row.get(key)
    return plain.encode() if plain is not None else None


def files(row: Mapping[str, Any]) -> tuple[File, ...]:
    """Return the files beside a case's script."""
    beside = row.get("file", ())
    return tuple(File(file["path"], text(file, "text") or b"", file.get("executable", False)) for file in beside)


def keyed(key: str, content: bytes) -> Row:
    """Return the pair under which *content* stands in a row: `text` and `keyed` are inverse."""
    try:
        plain = content.decode()
    except UnicodeDecodeError:
        plain = ""
    whole = plain.endswith("\n") and "'''" not in plain and _BARE.fullmatch(plain)
    return {key: plain} if whole else {key + "_bytes": content.decode("latin-1")}


def written(cases: Iterable[Mapping[str, Any]]) -> str:
    """Return cases as TOML, which `rows` reads back as they were. A value is text, truth, a list or a table."""
    return "\n".join("".join("%s\n" % line for line in _case(case)) for case in cases)


def _case(case: Mapping[str, Any]) -> Iterator[str]:
    yield "[[case]]"
    for key in sorted(case, key=_order):
        if key != "file":
            yield "%s = %s" % (key, _value(case[key], key))
    for file in case.get("file", ()):
        yield from ("", "[[case.file]]", *("%s = %s" % (key, _value(value, key)) for key, value in file.items()))


def _order(key: str) -> tuple[int, str]:
    return (_FIRST.index(key) if key in _FIRST else 10 + _LAST.index(key) if key in _LAST else 9), key


def _value(value: Any, key: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[%s]" % ", ".join(_value(item, "") for item in value)
    if isinstance(value, dict):
        return "{ %s }" % ", ".join("%s = %s" % (json.dumps(name), _value(value[name], "_bytes")) for name in value)
    if value.endswith("\n") and not key.endswith("_bytes"):
        return "'''\n%s'''" % value
    return json.dumps(value, ensure_ascii=key.endswith("_bytes")).replace("\x7f", "\\u007f")


def main(words: Sequence[str]) -> int:
    """Add or show a case; return the exit code."""
    if len(words) == 5 and words[0] == "add":
        with open(words[3], "rb") as script:
            row = {"name": words[2], "why": words[4], "finds": list[str](), **keyed("script", script.read())}
        with open(words[1], "a", encoding="utf-8") as opened:
            opened.write(("\n" if opened.tell() else "") + written([row]))
        return 0
    if len(words) == 3 and words[0] == "show":
        with open(words[1], "rb") as opened_case:
            chosen = [row for row in tomllib.load(opened_case)["case"] if row["name"] == words[2]]
        sys.stdout.buffer.write(b"".join(text(row, "script") or b"" for row in chosen))
        return 0 if chosen else 1
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
