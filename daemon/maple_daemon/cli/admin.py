"""`maple admin`: putting Maple in front of a site's submit command, watching it there, and taking it away."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from maple_agents.base import output
from maple_agents.base.terminal import on_screen
from maple_agents.cli import completion
from maple_agents.cli.groups import Group

from ..install.refusals import Refused, absolute
from .accounting_import import import_
from .documents import docs
from .history_replay import replay
from .memory_admin import COMMANDS, corrections
from .prefix import audited_prefix, daemon_toml, meant, named_prefix, plainly, prefix_option
from .priority import priority
from .window import looked, serve, source, write_page

if TYPE_CHECKING:
    from ..install.release.layout import Placed
    from ..install.service.service_files import Service

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _path(*names: str, metavar: str = "DIR", **more: Any) -> Callable[..., Any]:
    """Return an option that takes a folder, or a file where *metavar* says so; "" where it is not given."""
    complete = completion.folders if metavar == "DIR" else completion.files
    more = more if "required" in more else {"default": "", **more}
    return click.option(*names, metavar=metavar, shell_complete=complete, **more)


MODES = {
    "off": "scripts are not looked at",
    "observe": "scripts go as they are, and what would be changed is written down",
    "warn": "scripts go as they are, and what is wrong is said on terminals",
    "repair": "scripts that are provably wrong go mended",
}


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def admin() -> None:
    """Install, watch, change and remove Maple on a cluster.

    \b
    Examples:
      maple admin install --prefix /opt/maple --bin /opt/maple/bin \\
        --site ncsa-delta --mode observe
      maple admin install --prefix /opt/maple --bin /opt/maple/bin \\
        --site ncsa-delta --daemon
      maple admin doctor --prefix /opt/maple
      maple admin report --prefix /opt/maple --since 7d
      maple admin mode repair --prefix /opt/maple --partition gpuA100x4
      maple admin rollback --prefix /opt/maple
      maple admin uninstall --prefix /opt/maple
      maple admin purge --user ann

    Works as root for everybody, and as a plain user for oneself with a prefix in the home folder.
    """


for command in COMMANDS:  # those of the service's memory
    admin.add_command(command)
admin.add_command(corrections)
admin.add_command(docs)
admin.add_command(replay)
admin.add_command(import_)
admin.add_command(priority)
admin.add_command(serve)


@admin.command()
@named_prefix
@_path("--bin", "folder", help="Folder on PATH where sbatch, or qsub, is placed.", required=True)
@click.option("--site", "site_id", required=True, metavar="ID|FILE", shell_complete=completion.site_or_file,
              help="Site whose facts hold: maple site list, or the file that maple site init wrote.")  # fmt: skip
@click.option("--mode", default="", metavar="M",
              help="off, observe, warn or repair.  [default: as before, else the site's]")  # fmt: skip
@click.option("--real-sbatch", "--real-qsub", "real", default="", metavar="PATH",
              help="The real sbatch or qsub.  [default: found on PATH]")  # fmt: skip
@_path("--python", metavar="PATH", help="Interpreter, 3.9 or newer.  [default: the system's]")
@_path("--audit", help="Folder for audit lines.  [default: <prefix>/audit]")
@click.option("--daemon/--no-daemon", default=None, help="Also write settings and units of the service that keeps job "
              "history.  [default: as before, else without]")  # fmt: skip
@_path("--socket", metavar="PATH", help="Where the service listens.  [with --daemon: /run/maple/daemon.sock]")
@click.option("--service-uid", type=click.IntRange(min=0), metavar="UID", help="Who runs it.  [default: user maple]")
@_path("--units", help="Folder for its systemd units.  [default: /etc/systemd/system]")
@click.option("--hooks/--no-hooks", default=None, help="With --daemon: place the hooks by which the service hears how "
              "jobs end.  [default: as before, else without]")  # fmt: skip
@_path("--spool", help="Where hooks leave events.  [default: /var/spool/maple/events]")
@click.option("--copy", is_flag=True, help="Place a copy of the front in DIR, not a link to it.")
@click.option("--no-compiler", is_flag=True, help="Take the front that came built with Maple.")
@plainly
def install(folder: str, **options: Any) -> None:
    """Put Maple in front of sbatch or qsub; run it again to update, or to repair what was damaged.

    Which of the two, the scheduler of the site says.

    Nothing that is not Maple's is overwritten, and a failure leaves everything as it was. With --daemon the service
    gets its settings in <prefix>/daemon.toml, which are yours from then on, and two units where systemd runs; it is
    not started: the line that does is printed. For a plain user it is a service of one's own, with its socket in
    XDG_RUNTIME_DIR. With --hooks the scheduler's hooks are put into <prefix>/hooks, with their folder for events, and
    the lines for the scheduler's own configuration are printed: without them jobs stay "not known" to the service.
    """
    from ..install import installation, place
    from ..install.place import commands_left_out
    from ..install.release.layout import layout
    from ..install.wishes import wish

    made = wish(folder=folder, path_variable=os.environ.get("PATH", ""), **options)
    served = (made.prefix / "daemon.toml").exists()
    before = {file.path: file.path.read_bytes() for file in made.service.files if os.access(file.path, os.R_OK)}
    done = installation.install(made)
    _tell(f"{'installed' if done.new else 'already there:'} {done.release} below {made.prefix}")
    _tell(f"mode {done.mode}: {MODES[done.mode]}; maple admin mode changes it")
    for placed in done.placed:
        _tell_of_command(placed, made.real)
    for why, names in commands_left_out(made.folder, done.placed).items():
        _tell(f"{' and '.join(names)} {'are' if len(names) > 1 else 'is'} not placed for all users: {why}", err=True)
    for real in made.real.values():
        if not place.comes_first(made.folder, real, os.environ.get("PATH", "")):
            what = f"warning: PATH does not find {made.folder} before {real.parent}; {place.advice(made.folder)}"
            _tell(what, err=True)
    if made.service.files:
        _tell_of_service(made.service, before, done.new and served, len(os.listdir(layout(made.prefix).releases)) == 1)
    _tell(f"next: maple admin doctor --prefix {shlex.quote(str(made.prefix))}")


def _tell(text: str, err: bool = False) -> None:
    """Print lines within the width of a terminal; what is to be copied is set in by four columns."""
    for line in text.splitlines():
        click.echo("\n".join(on_screen(line, sys.stderr if err else sys.stdout)), err=err)


def _tell_of_command(placed: Placed, real: Mapping[str, Path]) -> None:
    """Print what was put on PATH."""
    from ..install.place import LINK

    if placed.kind == LINK:
        _tell(f"{placed.path} is a link to {placed.what}")
        return
    form = "a link to" if placed.kind == "link" else "a copy of"
    _tell(f"{placed.path} is {form} the front; real: {real[Path(placed.path).name]}")


def _tell_of_service(service: Service, before: Mapping[Path, bytes], again: bool, first: bool) -> None:
    """Print what was written, and the line that starts it.

    *before*: the files that were there. *again*: there was a service, of another release. *first*: there is no other
    release.
    """
    from ..install.service.hooks import lines as hook_lines
    from ..install.service.service_files import UNITS, hidden, program

    units = any(file.path.name in UNITS for file in service.files)
    for file in service.files:
        _tell(f"written for the service: {file.path}")
    _tell(f"start it:\n    {service.start}")
    memory = _store(str(service.files[0].path)).strip(" ()") if first else ""
    if memory and os.path.exists(memory):
        _tell(f"{memory} is there already, and now this service's; where another keeps it, set store= in daemon.toml")
    for line in hook_lines(service.files, before):
        _tell(line)
    if again:
        todo = "systemctl restart maple-daemon" if units else "end it (pkill -x maple-daemon), and start it so again"
        _tell(f"if the service is running, it still runs the version before: {todo}")
    home = hidden(program()) if units and os.geteuid() == 0 else ""
    if home:
        _tell(
            f"warning: {program()} needs {home}, in a home, which the hardened unit does not see; "
            "install maple-hpc with a Python that lies elsewhere (/usr/bin/python3 -m venv /opt/maple-venv), "
            "or set ProtectHome=no with systemctl edit maple-daemon",
            err=True,
        )


@admin.command()
@named_prefix
@plainly
def uninstall(prefix: str) -> None:
    """Take everything away that install put there; the real command is found again at once."""
    from ..install.release import layout, retreat
    from ..install.release.layout import read_receipt
    from ..install.service.hooks import removal
    from ..install.service.service_files import UNITS

    receipt = read_receipt(layout.layout(absolute(prefix, "--prefix")))
    memory = _store(daemon_toml(prefix))  # as long as its settings are there
    written = [os.path.basename(placed.path) for placed in receipt.written] if receipt is not None else []
    if written:
        stop = "systemctl stop maple-daemon.socket maple-daemon.service"
        _tell(f"if the service is running: {stop if set(UNITS) & set(written) else 'end it (pkill -x maple-daemon)'}")
    left = retreat.uninstall(absolute(prefix, "--prefix"))
    for leftover in left:
        _tell(f"left: {leftover.path} {leftover.why}", err=True)
    _tell(f"{'nothing else' if left else 'nothing'} that was installed is left below {prefix}")
    _tell("shells that are open may still look for the command there: hash -r, or a new shell")
    if written:
        _tell(f"yours to take away: the memory{memory}{removal(written)}")


def _store(path: str) -> str:
    """Return where the service's memory lies, as words; "" where no settings say it, or it is a server's."""
    from ..base.settings import Wrong, load

    try:
        store = load(path).store if path else ""
    except Wrong:
        return ""
    return f" ({store})" if store.startswith("/") else ""


@admin.command()
@prefix_option
@click.option(
    "--to",
    default="",
    metavar="VERSION",
    shell_complete=completion.releases,
    help="Version or name of the release.  [default: the one before]",
)
@click.option("--list", "only_list", is_flag=True, help="Show the releases, newest in force last; change nothing.")
@plainly
def rollback(prefix: str, to: str, only_list: bool) -> None:
    """Go back to an earlier release, in the mode that holds now."""
    from ..install.release import layout, releases, retreat
    from ..install.release.layout import installed

    where = layout.layout(absolute(prefix, "--prefix"))
    if only_list:
        now = releases.in_force(where)
        for name in installed(where).history:
            facts = releases.manifest(layout.Release(where.releases / name))
            click.echo(f"{'*' if name == now else ' '} {name}  {facts.get('site', '?')}  {facts.get('python', '?')}")
        return
    name, before = retreat.rollback(where.prefix, to)
    _tell(f"{name} is in force in place of {before or 'none'}")
    if before:
        _tell(f"maple admin rollback again goes back to {before}; --to VERSION to any other (--list)")
        served = (where.prefix / "daemon.toml").exists()
        kept = "maple, maple-fix and the service" if served else "maple and maple-fix"
        again = ", and a restart of the service" if served else ""
        _tell(f"{kept} stay those of their environment: pip install changes them{again}")


@admin.command()
@prefix_option
@json_option
@click.option("--job", is_flag=True, help="Submit a job of a second too, and wait until the service knows its end.")
@click.option("--wait", type=click.FloatRange(min=1), metavar="S", default=120.0, show_default=True,
              help="Seconds that this job may take, in the queue and after.")  # fmt: skip
@click.argument("words", nargs=-1, metavar="[-- WORDS...]")
@plainly
def doctor(prefix: str, as_json: bool, job: bool, wait: float, words: tuple[str, ...]) -> None:
    """Check every link, file, permission and program of an installation; exit code 1 if anything is wrong.

    With --job the scheduler's hooks are tried from end to end; WORDS are what a job wants here, an account perhaps.

    \b
    Examples:
      maple admin doctor --prefix /opt/maple
      maple admin doctor --prefix /opt/maple --job -- --account=abcd \\
        --partition=debug
    """
    from ..install import trials
    from ..install.doctor import examine, table
    from ..install.release import layout
    from ..install.release.layout import read_receipt

    where = layout.layout(absolute(prefix, "--prefix"))
    checks = examine(where.prefix, os.environ.get("PATH", ""))
    if job and (receipt := read_receipt(where)) is not None:
        click.echo(f"a job is submitted, and waited for: up to {wait:.0f} s", err=True)
        checks += trials.job_of_a_second(where, receipt, words, wait)
    elif words:
        raise Refused("WORDS are for a job, and none is asked for", "add --job")
    if as_json:
        output.echo(checks)
    else:
        table(checks)
    if any(check.state == "wrong" for check in checks):
        raise click.exceptions.Exit(1)


@admin.command()
@prefix_option
@click.argument("mode", required=False, metavar="[MODE]")
@click.option("--partition", metavar="P", help="Only for jobs that name this partition, on PBS this queue.")
@click.option("--group", metavar="G", help="Only for members of this Unix group.")
@click.option("--rule", metavar="CODE", help="Only for what this rule would change (it can only do less).")
@json_option
@plainly
def mode(
    prefix: str, mode: str | None, partition: str | None, group: str | None, rule: str | None, as_json: bool
) -> None:
    """Show the modes, or set one: off, observe, warn or repair; "default" takes an exception back.

    It holds from the next submission on; nothing has to be restarted: a service that runs reads it at once.
    """
    from maple_submit_filter.rules import by_code

    from ..install import settings as modes
    from ..install.release.layout import layout
    from ..install.service.state import reload

    home = absolute(prefix, "--prefix")
    if rule is not None and re.fullmatch(r"(?i)MPL\d{3}", rule) and by_code(rule) is None:
        raise Refused(f"--rule: there is no rule {rule}", "maple explain lists them")
    says = ""
    if mode is not None:
        unlisted = modes.unlisted(home, partition) if partition and mode != modes.BACK else ""
        if unlisted:
            _tell(f"warning: {unlisted}", err=True)
        modes.set_mode(home, mode, partition=partition, group=group, rule=rule)
        says = reload(layout(home).current, modes_only=True)
    elif partition or group or rule:
        raise Refused("no mode is named", "add one: off, observe, warn, repair, or default")
    now = modes.modes_in_force(home)
    if as_json:
        output.echo(now)
        _tell(says, err=True)
        return
    click.echo(f"site: {now['mode']}")
    exceptions = {"partition": now["partitions"], "group": now["groups"], "rule": now["rules"]}
    for kind, table in exceptions.items():
        for name, value in table.items():
            click.echo(f"{kind} {modes.readable(kind, name)}: {value}")
    _tell(says, err=True)
    if now["mode"] == "off" and any(exceptions.values()):
        click.echo("warning: the site's mode is off, so these exceptions have no effect", err=True)


@admin.command()
@audited_prefix
@click.option(
    "--config", metavar="FILE", shell_complete=completion.files, help="Settings of the service whose memory counts."
)
@click.option("--since", default="7d", show_default=True, metavar="T", help="30m, 12h, 7d or 4w back; or a date.")
@json_option
@click.option(
    "--html", metavar="FILE", type=click.Path(), help="Write it as a page that can be sent; FILE must not exist."
)
@plainly
def report(prefix: str | None, config: str | None, since: str, as_json: bool, html: str | None) -> None:
    """Show what Maple saw, and what it changed or would have changed in mode repair.

    From the audit lines of an installation: users, verdicts, rules, time taken. From the memory of the service: rules
    and partitions, what was done, and how those jobs ended, in whole days; no user is in it. Without --prefix and
    --config it is both of the installation on PATH: the memory is the one that its daemon.toml names, else
    /etc/maple/daemon.toml. The page of --html holds what `maple admin serve` shows, and so does "window" of --json.
    """
    if html:
        write_page(html, source(prefix, config, since))
        click.echo(f"written: {html}")
        return
    from ..install.report.audit import facts_of, gather, table
    from ..window.shapes import reported
    from .memory_admin import report_of_memory

    seen = memory = None
    named, prefix = bool(prefix), prefix or meant()
    if prefix:
        seen = facts_of(gather(absolute(prefix, "--prefix"), since))
        if not as_json:
            table(seen, since)
    if config or not prefix or (not named and daemon_toml(prefix)):
        memory = report_of_memory(config or "", since, show=not as_json, after=bool(prefix))
    if as_json:
        output.echo(reported(seen, memory, looked(source(prefix, config, since))))
