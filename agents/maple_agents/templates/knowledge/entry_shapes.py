"""How the files of the knowledge base are written, checked: every mistake with its file and key.

Only who reads such a file imports this: the commands read what was checked before (`entries_in_force.py`), and pydantic
alone costs them a tenth of a second.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

from pydantic import AfterValidator, Field, TypeAdapter, create_model

from ...base.tables import Part, Table
from .entries import CLASSES, COMPARED, FIX_KINDS, Condition, Entry, Meaning, Remedy, Wording, checked, literals


def _among(names: tuple[str, ...], wrong: str) -> Callable[[str], str]:
    def known(name: str) -> str:
        if name not in names:
            raise ValueError(wrong)
        return name

    return known


def _compiles(pattern: str) -> str:
    """Parse only: to compile two thousand expressions takes longer than to read a log. Tests compile each."""
    try:
        literals(pattern)
    except re.error as error:
        raise ValueError("%r is no regular expression: %s" % (pattern, error)) from None
    return pattern


def _compares(comparison: str) -> str:
    if COMPARED.fullmatch(comparison) is None:
        raise ValueError("%r compares no two numbers that were caught" % comparison)
    return comparison


_Text = Annotated[str, Field(min_length=1)]
_When = Annotated[Condition, AfterValidator(checked)]
_Cause = Annotated[str, AfterValidator(_among(CLASSES, "no such cause; the classes stand in knowledge/entries.py"))]
_Kind = Annotated[
    str, AfterValidator(_among(FIX_KINDS, "no such kind of fix; there are %s" % ", ".join(FIX_KINDS)))
]  # fmt: skip
_Pattern = Annotated[str, AfterValidator(_compiles)]
_Compared = Annotated[str, AfterValidator(_compares)]


def _shape(of: Any, **narrower: Any) -> Any:
    """Return the table of the named tuple *of*: its keys, types and defaults, some types *narrower*."""
    defaults = of._field_defaults
    fields: dict[str, Any] = {
        name: (narrower.get(name, kind), defaults.get(name, ...)) for name, kind in get_type_hints(of).items()
    }
    return create_model(of.__name__ + "Table", __base__=Table, **fields)


def _list_of(table: Any) -> Any:
    return list[table]


_RemedyTable = _shape(Remedy, kind=_Kind, says=_Text, when=_When)
_SaidTable = _shape(Wording, when=_When, says=_Text)
_EntryTable = _shape(
    Entry, cause=_Cause, says=_Text, sources=Annotated[list[str], Field(min_length=1)], said=_list_of(_SaidTable),
    match=list[_Pattern], without=list[_Pattern], where=list[_Compared], needs=_When, confirms=list[_When],
    excludes=list[_When], fixes=_list_of(_RemedyTable),
)  # fmt: skip
_MeaningTable = _shape(Meaning, says=_Text, because=_Text, names=list[_Pattern], script=list[_Pattern])


class Family(Part):
    """A file of the knowledge base: entries that belong together, by their ids; lists that entries of any file share,
    by their names: "@name" stands for one in `match`, `without`, `explains` and in the lists of conditions; what
    classes mean.
    """

    entry: dict[str, _EntryTable] = {}  # type: ignore[valid-type]
    classes: dict[str, _MeaningTable] = {}  # type: ignore[valid-type]
    groups: dict[str, list[str]] = {}

    def entries(self) -> dict[str, Entry]:
        """Return the entries by their ids."""
        return {name: _entry(table) for name, table in self.entry.items()}

    def meanings(self) -> dict[str, Meaning]:
        """Return what is said of classes, by their names."""
        return {name: Meaning(**dict(table)) for name, table in self.classes.items()}


def _entry(table: Any) -> Entry:
    wordings, fixes = [Wording(**dict(row)) for row in table.said], [Remedy(**dict(row)) for row in table.fixes]
    return Entry(**{**dict(table), "said": wordings, "fixes": fixes})


def entry(table: dict[str, object]) -> Entry:
    """Return the entry that *table* describes. Raises `ValueError` where it describes none."""
    return _entry(TypeAdapter(_EntryTable).validate_python(table))


def rechecked(entry: Entry) -> Entry:
    """Return *entry*. Raises `ValueError` where words that stand in it now are no expressions, no conditions."""
    for pattern in (*entry.match, *entry.without):
        _compiles(pattern)
    for condition in (entry.needs, *entry.confirms, *entry.excludes):
        checked(condition)
    return entry
