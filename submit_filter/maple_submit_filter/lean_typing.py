"""Stands in for `typing` in the helper, which lives for one submission and has no use for types.

Importing the real one, and what its NamedTuple does with every annotation, costs more than the start of the interpreter
(measured on 3.11). Here a type is one object that takes any index, and NamedTuple is `collections.namedtuple`. Whatever
else is asked for comes from the real module.
"""

from __future__ import annotations

import sys
from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TYPES = frozenset((
    "Any", "Callable", "Dict", "FrozenSet", "Hashable", "Iterable", "Iterator", "List", "Mapping", "Match",
    "MutableMapping", "Optional", "Pattern", "Sequence", "Set", "Tuple", "Type", "Union",
))  # fmt: skip
_OF_THE_BODY = ("__module__", "__qualname__", "__annotations__", "__doc__", "__static_attributes__", "__firstlineno__")


def install() -> None:
    """Be `typing` from now on, unless the real one is there already, or annotations are made later (3.14)."""
    if "typing" not in sys.modules and sys.version_info < (3, 14):
        sys.modules["typing"] = sys.modules[__name__]


def __getattr__(name: str) -> object:
    """Return what stands for a type; for any other name what the real module has."""
    if name in _TYPES:
        return _TYPE
    if name.startswith("__"):
        raise AttributeError(name)
    sys.modules.pop("typing", None)
    import typing

    return getattr(typing, name)


class _Type:
    """Any type."""

    def __getitem__(self, _: object) -> _Type:
        return self


class _Fields(type):
    """Makes a named tuple of a class whose base is `NamedTuple`."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        if not bases:
            return type.__new__(cls, name, bases, body)
        fields = body.get("__annotations__", {})
        defaults = [body[field] for field in fields if field in body]
        made: Any = namedtuple(name, fields, defaults=defaults, module=body["__module__"])  # type: ignore[misc]
        made.__doc__ = body.get("__doc__", made.__doc__)
        made.__annotations__ = fields
        for key, value in body.items():
            if key not in fields and key not in _OF_THE_BODY:
                setattr(made, key, value)
        return made


class NamedTuple(metaclass=_Fields):
    """As `typing.NamedTuple`, without a look at the types."""


class Protocol:
    """As `typing.Protocol`, for who says what he needs and makes none."""


_TYPE = _Type()
