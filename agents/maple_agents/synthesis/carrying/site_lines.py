"""Lines that only the old cluster understands go; those of the new one take their place."""

from __future__ import annotations

from collections import Counter

from maple_submit_filter.edits import Edit, Span

from ...extraction.script_parts import Foreign, Region
from ...extraction.script_walk import Found


def without(foreign: Foreign, commands: list[Found]) -> list[Edit]:
    """Return the edits that take modules and variables of the network away.

    A line that holds nothing else goes with its newline; a command that is not alone on its line, or in its list,
    becomes `:`, so that what is around it stays as it was.
    """
    whole, parts = _going(foreign, commands)
    counts = Counter(one.group for one in whole if one.whole)
    emptied = {one.group: one for one in reversed(whole) if counts[one.group] == one.siblings and _is_nested(one)}
    out = [Edit(_with_blanks(each.span, foreign.source), b"", "another cluster's") for each in parts]
    return [*out, *(_gone(one, foreign.source, emptied.get(one.group) is one) for one in whole)]


def _going(foreign: Foreign, commands: list[Found]) -> tuple[list[Found], list[Region]]:
    """Return the commands that go, and the parts of others that go."""
    whole: list[Found] = []
    some: list[Region] = []
    for one in commands:
        parts = [each for each in foreign.regions if each.kind in ("module", "transport") and _in(each.span, one)]
        if parts and (parts[0].kind == "module" or _all(parts, one)):
            whole.append(one)
        else:
            some += parts
    return whole, some


def _is_nested(one: Found) -> bool:
    """Tell whether the command stands in a function or a branch, which must not be empty."""
    return one.item.start != one.top.start


def _with_blanks(span: Span, source: bytes) -> Span:
    rest = source[span.end :]
    return Span(span.start, span.end + len(rest) - len(rest.lstrip(b" \t")))


def _in(span: Span, one: Found) -> bool:
    return one.command.span.start <= span.start and span.end <= one.command.span.end


def _all(parts: list[Region], one: Found) -> bool:
    """Tell whether a command sets nothing but what goes."""
    words = len(one.command.words[1:]) if one.command.words else len(one.command.assignments)
    return len(parts) >= words


def _gone(one: Found, source: bytes, stays: bool) -> Edit:
    start, end = one.command.span
    if not one.whole or stays:
        return Edit(one.command.span, b":", "another cluster's")
    begin = source.rfind(b"\n", 0, start) + 1
    stop = source.find(b"\n", end)
    stop = len(source) if stop < 0 else stop
    before, behind = source[begin:start], source[end:stop].strip()
    if before.strip() or (behind and not behind.startswith(b"#")):
        return Edit(one.command.span, b":", "another cluster's")
    return Edit(Span(begin, min(stop + 1, len(source))), b"", "another cluster's")
