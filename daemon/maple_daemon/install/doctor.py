"""Is the installation whole, and does it answer? Each check says what is wrong and what to do."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import click
from maple_agents.ask import sites
from maple_agents.base import output
from maple_agents.base.terminal import copied
from maple_submit_filter.answer.report import columns, folded
from maple_submit_filter.host import configuration

from . import place, settings, trials
from .refusals import Check, Refused, ancestors, who_else_writes
from .release import interpreter, releases
from .release.layout import Layout, Placed, Receipt, Release, layout, read_receipt, sha256
from .service import state as service


def examine(prefix: Path, path_variable: str) -> list[Check]:
    """Return every check of the installation below *prefix*, for a shell with this PATH; changes nothing."""
    where = layout(prefix)
    try:
        receipt = read_receipt(where)
    except Refused as refused:
        return [Check("receipt", "wrong", refused.says, refused.help)]
    if receipt is None:
        return [
            Check(
                "receipt",
                "wrong",
                f"nothing is installed below {prefix}",
                "name the prefix that install was given with --prefix",
            )
        ]
    checks = [Check("receipt", "ok", str(where.receipt)), *(link(where))]
    name = releases.in_force(where)
    if name:
        release = Release(where.releases / name)
        checks += [check for part in PARTS for check in guarded(part, where, release)]
    checks += commands(where, receipt, path_variable)
    checks += service.examined(where, receipt, Release(where.releases / name)) if name else []
    if name and all(check.state != "wrong" for check in checks):
        checks += answers(Release(where.releases / name))
    return checks


def guarded(part: Callable[[Layout, Release], Iterator[Check]], where: Layout, release: Release) -> Iterator[Check]:
    """Yield the checks of one part; what the system denies is a finding, not the end of the examination."""
    try:
        yield from part(where, release)
    except OSError as error:
        yield Check(
            part.__name__, "wrong", f"{error.filename}: {error.strerror}", "run this as the user who installed it"
        )


def link(where: Layout) -> Iterator[Check]:
    """Does `current` lead to a release?"""
    name = releases.in_force(where)
    if name:
        yield Check("current", "ok", name)
    else:
        yield Check(
            "current", "wrong", f"{where.current} leads to no release", "maple admin rollback, or install again"
        )


def files(where: Layout, release: Release) -> Iterator[Check]:
    """Is every file as it was installed?"""
    broken = releases.damage(release)
    if not broken:
        yield Check("files", "ok", f"{len(releases.manifest(release)['files'])} files as installed")
    for line in broken[:20]:
        yield Check("files", "wrong", line, "install again: a whole release is put beside this one")


def permissions(where: Layout, release: Release) -> Iterator[Check]:
    """May anybody else change what runs in every user's name?"""
    inside = (path for path in release.root.rglob("*"))
    wrong = [(path, why) for path in (*ancestors(release.root), *inside) if (why := who_else_writes(path))]
    for path, why in wrong[:20]:
        yield Check("permissions", "wrong", f"{path} {why}", f"chmod go-w {path}, and see that root or you own it")
    if not wrong:
        yield Check("permissions", "ok", "only the owner can change it")


def config(where: Layout, release: Release) -> Iterator[Check]:
    """Does front.conf say what the front needs?"""
    values = settings.values(release)
    missing = [key for key in ("python", "helper", "snapshot", "mode") if not values.get(key)]
    missing += [] if any(key.startswith("real_") for key in values) else ["real_sbatch or real_qsub"]
    if missing:
        yield Check("front.conf", "wrong", f"{release.config} lacks {', '.join(missing)}", "install again")
    elif values["mode"] not in settings.MODES:
        yield Check("front.conf", "wrong", f"mode {values['mode']} is none", "maple admin mode repair")
    elif Path(values["helper"]) != settings.helper_of(release):
        says = f"{values['helper']} is not of this release, and runs in every user's name"
        yield Check("front.conf", "wrong", says, "install again: a release brings its own")
    elif release.config.stat().st_mode & 0o777 != 0o644:
        yield Check("front.conf", "wrong", "the front reads it only with mode 0644", f"chmod 644 {release.config}")
    else:
        yield Check("front.conf", "ok", f"mode {values['mode']}")


def python(where: Layout, release: Release) -> Iterator[Check]:
    """Does the pinned interpreter still do?"""
    path = settings.values(release).get("python", "")
    pinned = interpreter.inspect(path)
    if isinstance(pinned, str):
        yield Check("python", "wrong", f"{path} {pinned}", "install again, perhaps with --python PATH")
    elif str(pinned.path) != path:
        yield Check("python", "note", f"{path} is a link now, to {pinned.path}", "install again to pin it")
    else:
        yield Check("python", "ok", f"{path} {'.'.join(map(str, pinned.version))}")


def child(where: Layout, release: Release) -> Iterator[Check]:
    """Is what reads a user's files, in his name, of this release, and nobody else's to change?"""
    values = settings.values(release)
    program, interpreter = values.get("child", ""), values.get("child_python", "") or values.get("python", "")
    if not program:
        return
    if Path(program) != release.child or values.get("child_path"):
        says = f"{program} is not of this release, and runs in every user's name"
        yield Check("reader", "wrong", says, "install again: a release brings its own")
        return
    theirs = [ancestor for path in (program, interpreter) for ancestor in ancestors(Path(os.path.realpath(path)))]
    wrong = [(path, why) for path in theirs if (why := who_else_writes(path))]
    for path, why in wrong[:20]:
        yield Check("reader", "wrong", f"{path} {why}", f"chmod go-w {path}, and see that root or you own it")
    if not wrong:
        yield Check("reader", "ok", f"{program}, by {interpreter}")


def real(where: Layout, release: Release) -> Iterator[Check]:
    """Is the real command still there?"""
    for key, path in settings.values(release).items():
        name = key.removeprefix("real_")
        if name == key:
            continue
        if not place.runnable(Path(path)):
            yield Check(name, "wrong", f"the real {path} is gone", f"install again with --real-{name} PATH")
        elif place.is_front(Path(path)):
            yield Check(name, "wrong", f"{path} is Maple itself", f"install again with --real-{name} PATH")
        else:
            yield Check(name, "ok", path)


def snapshot(where: Layout, release: Release) -> Iterator[Check]:
    """Can the site's facts be read, and are they those of the site file?"""
    from .release.sources import site

    values = settings.values(release)
    try:
        path, held = configuration.in_force(values)
    except (OSError, ValueError) as error:
        yield Check("site", "wrong", f"{release.snapshot}: {error}", "install again")
        return
    applied, again = Path(values.get("facts", "")), "install again to take it over"
    if applied.is_file():
        again = "maple site apply FILE takes it over"
        yield from facts(applied, path)
    try:
        fresh = site(held.id)
    except Refused as refused:
        yield Check("site", "note", f"{held.id}: {refused.says}", refused.help)
        return
    if fresh.revision != held.revision and str(applied) == path:
        elsewhere = sites.path(held.id, applied=False)
        says = f"{held.id}, revision {held.revision[:12]}, as applied; {elsewhere} says otherwise"
        yield Check("site", "note", says, again)
    elif fresh.revision != held.revision:
        yield Check("site", "wrong", f"{held.id} was changed since it was installed", again)
    else:
        yield Check("site", "ok", f"{held.id}, revision {held.revision[:12]}, of {path}")


def facts(applied: Path, path: str) -> Iterator[Check]:
    """Is what was applied in force, and nobody else's to change?"""
    if str(applied) != path:
        yield Check("facts", "wrong", f"{applied} cannot be read by this release", "maple site apply writes it anew")
    wrong = [(ancestor, why) for ancestor in ancestors(applied) if (why := who_else_writes(ancestor))]
    for part, why in wrong[:20]:
        yield Check("facts", "wrong", f"{part} {why}", f"chmod go-w {part}, and see that root or you own it")


def policy(where: Layout, release: Release) -> Iterator[Check]:
    """Can the exceptions be read?"""
    try:
        tables = settings.exceptions(where)
    except Refused as refused:
        yield Check("policy", "wrong", refused.says, refused.help)
        return
    count = sum(len(tables[name]) for name in settings.TABLES.values())
    yield Check("policy", "ok", f"{count or 'no'} exception{'' if count == 1 else 's'}")


def audit(where: Layout, release: Release) -> Iterator[Check]:
    """Can users leave audit lines?"""
    folder = Path(settings.values(release).get("audit", ""))
    if not folder.is_dir():
        yield Check("audit", "wrong", f"{folder} is no folder", "install again")
    elif folder.stat().st_uid == 0 and folder.stat().st_mode & 0o7777 != 0o1733:
        yield Check("audit", "wrong", f"{folder} has mode {folder.stat().st_mode & 0o7777:o}", f"chmod 1733 {folder}")
    else:
        yield Check("audit", "ok", str(folder))


PARTS = (files, permissions, config, python, child, real, snapshot, policy, audit)


def commands(where: Layout, receipt: Receipt, path_variable: str) -> Iterator[Check]:
    """Do the commands stand where they were put, and does a shell find them first?"""
    for placed in receipt.placed:
        path = Path(placed.path)
        if placed.kind == place.LINK:
            yield from tool(placed)
            continue
        if not place.is_ours(path, where, placed):
            yield Check("command", "wrong", f"{path} is not what Maple installed", "install again")
            continue
        yield Check("command", "ok", f"{path}, a {placed.kind}")
        values = settings.values(Release(where.current))
        original = Path(values.get(f"real_{path.name}", "/"))
        if runnable_front(where) and (why := place.finds_front(path, path_variable)):
            todo = f"install again with --real-{path.name} PATH, the scheduler's own"
            yield Check("chain", "wrong", f"{original} {why}", todo)
        if placed.kind == "copy" and where.current.exists() and placed.what != sha256(Release(where.current).front):
            yield Check("command", "wrong", f"{path} is a copy of another release", "install again")
        if place.comes_first(path.parent, original, path_variable):
            yield Check("PATH", "ok", f"{path.parent} comes first")
        else:
            yield Check("PATH", "wrong", f"a shell finds {original} first", place.advice(path.parent))


def tool(placed: Placed) -> Iterator[Check]:
    """Does a command for people still lead to a program that is fit for all?"""
    why = place.unfit_program(Path(placed.what)) if place.link_is_ours(placed) else "is not what Maple installed"
    says = f"{placed.path}, {placed.what} {why}" if why and place.link_is_ours(placed) else f"{placed.path} {why}"
    name = os.path.basename(placed.path)
    yield (
        Check(name, "wrong", says, "install again")
        if why
        else Check(name, "ok", f"{placed.path}, a link to {placed.what}")
    )


def runnable_front(where: Layout) -> bool:
    """Return whether there is a front in force that can be asked."""
    return where.current.exists() and place.runnable(Release(where.current).front)


def answers(release: Release) -> Iterator[Check]:
    """Does the front ask, and is it answered in time?"""
    result = trials.dry_run(release)
    yield Check("self-test", *result)


MARKS = {"ok": ("ok   ", "green"), "wrong": ("WRONG", "red"), "note": ("note ", "yellow")}


def table(checks: list[Check]) -> None:
    """Print the checks for people, on a terminal within its width."""
    name = max(len(check.name) for check in checks)
    most = max((output.width() if output.is_bounded() else output.WIDE) - name - 9, 30)
    for check in checks:
        mark, colour = MARKS[check.state]
        first, *more = rows(check.says, most)
        click.echo(f"{click.style(mark, fg=colour)}  {check.name:{name}}  {first}")
        todo = [row for line in check.todo.splitlines() for row in rows(line, most)]
        for line in (*more, *todo):
            click.echo(f"{'':{name + 9}}{line}")


def rows(line: str, most: int) -> Iterator[str]:
    """Yield a line in rows of at most *most* columns: a command so that it can be copied, a path broken at a slash."""
    if line.startswith("    "):
        yield from copied(line, most)
        return
    for row in folded(line, most, ""):
        while columns(row) > most and "/" in row[1:most]:
            cut = row.rindex("/", 1, most) + 1
            yield row[:cut]
            row = row[cut:]
        yield row
