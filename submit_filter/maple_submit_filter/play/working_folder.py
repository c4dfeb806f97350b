"""Where the shell is: cd, pushd and popd, as bash has them (bash 5.2, "Bourne Shell Builtins", "Directory Stack").

A folder is followed by its name, as `cd` does without -P: `..` takes the last part away, whatever a link leads to. What
is not known, or would be a longer path than the kernel takes, is one unknown value.
"""

from __future__ import annotations

import posixpath
from typing import List, Optional, Sequence, Tuple

from ..types.text import EMPTY, Text, plain
from .expansion import derive
from .shell_state import Shell, Variable

MOST_PATH = 4096  # bytes (PATH_MAX)
MOST_STACKED = 64
_OLD, _NEW = b"OLDPWD", b"PWD"


def start(shell: Shell, folder: Optional[bytes]) -> None:
    """Begin in a folder; None: it is not known which. PWD may name it through links, and bash keeps that."""
    shell.cwd = plain(folder) if folder else None
    if folder and not (shell.value(_NEW) or EMPTY).raw.startswith(b"/"):
        shell.variables[_NEW] = Variable(shell.cwd, None, True)


def cd(shell: Shell, argv: Sequence[Text]) -> None:
    """Go where `cd` goes, taking for granted that it can."""
    words = _operands(argv)
    if words is None or len(words) > 1:
        _go(shell, derive(b"cd", argv))
    elif not words:
        _go(shell, shell.value(b"HOME") or derive(b"cd", argv))
    elif words[0].raw == b"-":
        _go(shell, shell.value(_OLD) or derive(b"cd", argv))
    else:
        _go(shell, _below(shell, words[0]))


def pushd(shell: Shell, argv: Sequence[Text]) -> None:
    """Go there and remember where one was; without a folder the two uppermost are exchanged."""
    words, stack = _operands(argv), shell.folders
    if words is not None and len(words) == 1 and not words[0].raw.startswith((b"+", b"-")):
        shell.folders = (*stack, shell.cwd)[-MOST_STACKED:] if stack is not None else None
        _go(shell, _below(shell, words[0]))
    elif words == [] and stack:
        shell.folders = (*stack[:-1], shell.cwd)
        _go(shell, stack[-1])
    else:
        _lost(shell, argv)


def popd(shell: Shell, argv: Sequence[Text]) -> None:
    """Go back to where one was before the last `pushd`; where there was none, bash complains and stays."""
    stack = shell.folders
    if stack is None or _operands(argv) != []:
        _lost(shell, argv)
    elif stack:
        shell.folders = stack[:-1]
        _go(shell, stack[-1])


Here = Tuple[Optional[Text], Optional[Tuple[Optional[Text], ...]]]


def here(shell: Shell) -> Here:
    """Return the folder, and those that `popd` goes back to."""
    return shell.cwd, shell.folders


def perhaps_from(shell: Shell, before: Here) -> None:
    """Where commands were played that may have run any number of times, the folder is known if they came back to it."""
    if here(shell) != before:
        shell.folders = None
        _go(shell, shell.mix(b"folder"))


def _operands(argv: Sequence[Text]) -> Optional[List[Text]]:
    """Return the words that are no options; None where it is not known which are."""
    words = list(argv[1:])
    while words and words[0].raw[:1] == b"-" and words[0].raw not in (b"-", b"--"):
        if not words[0].literal or words[0].raw.strip(b"-LPe@") or b"P" in words[0].raw:
            return None
        words.pop(0)
    if words and words[0].raw == b"--":
        words.pop(0)
    return None if any(text.open for text in words) else words


def _below(shell: Shell, path: Text) -> Text:
    raw = path.raw
    here = shell.cwd
    if raw[:1] == b"/":
        return plain(_normal(raw)) if path.literal else path
    if here is None or not here.raw or raw[:1] == b"\0" or (b"CDPATH" in shell.variables and raw[:1] != b"."):
        return derive(b"cd", [here, path] if here is not None else [path])
    if b".." in raw and here != shell.value(_NEW):
        return derive(b"cd", [here, path])  # of its two names the shell goes by the other
    if here.literal and path.literal:
        return plain(_normal(here.raw + b"/" + raw))
    if b".." in raw:
        return derive(b"cd", [here, path])
    return plain(here.raw + b"/" + raw)


def _normal(path: bytes) -> bytes:
    made = posixpath.normpath(path)
    return made[1:] if made.startswith(b"//") else made


def _go(shell: Shell, folder: Optional[Text]) -> None:
    if folder is not None and sum(len(piece.text) for piece in folder.pieces) > MOST_PATH:
        folder = derive(b"cd", [folder])
    before = shell.cwd
    shell.set(_OLD, before if before is not None else shell.mix(b"oldpwd"))
    shell.cwd = folder
    shell.set(_NEW, folder if folder is not None else shell.mix(b"cd"))


def _lost(shell: Shell, argv: Sequence[Text]) -> None:
    shell.folders = None
    _go(shell, derive(b"cd", [*argv, shell.cwd] if shell.cwd is not None else argv))
