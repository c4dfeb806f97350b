"""The knowledge base as it was checked before, kept in the user's own cache: to read and check its files takes half a
second, to read this a hundredth.

It is JSON with a hash of the files and of the code that checks them, in a file of the user's own; nothing of it is
executed, and one that is another's, of other files, or no such file is as none.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from maple_submit_filter import __version__
from maple_submit_filter.host import own_folders

from ...base import new_file
from .entries import Entry, Meaning, Remedy, Wording

FILE = "knowledge.json"


class Knowledge(NamedTuple):
    """*literals*: of each expression those of which one stands in every text that it matches, none for no promise."""

    entries: Mapping[str, Entry]
    meanings: Mapping[str, Meaning]
    literals: Mapping[str, Sequence[str]]


def hash_of(files: Mapping[str, str]) -> str:
    """Return a hash of the *files* in force and of the code that checks them. Raises `OSError`."""
    here = os.path.dirname(__file__)
    code = sorted((file.name, file.stat().st_mtime_ns) for file in os.scandir(here) if file.name.endswith(".py"))
    made = hashlib.sha256(("%s %s %s" % (__version__, sys.version_info[:2], code)).encode())
    for name, path in files.items():
        with open(path, "rb") as file:
            source = file.read()
        made.update(b"%s %d\0" % (os.fsencode(name), len(source)) + source)
    return made.hexdigest()


def kept(of: str) -> Knowledge | None:
    """Return what was kept of files with the hash *of*, None where nothing was."""
    try:
        with open(_path(), "rb") as file:
            if os.fstat(file.fileno()).st_uid != os.geteuid():
                return None
            table = json.load(file)
        return _made(table) if table["of"] == of else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _made(table: Any) -> Knowledge:
    return Knowledge(
        {name: _entry(row) for name, row in table["entries"].items()},
        {name: Meaning(**row) for name, row in table["meanings"].items()},
        table["literals"],
    )


def _entry(row: Any) -> Entry:
    wordings, fixes = (
        [Wording(**wording) for wording in row.pop("said", ())],
        [Remedy(**remedy) for remedy in row.pop("fixes", ())],
    )
    return Entry(said=wordings, fixes=fixes, **row)


def keep(knowledge: Knowledge, of: str) -> None:
    """Keep *knowledge* of files with the hash *of*; where that cannot be, it is done without."""
    table = {
        "of": of,
        "entries": {name: _plain(entry) for name, entry in knowledge.entries.items()},
        "meanings": {name: _plain(meaning) for name, meaning in knowledge.meanings.items()},
        "literals": knowledge.literals,
    }
    with contextlib.suppress(OSError):  # no folder of the user's own
        new_file.keep(table, _path())


def _plain(node: Any) -> Any:
    """Return a named tuple as the keys that are not as by default."""
    if isinstance(node, list):
        return [_plain(part) for part in node]
    if not hasattr(node, "_asdict"):
        return node
    return {name: _plain(value) for name, value in node._asdict().items() if value != node._field_defaults.get(name)}


def _path() -> str:
    """Return where it is kept. Raises `OSError` where there is no folder for it."""
    folder = own_folders.cache()
    if folder is None:
        raise OSError("no folder of the user's own")
    return os.path.join(folder, FILE)
