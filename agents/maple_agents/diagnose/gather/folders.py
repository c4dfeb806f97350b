"""The logs in a folder that the user names: what is called like one, of the newest run where several lie there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from .walking import regular

MOST = 200  # files
MOST_NAMES = 20_000  # that are looked at
DEEPEST = 6  # folders below the named one: torchrun's lie four deep
_LOG = re.compile(
    r"(?:.*\.(?:log|out|err|stdout|stderr|OU|ER)|.*\.[oe]\d+(?:\.\d+)?|(?:stdout|stderr)(?:[._].*)?|error(?:_file)?\.json"
    r"|.*(?:log|rank|out|err)[^/]*\.txt|rank[._-]?\d+)",
    re.DOTALL | re.ASCII,
)
_ATTEMPT = re.compile(r"attempt_\d+", re.ASCII)


class Inside(NamedTuple):
    """*paths*: what was written last comes last. *left*: how many more there are, or at least one where nobody knows.

    *older*: runs that are left aside.
    """

    paths: tuple[str, ...]
    left: int = 0
    older: tuple[str, ...] = ()


def logs_in(folder: str) -> Inside:
    """Return the logs in *folder* and below. Links to folders are not followed; one that cannot be read holds none."""
    found: list[tuple[float, str]] = []
    runs: dict[str, float] = {}
    budget = [MOST_NAMES]
    for path, changed in _walked(folder, DEEPEST, budget):
        found.append((changed, path))
        run = _run(path)
        if run:
            runs[run] = max(changed, runs.get(run, 0.0))
    newest = max(runs, key=lambda run: (runs[run], run), default="")
    kept = sorted(one for one in found if _run(one[1]) in ("", newest))
    older = tuple(sorted(set(runs) - {newest}))
    return Inside(tuple(path for _, path in kept[-MOST:]), max(0, len(kept) - MOST) + (budget[0] <= 0), older)


def _run(path: str) -> str:
    """Return the folder of a run of torchrun's, `LOGS/RUN` of `LOGS/RUN/attempt_0/1/stderr.log`; "" for none."""
    names = path.split("/")
    at = next((index for index, name in enumerate(names) if _ATTEMPT.fullmatch(name)), 0)
    return "/".join(names[:at])


def _walked(folder: str, deep: int, budget: list[int]) -> Iterator[tuple[str, float]]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                budget[0] -= 1
                if budget[0] <= 0:
                    return
                if entry.is_dir(follow_symlinks=False):
                    if deep and not entry.name.startswith("."):
                        yield from _walked(entry.path, deep - 1, budget)
                elif _LOG.fullmatch(entry.name):
                    facts = regular(entry.path)
                    if facts is not None:
                        yield entry.path, facts.st_mtime
    except OSError:
        return
