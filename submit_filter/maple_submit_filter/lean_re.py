"""Stands in for `re` in the helper, which compiles the same hundred expressions each time it lives.

What `re` handed to its engine for each is in the helper's image; the engine takes it again in a few microseconds, and
neither `re` nor what it imports is loaded. Any other expression, and whatever else is asked for, is the real module's.
"""

from __future__ import annotations

import _sre  # type: ignore[import-not-found]
import marshal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Tuple

IGNORECASE, MULTILINE, DOTALL, VERBOSE = 2, 8, 16, 64
_known: Dict[Tuple[object, int], Any] = {}  # what the engine takes, then what it made of it


def install(known: Dict[Tuple[object, int], bytes]) -> None:
    """Be `re` from now on, with what is *known* by expression and flags, unless the real one is there already."""
    if "re" not in sys.modules:
        _known.update(known)
        sys.modules["re"] = sys.modules[__name__]


def compile(pattern: Any, flags: int = 0) -> Any:
    """Return the compiled expression."""
    known = _known.get((pattern, flags))
    if known is None:
        return __getattr__("compile")(pattern, flags)
    if isinstance(known, bytes):
        known = _known[pattern, flags] = _sre.compile(*marshal.loads(known))
    return known


def fullmatch(pattern: Any, text: Any, flags: int = 0) -> Any:
    """Match the whole of a text."""
    return compile(pattern, flags).fullmatch(text)


def match(pattern: Any, text: Any, flags: int = 0) -> Any:
    """Match a text's beginning."""
    return compile(pattern, flags).match(text)


def search(pattern: Any, text: Any, flags: int = 0) -> Any:
    """Match any part of a text."""
    return compile(pattern, flags).search(text)


def findall(pattern: Any, text: Any, flags: int = 0) -> Any:
    """Return all that match."""
    return compile(pattern, flags).findall(text)


def finditer(pattern: Any, text: Any, flags: int = 0) -> Any:
    """Return the matches, one after the other."""
    return compile(pattern, flags).finditer(text)


def split(pattern: Any, text: Any) -> Any:
    """Return what stands between the matches."""
    return compile(pattern).split(text)


def sub(pattern: Any, new: Any, text: Any, count: int = 0, flags: int = 0) -> Any:
    """Return the text with something else in place of matches."""
    return compile(pattern, flags).sub(new, text, count)


def subn(pattern: Any, new: Any, text: Any, count: int = 0, flags: int = 0) -> Any:
    """Return the same, and how many matches there were."""
    return compile(pattern, flags).subn(new, text, count)


def __getattr__(name: str) -> Any:
    """Return what the real module has."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(_real(), name)


def _real() -> Any:
    here = sys.modules[__name__]
    if sys.modules.get("re") is here:
        del sys.modules["re"]
    import re

    return re
