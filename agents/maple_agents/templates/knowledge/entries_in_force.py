"""The knowledge base in force, read once or as it was checked before; and the literal pieces of its
expressions, by which a fast search finds lines worth a look.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from maple_submit_filter import __version__
from maple_submit_filter.host import own_folders

from ...base import new_file
from ...base.files_in_force import paths
from .entries import CLASSES, Entry, Meaning, Remedy, Wanted, Wording, ignores_case, literals

KIND = "knowledge"
RARE = 7  # letters of one that is worth searching for in a whole log: shorter ones stand on lines of every day


def entries() -> Mapping[str, Entry]:
    """Return every entry in force by its id. Raises `ValueError`: a line for each mistake."""
    return in_force().entries


def meanings() -> Mapping[str, Meaning]:
    """Return what is said of classes, by their names. Raises as `entries`."""
    return in_force().meanings


@cache
def in_force() -> Knowledge:
    """Return what is in force, as it was checked before where the files are the same. Raises as `entries`."""
    files = paths(KIND)
    try:
        of = hash_of(files)
    except OSError:
        of = ""  # whoever reads it says what is wrong with it
    before = kept(of) if of else None
    if before is not None:
        return before
    entries, classes, wrong = _read(files)
    if wrong:
        raise ValueError("\n".join(wrong))
    patterns = {pattern for entry in entries.values() for pattern in (*entry.match, *entry.without)}
    made = Knowledge(entries, classes, {expression: sorted(literals(expression)) for expression in sorted(patterns)})
    if of:
        keep(made, of)
    return made


def mistakes() -> list[str]:
    """Return a line for each mistake of the files in force: one that cannot be read, an id or a group given twice, a
    name of no group, a consequence or a sign that is no entry and no class.
    """
    entries, classes, wrong = _read(paths(KIND))
    return wrong or [
        *_unknown(entries),
        *("classes.%s: there is no such class" % class_ for class_ in classes if class_ not in CLASSES),
    ]


def _read(files: Mapping[str, str]) -> tuple[dict[str, Entry], dict[str, Meaning], list[str]]:
    from ...base.tables import read
    from .entry_shapes import Family

    wrong: list[str] = []
    families: dict[str, Family] = {}
    for path in files.values():
        try:
            families[path] = read(Family, path)
        except (ValueError, OSError) as error:
            wrong += str(error).splitlines()
    groups = _once({path: family.groups for path, family in families.items()}, "groups", wrong)
    entries = _once({path: family.entries() for path, family in families.items()}, "entry", wrong)
    classes = _once({path: family.meanings() for path, family in families.items()}, "classes", wrong)
    return {name: _expanded(name, entry, groups, wrong) for name, entry in entries.items()}, classes, wrong


def _once(tables: Mapping[str, Mapping[str, Any]], what: str, wrong: list[str]) -> dict[str, Any]:
    """Return what all files hold by its name; a name that a second file gives as well is told in *wrong*."""
    merged: dict[str, Any] = {}
    for path, table in tables.items():
        wrong += [
            "%s: %s.%s: another file has one of that name" % (path, what, name) for name in table if name in merged
        ]
        merged.update(table)
    return merged


def _expanded(name: str, entry: Entry, groups: Groups, wrong: list[str]) -> Entry:
    try:
        return expanded(entry, groups)
    except ValueError as error:
        wrong.append("entry.%s: %s" % (name, error))
        return entry


def _unknown(entries: Mapping[str, Entry]) -> Iterator[str]:
    there = {*entries, *CLASSES}
    for name, entry in entries.items():
        for sign in sorted(({*entry.explains} | signs(entry)) - there):
            yield "entry.%s: there is no entry and no class %s" % (name, sign)


def signs(entry: Entry) -> set[str]:
    """Return the ids and classes that conditions of *entry* ask for."""
    asked = [condition.get("signs", []) for condition in (entry.needs, *entry.confirms, *entry.excludes)]
    return {str(sign) for wish in asked for sign in (wish if isinstance(wish, list) else [wish])}


def anchors(known: Mapping[str, Entry]) -> tuple[bytes, ...]:
    """Return literals by which lines are found in a log that signatures of *known* match.

    A signature without a literal of at least seven letters has none here: lines that sound bad are looked at anyway.
    """
    wanted = {literal for entry in known.values() for pattern in entry.match for literal in _rare(pattern)}
    return tuple(sorted(literal.encode() for literal in wanted))


def _rare(pattern: str) -> frozenset[str]:
    promises = promised(pattern) if not ignores_case(pattern) else frozenset()
    return promises if promises and min(map(len, promises)) >= RARE else frozenset()


@cache
def promised(pattern: str) -> frozenset[str]:
    """Return `literals` of an expression; those of what is in force were worked out before."""
    before = in_force().literals.get(pattern)
    return literals(pattern) if before is None else frozenset(before)


def compiled(pattern: str) -> re.Pattern[str]:
    """Return *pattern* as every signature is searched: `.` matches no line feed, letters are what they are."""
    return _compiled(pattern)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


# Lists that many entries share, said once: `[groups]` of any file of the knowledge base, referred to as "@name".

_NAME = re.compile(r"@([a-z][a-z0-9-]*)\Z")
Groups = Mapping[str, Sequence[str]]


def expanded(entry: Entry, groups: Groups) -> Entry:
    """Return *entry* with the words of each group in place of its name. Raises `ValueError` for a name of none."""
    fields: dict[str, Any] = {
        "match": _words(entry.match, groups),
        "without": _words(entry.without, groups),
        "explains": _words(entry.explains, groups),
        "needs": _condition(entry.needs, groups),
        "confirms": [_condition(confirm, groups) for confirm in entry.confirms],
        "excludes": [_condition(exclude, groups) for exclude in entry.excludes],
    }
    changed = {key: value for key, value in fields.items() if value != getattr(entry, key)}
    return _rechecked(entry._replace(**changed)) if changed else entry


def _rechecked(entry: Entry) -> Entry:
    from .entry_shapes import rechecked

    return rechecked(entry)


def _words(words: Sequence[str], groups: Groups) -> list[str]:
    """Return each word once, in the order in which it is first said."""
    return list(dict.fromkeys(meant for word in words for meant in _meant(word, groups)))


def _meant(word: str, groups: Groups) -> Sequence[str]:
    name = _NAME.match(word)
    if name is None:
        return (word,)
    if name[1] not in groups:
        raise ValueError(
            "there is no group %s; there are %s" % (word, ", ".join("@" + group for group in groups) or "none")
        )
    return groups[name[1]]


def _condition(condition: Mapping[str, Wanted], groups: Groups) -> dict[str, Wanted]:
    return {name: _wanted(wanted, groups) for name, wanted in condition.items()}


def _wanted(wanted: Wanted, groups: Groups) -> Wanted:
    if not isinstance(wanted, list) or not all(isinstance(value, str) for value in wanted):
        return wanted
    words: list[str | int] = [*_words([value for value in wanted if isinstance(value, str)], groups)]
    return words


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
