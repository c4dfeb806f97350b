"""Small questions about commands, answered from how they are written."""

from __future__ import annotations

from typing import Iterator, List, Optional, Sequence, Tuple

from ..types.edits import Span
from .nodes import (
    AndOr,
    ArithCommand,
    Assignment,
    Command,
    Function,
    Group,
    If,
    Literal,
    Loop,
    Param,
    Pipeline,
    Program,
    Redirect,
    Simple,
    Test,
    Word,
)

# Commands whose output is one word in all sane uses, so that an unquoted substitution of it does not split.
SINGLE = frozenset(
    b"shuf date expr wc head tail awk cut basename dirname pwd hostname python python3 mktemp nproc uuidgen id whoami "
    b"realpath readlink which echo bc jot nvidia-smi getent printf tr sed grep git openssl od jq".split()
)
# Commands that never read standard input.
SILENT = frozenset(
    b"[ [[ test : true false echo printf export declare local let cd sleep date hostname basename dirname mkdir rm cp "
    b"mv touch ls set shift break continue unset".split()
)
QUESTIONS = frozenset(b"[ [[ test command type which grep egrep pgrep hash".split())


def first(word: Word) -> bytes:
    """Return a word's bytes where it is one literal, else b""."""
    return word.parts[0].text if len(word.parts) == 1 and isinstance(word.parts[0], Literal) else b""


def asks(command: Command) -> bool:
    """Return whether a command is asked for its answer, so that failing is no failure."""
    if isinstance(command, Pipeline):
        return asks(command.commands[-1])
    if isinstance(command, Simple):
        return bool(command.words) and first(command.words[0]) in QUESTIONS
    return isinstance(command, (Test, ArithCommand))


_TOOLS = frozenset(b"command type which hash hostname uname module nvidia-smi rocm-smi lspci sinfo scontrol ps".split())
_OF_MACHINES = (b"/etc/", b"/proc/", b"/sys/", b"/dev/", b"/opt/", b"/usr/")
_OF_FILES = frozenset(b"[ -a -d -e -f -h -n -r -s -w -x -z -L ! ]".split())


def only_looks(condition: object) -> bool:
    """Return whether a condition asks for files, for what is set, or how a command ended.

    It then says when a branch is wanted, not which of two machines, sizes or kinds of run the branch is written for.
    """
    asked = list(within(condition, (Simple, Test, ArithCommand)))
    return bool(asked) and all(_looks(command) for command in asked)


def _looks(command: object) -> bool:
    if not isinstance(command, (Simple, Test)) or not command.words:
        return False
    if any(first(word).startswith(_OF_MACHINES) for word in command.words):
        return False
    name = first(command.words[0])
    if isinstance(command, Test) or name in (b"[", b"test"):
        return not any(_compares(word) for word in command.words)
    return bool(name) and name not in _TOOLS


def _compares(word: Word) -> bool:
    text = first(word)
    return text in (b"=", b"==", b"!=", b"=~", b"<", b">") or (text[:1] == b"-" and text not in _OF_FILES)


def file_written(redirects: Sequence[Redirect]) -> Optional[Redirect]:
    for redirect in redirects:
        if redirect.op in (b">", b">>", b">|", b"&>", b"&>>") and redirect.fd in (None, b"", b"1"):
            return redirect
    return None


def first_words(body: Program) -> Optional[List[bytes]]:
    """Return the names of all commands of a list without branches, None where it has any, or a name is not literal."""
    names: List[bytes] = []
    for item in body.items:
        commands = item.command.commands if isinstance(item.command, (Pipeline, AndOr)) else (item.command,)
        for command in commands:
            if not isinstance(command, Simple) or not command.words or not first(command.words[0]):
                return None
            names.append(first(command.words[0]).rsplit(b"/", 1)[-1])
    return names


def single(body: Program) -> bool:
    """Return whether an unknown output is one word in all sane uses."""
    if not body.items:
        return True
    command = body.items[-1].command
    while isinstance(command, (Pipeline, AndOr, Group)):
        command = command.body.items[-1].command if isinstance(command, Group) else command.commands[-1]
    if not isinstance(command, Simple) or not command.words:
        return False
    return first(command.words[0]).rsplit(b"/", 1)[-1] in SINGLE


def only_open(loop: Loop) -> bool:
    return not any(isinstance(part, Literal) for word in loop.words or () for part in word.parts)


def only_prints(body: Program) -> bool:
    """Return whether a loop's body does nothing but `echo` and `printf`."""
    commands = [item.command for item in body.items]
    simple = [command for command in commands if isinstance(command, Simple) and command.words]
    return len(simple) == len(commands) and all(first(command.words[0]) in (b"echo", b"printf") for command in simple)


def read_from(command: Simple) -> bytes:
    """Return the descriptor of `read NAME <&3`, b"" where it reads standard input."""
    for redirect in command.redirects:
        if redirect.op == b"<&" and redirect.fd in (None, b"", b"0") and redirect.target is not None:
            return first(redirect.target)
    return b""


def reads_apart(loop: Loop) -> bool:
    """Return whether a `while read` takes its lines from a descriptor of its own."""
    items = loop.condition.items if loop.condition is not None else ()
    command = items[0].command if len(items) == 1 else None
    return isinstance(command, Simple) and bool(read_from(command))


def takes_input(body: Program) -> bool:
    """Return whether a command of a loop's foreground may read the loop's standard input."""
    return any(not item.background and _takes_input(item.command) for item in body.items)


def _takes_input(command: object) -> bool:
    if isinstance(command, Simple):
        own = any(redirect.op in (b"<", b"<<<", b"<<", b"<<-") for redirect in command.redirects)
        name = first(command.words[0]).rsplit(b"/", 1)[-1] if command.words else b""
        return not own and bool(command.words) and name not in SILENT
    if isinstance(command, Program):
        return takes_input(command)
    return isinstance(command, tuple) and any(_takes_input(part) for part in command if isinstance(part, tuple))


def assigned(body: Program) -> List[bytes]:
    """Return the names that a loop's body may change."""
    out: List[bytes] = []
    stack: List[object] = [body]
    while stack:
        node = stack.pop()
        if isinstance(node, Assignment):
            out.append(node.name)
        if isinstance(node, Loop) and node.variable:
            out.append(node.variable)
        if isinstance(node, tuple):
            stack.extend(part for part in node if isinstance(part, tuple) and not isinstance(part, (Literal, Param)))
    return out


def within(node: object, kinds: Tuple[type, ...]) -> Iterator[object]:
    """Yield every node of some kinds in *node*, itself among them, in the order of the script."""
    stack: List[object] = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, kinds):
            yield top
        if isinstance(top, tuple):
            stack.extend(part for part in reversed(top) if isinstance(part, tuple))


def simples(node: object) -> Iterator[Simple]:
    """Yield every simple command in *node*, itself among them, in the order of the script; substitutions included."""
    return (command for command in within(node, (Simple,)) if isinstance(command, Simple))


def unreached(program: Program, source: bytes) -> List[Span]:
    """Return what never runs: the branch of `if false`, functions whose name stands nowhere else, and here-documents
    in which nothing is expanded, unless a shell reads them.
    """
    spans: List[Span] = []
    for node in within(program, (If, Function, Simple)):
        if isinstance(node, If):
            spans += [body.span for condition, body in node.branches if _is_false(condition)]
        elif isinstance(node, Function):
            spans += [node.span] if source.count(node.name) < 2 else []
        elif isinstance(node, Simple) and not _SHELLS.intersection(first(word) for word in node.words):
            documents = (redirect.heredoc for redirect in node.redirects)
            spans += [document.span for document in documents if document is not None and document.quoted]
    return spans


def _is_false(condition: Program) -> bool:
    command = condition.items[0].command if len(condition.items) == 1 else None
    return isinstance(command, Simple) and [first(word) for word in command.words] == [b"false"]


_SHELLS = frozenset(b"bash sh zsh ksh dash ssh srun source . eval".split())


def lies_in(span: Span, spans: Sequence[Span]) -> bool:
    """Return whether *span* begins in one of *spans*."""
    return any(other.start <= span.start < other.end for other in spans)
