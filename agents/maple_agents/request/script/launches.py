"""The launch lines of a script: where the words of each launcher are written, and where its program is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from maple_submit_filter.bash.nodes import Literal, Simple
from maple_submit_filter.launchers.registry import AGENTS, OUTER
from maple_submit_filter.types.edits import Span
from maple_submit_filter.types.launch_plan import LaunchPlan, Link, Step
from maple_submit_filter.types.text import NUL
from maple_submit_filter.types.text import Text as Value

from .parts import Launch, Words
from .walk import FoundCommand, Text, bare, context, simple_commands

OF_TASK = re.compile(  # what only a task can say of itself
    rb"SLURM_(?:PROCID|LOCALID|NODEID)|PALS_(?:RANKID|LOCAL_RANKID|NODEID|LOCAL_SIZE)|PMIX?_(?:RANK|LOCAL_RANK|SIZE|"
    rb"LOCAL_SIZE)|OMPI_COMM_WORLD_(?:RANK|LOCAL_RANK|SIZE|LOCAL_SIZE)|MPI_LOCALN?RANK(?:ID|S)"
)
_BETWEEN = b" \t\n\\\"'"


class Body(NamedTuple):
    """A script taken apart: its commands, and the texts in it."""

    source: bytes
    commands: list[FoundCommand]
    texts: list[Text]


def launches(plan: LaunchPlan, body: Body) -> tuple[Launch, ...]:
    """Return the launch lines in order; steps that live by the same words (a loop's rounds) are one."""
    together: dict[tuple[object, ...], list[Step]] = {}
    for step in plan.steps:
        together.setdefault(_places(step), []).append(step)
    made = [_launch(tuple(steps), body) for steps in together.values()]
    return tuple(sorted(made, key=lambda launch: (launch.line, launch.at)))


def _places(step: Step) -> tuple[object, ...]:
    return (step.span, tuple(link.name_span for link in step.links), step.program_span)


def _launch(steps: tuple[Step, ...], body: Body) -> Launch:
    step = steps[0]
    outer = next((link for link in step.links if link.name in OUTER), None)
    agent = next((link for link in reversed(step.links) if link.name in AGENTS), None)
    program = program_span(step, body)
    stop = program.start if program is not None else -1
    inner = _words(agent, stop, body) if agent is not None else None
    if inner is not None and outer is not None:
        stop = inner.spans[0].start
    first = _words(outer, stop, body) if outer is not None else None
    starts = [span.start for words in (first, inner) if words is not None for span in words.spans]
    at = min((_top(start, body) for start in (step.span.start, *starts)), default=step.span.start)
    where = context(body.texts, program.start) if program is not None else None
    quote = where.quote if where is not None else b""
    return Launch(steps, step.line, first, inner, program, quote, at, _is_small(step, where, body.source))


def _top(offset: int, body: Body) -> int:
    """Return the first byte of the script's own entry that holds *offset*, or the here-document that does."""
    documents = [
        (command.top.start, each.heredoc.span)
        for command in body.commands
        for each in command.command.redirects
        if each.heredoc is not None
    ]
    for start, span in documents:
        if span.start <= offset < span.end:
            return start
    holding = [command.top for command in body.commands if command.top.start <= offset < command.top.end]
    return min((top.start for top in holding), default=offset)


def _is_small(step: Step, text: Text | None, source: bytes) -> bool:
    """Tell whether one task does all, as its line says; an agent that is told no number of ranks may mean any.

    *text*: what a shell of its own reads, and the program is in: numbers of a task in it are meant for many.
    """
    agent = next((link for link in reversed(step.links) if link.name in AGENTS), None)
    if agent is None:
        if not step.links:
            spans = [step.span, *([text.span] if text is not None else [])]
            return all(OF_TASK.search(source, *span) is None for span in spans)
        return step.tasks == 1 and all((group.declared or 1) == 1 for group in step.groups)
    counted = agent.option("nproc-per-node", "num-processes", "num-gpus") is not None
    return counted and bool(step.groups) and step.nodes == 1 and all(group.declared == 1 for group in step.groups)


def written(value: Value) -> list[Span]:
    """Return where the pieces of a word are written, expansions as they stand in the script."""
    spans = [
        piece.cover or (Span(piece.start, piece.start + len(piece.text)) if piece.start >= 0 else None)
        for piece in value.pieces
    ]
    return [span for span in spans if span is not None]


def _words(link: Link, stop: int, body: Body) -> Words | None:
    """Return where the launcher's own words are written; None where its name does not stand in the script."""
    if link.name_span is None:
        return None
    spans = [Span(link.name_span.start, link.name_span.end)]
    for value in link.argv[1:]:
        for span in written(value):
            spans = _joined(spans, span, stop, body.source)
    where = context(body.texts, link.name_span.start)
    quote = where.quote if where is not None else b""
    whole = _counted(link, where, body)
    if whole is not None and (stop < whole.start or whole.end <= stop):
        spans = [whole, *(span for span in spans[1:] if span.start >= whole.end)]
    return Words(link.name, tuple(_closed(span, body.source, quote) for span in spans), quote)


def _counted(link: Link, where: Text | None, body: Body) -> Span | None:
    """Return the launcher's words by counting those of its command; None where a word of it became several, or none."""
    start = link.name_span.start if link.name_span is not None else -1
    command = _command_at(start, where, body)
    if command is None:
        return None
    written_words = [word for word in command.words if word.span.start >= start]
    if len(written_words) < len(link.argv) or not written_words or written_words[0].span.start != start:
        return None
    for word, value in zip(written_words, link.argv):
        escaped = b"\\$" in body.source[word.span.start : word.span.end]
        plain = all(isinstance(part, Literal) for part in word.parts) and not escaped
        if plain and bare(body.source, word) != value.raw:
            return None
    return Span(start, written_words[len(link.argv) - 1].span.end)


def _joined(spans: list[Span], span: Span, stop: int, source: bytes) -> list[Span]:
    """Add one place to the last where only blanks and quotes stand between, else as a place of its own.

    What stands before the launcher's name belongs to a value that the line only uses, unless it is a word of a list
    that is added to (`launch+=( ... )`).
    """
    last = spans[-1]
    if last.start <= span.start and span.end <= last.end:
        return spans
    gap = source[last.end : span.start]
    near = span.start >= last.end and (stop < last.end or span.end <= stop)
    if near and not gap.strip(_BETWEEN):
        return [*spans[:-1], Span(last.start, span.end)]
    if near and b"+=(" in gap and not gap.replace(b")", b"").strip(_BETWEEN + _name_of_list(gap)):
        return [*spans, span]
    return spans


def _name_of_list(gap: bytes) -> bytes:
    """Return the bytes that `NAME+=(` may have."""
    return gap if gap.count(b"+=(") == 1 and gap.strip(b" \t\n)").endswith(b"+=(") else b""


def _closed(span: Span, source: bytes, quote: bytes) -> Span:
    """Return the span with the quote that closes its last word; the quotes that the text itself stands in stay."""
    text = source[span.start : span.end]
    for mark in (b'\\"', b'"', b"'"):
        if mark == quote:
            continue
        count = text.count(mark) - (text.count(b'\\"') if mark == b'"' else 0)
        if count % 2 and source.startswith(mark, span.end):
            return Span(span.start, span.end + len(mark))
    return span


def program_span(step: Step, body: Body) -> Span | None:
    """Return the bytes of the program with its arguments as written, None where they do not stand in one place.

    They end with the command that they stand in: what its redirections say is not part of them.
    """
    spans = [span for span in step.program_spans[:1] if span is not None]
    if not spans or (step.program and NUL in step.program[0]):
        return None
    start = spans[0].start
    text = context(body.texts, start)
    end = _end_of_command(start, text, body)
    return Span(start, end) if end is not None and end > start else None


def _end_of_command(start: int, text: Text | None, body: Body) -> int | None:
    """Return the end of the last word of the command whose words hold *start*."""
    command = _command_at(start, text, body)
    if command is None or not any(word.span.start <= start < word.span.end for word in command.words):
        return None  # in an assignment: what follows there is not surely the rest of the command
    before = [each.span.start for each in command.redirects if each.span.start > start]
    ends = [word.span.end for word in command.words if not before or word.span.end <= before[0]]
    return max(ends, default=None)


def _command_at(start: int, text: Text | None, body: Body) -> Simple | None:
    """Return the innermost command that holds the byte *start* of the script, or of a text in it."""
    commands = body.commands if text is None else simple_commands(body.source, text.span.start, text.span.end)
    holding = [
        command.command for command in commands if command.command.span.start <= start < command.command.span.end
    ]
    return min(holding, key=lambda simple: simple.span.end - simple.span.start, default=None)


def options_kept(link: Link, layout: Sequence[str], source: bytes) -> list[tuple[str, bytes]]:
    """Return the options of a launcher that say nothing of the layout, by name, each as it is written."""
    out = []
    for option in link.options:
        if option.name in layout:
            continue
        span = option.span
        if span is not None:
            out.append((option.name, source[span.start : span.end]))
        elif option.value is not None:
            places = written(option.value)
            if places:
                out.append((option.name, option.spelling + b" " + source[places[0].start : places[-1].end]))
        else:
            out.append((option.name, option.spelling))
    return out
