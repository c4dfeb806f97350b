"""What was mistyped on a command line is answered with what was meant, in one register for every command."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Optional

import click

from ..base.near_names import meant

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Group(click.Group):
    """A group that names the nearest of its commands for one that it does not have."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[Optional[str], Optional[click.Command], list[str]]:
        name = args[0]
        if not ctx.resilient_parsing and not name.startswith("-") and self.get_command(ctx, name) is None:
            hint = _below(self, ctx, name) or meant(name, self.list_commands(ctx))
            ctx.fail("%s: there is no such command%s" % (name, "; " + hint if hint else ""))
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Offer the commands, each with its whole first sentence: the shell cuts where its screen ends."""
        items = super().shell_complete(ctx, incomplete)
        for item in items:
            command = self.get_command(ctx, item.value)
            item.help = command.get_short_help_str(500) if command is not None else item.help
        return items

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, each with its whole first sentence: click cuts them to one line."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [
            (name, command.get_short_help_str(500))
            for name, command in commands
            if command is not None and not command.hidden
        ]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


def _below(group: click.Group, ctx: click.Context, name: str) -> str:
    """Return a hint at the groups of *group* that have a command of that name, "" where none does."""
    groups = [(title, group.get_command(ctx, title)) for title in group.list_commands(ctx)]
    have = [
        title for title, subgroup in groups if isinstance(subgroup, click.Group) and name in subgroup.list_commands(ctx)
    ]
    return "did you mean %s?" % " or ".join("%s %s" % (title, name) for title in have) if have else ""


_CHOICE = re.compile(r"'(.*)' is not one of ", re.DOTALL)  # click's sentence; it has what was typed nowhere else


def misused(error: click.UsageError, command: click.Command, name: str, words: Sequence[str]) -> str:
    """Return the line for a mistake in *words* of *command*: what is wrong, what was meant, where help is."""
    asked, path = (error.ctx.command, error.ctx.command_path) if error.ctx else _asked(command, name, words)
    mistake = " ".join(_mistake(error, asked).split())  # a word may hold the end of a line
    return "%s; see %s --help" % (mistake, path)


def _mistake(error: click.UsageError, command: click.Command) -> str:
    if isinstance(error, click.NoSuchOption):
        known = [
            name for param in command.params for name in (*param.opts, *param.secondary_opts) if name.startswith("--")
        ]
        hint = meant(error.option_name, known)
        return "%s: there is no such option%s" % (error.option_name, "; " + hint if hint else "")
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return _missing(error.param)
    if isinstance(error, click.BadParameter) and error.param is not None and isinstance(error.param.type, click.Choice):
        choice = _CHOICE.match(error.message)
        return _no_choice(error.param, choice[1], error.param.type.choices) if choice else error.format_message()
    if isinstance(error, click.BadOptionUsage) and error.ctx is None:  # the parser has no other complaint then
        return "%s: its value is missing" % error.option_name
    message = " ".join(error.format_message().split()).rstrip(".")
    return message[:1].lower() + message[1:]


def _no_choice(param: click.Parameter, given: str, known: Sequence[str]) -> str:
    name = param.human_readable_name if isinstance(param, click.Argument) else param.opts[0]
    return "%s %s: there is no such value; %s" % (name, given, meant(given, known) or "known are " + ", ".join(known))


def _missing(param: click.Parameter) -> str:
    if isinstance(param, click.Argument):
        return "%s is missing" % param.human_readable_name
    variable = " (or the variable %s)" % param.envvar if isinstance(param.envvar, str) else ""
    return "%s%s is missing" % (param.opts[0], variable)


def _asked(command: click.Command, name: str, words: Sequence[str]) -> tuple[click.Command, str]:
    """Return the command that *words* call, with its path: what the parser of click forgets in some complaints."""
    for word in words:
        if not isinstance(command, click.Group):
            break
        inner = command.get_command(click.Context(command), word)
        command, name = (inner, "%s %s" % (name, word)) if inner else (command, name)
    return command, name
