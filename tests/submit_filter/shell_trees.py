"""What must hold of any tree that the shell reader returns, and which simple commands are in it."""

from __future__ import annotations

import re
from typing import Iterator

from maple_submit_filter.bash import nodes as shell
from maple_submit_filter.bash.parser import parse
from maple_submit_filter.types.edits import Span

# What may stand between the words of one command list: blanks, comments, operators, reserved words, continuations.
BETWEEN = re.compile(
    rb"(?:[ \t\n;|&(){}!<>`'\"$]|\\\n|#[^\n]*|\[\[|\]\]|--?p?\b"
    rb"|\b(?:if|then|elif|else|fi|for|in|while|until|do|done|case|esac|select|function|time)\b)*"
)


def children(node: object) -> "list[object]":
    """Return the nodes directly inside, here-documents apart: their bodies lie behind the line."""
    found: list[object] = []
    for field in node if isinstance(node, tuple) else ():
        if isinstance(field, (Span, bytes, shell.HereDoc)) or field is None:
            continue
        if isinstance(field, tuple) and not hasattr(field, "span"):
            found.extend(children(field))
        elif isinstance(field, tuple):
            found.append(field)
    return found


def nodes(node: object) -> Iterator[tuple[object, list[object]]]:
    """Yield every node that has a span, with the nodes directly inside it."""
    inside = children(node)
    yield node, inside
    for one in inside:
        yield from nodes(one)
    if isinstance(node, shell.Redirect) and node.heredoc is not None:
        yield from nodes(node.heredoc.body)


def broken(source: bytes) -> str:
    """Return what is wrong with the spans of the tree of *source*, or ""."""
    program = parse(source)
    for node, inside in nodes(program):
        span = node.span  # type: ignore[attr-defined]
        if not 0 <= span.start <= span.end <= len(source):
            return "out of bounds: %r" % (node,)
        if isinstance(node, shell.Literal) and node.quote != b"$'" and source[span.start : span.end] != node.text:
            return "not one for one: %r" % (node,)
        at = span.start
        for one in sorted(inside, key=lambda child: child.span):  # type: ignore[attr-defined]
            if one.span.start < at or one.span.end > span.end:  # type: ignore[attr-defined]
                return "not nested or not ordered: %r in %r" % (one, node)
            at = one.span.end  # type: ignore[attr-defined]
    return ""


def uncovered(source: bytes) -> "list[bytes]":
    """Return the bytes between the words of *source* that are no blanks, comments, operators or reserved words."""
    program = parse(source)
    taken = bytearray(len(source))
    for node, _ in nodes(program):
        if isinstance(node, (shell.Word, shell.Redirect, shell.Assignment, shell.Test, shell.Unread, shell.Loop)):
            end = node.span.end
            if isinstance(node, shell.Loop):  # its variable and header are no words
                end = node.words[0].span.start if node.words else node.body.span.start
                end = min(end, node.condition.span.start) if node.condition else end
            taken[node.span.start : end] = b"\1" * (end - node.span.start)
        if isinstance(node, shell.Function):
            end = node.body.span.start
            taken[node.span.start : end] = b"\1" * (end - node.span.start)
        if isinstance(node, shell.Redirect) and node.heredoc is not None:
            stop = source.find(b"\n", node.heredoc.span.end)
            stop = len(source) if stop < 0 or not node.heredoc.closed else stop
            taken[node.heredoc.span.start : stop] = b"\1" * (stop - node.heredoc.span.start)
    gaps = re.finditer(rb"\0+", bytes(taken))
    texts = (source[gap.start() : gap.end()] for gap in gaps)
    return [text for text in texts if not BETWEEN.fullmatch(text)]


def simple_commands(source: bytes) -> "list[tuple[tuple[bytes, ...], tuple[bytes, ...]]]":
    """Return the source texts of assignments and words of every simple command, in order."""
    found = []
    for node, _ in nodes(parse(source)):
        if isinstance(node, shell.Simple):
            assignments = tuple(source[one.span.start : one.span.end] for one in node.assignments)
            words = tuple(source[one.span.start : one.span.end] for one in node.words)
            found.append((node.span.start, assignments, words))
    return [(assignments, words) for _, assignments, words in sorted(found)]
