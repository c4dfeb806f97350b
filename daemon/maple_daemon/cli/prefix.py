"""Which installation a command acts on: --prefix, MAPLE_PREFIX, or that of the front on PATH; and what it refuses."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click
from maple_agents.ask.sites.this_site import prefix_of_front
from maple_agents.base.complaint import Complaint
from maple_agents.cli import completion

from ..install.refusals import Refused

Command = TypeVar("Command", bound=Callable[..., Any])

VARIABLE = "MAPLE_PREFIX"
HELP = "Folder of the installation."
FOUND = "  [default: the one whose front is on PATH]"


def meant(environ: Mapping[str, str] = os.environ) -> str:
    """Return the prefix that MAPLE_PREFIX says, else that of the front on PATH, else ""."""
    return environ.get(VARIABLE) or prefix_of_front(environ)


def daemon_toml(prefix: str) -> str:
    """Return the settings that `maple admin install --daemon` wrote below *prefix*, "" where there are none."""
    path = os.path.join(prefix, "daemon.toml") if prefix else ""
    return path if os.path.isfile(path) else ""


def _found(context: click.Context, parameter: click.Parameter, value: str | None) -> str:
    prefix = value or meant()
    if not prefix and not context.resilient_parsing:
        raise click.MissingParameter("No installation is on PATH.", context, parameter)
    return prefix


def _option(text: str, **more: Any) -> Callable[..., Any]:
    return click.option(
        "--prefix", envvar=VARIABLE, show_envvar=True, metavar="P", help=text, shell_complete=completion.folders, **more
    )


named_prefix = _option(HELP, required=True)  # what is put there or taken away is named
prefix_option = _option(HELP + FOUND, callback=_found)
audited_prefix = _option("Installation whose audit lines count." + FOUND)


def plainly(command: Command) -> Command:
    """Turn a refusal, and what the system denies, into one line that says what to do."""

    @functools.wraps(command)
    def run(*words: Any, **options: Any) -> Any:
        try:
            return command(*words, **options)
        except Refused as refused:
            raise Complaint(refused.says, refused.help) from None
        except BrokenPipeError:  # whoever reads has read enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            raise SystemExit(1) from None
        except OSError as error:
            what = error.strerror or str(error)
            raise Complaint(f"{error.filename or 'the system'}: {what}", "nothing was changed") from None

    return run  # type: ignore[return-value]
