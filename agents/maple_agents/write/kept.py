"""Tables of files that were checked once, without the library that checks them, which costs a quarter of a second.

A kept table has the keys of its file and the properties of its class as attributes, so that whoever reads it need not
know which of the two it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from pydantic import BaseModel


class Kept:
    """A table. Unchangeable."""

    __slots__ = ("__dict__",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("%s: a kept table is not changed" % name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kept) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__))

    def __repr__(self) -> str:
        return "Kept(%r)" % self.__dict__


def packed(value: object) -> Any:
    """Return *value* as what `json.dumps` takes. A list stands for each table and list, with its kind in front."""
    if hasattr(type(value), "model_fields"):
        return ["table", {name: packed(one) for name, one in _attributes(value).items()}]  # type: ignore[arg-type]
    if isinstance(value, Mapping):
        return {name: packed(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return ["list", [packed(one) for one in value]]
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


def unpacked(value: Any) -> Any:
    """Return what was packed, with a `Kept` for each table. Raises `ValueError` for what is not ours."""
    if isinstance(value, dict):
        return {name: unpacked(one) for name, one in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) != 2 or value[0] not in ("table", "list"):
        raise ValueError("not a kept table")
    if value[0] == "list":
        return [unpacked(one) for one in value[1]]
    return Kept({name: unpacked(one) for name, one in value[1].items()})


def _attributes(table: BaseModel) -> dict[str, Any]:
    """Return keys and properties of a table by name."""
    names = [*type(table).model_fields, *_properties(type(table))]
    return {name: getattr(table, name) for name in names}


def _properties(shape: type) -> list[str]:
    ours = [one for one in shape.__mro__ if one.__module__.startswith("maple_agents")]
    return [name for one in ours for name, value in vars(one).items() if isinstance(value, property)]
