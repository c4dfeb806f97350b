"""What differs between two sites, fact by fact."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from maple_submit_filter.site.facts import Site
from maple_submit_filter.site.snapshot import write


def differences(old: Site, new: Site) -> list[str]:
    """Return a line for each fact that differs: `+ key = new`, `- key = old` or `~ key: old -> new`, by key."""
    before, after = dict(_facts(write(old), "")), dict(_facts(write(new), ""))
    lines = []
    for key in sorted(before.keys() | after.keys()):
        if key not in before:
            lines.append("+ %s = %s" % (key, after[key]))
        elif key not in after:
            lines.append("- %s = %s" % (key, before[key]))
        elif before[key] != after[key]:
            lines.append("~ %s: %s -> %s" % (key, before[key], after[key]))
    return lines


def _facts(value: Any, at: str) -> Iterator[tuple[str, str]]:
    """Yield every known fact with its key; an entry of a list goes by its name."""
    if isinstance(value, dict):
        for key, one in value.items():
            if key not in ("format", "revision"):
                yield from _facts(one, "%s.%s" % (at, key) if at else key)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for one in value:
            yield from _facts(one, "%s.%s" % (at, one.get("key") or one["name"]))
    elif value not in ("", None, []):
        yield at, str(value)
