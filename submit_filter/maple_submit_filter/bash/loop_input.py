"""Which commands have the list of a `while read` as their standard input."""

from __future__ import annotations

from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence

from . import nodes
from .questions import first, simples

_TO_IT = (b"<", b"<>", b"<<", b"<<-", b"<<<", b"<&")
_LEAVES = (b"break", b"exit", b"exec", b"return")
_MOST_CALLS = 4


class _Input(NamedTuple):
    """Where standard input comes from: *given* by the script, not its own; *is_list*: a loop around reads it."""

    given: bool
    is_list: bool


_NOTHING = _Input(True, False)


def on_the_list(program: nodes.Program) -> Iterator[nodes.Simple]:
    """Yield, in order, each command whose standard input is the list that a loop around it goes through.

    What runs in the background of a script, and what a redirection or a pipe feeds, has another one. A loop that is
    left after its first line loses nothing.
    """
    functions = {node.name: node.body for node in _functions(program)}
    seen = {}
    for command in _Walk(functions).program(program, _Input(False, False), 0):
        seen[command.span] = command
    yield from (seen[span] for span in sorted(seen))


class _Walk:
    def __init__(self, functions: Dict[bytes, nodes.Command]) -> None:
        self.functions = functions

    def program(self, program: Optional[nodes.Program], source: _Input, calls: int) -> Iterator[nodes.Simple]:
        for item in program.items if program is not None else ():
            yield from self.command(item.command, _NOTHING if item.background else source, calls)

    def command(self, node: object, source: _Input, calls: int) -> Iterator[nodes.Simple]:
        if isinstance(node, (nodes.Function, nodes.Redirect, nodes.ProcessSub)):
            return
        source = _redirected(getattr(node, "redirects", ()), source)
        if isinstance(node, nodes.Pipeline):
            for index, command in enumerate(node.commands):
                yield from self.command(command, _NOTHING if index else source, calls)
            return
        if isinstance(node, nodes.Program):
            yield from self.program(node, source, calls)
            return
        if isinstance(node, nodes.Loop) and source.given and _reads_lines(node) and not _is_left(node.body):
            source = _Input(True, True)
        if isinstance(node, nodes.Simple):
            yield from self.simple(node, source, calls)
        for part in _parts(node):
            yield from self.command(part, source, calls)

    def simple(self, node: nodes.Simple, source: _Input, calls: int) -> Iterator[nodes.Simple]:
        name = first(node.words[0]) if node.words else b""
        if source.is_list and node.words:
            yield node
        if name in self.functions and calls < _MOST_CALLS:
            yield from self.command(self.functions[name], source, calls + 1)


def _parts(node: object) -> List[object]:
    return [part for part in node if isinstance(part, tuple)] if isinstance(node, tuple) else []


def _redirected(redirects: Sequence[nodes.Redirect], source: _Input) -> _Input:
    own = any(redirect.op in _TO_IT and redirect.fd in (None, b"", b"0") for redirect in redirects)
    return _NOTHING if own else source


def _reads_lines(loop: nodes.Loop) -> bool:
    """Return whether a loop's condition takes a line of standard input."""
    return any(_reads_line(command) for command in simples(loop.condition))


def _reads_line(command: nodes.Simple) -> bool:
    if not command.words or first(command.words[0]) != b"read":
        return False
    apart = any(redirect.op in _TO_IT for redirect in command.redirects)
    return not apart and not any(first(word).startswith(b"-") and b"u" in first(word) for word in command.words)


def _is_left(body: nodes.Program) -> bool:
    """Return whether a loop is left after its first round, whatever that finds."""
    names = [
        first(item.command.words[0])
        for item in body.items
        if isinstance(item.command, nodes.Simple) and item.command.words
    ]
    return any(name in _LEAVES for name in names)


def _functions(node: object) -> Iterator[nodes.Function]:
    if isinstance(node, nodes.Function):
        yield node
    for part in _parts(node):
        yield from _functions(part)
