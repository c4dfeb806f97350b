"""Where a value is written that a fix changes: there the change belongs, and not where the value is used.

A rule changes what stands on a launch line. Where that is `$COUNT`, and the script assigns COUNT, the same change is
made to the assignment, to the default of `${COUNT:-8}`, to the variable that COUNT is made of, or to the argument that
a function is called with. Whether that cures as well is not decided here: it is tried first, then the change as the
rule has it, which says why it stands there.

What else uses the variable changes with it: a line that tells of it, a test, another launch line, a number made of it.
A value that is also something else, such as a number of threads or of another program, is left alone.
"""

from __future__ import annotations

import re
from typing import Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ..types.edits import Edit, Fix, Span
from ..types.job import Job, line_of
from ..types.launch_plan import LaunchPlan

_PLAIN = re.compile(rb"[\w.:/+-]+|\$\(\([^()'\"`]*\)\)")  # what may stand inside any quotes
_USE = re.compile(rb"\"?(?:\$(\w+)|\$\{(\w+)\})\"?")
_DEFAULT = re.compile(rb"\"?\$\{\w+:?-([\w.:/+-]+)\}\"?")
_ASSIGNED = re.compile(rb"\w+=([\"']?)([\w.:/+-]+)\1")
_MADE = re.compile(rb"\w+=(\"?)\$\(\([^()]*\)\)\1")
_ARGUMENT = re.compile(rb"\$\{?(\d)\b")
_SETTING = re.compile(rb"^[ \t]*(?:export[ \t]+)?(\w+)=", re.MULTILINE)
_IN_NAME = re.compile(rb"[\w-]")
_STARTS = re.compile(rb"(?:^|[;&|({]|\bthen|\bdo|\belse)[ \t]*")
_TELLS = re.compile(rb"(?:echo\b|printf\b|logger\b|:[ \t]|\[|\(\(|(?:el)?if\b|while\b|test\b)")
_READ = re.compile(rb">(?![&=]|>? *(?:&|/dev/))|(?<!\|)\|(?!\|)")
_NUMBER_OF = re.compile(rb"(?i)thread|cpu|core|worker|seed|batch|port")
_DEEPEST = 4  # variables that stand for each other


class _Place(NamedTuple):
    """Where a value is written, () nowhere that it can be changed; *other*: where else it is used, -1 nowhere."""

    spans: Tuple[Span, ...] = ()
    other: int = -1


def ways(fix: Fix, plan: LaunchPlan, job: Job) -> Tuple[Fix, ...]:
    """Return a fix with its changes where the values are written, if that is elsewhere, and as it is."""
    if not any(b"$" in job.source[edit.span.start : edit.span.end] for edit in fix.edits):
        return (fix,)
    places = [_place(edit, fix.edits, plan, job.source) for edit in fix.edits]
    moved = tuple(
        dict.fromkeys(
            edit._replace(span=span) for edit, place in zip(fix.edits, places) for span in (place.spans or (edit.span,))
        )
    )
    spans = {edit.span for edit in moved}
    there = (fix._replace(edits=moved),) if moved != fix.edits and len(spans) == len(moved) else ()
    return (*there, _telling(fix, places, plan, job))


def _place(edit: Edit, beside: Tuple[Edit, ...], plan: LaunchPlan, source: bytes) -> _Place:
    """Return where the value is written that an edit changes, () where it stands already, or where nobody can tell."""
    if not _PLAIN.fullmatch(edit.new):
        return _Place()
    spans: Tuple[Span, ...] = (edit.span,)
    covered = [other.span for other in beside]
    for _ in range(_DEEPEST):
        values = [_value(span, source) for span in spans]
        known = tuple(value for value in values if value is not None)
        if len(known) == len(spans):
            return _Place(known if known != (edit.span,) and len({source[a:b] for a, b in known}) == 1 else ())
        name = _name(spans[0], source) if len(spans) == 1 else b""
        if name.isdigit():
            return _Place(_argument(edit.span, name, plan, source))
        spans = (*plan.assigned.get(name, ()), *_set_beside(name, plan, source)) if name in plan.assigned else ()
        covered += spans
        other = _other_use(name, covered, plan, source) if spans else None
        if other is not None:
            return _Place((), other)
    return _Place()


def _set_beside(name: bytes, plan: LaunchPlan, source: bytes) -> Tuple[Span, ...]:
    """Return where a variable is set that the plan did not come by, as in the other branch of an `if`."""
    known = plan.assigned.get(name, ())
    matches = (_ASSIGNED.match(source, at) for at in _mentions(name, source) if not _holds(known, at))
    return tuple(Span(*match.span()) for match in matches if match is not None)


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


def _argument(span: Span, name: bytes, plan: LaunchPlan, source: bytes) -> Tuple[Span, ...]:
    """Return what a function is called with that *span* of a launch line comes to, if only one place takes it."""
    if sum(match.group(1) == name for match in _ARGUMENT.finditer(source)) != 1:
        return ()
    options = (option for step in plan.steps for link in step.links for option in link.options if option.value)
    written = [option.value.span() for option in options if option.value and option.value_span == span]
    return tuple(dict.fromkeys(place for place in written if place is not None and place != span))


def _other_use(name: bytes, covered: Sequence[Span], plan: LaunchPlan, source: bytes, deep: int = 0) -> Optional[int]:
    """Return where a variable is used for something that should not change with it, None where it is nowhere."""
    steps = [step.span for step in plan.steps]
    for at in _mentions(name, source):
        if any(part.start <= at < part.end for part in covered) or _tells(source, at):
            continue
        within = [span for span in steps if span.start <= at < span.end]
        if within and not _NUMBER_OF.search(_word(source, at)):
            continue
        made = next(((other, spans) for other, spans in plan.assigned.items() if _holds(spans, at)), None)
        if made is None or deep >= _DEEPEST or _NUMBER_OF.search(made[0]):
            return at
        if _other_use(made[0], [*covered, *made[1]], plan, source, deep + 1) is not None:
            return at
    return None


def _holds(spans: Sequence[Span], at: int) -> bool:
    return any(span.start <= at < span.end for span in spans)


def _tells(source: bytes, at: int) -> bool:
    """Return whether the command that holds a place only shows, tests or exports what stands there, or is a remark.

    What is written to a file, or goes on in a pipe, may be read.
    """
    start, end = source.rfind(b"\n", 0, at) + 1, source.find(b"\n", at)
    line = source[start:at]
    if line.lstrip().startswith(b"#"):
        return True
    last = 0
    for match in _STARTS.finditer(line):
        last = match.end()
    exported = line.startswith(b"export", last) and line[-1:] not in (b"$", b"{")
    whole = line[last:] + source[at : end if end >= 0 else len(source)]
    return exported or (_TELLS.match(whole) is not None and not _READ.search(whole))


def _word(source: bytes, at: int) -> bytes:
    """Return the option that a value belongs to: the word that it stands in, and the one in front."""
    return b" ".join(source[max(0, at - 60) : at].split(b"\n")[-1].rsplit(b" ", 2)[-2:])


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


def _telling(fix: Fix, places: List[_Place], plan: LaunchPlan, job: Job) -> Fix:
    """Return the fix, and if a value comes from a file beside the script, or is used for more, that it says so."""
    for edit, place in zip(fix.edits, places):
        name = _name(edit.span, job.source)
        file = _sets(name, plan, job) if name and name not in plan.assigned else b""
        if file:
            words = (name.decode("utf-8", "replace"), file.rsplit(b"/", 1)[-1].decode("utf-8", "replace"))
            return fix._replace(says=fix.says + ", here, because %s is set in %s, which Maple leaves alone" % words)
        if name and place.other >= 0:
            more = (name.decode("utf-8", "replace"), line_of(job.source, place.other))
            return fix._replace(says=fix.says + ", here, because %s is used for more in line %d" % more)
    return fix


def _sets(name: bytes, plan: LaunchPlan, job: Job) -> bytes:
    """Return the file that the script read and that assigns *name*, b"" where there is none."""
    read = ((path, job.read(path) if job.read is not None else None) for path in plan.depends)
    return next((path for path, text in read if text is not None and name in _SETTING.findall(text)), b"")
