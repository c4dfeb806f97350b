"""What a function of the script prints inside `$( ... )`: its body, where every arm and branch is decided."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, List, Optional, Sequence

from ..bash.nodes import Case, Command, CommandSub, Group, If, ProcessSub, Program, Redirect, Simple, Test, Word
from ..bash.questions import first
from ..types.text import EMPTY, Text
from .conditions import fits, test
from .expansion import word
from .shell_state import DEEPEST, Shell

if TYPE_CHECKING:
    from typing import Protocol, Union

    class Values(Protocol):
        """Who knows what words become and commands print: `values.Values`, which asks here for functions."""

        def substitute(self, part: Union[CommandSub, ProcessSub], shell: Shell) -> Text:
            """Return what a substitution stands for."""

        def words(self, many: Sequence[Word], shell: Shell) -> List[Text]:
            """Return the fields that words become."""

        def output(self, program: Program, shell: Shell, given: Optional[Text] = None) -> Optional[Text]:
            """Return what a program prints, None when that is not known."""

        def print_of(self, command: Command, shell: Shell, given: Optional[Text]) -> Optional[Text]:
            """Return what a command prints, None when that is not known."""


DECLARING = (b"local", b"declare", b"typeset", b"readonly", b"export")
_ASSIGNED = re.compile(rb"([A-Za-z_]\w*)=")
_NAMED = re.compile(rb"[A-Za-z_]\w*|-[rx]")


def of_call(run: Values, argv: List[Text], shell: Shell, given: Optional[Text]) -> Optional[Text]:
    """Return what a call prints; None where not all of it is known, or another function of that name may stand here.

    What nobody has read makes the functions before it forgotten; those that are known were written behind it.
    """
    name = argv[0].raw
    if shell.depth > DEEPEST or name in shell.unlike:
        return None
    body, base = shell.functions[name]
    if isinstance(body, Group) and body.redirects:
        return None
    inner = shell.fork()
    inner.positional, inner.base, inner.depth = argv[1:], base, shell.depth + 1
    return run.print_of(body, inner, given)


def of_case(run: Values, case: Case, shell: Shell, given: Optional[Text]) -> Optional[Text]:
    """Return what the arm prints that the word takes."""
    subject = word(shell, case.word, run.substitute)
    for patterns, body, end in case.arms if not case.redirects else ():
        answers = [fits(subject, word(shell, pattern, run.substitute)) for pattern in patterns]
        if True in answers:
            return run.output(body, shell, given) if end not in (b";&", b";;&") else None
        if None in answers:
            return None
    return EMPTY if not case.redirects else None


def of_if(run: Values, command: If, shell: Shell, given: Optional[Text]) -> Optional[Text]:
    """Return what the branch prints that is taken."""
    for condition, body in command.branches if not command.redirects else ():
        status = _status(run, condition, shell)
        if status is None:
            return None
        if status == 0:
            return run.output(body, shell, given)
    otherwise = run.output(command.otherwise, shell, given) if command.otherwise is not None else EMPTY
    return otherwise if not command.redirects else None


def _status(run: Values, condition: Program, shell: Shell) -> Optional[int]:
    """Return the answer of one test; other conditions are not followed."""
    command = condition.items[0].command if len(condition.items) == 1 else None
    if isinstance(command, Test):
        return test([word(shell, each, run.substitute) for each in command.words], double=True)
    if not isinstance(command, Simple) or not command.words or first(command.words[0]) not in (b"[", b"test"):
        return None
    argv = run.words(command.words, shell)
    inner = argv[1:-1] if argv[0].raw == b"[" else argv[1:]
    return None if any(text.open for text in inner) else test(inner)


def declared(run: Values, simple: Simple, shell: Shell) -> Optional[Text]:
    """Set what `local name=value` sets, and return nothing; None for other forms of it."""
    for part in simple.words[1:]:
        text = word(shell, part, run.substitute)
        match = _ASSIGNED.match(text.raw)
        if match is not None:
            shell.set(match.group(1), Text(text.slice(match.end()).pieces, False))
        elif not _NAMED.fullmatch(text.raw):
            return None
    return EMPTY


def is_for_errors(redirect: Redirect) -> bool:
    """Return whether it is `>&2`: what is written there is not read by `$( ... )`."""
    to = redirect.target
    return redirect.op == b">&" and redirect.fd in (None, b"", b"1") and to is not None and first(to) == b"2"
