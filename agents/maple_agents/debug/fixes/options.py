"""Options of launchers on their lines."""

from __future__ import annotations

import re

from maple_submit_filter import fixes
from maple_submit_filter.edits import Edit, Fix, Safety
from maple_submit_filter.launch import Link

from .given import Given, fix

_OPTION = re.compile(r"[a-z][a-z-]*\Z")
_VALUE = re.compile(r"[A-Za-z0-9_.,:/=-]*\Z")


@fix("set-option")
def set_option(given: Given) -> Fix | None:
    """Give *launcher*'s *option* the *value* on each of its lines; "" for an option that takes none."""
    name, value = given.word("option"), given.word("value")
    if not _OPTION.match(name) or not _VALUE.match(value):
        return None
    edits = [one for link in _links(given) for one in _set(link, name, value.encode())]
    shown = "--%s%s" % (name, "=" + value if value else "")
    return Fix(tuple(edits), Safety.ASK, "%s %s" % (given.word("launcher"), shown)) if edits else None


def _set(link: Link, name: str, value: bytes) -> list[Edit]:
    if value:
        return fixes.put(link, [(name, value)], "set-option") or []
    if link.option(name) is not None or link.options_at is None:
        return []
    from maple_submit_filter.edits import Span

    return [Edit(Span(link.options_at, link.options_at), b" --" + name.encode(), "set-option")]


@fix("drop-option")
def drop_option(given: Given) -> Fix | None:
    """Leave out *launcher*'s *option*."""
    name = given.word("option")
    edits = []
    for link in _links(given):
        option = link.option(name)
        edits += (fixes.drop(given.job.source, option, "drop-option") or []) if option is not None else []
    return Fix(tuple(edits), Safety.ASK, "%s without --%s" % (given.word("launcher"), name)) if edits else None


def _links(given: Given) -> list[Link]:
    return [link for step in given.plan.steps for link in step.links if link.name == given.word("launcher")]
