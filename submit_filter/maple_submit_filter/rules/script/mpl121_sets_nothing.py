"""Assignments that bash does not read as such."""

from __future__ import annotations

import re
from itertools import islice
from typing import Iterator, NamedTuple, Tuple

from ...bash import nodes
from ...bash.parser import parse
from ...bash.questions import lies_in, simples, unreached
from ...launchers.programs import RANK_VARIABLES
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule

CODE = "MPL121"
MOST = 16  # slips that are spoken of: a script of more was written by no person
_CANDIDATE = re.compile(
    rb"(?m)^[ \t]*(?:(?:export|declare|local|readonly|typeset)[ \t][^\n#]*?)?"
    rb"(?:\b[A-Za-z_]\w*(?:[ \t]+=|=[ \t]+[^\s#])|\$\{?[A-Za-z_]\w*\}?=)"
)
_DECLARES = (b"export", b"declare", b"local", b"readonly", b"typeset")
_NAME = re.compile(rb"[A-Za-z_]\w*\Z")
_NAMED = re.compile(rb"[A-Za-z_]\w*(?:\Z|\+?=|\[)")
_NUMBER = re.compile(rb"[\d.]+\Z")


class _Slip(NamedTuple):
    """An assignment to *name* that sets nothing: *gaps* are the bytes that are too many; *sure*: no other is meant."""

    name: bytes
    at: Span
    gaps: Tuple[Span, ...]
    sure: bool
    says: str


@rule("MPL121", "an assignment that sets nothing")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """bash reads NAME=VALUE as an assignment only without blanks around = and without a dollar in front of the name.

    Wrong: export MASTER_ADDR = $(hostname); NNODES = 4; MASTER_PORT= 29500; $MASTER_ADDR=$(hostname)
    Right: export MASTER_ADDR=$(hostname); NNODES=4; MASTER_PORT=29500
    Why:   bash says: export: `=': not a valid identifier, or: NNODES: command not found, and goes on without the value.
           Where the script or torch reads it, Maple mends it unasked; else it only shows the change, because the job
           has run without.
    """
    if not job.script.is_shell or _CANDIDATE.search(job.source) is None:
        return
    tree = parse(job.source)
    never = unreached(tree, job.source)
    run = (command for command in simples(tree) if not lies_in(command.span, never))
    slips = (slip for command in run for slip in _slips(command, plan))
    for slip in islice(slips, MOST):
        edits = tuple(Edit(gap, b"", CODE) for gap in slip.gaps)
        safe = slip.sure and (slip.name in RANK_VARIABLES or _is_read(slip.name, job.source))
        fix = Fix(edits, Safety.SAFE if safe else Safety.ASK, "%s=... in one word" % slip.name.decode())
        yield Finding(CODE, slip.says, slip.at, slip.sure, fixes=(fix,), help="NAME=VALUE, without a blank or a $")


def _slips(command: nodes.Simple, plan: LaunchPlan) -> Iterator[_Slip]:
    words = command.words
    if not words:
        return
    name = _literal(words[0])
    if name in _DECLARES and not command.assignments:
        yield from _declared(name.decode(), words)
        for word in words[1:]:
            yield from (slip for slip in _dollar(word) if slip.name not in plan.assigned)
    elif not command.assignments and len(words) == 1 and not name:
        yield from _dollar(words[0])
    elif not command.assignments and _NAME.match(name) and len(words) in (2, 3):
        yield from _blank(name, words)
    elif len(command.assignments) == 1 and len(words) == 1 and not command.redirects:
        yield from _empty(command.assignments[0], words[0])


def _declared(declares: str, words: Tuple[nodes.Word, ...]) -> Iterator[_Slip]:
    """`export NAME = VALUE`, `export NAME =VALUE`, `export NAME= VALUE` and `export $NAME=VALUE`."""
    for index in range(1, len(words)):
        word, text = words[index], _literal(words[index])
        before = words[index - 1] if index > 1 else None
        behind = words[index + 1] if index + 1 < len(words) else None
        first = word.parts[0] if word.parts else None
        if isinstance(first, nodes.Literal) and first.text[:1] == b"=" and not first.quote:
            name = _literal(before) if before is not None else b""
            if before is None or not _NAME.match(name) or (text == b"=" and behind is None):
                continue
            gaps = [Span(before.span.end, word.span.start)]
            gaps += [Span(word.span.end, behind.span.start)] if text == b"=" and behind is not None else []
            end = behind if text == b"=" and behind is not None else word
            says = "%s takes %s, = and the value for three names, and sets nothing" if text == b"=" else (
                "%s takes %s and the value for two names, and sets nothing")  # fmt: skip
            yield _Slip(
                name, Span(before.span.start, end.span.end), tuple(gaps), True, says % (declares, name.decode())
            )
        elif text[-1:] == b"=" and _NAME.match(text[:-1]) and behind is not None and not _NAMED.match(_begin(behind)):
            says = "%s takes the value behind %s for a name of its own, and sets nothing" % (declares, text.decode())
            yield _Slip(text[:-1], Span(word.span.start, behind.span.end),
                        (Span(word.span.end, behind.span.start),), True, says)  # fmt: skip


def _dollar(word: nodes.Word) -> Iterator[_Slip]:
    """`$NAME=VALUE`: what NAME holds, with the rest behind it, is the name of a command, or of a variable."""
    parts = word.parts
    if len(parts) < 2:
        return
    name, rest = parts[0], parts[1]
    if not isinstance(name, nodes.Param) or name.op or name.quoted or name.subscript is not None:
        return
    if not isinstance(rest, nodes.Literal) or rest.quote or rest.text[:1] != b"=" or not _NAME.match(name.name):
        return
    braces = name.span.end - name.span.start > len(name.name) + 1
    gaps = [Span(name.span.start, name.span.start + 1 + braces)]
    gaps += [Span(name.span.end - 1, name.span.end)] if braces else []
    says = "$%s=... does not set %s" % (name.name.decode(), name.name.decode())
    yield _Slip(name.name, word.span, tuple(gaps), True, says)


def _blank(name: bytes, words: Tuple[nodes.Word, ...]) -> Iterator[_Slip]:
    """`NAME = VALUE` and `NAME =VALUE`."""
    second = words[1].parts[0] if words[1].parts else None
    if not isinstance(second, nodes.Literal) or second.quote or second.text[:1] != b"=":
        return
    alone = _literal(words[1]) == b"="
    if alone != (len(words) == 3) or second.text[:2] == b"==":
        return
    gaps = [Span(words[0].span.end, words[1].span.start)]
    gaps += [Span(words[1].span.end, words[2].span.start)] if alone else []
    says = "bash looks for a command of the name %s, and sets nothing" % name.decode()
    yield _Slip(name, Span(words[0].span.start, words[-1].span.end), tuple(gaps), True, says)


def _empty(assignment: nodes.Assignment, word: nodes.Word) -> Iterator[_Slip]:
    """`NAME= VALUE` runs VALUE as a command, for which NAME is empty."""
    value, given = assignment.value, _literal(word)
    if assignment.array is not None or value is None or value.parts or assignment.append:
        return
    substituted = len(word.parts) == 1 and isinstance(word.parts[0], nodes.CommandSub)
    if not _NUMBER.match(given) and not substituted:
        return
    says = "%s is set to nothing for the command that its value names" % assignment.name.decode()
    gap = Span(assignment.span.end, word.span.start)
    yield _Slip(assignment.name, Span(assignment.span.start, word.span.end), (gap,), not substituted, says)


def _literal(word: nodes.Word) -> bytes:
    """Return a word that is written out, b"" for any other."""
    parts = word.parts
    return parts[0].text if len(parts) == 1 and isinstance(parts[0], nodes.Literal) and not parts[0].quote else b""


def _begin(word: nodes.Word) -> bytes:
    first = word.parts[0] if word.parts else None
    return first.text if isinstance(first, nodes.Literal) and not first.quote else b"$"


def _is_read(name: bytes, source: bytes) -> bool:
    return re.search(rb"\$\{?%s\b" % re.escape(name), source) is not None
