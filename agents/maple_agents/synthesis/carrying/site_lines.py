"""Lines that only the old cluster understands go; those of the new one take their place."""

from __future__ import annotations

from maple_submit_filter.edits import Edit, Span
from maple_submit_filter.script import line_of

from ...extraction.script_parts import Foreign, Region
from ...extraction.script_walk import Found


def without(foreign: Foreign, commands: list[Found]) -> list[Edit]:
    """Return the edits that take modules and variables of the network away.

    A line that holds nothing else goes with its newline; a command that is not alone on its line, or in its list,
    becomes `:`, so that what is around it stays as it was.
    """
    out: list[Edit] = []
    for one in commands:
        parts = [each for each in foreign.regions if each.kind in ("module", "transport") and _in(each.span, one)]
        if not parts:
            continue
        if parts[0].kind == "module" or _all(parts, one):
            out.append(_gone(one, foreign.source, _alone_in_list(one, foreign)))
        else:
            out += [Edit(each.span, b"", "transport") for each in parts]
    return out


def _in(span: Span, one: Found) -> bool:
    return one.command.span.start <= span.start and span.end <= one.command.span.end


def _all(parts: list[Region], one: Found) -> bool:
    """Tell whether a command sets nothing but what goes."""
    words = len(one.command.words[1:]) if one.command.words else len(one.command.assignments)
    return len(parts) >= words


def _alone_in_list(one: Found, foreign: Foreign) -> bool:
    """Tell whether all that the list of the command has goes: a function or a branch must not be empty."""
    return one.siblings == 1 or one.item.start != one.top.start


def _gone(one: Found, source: bytes, nested: bool) -> Edit:
    start, end = one.command.span
    if not one.whole or nested:
        return Edit(one.command.span, b":", "another cluster's")
    begin = source.rfind(b"\n", 0, start) + 1
    stop = source.find(b"\n", end)
    stop = len(source) if stop < 0 else stop
    before, behind = source[begin:start], source[end:stop].strip()
    if before.strip() or (behind and not behind.startswith(b"#")):
        return Edit(one.command.span, b":", "another cluster's")
    return Edit(Span(begin, min(stop + 1, len(source))), b"", "another cluster's")


def first(foreign: Foreign, commands: list[Found]) -> int:
    """Return where the lines of the new cluster go: where the first of the old ones went, else before all commands."""
    tops = [one.top.start for one in commands]
    earliest = min(tops, default=len(foreign.source))
    gone = [one.span.start for one in foreign.regions if one.kind == "module"]
    if gone and line_of(foreign.source, gone[0]) and gone[0] in tops:
        earliest = min(earliest, gone[0]) if gone[0] == min(tops) else earliest
    return foreign.source.rfind(b"\n", 0, earliest) + 1
