"""`maple init`: the lines of a shell's start file for Maple, printed; written only where that is asked for."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import click

from ..base.complaint import Complaint

FOLDERS = {  # of completion below an environment's share/, as in a wheel
    "bash": "bash-completion/completions",
    "zsh": "zsh/site-functions",
    "fish": "fish/vendor_completions.d",
}
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


@click.command()
@click.argument("shell", metavar="[bash|zsh|fish]", type=click.Choice(sorted(SHELLS)), required=False)
@click.option("--news", type=click.Choice(["on", "off"]), default="on", show_default=True,
              help="The line that tells of jobs of yours that failed.")  # fmt: skip
@click.option("--write", is_flag=True, help="Write the lines into the start file; earlier ones go.")
@click.option("--remove", is_flag=True, help="Take them out of the start file again.")
def init(shell: str | None, news: str, write: bool, remove: bool) -> int:
    """Print the lines that bring Maple into your shell: completion, and whether failed jobs are told of.

    Without SHELL it is the one that SHELL in the environment names. Nothing is written without --write or --remove;
    they change a block between two marked lines of ~/.bashrc, ~/.zshrc (in ZDOTDIR where that is set) or fish's
    conf.d/maple.fish, and leave every other byte as it is.

    \b
    Examples:
      maple init
      maple init zsh --news off
      maple init --write
      maple init --remove

    Exit code: 0 printed or written, 2 usage, or the file cannot be changed.
    """
    if write and remove:
        raise Complaint("--write and --remove cannot both be meant", "say one of them")
    kind = shell or _of_login(os.environ.get("SHELL", ""))
    block = "" if remove else lines(SHELLS[kind], _files(kind), news == "on")
    if not write and not remove:
        click.echo(block, nl=False)
        return 0
    path = start_file(kind)
    changed = _change(path, block)
    done = "is as it should be" if not changed else "written; it holds for new shells" if write else "taken out"
    click.echo(f"{path}: {done}", err=True)
    return 0


def _of_login(path: str) -> str:
    name = os.path.basename(path)
    if name not in SHELLS:
        raise Complaint(f"SHELL={path}: no lines are known for it", "say which: maple init bash, zsh or fish")
    return name


def _files(shell: str) -> dict[str, str]:
    """Return the completion files that lie here: those of a checkout, else of the environment; {} where none does."""
    checkout = Path(__file__).parents[4] / "packaging" / "completion" / shell
    folder = checkout if checkout.is_dir() else Path(sys.prefix) / "share" / FOLDERS[shell]
    paths = {command: folder / (FILES[shell] % command) for command in COMMANDS}
    return {command: str(path) for command, path in paths.items() if path.is_file()}


def start_file(shell: str) -> Path:
    """Return the file that an interactive shell of this person reads; a link is followed, as dot files often are."""
    home = Path.home()
    if shell == "fish":
        config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
        return (config / "fish" / "conf.d" / "maple.fish").resolve()
    folder = Path(os.environ.get("ZDOTDIR") or home) if shell == "zsh" else home
    return (folder / f".{shell}rc").resolve()


def _change(path: Path, block: str) -> bool:
    """Put the block into the file in one step, with its mode kept; return whether that changed anything."""
    try:
        old = path.read_bytes().decode("utf-8", "surrogateescape") if path.exists() else ""
        new = put(old, block)
        if new != old:
            _replace(path, new.encode("utf-8", "surrogateescape"))
    except Unpaired as error:
        raise Complaint(f"{path}: {error}", "take out what is left of the block by hand") from error
    except OSError as error:
        raise Complaint(f"{path}: {error.strerror}", "nothing was changed") from error
    return new != old


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o7777 if path.exists() else 0o644
    handle, made = tempfile.mkstemp(prefix=path.name + ".", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), mode)
        os.replace(made, path)
    except OSError:
        os.unlink(made)
        raise
