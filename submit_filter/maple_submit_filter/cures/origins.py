"""Where a value is written that a fix changes: there the change belongs, and not where the value is used.

A rule changes what stands on a launch line. Where that is `$COUNT`, and the script assigns COUNT once and uses it
nowhere else, the same change is made to the assignment, to the default of `${COUNT:-8}`, or to the variable that COUNT
is made of. Whether that cures as well is not decided here: it is tried first, then the change as the rule has it.
"""

from __future__ import annotations

import re
from typing import Iterator, List, Optional, Tuple

from ..types.edits import Edit, Fix, Span
from ..types.job import Job
from ..types.launch_plan import LaunchPlan

_PLAIN = re.compile(rb"[\w.:/+-]+")  # what may stand inside any quotes
_USE = re.compile(rb"\"?(?:\$(\w+)|\$\{(\w+)\})\"?")
_DEFAULT = re.compile(rb"\"?\$\{\w+:?-([\w.:/+-]+)\}\"?")
_ASSIGNED = re.compile(rb"\w+=([\"']?)([\w.:/+-]+)\1")
_MADE = re.compile(rb"\w+=(\"?)\$\(\([^()]*\)\)\1")
_SETTING = re.compile(rb"^[ \t]*(?:export[ \t]+)?(\w+)=", re.MULTILINE)
_IN_NAME = re.compile(rb"[\w-]")
_DEEPEST = 4  # variables that stand for each other


def ways(fix: Fix, plan: LaunchPlan, job: Job) -> Tuple[Fix, ...]:
    """Return a fix with its changes where the values are written, if that is elsewhere, and as it is."""
    if not any(b"$" in job.source[edit.span.start : edit.span.end] for edit in fix.edits):
        return (fix,)
    moved = tuple(dict.fromkeys(_moved(edit, fix.edits, plan, job.source) or edit for edit in fix.edits))
    spans = {edit.span for edit in moved}
    there = (fix._replace(edits=moved),) if moved != fix.edits and len(spans) == len(moved) else ()
    return (*there, _telling(fix, plan, job))


def _moved(edit: Edit, beside: Tuple[Edit, ...], plan: LaunchPlan, source: bytes) -> Optional[Edit]:
    """Return the edit where the value is written, None where it stands already, or where nobody can tell."""
    if not _PLAIN.fullmatch(edit.new):
        return None
    span: Optional[Span] = edit.span
    for _ in range(_DEEPEST):
        place = _value(span, source) if span is not None else None
        if place is not None:
            return edit._replace(span=place) if place != edit.span else None
        span = _assigned(span, beside, plan, source) if span is not None else None
    return None


def _value(span: Span, source: bytes) -> Optional[Span]:
    """Return the bytes of a value that stands in *span*: as a default, or behind a `NAME=`."""
    default = _DEFAULT.fullmatch(source, span.start, span.end)
    if default:
        return Span(*default.span(1))
    match = _ASSIGNED.fullmatch(source, span.start, span.end)
    if match:
        return Span(*match.span(2))
    if _MADE.fullmatch(source, span.start, span.end):
        return Span(source.index(b"=", span.start) + 1, span.end)
    inner = Span(source.find(b"=", span.start, span.end) + 1, span.end)
    return _value(inner, source) if inner.start > span.start and _DEFAULT.fullmatch(source, *inner) else None


def _assigned(span: Span, beside: Tuple[Edit, ...], plan: LaunchPlan, source: bytes) -> Optional[Span]:
    """Return the one assignment of the variable that *span* uses, if nothing else uses it."""
    name = _name(span, source)
    places = plan.assigned.get(name, ()) if name else ()
    if len(places) != 1:
        return None
    covered: List[Span] = [span, places[0], *(edit.span for edit in beside)]
    for at in _mentions(name, source):
        alone = source[source.rfind(b"\n", 0, at) + 1 : at].strip() == b"export"
        if not alone and not any(part.start <= at < part.end for part in covered):
            return None
    return places[0]


def _mentions(name: bytes, source: bytes) -> Iterator[int]:
    """Yield where a name stands as a word of its own; an expression for each name would have to be compiled."""
    at = source.find(name)
    while at >= 0:
        end = at + len(name)
        if not _IN_NAME.match(source, end) and not (at and _IN_NAME.match(source, at - 1)):
            yield at
        at = source.find(name, end)


def _name(span: Span, source: bytes) -> bytes:
    """Return the variable that *span* uses, or is assigned from, and that is all there is of the value."""
    text = source[span.start : span.end]
    match = _USE.fullmatch(text) or _USE.fullmatch(text.partition(b"=")[2])
    return (match.group(1) or match.group(2)) if match else b""


def _telling(fix: Fix, plan: LaunchPlan, job: Job) -> Fix:
    """Return the fix, and if a value comes from a file beside the script that it says so."""
    for edit in fix.edits:
        name = _name(edit.span, job.source)
        file = _sets(name, plan, job) if name and name not in plan.assigned else b""
        if file:
            words = (name.decode("utf-8", "replace"), file.rsplit(b"/", 1)[-1].decode("utf-8", "replace"))
            return fix._replace(says=fix.says + ", here, because %s is set in %s, which Maple leaves alone" % words)
    return fix


def _sets(name: bytes, plan: LaunchPlan, job: Job) -> bytes:
    """Return the file that the script read and that assigns *name*, b"" where there is none."""
    read = ((path, job.read(path) if job.read is not None else None) for path in plan.depends)
    return next((path for path, text in read if text is not None and name in _SETTING.findall(text)), b"")
