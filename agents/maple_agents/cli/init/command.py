"""`maple init`: the lines of a shell's start file for Maple, printed; written only where that is asked for."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import click

from ...base.complaint import Complaint
from .shell_lines import COMMANDS, FILES, SHELLS, Unpaired, lines, put

FOLDERS = {  # of completion below an environment's share/, as in a wheel
    "bash": "bash-completion/completions",
    "zsh": "zsh/site-functions",
    "fish": "fish/vendor_completions.d",
}


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
    found = {command: folder / (FILES[shell] % command) for command in COMMANDS}
    return {command: str(path) for command, path in found.items() if path.is_file()}


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
