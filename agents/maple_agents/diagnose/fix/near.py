"""Names nearly the same: of files that the user's own process sees, and in lists."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches
from itertools import islice

MOST = 20_000  # entries of a folder that are looked at
DEEPEST = 40  # parts of a path
_PLAIN = re.compile(r"[A-Za-z0-9_.,+@%=:~][A-Za-z0-9_.,+@%=:~-]*\Z")  # of a part of a path; no option, no quote


def nearest(name: str, known: Iterable[str], cutoff: float = 0.75) -> str:
    """Return the one of *known* that is nearly *name*, "" where none or several are, or *name* itself is there.

    The same letters in other cases, or with `-` for `_`, are nearer than anything else; then those in another order.
    """
    rows = list(dict.fromkeys(known))
    if not name or name in rows:
        return ""
    alike = [one for one in rows if _folded(one) == _folded(name)]
    turned = [one for one in rows if len(name) > 2 and sorted(_folded(one)) == sorted(_folded(name))]
    close = alike or turned or get_close_matches(name, rows, 3, cutoff)
    if len(close) > 1 and _far_ahead(name, close[0], close[1]):
        close = close[:1]
    return close[0] if len(close) == 1 else ""


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")


def _far_ahead(name: str, best: str, second: str) -> bool:
    ratio = [SequenceMatcher(None, name, one).ratio() for one in (best, second)]
    return ratio[0] >= 0.9 and ratio[0] - ratio[1] >= 0.08


def listed(folder: str) -> list[str]:
    """Return the names in a folder, () where it cannot be read; no more than are looked at in a moment."""
    try:
        with os.scandir(folder) as entries:
            return [one.name for one in islice(entries, MOST)]
    except (OSError, ValueError):
        return []


def near_path(path: str, cwd: str) -> str:
    """Return *path* with the one part that is not there replaced by the one that nearly is; "" where that is no file.

    *cwd*: from where a relative path is looked for. Links are followed, nothing is read or written.
    """
    parts = path.split("/")
    if "\0" in path or len(parts) > DEEPEST or os.path.lexists(os.path.join(cwd, path)):
        return ""
    for at, part in enumerate(parts):
        before = "/".join(parts[:at]) or ("/" if path.startswith("/") and at else "")
        if part in ("", ".", "..") or os.path.lexists(os.path.join(cwd, before, part)):
            continue
        found = nearest(part, listed(os.path.join(cwd, before)), 0.8)
        whole = "/".join([*parts[:at], found, *parts[at + 1 :]])
        return whole if found and _PLAIN.match(found) and os.path.exists(os.path.join(cwd, whole)) else ""
    return ""
