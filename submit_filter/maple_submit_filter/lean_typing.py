"""Stands in for `typing` in the helper, which lives for one submission and has no use for types.

Importing the real one, and what its NamedTuple does with every annotation, costs more than the start of the interpreter
(measured on 3.11). Here a type is one object that takes any index. A NamedTuple has the fields and methods that
`collections.namedtuple` gives to one, but that compiles a function for each, and here one of the same number of fields
is taken and its arguments named. Whatever else is asked for comes from the real module.
"""

from __future__ import annotations

import sys
from _collections import _tuplegetter  # type: ignore[import-not-found]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Dict, Iterable, List, Sequence, Tuple

_TYPES = frozenset((
    "Any", "Callable", "Dict", "FrozenSet", "Hashable", "Iterable", "Iterator", "List", "Mapping", "Match",
    "MutableMapping", "Optional", "Pattern", "Sequence", "Set", "Tuple", "Type", "Union",
))  # fmt: skip
_OF_THE_BODY = ("__module__", "__qualname__", "__annotations__", "__doc__", "__static_attributes__", "__firstlineno__")


_makers: Dict[int, CodeType] = {}  # of `__new__`, by the number of fields
_getters: List[Any] = []  # of a field, by its place: alike in all


def install(makers: Sequence[CodeType] = ()) -> None:
    """Be `typing` from now on, unless the real one is there already, or annotations are made later (3.14).

    *makers*: the code of `maker` for no field, one, two and so on, as far as it is at hand.
    """
    _makers.update(enumerate(makers))
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
        defaults = {field: body[field] for field in fields if field in body}
        made = {key: value for key, value in body.items() if key not in fields and key not in _OF_THE_BODY}
        made.update(_own(name, tuple(fields), defaults))
        made.update({"__module__": body["__module__"], "__annotations__": fields})
        made["__doc__"] = body.get("__doc__") or "%s(%s)" % (name, ", ".join(fields))
        return type(name, (_Named,), made)


class _Named(tuple):  # type: ignore[type-arg]
    """What all named tuples do alike."""

    __slots__ = ()
    _fields: Tuple[str, ...] = ()

    @classmethod
    def _make(cls, values: Iterable[Any]) -> Any:
        made = _tuple(cls, values)
        if len(made) != len(cls._fields):
            raise TypeError("Expected %d arguments, got %d" % (len(cls._fields), len(made)))
        return made

    def _replace(self, **changed: Any) -> Any:
        made = _tuple(type(self), map(changed.pop, self._fields, self))
        if changed:
            raise ValueError("Got unexpected field names: %r" % list(changed))
        return made

    def _asdict(self) -> Dict[str, Any]:
        return dict(zip(self._fields, self))

    def __repr__(self) -> str:
        return "%s(%s)" % (type(self).__name__, ", ".join("%s=%r" % pair for pair in zip(self._fields, self)))

    def __getnewargs__(self) -> Tuple[Any, ...]:
        return tuple(self)


def maker(count: int) -> CodeType:
    """Return the code of a `__new__` that takes so many fields, which the caller names."""
    names = ", ".join("field%d" % number for number in range(count))
    made: Any = eval("lambda kind, %s: _tuple(kind, (%s))" % (names, names + "," * bool(names)))
    code: CodeType = made.__code__
    return code


def _own(name: str, fields: Tuple[str, ...], defaults: Dict[str, Any]) -> Dict[str, Any]:
    """Return what a named tuple has of its own."""
    if len(fields) not in _makers:
        _makers[len(fields)] = maker(len(fields))
    code = _makers[len(fields)].replace(co_varnames=("_cls", *fields), co_name="__new__")
    while len(_getters) < len(fields):
        _getters.append(_tuplegetter(len(_getters), "Alias for field number %d" % len(_getters)))
    own: Dict[str, Any] = dict(zip(fields, _getters))
    own["__new__"] = _function(code, {"_tuple": _tuple}, "__new__", tuple(defaults.values()))
    own.update({"__slots__": (), "_fields": fields, "_field_defaults": defaults, "__match_args__": fields})
    return own


_tuple = tuple.__new__
_function: Any = type(maker)


class NamedTuple(metaclass=_Fields):
    """As `typing.NamedTuple`, without a look at the types."""


class Protocol:
    """As `typing.Protocol`, for who says what he needs and makes none."""


_TYPE = _Type()
globals().update(dict.fromkeys(_TYPES, _TYPE))
