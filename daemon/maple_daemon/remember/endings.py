"""Where a script's end begins that starts nothing: commands that tell, copy and tidy up behind the last launch."""

from __future__ import annotations

from collections.abc import Sequence

from maple_submit_filter.answer.decision import MOST_READ
from maple_submit_filter.bash import nodes
from maple_submit_filter.bash.nodes import Command, Word
from maple_submit_filter.bash.parsing import parse
from maple_submit_filter.types.script import line_of

# Commands that start no other program and set nothing that one before them could have seen.
_NAMES = frozenset(
    (
        b"echo", b"printf", b"date", b"cp", b"mv", b"rm", b"mkdir", b"rmdir", b"touch", b"ls", b"cat", b"tar", b"gzip",
        b"rsync", b"chmod", b"sync", b"sleep", b"exit", b"true", b":", b"sacct", b"seff", b"sstat", b"nvidia-smi",
        b"hostname", b"uptime", b"du", b"df", b"tail", b"head", b"grep", b"wc", b"tee", b"module", b"deactivate",
    )
)  # fmt: skip


def after_from(script: bytes) -> int:
    """Return the 1-based line from which on nothing is started; the one behind the last where that cannot be told."""
    beyond = script.count(b"\n") + 2
    if len(script) > MOST_READ:
        return beyond
    items = parse(script).items
    own = {one.command.name for one in items if isinstance(one.command, nodes.Function)}
    found = beyond
    for at in range(len(items) - 1, 0, -1):
        item = items[at]
        if item.background or not _is_harmless(item.command, own):
            break
        line = line_of(script, item.command.span.start)
        if line_of(script, items[at - 1].command.span.end) < line:
            found = line
    return found


def _is_harmless(command: Command, own: set[bytes]) -> bool:
    if isinstance(command, (nodes.Pipeline, nodes.AndOr)):
        return all(_is_harmless(one, own) for one in command.commands)
    if not isinstance(command, nodes.Simple) or not all(_is_plain(one) for one in _words(command)):
        return False
    name = _literal(command.words[0]) if command.words else b":"
    return name in _NAMES and name not in own


def _words(command: nodes.Simple) -> Sequence[Word]:
    """Return every word of a command, those of assignments and redirections too."""
    values = [one.value for one in command.assignments] + [one.target for one in command.redirects]
    bodies = [one.heredoc.body for one in command.redirects if one.heredoc is not None]
    return [*command.words, *(one for one in values if one is not None), *bodies]


def _is_plain(word: Word) -> bool:
    """Return whether a word runs no command of its own."""
    return all(isinstance(one, nodes.Literal) or isinstance(one, nodes.Param) and one.arg is None for one in word.parts)


def _literal(word: Word) -> bytes:
    """Return the word if it stands for itself, else b""."""
    if not all(isinstance(one, nodes.Literal) for one in word.parts):
        return b""
    return b"".join(one.text for one in word.parts if isinstance(one, nodes.Literal))
