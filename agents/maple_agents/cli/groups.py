"""Groups of commands: a mistyped one is answered with the one that was meant."""

from __future__ import annotations

from typing import Optional

import click

from ..base.near_names import meant


class Group(click.Group):
    """A group that names the nearest of its commands for one that it does not have."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[Optional[str], Optional[click.Command], list[str]]:
        name = args[0]
        if not ctx.resilient_parsing and not name.startswith("-") and self.get_command(ctx, name) is None:
            hint = meant(name, self.list_commands(ctx))
            ctx.fail("%s: there is no such command%s" % (name, "; " + hint if hint else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, each with its whole first sentence: click cuts them to one line."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, one.get_short_help_str(500)) for name, one in commands if one is not None and not one.hidden]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)
