"""Regular expressions that cost little: kept as they were compiled, with the text that each match holds, with a limit.

To compile hundreds anew is a quarter of what `maple-fix` takes on an ordinary log. What is kept lies in the user's own
cache, for one build of Python, and is to it what byte code is: no other user's file is read, and what cannot be read or
used is compiled.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import re
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import FrameType
from typing import Any, Optional

from maple_submit_filter.host import own_folders

FEW = 8  # new ones that are not worth a file of their own
MOST = 4000  # of them in a file
MOST_BYTES = 16 * 2**20
Key = tuple[bool, Any, int]
Row = tuple[int, list[int], int, dict[str, int], tuple[Any, ...]]


@contextlib.contextmanager
def used() -> Iterator[None]:
    """Take what was kept while the block runs, and keep what it had to compile, if it comes to an end of its own."""
    try:
        compiler, file = import_module("re._compiler"), _file()  # of CPython 3.11 and later
        usual = compiler.compile
    except (ImportError, AttributeError):
        file = None
    if file is None:
        yield
        return
    kept, made = _read(file), dict[Key, Row]()
    setattr(compiler, "compile", _from(kept, made, compiler, usual))  # noqa: B010  # no stubs know it
    try:
        yield
    except SystemExit:
        _keep({**kept, **made} if len(kept) + len(made) <= MOST else made, file, len(made))
        raise
    finally:
        setattr(compiler, "compile", usual)  # noqa: B010
    _keep({**kept, **made} if len(kept) + len(made) <= MOST else made, file, len(made))


def _from(
    kept: dict[Key, Row], made: dict[Key, Row], compiler: Any, usual: Callable[..., re.Pattern[Any]]
) -> Callable[..., re.Pattern[Any]]:
    """Return what compiles in place of *usual*, which it asks wherever anything is odd."""

    def compile(pattern: Any, flags: int = 0) -> re.Pattern[Any]:
        key = (isinstance(pattern, bytes), pattern, int(flags))
        if not isinstance(pattern, (str, bytes)) or key[2] & re.DEBUG:
            return usual(pattern, flags)
        row = kept.get(key)
        with contextlib.suppress(RuntimeError, OverflowError, TypeError, ValueError):  # rows that are none
            if row is not None:
                expression: re.Pattern[Any] = compiler._sre.compile(pattern, *row)
                return expression
        pattern_made = usual(pattern, flags)
        made[key] = _row(pattern, flags, compiler)
        return pattern_made

    return compile


def _row(pattern: Any, flags: int, compiler: Any) -> Row:
    """Return what `re` hands to the machine that searches."""
    tree = compiler._parser.parse(pattern, flags)
    names = dict(tree.state.groupdict)
    numbered: list[Any] = [None] * tree.state.groups
    for name, number in names.items():
        numbered[number] = name
    code = [int(word) for word in compiler._code(tree, flags)]
    return (int(flags | tree.state.flags), code, tree.state.groups - 1, names, tuple(numbered))


def _read(file: str) -> dict[Key, Row]:
    try:
        with open(file, "rb") as data:
            status = os.fstat(data.fileno())
            own = status.st_uid == os.geteuid() and not status.st_mode & 0o022 and stat.S_ISREG(status.st_mode)
            rows = marshal.loads(data.read(MOST_BYTES)) if own and status.st_size <= MOST_BYTES else {}
    except (OSError, ValueError, EOFError, TypeError):
        return {}
    return rows if isinstance(rows, dict) else {}


def _keep(rows: dict[Key, Row], file: str, new: int) -> None:
    """Write *rows* where enough of them are *new*."""
    if new >= FEW:
        from .new_file import keep_bytes  # start-up time: most runs write nothing

        keep_bytes(marshal.dumps(rows), file)


def _file() -> str | None:
    """Return where they lie, by the build of Python; None without a folder of the user's own."""
    folder = own_folders.cache()
    name = "expressions-%s-%x" % (sys.implementation.cache_tag or "python", sys.hexversion)
    return os.path.join(folder, name) if folder is not None and sys.implementation.name == "cpython" else None


__all__ = ["used"]


def needed(pattern: str, flags: int, shortest: int) -> frozenset[str]:
    """Return literals one of which stands in every text that *pattern* matches; none where that cannot be promised.

    None has fewer than *shortest* letters. Raises `re.error` where the pattern is no regular expression.
    """
    parser = import_module("re._parser")  # of CPython 3.11 and later; no stubs know it
    return _longest(list(parser.parse(pattern, flags)), shortest) or frozenset()


def _longest(tree: list[Any], shortest: int) -> frozenset[str] | None:
    """Return, of the sets of literals one of which must stand in a match, that whose shortest one is longest."""
    sets = [literals for literals in _sets(tree, shortest) if min(map(len, literals)) >= shortest]
    return max(sets, key=lambda literals: (min(map(len, literals)), -len(literals)), default=None)


def _sets(tree: list[Any], shortest: int) -> Iterator[frozenset[str]]:
    text = ""
    for operator, argument in tree:
        if str(operator) == "LITERAL":
            text += chr(argument)
            continue
        if text:
            yield frozenset((text,))
        text = ""
        if inner := _inside(str(operator), argument, shortest):
            yield inner
    if text:
        yield frozenset((text,))


def _inside(operator: str, argument: Any, shortest: int) -> frozenset[str] | None:
    if operator == "SUBPATTERN" and not argument[1]:  # no flags of its own
        return _longest(list(argument[-1]), shortest)
    if operator == "ATOMIC_GROUP":
        return _longest(list(argument), shortest)
    if operator == "BRANCH":
        parts = [_longest(list(branch), shortest) for branch in argument[1]]
        return frozenset().union(*(part for part in parts if part)) if all(parts) else None
    if operator in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") and argument[0] >= 1:
        return _longest(list(argument[2]), shortest)
    return None


class Spent(Exception):
    """The time is over."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `Spent` in what stands within once it took *seconds* of processor time; at once outside the main thread.

    A search looks for signals while it backtracks (CPython's sre), so that a hostile pattern ends too.
    """
    if threading.current_thread() is not threading.main_thread():
        raise Spent("only the main thread can be stopped")
    before = signal.signal(signal.SIGVTALRM, _over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _over(number: int, frame: Optional[FrameType]) -> None:
    raise Spent("the processor time is over")
