"""What stands in a shell's start file for Maple, and how it gets in and out again: text in, text out."""

from __future__ import annotations

from typing import NamedTuple

BEGIN, END = "# >>> maple init >>>", "# <<< maple init <<<"
COMMANDS = ("maple", "maple-fix")
FILES = {"bash": "%s", "zsh": "_%s", "fish": "%s.fish"}  # of completion, as each shell looks for them


class Shell(NamedTuple):
    """How a shell does it. *from_file*: a command's completion where its file lies here; *made*: where none does."""

    name: str
    first: tuple[str, ...]
    from_file: str
    made: str
    news_off: str


_COMPINIT = "[[ ! -o interactive ]] || (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }"
SHELLS = {
    "bash": Shell("bash", (), "case $- in *i*) [ ! -r {file} ] || . {file} ;; esac",
                  "case $- in *i*) ! command -v {command} >/dev/null"
                  ' || eval "$({variable}=bash_source {command})" ;; esac',
                  "export MAPLE_NEWS=no"),
    "zsh": Shell("zsh", (_COMPINIT,),
                 "[[ ! -o interactive || ! -r {file} ]] || source {file}",
                 '[[ ! -o interactive ]] || (( ! $+commands[{command}] )) || eval "$({variable}=zsh_source {command})"',
                 "export MAPLE_NEWS=no"),
    "fish": Shell("fish", (), "status is-interactive; and test -r {file}; and source {file}",
                  "status is-interactive; and command -q {command}; and {variable}=fish_source {command} | source",
                  "set -gx MAPLE_NEWS no"),
}  # fmt: skip


def lines(shell: Shell, files: dict[str, str], news: bool) -> str:
    """Return the block for a start file. *files*: of completion, by command; one that has none is asked itself."""
    asked = []
    for command in COMMANDS:
        file, variable = files.get(command), "_%s_COMPLETE" % command.replace("-", "_").upper()
        form = shell.from_file if file else shell.made
        asked.append(form.format(file=_quoted(file or "", shell), command=command, variable=variable))
    return "\n".join([BEGIN, *shell.first, *asked, *([] if news else [shell.news_off]), END, ""])


def _quoted(word: str, shell: Shell) -> str:
    if shell.name == "fish":
        return "'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return "'" + word.replace("'", "'\\''") + "'"


class Unpaired(ValueError):
    """A block begins and does not end, or ends twice: somebody has edited it."""


def put(text: str, block: str) -> str:
    """Return a start file with the block in place of the one that is there, else at its end; "" takes it out.

    Every other byte is as it was. Raises `Unpaired`.
    """
    before, there, after = _parted(text)
    if there:
        return before + block + after
    gap = "\n" if before and not before.endswith("\n") else ""
    return before + gap + block if block else text


def _parted(text: str) -> tuple[str, str, str]:
    """Return what stands before the block, the block with the end of its line, and what stands behind it."""
    whole = text.splitlines(keepends=True)
    marks = [(at, line.strip()) for at, line in enumerate(whole) if line.strip() in (BEGIN, END)]
    if not marks:
        return text, "", ""
    if [mark for _, mark in marks] != [BEGIN, END]:
        raise Unpaired("the lines %r and %r do not stand there once each, in this order" % (BEGIN, END))
    first, last = marks[0][0], marks[1][0] + 1
    return "".join(whole[:first]), "".join(whole[first:last]), "".join(whole[last:])
