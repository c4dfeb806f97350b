"""What commands print: JSON by one function, differences as `diff -u` has them, trees and diffs on a terminal.

JSON is a `TypedDict`, whose class is the one definition of its shape: what makes the value is checked against it, and
`make docs` writes `docs/json/` from it. A `NamedTuple` is an object with its fields, bytes are text.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import sys
from typing import Iterable, Iterator, NamedTuple, Optional, Tuple

import click
from maple_submit_filter.answer.report import ADVICE, ERROR, columns, folded, words_of


def echo(value: object, ascii_only: bool = True) -> None:
    """Print *value* as JSON."""
    click.echo(json.dumps(plain(value), indent=2, ensure_ascii=ascii_only))


def plain(value: object) -> object:
    """Return *value* as JSON has it."""
    if isinstance(value, bytes):
        return text(value)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def text(raw: bytes) -> str:
    """Return bytes as text that gives the same bytes again: what is no UTF-8 stands as lone surrogates."""
    return raw.decode("utf-8", "surrogateescape")


def unified(before: bytes, after: bytes, name: str) -> str:
    """Return the unified diff from *before* to *after*, both called *name*; "" where they are equal."""
    if before == after:
        return ""
    name = text(name.encode("utf-8", "surrogateescape")).lstrip("/").replace("\n", " ")
    lines = difflib.unified_diff(_lines(before), _lines(after), f"a/{name}", f"b/{name}")
    return "".join(_ended(lines))


def _lines(raw: bytes) -> list[str]:
    """Return the lines with their newlines; only a newline ends one, as bash and patch count."""
    lines = text(raw).split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _ended(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"


STYLES = {
    "job": "bold",
    "step": "bold cyan",
    "world": "",
    "node": "green",
    "rank": "",
    "wrong": "red",
    "unread": "yellow",
}
WIDE = 1000  # nothing is folded where no terminal sets a width
PAGE = 80  # columns of a page that is read as it is, also through a pipe
INDENT = re.compile(r"[| ]*")  # blanks, and the line that leads to an older version
LABEL = re.compile(r"[A-Z]\w*: +|")  # of a line of a rule's page: Wrong, Right, Why


class Branch(NamedTuple):
    """One line of the tree. *kind* is "job", "step", "world", "node", "rank", "wrong" or "unread"."""

    kind: str
    label: str
    below: Tuple["Branch", ...] = ()


def width() -> int:
    """Return the columns of the terminal, or 100 where there is none."""
    return shutil.get_terminal_size((100, 24)).columns if is_bounded() else 100


def is_bounded() -> bool:
    """Return whether lines have an end: on a terminal, or where COLUMNS says so."""
    return sys.stdout.isatty() or "COLUMNS" in os.environ


def cut() -> str:
    """Return the sign of one column for what was cut off: what stands below and behind it keeps its place."""
    try:
        "…".encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeError, LookupError):
        return "~"
    return "…"


def coloured() -> bool:
    """Return whether colours are wanted on stdout."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
    return sys.stdout.isatty() and not plain


def draw(tree: Branch) -> None:
    """Print a tree; on a terminal its long lines are folded at the terminal's width."""
    from rich.console import Console

    Console(
        file=sys.stdout,
        color_system="standard" if coloured() else None,
        no_color=not coloured(),
        width=width() if sys.stdout.isatty() else WIDE,
        force_terminal=coloured(),
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False,
    ).print(_rich(tree), soft_wrap=not sys.stdout.isatty())


def _rich(branch: Branch, above: Optional[object] = None) -> object:
    from rich.text import Text
    from rich.tree import Tree

    label = Text(branch.label, style=STYLES[branch.kind])
    tree = above.add(label) if isinstance(above, Tree) else Tree(label, guide_style="dim")
    for below in branch.below:
        _rich(below, tree)
    return tree


HEAD = re.compile(r"(?P<where>.*?: )(?P<word>error|advice)(?P<rest> MPL\d{3} .*)", re.DOTALL)
COLOURS = {ERROR: "red", ADVICE: "yellow"}


def findings(lines: Iterable[str]) -> None:
    """Print the lines of a report: its severities and helps in colours, its sentences folded on a terminal."""
    for line in lines:
        if line.startswith("     | "):
            click.echo(click.style(line, fg="red"), color=coloured())
        elif line.startswith(" "):
            click.echo(line.replace("…", cut()))
        else:
            say([line])


def say(lines: Iterable[str], fg: Optional[str] = None, bold: bool = False) -> None:
    """Print sentences; on a terminal they are folded between words. *fg*, *bold*: of them as a whole."""
    for line in lines:
        first, *more = folded(line, width()) if is_bounded() else [line]
        shown = "\n".join([_styled(first), *more])
        click.echo(click.style(shown, fg=fg, bold=bold or None) if fg or bold else shown, color=coloured())


def rows(line: str) -> None:
    """Print a line that may hold colours; on a terminal it is folded between words, under its own beginning."""
    click.echo("\n".join(fitted(line)), color=coloured())


def fitted(line: str) -> list[str]:
    """Return a line that may hold colours as the rows that a terminal shows, folded under its own beginning."""
    plain = click.unstyle(line)
    indent = (INDENT.match(plain) or [""])[0] + "  "
    made = [line]
    if is_bounded() and columns(plain) > width():
        made = [""]
        for word in words_of(line):
            if columns(click.unstyle(made[-1] + word)) > width() and made[-1].strip():
                made.append(indent)
            made[-1] += word + " "
    return [nearest.rstrip() for nearest in made]


def page(text: str) -> None:
    """Print a page of paragraphs, each folded under its label; one that goes on in further lines is filled."""
    most = min(PAGE, width())
    for paragraph in re.split(r"\n(?! {7}\S)|(?<=\n)(?=\n)", text):
        label = LABEL.match(paragraph)
        indent = " " * (label.end() if label else 0)
        click.echo("\n".join(folded(re.sub(r"\n +", " ", paragraph), most, indent)))


def _styled(line: str) -> str:
    if line.startswith("help: "):
        return click.style("help:", fg="green") + line[5:]
    match = HEAD.match(line)
    if match is None:
        return line
    word = click.style(match["word"], fg=COLOURS[match["word"]], bold=True)
    return click.style(match["where"], bold=True) + word + click.style(match["rest"], bold=True)


def diff(lines: Iterable[str]) -> None:
    """Print the lines of a unified diff."""
    for line in lines:
        bold = line.startswith(("---", "+++"))
        colour = None if bold else {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        click.echo(click.style(line, fg=colour, bold=bold), color=coloured())
