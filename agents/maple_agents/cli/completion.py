"""What the shell offers behind a TAB: sites, rules, templates, slots, one's own jobs.

Nothing here raises or waits long. Everything is looked up when it is asked for: no command starts slower for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

SECONDS = 0.5  # that the service may take: somebody waits at the prompt
MOST = 50
Looked = Callable[[click.Context], Iterable[str]]
Offered = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


def offering(names: Looked) -> Offered:
    """Return what click calls for the names that go on from what is typed; () where they cannot be had."""

    @wraps(names)
    def offered(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        try:
            return [CompletionItem(name) for name in names(ctx) if name.startswith(incomplete)]
        except Exception:  # there is nobody to tell at a prompt; the command itself will say what is wrong
            return []

    return offered


@offering
def sites(ctx: click.Context) -> list[str]:
    """Ids of sites."""
    from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM

    from ..ask.sites import ids

    return sorted({*ids(), GENERIC_PBS.id, GENERIC_SLURM.id})


def files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Files and folders, as the shell itself finds them."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


# The option of every command that reads logs.
log_files = click.option(
    "--log",
    "logs",
    multiple=True,
    metavar="FILE",
    shell_complete=files,
    help="Read this log, or the logs in this folder; may be said several times.",
)


def folders(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Folders, as the shell itself finds them."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="dir")]


def site_or_file(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Ids of sites; files where no id goes on so."""
    return sites(ctx, param, incomplete) or files(ctx, param, incomplete)


def job_or_file(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Ids of one's own failed jobs; files, logs perhaps, where none goes on so."""
    return failed(ctx, param, incomplete) or files(ctx, param, incomplete)


def name_or_file(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of one's own jobs; files where none goes on so."""
    return job_names(ctx, param, incomplete) or files(ctx, param, incomplete)


def rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Codes of rules, as they may be typed: MPL301, mpl301 or 301."""
    from click.shell_completion import CompletionItem

    from .rule_pages import pages

    written = incomplete.upper()
    bare = written.isdigit()
    fitting = [page for page in pages() if page.code[3 if bare else 0 :].startswith(written)]
    return [CompletionItem(page.code[3:] if bare else page.code, help=page.title) for page in fitting]


@offering
def parts(ctx: click.Context) -> list[str]:
    """Names that `maple templates show` takes."""
    from .templates.pages import names

    return names()


@offering
def launches(ctx: click.Context) -> list[str]:
    """Launch templates and paradigms, which `maple verify` runs."""
    from maple_agents.ask.sites import launch_templates as templates

    from ..templates import paradigms

    return sorted({launch_file.name for launch_file in templates.load()} | set(paradigms.names()))


def slots(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """`SLOT=` of a request, and the values of those that have a list."""
    from click.shell_completion import CompletionItem

    name, equals, begun = incomplete.partition("=")
    if not equals:
        from ..base.slots import NAMES

        return [CompletionItem(name + "=") for name in NAMES if name.startswith(incomplete)]
    source = {"site": sites, "paradigm": paradigms_}.get(name)
    values = source(ctx, param, begun) if source else []
    return [CompletionItem("%s=%s" % (name, value.value)) for value in values]


@offering
def paradigms_(ctx: click.Context) -> list[str]:
    """Names of paradigms."""
    from ..templates import paradigms

    return paradigms.names()


@offering
def job_names(ctx: click.Context) -> list[str]:
    """Names of one's own jobs, and the beginnings of their versions' ids."""
    rows = _asked({"ask": "versions", "limit": MOST})
    named = [name for row in rows for name in (os.path.basename(row["path"]), row["name"])]
    return list(dict.fromkeys(filter(None, [*named, "last", *(row["id"][:8] for row in rows)])))


@offering
def submissions(ctx: click.Context) -> list[str]:
    """Ids of one's own jobs, the newest first, and "last"."""
    return ["last", *_jobs(failed=False)]


@offering
def failed(ctx: click.Context) -> list[str]:
    """Ids of one's own jobs that failed, the newest first, and "last"."""
    return ["last", *_jobs(failed=True)]


@offering
def releases(ctx: click.Context) -> list[str]:
    """Releases of the installation that --prefix names."""
    prefix = ctx.params.get("prefix")
    return sorted(os.listdir(os.path.join(prefix, "releases"))) if prefix else []


def _jobs(failed: bool) -> list[str]:
    from maple_agents.ask.memory.service import STATES

    try:
        rows = _asked({"ask": "records", "limit": MOST})
    except Exception:
        return []
    kept = (row for row in rows if not failed or (row["outcome"] or {}).get("state") in STATES)
    return list(dict.fromkeys(row["job"] for row in kept if row["job"]))


def _asked(question: dict[str, object]) -> list[dict[str, Any]]:
    from maple_agents.ask.memory.service import ask

    return list(ask(question, seconds=SECONDS))
