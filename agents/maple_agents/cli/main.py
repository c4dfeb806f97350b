"""The `maple` command. Its parts are imported when they are called, so that each answers at once."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn, Optional, Sequence

import click
from maple_submit_filter import __version__
from maple_submit_filter.answer.report import printable

from ..base import terminal
from ..base.complaint import Complaint
from ..base.terminal import on_screen
from .groups import Group, misused

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


OWN = {
    "check": ("maple_agents.cli.check", "Say what is wrong with a batch script; submit nothing."),
    "plan": ("maple_agents.cli.plan", "Draw which processes would start where."),
    "fix": ("maple_agents.cli.fix.command", "Say why a job failed, with a fix that is checked."),
    "new": ("maple_agents.cli.new.command", "Write a batch script from words, or from another cluster's script."),
    "progress": ("maple_agents.cli.how_far.command", "Show how far a job is, how fast, and when it will be done."),
    "map": ("maple_agents.cli.mapping", "See whether ranks are on the right hardware, and what would cure it."),
    "verify": ("maple_agents.cli.verify.command", "Run a script's launch lines with mini-apps; say what works."),
    "forecast": ("maple_agents.cli.forecast", "Say how long a job will run, from its own earlier runs."),
    "history": ("maple_agents.cli.history.command", "Show the versions of a job: what changed, and how each ended."),
    "show": ("maple_agents.cli.history.show_job", "Show what was really submitted, and what became of it."),
    "templates": ("maple_agents.cli.templates.command", "See, check and export what batch scripts are made of."),
    "explain": ("maple_agents.cli.explain", "Show a rule's page, or list all rules."),
    "init": ("maple_agents.cli.init", "Print or write the lines of your shell's start file for Maple."),
    "mcp": ("maple_agents.cli.mcp.command", "Serve an assistant: the commands as tools, nothing submitted."),
}
PLUGINS = "maple.commands"  # the entry-point group by which other packages join


class Commands(Group):
    """Commands of this package by name, those of others by entry point; one that cannot load leaves the rest alone."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *OWN, *_plugins()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> Optional[click.Command]:
        if cmd_name in OWN:
            command = getattr(import_module(OWN[cmd_name][0]), cmd_name)
            assert isinstance(command, click.Command)
            return command
        plugin = _plugins().get(cmd_name)
        if plugin is None:
            return super().get_command(ctx, cmd_name)
        try:
            loaded = plugin.load()
        except (ImportError, AttributeError) as error:
            from ..base.complaint import remedy

            todo = remedy(error) if isinstance(error, ImportError) else ""
            raise Complaint(
                f"maple {cmd_name} is not installed here: {error}", todo or "install all of maple-hpc"
            ) from error
        return loaded if isinstance(loaded, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, text) for name in self.list_commands(ctx) if (text := self._says(ctx, name)) is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def _says(self, ctx: click.Context, name: str) -> Optional[str]:
        if name in OWN:
            return OWN[name][1]
        try:
            command = self.get_command(ctx, name)
        except Complaint:
            return None
        return command.get_short_help_str(100) if command and not command.hidden else None


def _plugins() -> dict[str, EntryPoint]:
    from importlib import metadata  # a tenth of the time that `maple check` may take

    return {point.name: point for point in metadata.entry_points(group=PLUGINS) if point.name not in OWN}


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="maple", message="%(prog)s %(version)s")
@click.pass_context
def maple(ctx: click.Context) -> None:
    """See what a batch script would start on this cluster, and what is wrong with it.

    \b
    Examples:
      maple check job.sh
      maple plan job.sh
      maple new "train.py with DDP on 2 nodes, 1 hour"
      maple explain MPL301

    Colours are shown on a terminal only; NO_COLOR switches them off.
    """
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        ctx.color = False


def main(words: Optional[Sequence[str]] = None) -> NoReturn:
    """Run the command and exit with its code. Whatever fails, people read one line; a traceback goes to a log."""
    sys.exit(run(words))


def run(words: Optional[Sequence[str]] = None, command: click.Command = maple, name: str = "maple") -> int:
    """Return the exit code of `maple` *words*; they are those of the process by default."""
    if "_%s_COMPLETE" % name.replace("-", "_").upper() in os.environ:  # the shell asks what could stand here
        command.main(args=words, prog_name=name)
    terminal.make(sys.stdout, sys.stderr)
    given = list(sys.argv[1:] if words is None else words)
    code = _run(given, command, name)

    tell_news(["fix", *given] if command is not maple else given)
    return code


def _run(words: Sequence[str], command: click.Command, name: str) -> int:
    try:
        with command.make_context(name, list(words)) as context:
            code = command.invoke(context)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as error:
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except click.ClickException as error:
        _say_wrong(error, command, name, words)
        return error.exit_code
    except OSError as error:
        return _unheard() if _is_broken_pipe(error) else _failed(error)
    except ImportError as error:
        return _lacking(error)
    except Exception as error:
        return _failed(error)


def _say_wrong(error: click.ClickException, command: click.Command, name: str, words: Sequence[str]) -> None:
    """Say what a command could not do; a group called without a command shows its help instead."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()  # the error of that name is younger than the oldest click we run on
    elif isinstance(error, click.UsageError):
        _say(misused(error, command, name, words))
    else:
        _say(error.format_message())


def _lacking(error: ImportError) -> int:
    """A library of an extra that nobody installed is no mistake of Maple's own."""
    from ..base.complaint import remedy

    todo = remedy(error)
    if not todo:
        return _failed(error)
    _say(f"{error.name} is not installed; {todo}")
    return 2


def _failed(error: Exception) -> int:
    from ..base.terminal import written

    log = written(error)
    what = " ".join(f"{type(error).__name__}: {error}".split())
    kept = f"the details are in {log}" if log else "the details could not be kept"
    _say(f"this is a bug in Maple ({what}); {kept}; submitting jobs is not affected")
    return 2


def _say(text: str) -> None:
    from ..base.secrets.masking import masked  # a token may have been typed in place of a name

    for line in masked(text).splitlines():
        click.echo("\n".join(on_screen(f"maple: {printable(line.strip())}")), err=True)


def _is_broken_pipe(error: Optional[BaseException]) -> bool:
    return isinstance(error, OSError) and error.errno == errno.EPIPE


def _unheard() -> int:
    """The reader has seen enough, which is no failure; leave nothing to flush that could fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
    return 0


SECONDS = 0.1  # that the service has for its answer


def tell_news(words: list[str], environ: Mapping[str, str] = os.environ) -> None:
    """Say it on stderr, where both outputs are a terminal. Raises nothing; who does not answer in time says nothing."""
    if not _is_read(words, environ):
        return
    for line in (_line, _alarms):
        try:
            sentence = line(words)
        except Exception:  # what was asked for is done; this was not asked for
            continue
        if sentence:
            print("\n".join(on_screen(sentence)), file=sys.stderr, flush=True)


def _is_read(words: list[str], environ: Mapping[str, str]) -> bool:
    if "off" in environ.get("MAPLE", "").split(",") or environ.get("MAPLE_NEWS") == "no" or "--json" in words:
        return False
    try:
        return sys.stdout.isatty() and sys.stderr.isatty()
    except (AttributeError, ValueError):  # they are closed
        return False


def _line(words: list[str]) -> str:
    from ..ask.memory.service import ask, failures_line, read

    return failures_line(read(ask({"ask": "failures", "seen": _looked_at(words) or ""}, seconds=SECONDS)), _cause)


def _alarms(words: list[str]) -> str:
    """Return the line about running jobs of which something is odd; now and then have somebody look, behind this."""
    import time

    from ..progress import notices

    running = notices.handed((), SECONDS)
    waiting = notices.waiting(time.time())
    notices.mark_told([(alarm.job, alarm.kind) for alarm in waiting])
    if running and notices.due(time.time()):
        _look()
    return notices.line(waiting)


def _look() -> None:
    """Have a process of the user's own look at running jobs, behind the command that ends now."""
    import subprocess

    subprocess.Popen(
        [sys.executable, "-I", "-m", "maple_agents.cli.how_far.look"], stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, cwd="/",
    )  # fmt: skip


def _looked_at(words: list[str]) -> Optional[str]:
    """Return the job that this very call was about: it need not be told of again."""
    if words[:1] not in (["fix"], ["show"]):
        return None
    pairs = zip(words, words[1:])
    named = (word for before, word in pairs if word[:1].isdigit() and before not in ("--exit-code", "--rounds"))
    return next(named, None) or _taken()


def _taken() -> Optional[str]:
    """Return the job that `maple-fix` took where none was named."""
    from .fix.argument import taken

    return taken()


def _cause(job: str) -> str:
    """Return the cause that was found at the job's end, "" where nobody looked."""
    import time

    from ..diagnose.at_end import says

    return says(job, time.time())
