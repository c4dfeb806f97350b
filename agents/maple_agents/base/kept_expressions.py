"""Regular expressions as this Python compiled them before: to make hundreds anew is a quarter of what `maple-fix`
takes on an ordinary log.

What is kept lies in the user's own cache, for one build of Python, and is to it what byte code is: no other user's file
is read, and what cannot be read or used is compiled.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

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
