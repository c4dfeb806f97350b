"""Writes the man pages and the shell completions from the commands themselves: `make docs`."""

from __future__ import annotations

import json
import re
from inspect import cleandoc
from pathlib import Path
from typing import Iterable, Iterator

import click
from click.shell_completion import get_completion_class
from maple_agents.cli.fix.command import fix
from maple_agents.cli.main import maple
from maple_daemon.base.settings import Settings, Table
from maple_daemon.cli.daemon import main as service

HERE = Path(__file__).parent
PAGES = HERE / "man1"
ALONE = ("fix",)  # commands that are called by a name of their own too
COMPLETIONS = {"bash": "%s", "zsh": "_%s", "fish": "%s.fish"}  # as each shell looks for them


def main() -> None:
    """Write every page and every completion."""
    context = root()
    for name in maple.list_commands(context):
        command = maple.get_command(context, name)
        assert command is not None
        path = f"maple-{name}" if name in ALONE else f"maple {name}"
        (PAGES / f"maple-{name}.1").write_text(page(command, path, context), encoding="utf-8")
    (PAGES / "maple-daemon.1").write_text(page(service, "maple-daemon", None, more=settings()), encoding="utf-8")
    (PAGES / "maple.1").write_text(page(maple, "maple", None, flat=True), encoding="utf-8")
    for shell, filename in COMPLETIONS.items():
        for name, command in (("maple", maple), ("maple-fix", fix), ("maple-daemon", service)):
            (HERE.parent / "completion" / shell / (filename % name)).write_text(
                completion(shell, name, command), "utf-8"
            )


def root() -> click.Context:
    """Return a context of the `maple` command, as if it had been called."""
    return maple.make_context("maple", ["check"])


def page(
    command: click.Command, path: str, above: click.Context | None, flat: bool = False, more: Iterable[str] = ()
) -> str:
    """Return the man page of *command*, called *path*; with those of its own commands unless *flat*."""
    name = path.replace(" ", "-")
    lines = [
        f'.TH {name.upper()} 1 "" "Maple" "Maple"',
        ".SH NAME",
        f"{escaped(name)} \\- {escaped(first_sentence(command))}",
    ]
    lines += [*sections(command, path, above)]
    if isinstance(command, click.Group):
        lines += [".SH COMMANDS"]
        lines += [*children(command, path, above, flat)]
    lines += [*more, ".SH SEE ALSO", see_also(name), ""]
    return "\n".join(lines)


def sections(command: click.Command, path: str, above: click.Context | None) -> Iterator[str]:
    """Yield synopsis, description and options."""
    context = click.Context(command, info_name=path.split()[-1], parent=above)
    yield ".SH SYNOPSIS"
    yield synopsis(command, path, context)
    yield ".SH DESCRIPTION"
    yield from description(command)
    yield ".SH OPTIONS"
    yield from options(command, context)


def synopsis(command: click.Command, path: str, context: click.Context) -> str:
    """Return the one line that says how to call it."""
    return f"\\fB{escaped(path)}\\fR {escaped(' '.join(command.collect_usage_pieces(context)))}"


def children(group: click.Group, path: str, above: click.Context | None, flat: bool) -> Iterator[str]:
    """Yield a paragraph for each command of a group; *flat*: its name and first sentence only."""
    context = click.Context(group, info_name=path.split()[-1], parent=above)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        if flat:
            yield from (".TP", f"\\fB{escaped(name)}\\fR", escaped(first_sentence(command)))
            continue
        own = click.Context(command, info_name=name, parent=context)
        yield f".SS {escaped(f'{path} {name}')}"
        yield synopsis(command, f"{path} {name}", own)
        yield ".PP"
        yield from description(command)
        yield from options(command, own)
        if isinstance(command, click.Group):
            yield from children(command, f"{path} {name}", context, flat)


def options(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield a paragraph for each option."""
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record:
            yield from (".TP", f"\\fB{escaped(record[0])}\\fR", escaped(record[1]))


def description(command: click.Command) -> Iterator[str]:
    """Yield the help text; paragraphs that begin with a backspace line are shown as they stand."""
    for paragraph in re.split(r"\n\s*\n", cleandoc(command.help or "")):
        lines = paragraph.split("\n")
        if lines[0].strip() == "\b":
            yield from (".PP", ".nf", *(escaped(line) for line in lines[1:]), ".fi")
        else:
            yield from (".PP", *(escaped(line.strip()) for line in lines))


def settings() -> Iterator[str]:
    """Yield the keys of `daemon.toml` with their defaults, and what the tables say of them."""
    yield ".SH SETTINGS"
    yield escaped("Keys of daemon.toml, and what holds without them.")
    tables = [("", Settings), *((name, kind) for name, kind in kinds(Settings) if is_below(kind, Table))]
    for table, model in tables:
        if table:
            yield f".SS [{escaped(table)}]"
        told = cleandoc(model.__doc__ or "").replace("*", "").replace("`", "")
        yield from (".PP", *(escaped(line) for line in told.split("\n")))
        for name, kind in kinds(model):
            if not is_below(kind, Table):
                default = json.dumps(model.model_fields[name].default)
                yield from (".TP", f"\\fB{escaped(name)}\\fR", escaped(default))


def kinds(model: type[Table]) -> Iterator[tuple[str, object]]:
    """Yield the keys of a table and what each holds."""
    for name, field in model.model_fields.items():
        yield name, field.annotation


def is_below(kind: object, other: type) -> bool:
    """Return whether *kind* is a class below *other*."""
    return isinstance(kind, type) and issubclass(kind, other)


def see_also(name: str) -> str:
    """Return the other pages."""
    others = ["maple", *(f"maple-{one}" for one in maple.list_commands(root())), "maple-daemon"]
    return ", ".join([f"\\fB{escaped(one)}\\fR(1)" for one in others if one != name] + ["\\fBmaple\\fR(7)"])


def first_sentence(command: click.Command) -> str:
    """Return the first sentence of the help, without its full stop."""
    return re.split(r"[.:;](?:\s|$)", (command.help or "").strip(), maxsplit=1)[0].replace("\n", " ").rstrip(".")


def escaped(text: str) -> str:
    """Return *text* as roff prints it verbatim."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


# What click's scripts do wrongly. In fish they cut at every comma, also at those of what is said of a word; in zsh the
# second TAB of a session does nothing, for only the first one loads the file.
CORRECTED = (
    ('string split "," $', 'string split --max 1 "," $'),
    ("if [[ $zsh_eval_context[-1] == loadautofunc ]]; then", "if [[ $funcstack[1] == _%s ]]; then"),
)


def completion(shell: str, name: str, command: click.Command) -> str:
    """Return the completion script of a shell for the command of that name."""
    found = get_completion_class(shell)
    assert found is not None
    made = found(command, {}, name, "_%s_COMPLETE" % name.upper().replace("-", "_"))
    script = made.source_template % made.source_vars()
    for before, after in CORRECTED:
        script = script.replace(before, after % name if "%s" in after else after)
    return script


if __name__ == "__main__":
    main()
