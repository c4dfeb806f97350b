"""What the user said last time on a site: a small file in the user's own state folder.

It gives defaults of questions, and nothing else; it is never needed. A module of its own, for it alone touches a file:
what decides takes the values as an argument.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ...ask import verified_runs
from ...base.new_file import keep
from ...base.slots import Slots

REMEMBERED = ("account", "partition", "queue", "qos", "filesystems")
_MOST = 64 * 1024  # bytes


def load(site: str, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the values of the last script for *site*, by slot; {} where there are none."""
    values = _all(environ).get(site)
    if not isinstance(values, dict):
        return {}
    return {slot: value for slot, value in values.items() if slot in REMEMBERED and isinstance(value, str)}


def save(site: str, slots: Slots, environ: Mapping[str, str] = os.environ) -> None:
    """Remember what was said of `REMEMBERED` for *site*; a file that cannot be written harms nothing."""
    path = _path(environ)
    values = {slot: str(slots[slot].value) for slot in REMEMBERED if slot in slots}
    if path is None or not values:
        return
    known = _all(environ)
    old = known.get(site)
    known[site] = {**(old if isinstance(old, dict) else {}), **values}
    keep(known, path)


def _all(environ: Mapping[str, str]) -> dict[str, object]:
    path = _path(environ)
    return (verified_runs.read_value(path, _MOST) if path is not None else None) or {}


def _path(environ: Mapping[str, str]) -> str | None:
    own = verified_runs.own_folder(environ)
    return os.path.join(os.path.dirname(own), "new.json") if own is not None else None
