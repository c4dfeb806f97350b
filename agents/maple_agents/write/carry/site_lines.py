"""Lines that only the old cluster understands go; those of the new one take their place."""

from __future__ import annotations

from collections import Counter

from maple_submit_filter.types.edits import Edit, Span

from ...request.script.parts import Foreign, Region
from ...request.script.walk import DECLARING, Found, bare, given


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


def native(foreign: Foreign, scheduler: str, commands: list[Found]) -> list[Edit]:
    """Return the edits that take away what stood in for variables of *scheduler*: there they are its own.

    Such lines stand in a script that was carried from there before.
    """
    prefix = b"PBS_" if scheduler == "pbs" else b"SLURM_"
    out = []
    for one in commands:
        names = [each.name for each in given(foreign.source, [one]) if not each.span.start < one.command.span.start]
        targets = [each.target for each in one.command.redirects if each.target is not None]
        into = any(b"$PBS_NODEFILE" in foreign.source[word.span.start : word.span.end] for word in targets)
        sets = bool(names) and all(name.startswith(prefix) for name in names) and not _runs(one, foreign.source)
        if sets or (into and scheduler == "pbs" and _writes(one)):
            out.append(_gone(one, foreign.source, one.siblings == 1 and _is_nested(one)))
    return out


def _runs(one: Found, source: bytes) -> bool:
    """Tell whether a command does more than set variables."""
    return bool(one.command.words) and bare(source, one.command.words[0]) not in DECLARING


def _writes(one: Found) -> bool:
    return any(each.op in (b">", b">>") for each in one.command.redirects)


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
