"""Installing: either whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from maple_submit_filter.site.modes import weaker

from . import place, settings
from .refusals import Refused
from .release import interpreter, releases, revisions
from .release.build import Build
from .release.interpreter import Interpreter
from .release.layout import (
    Layout,
    Placed,
    Receipt,
    Release,
    add_folder,
    alone,
    layout,
    link,
    read_receipt,
    remove_empty,
    restore,
    write,
    write_receipt,
)
from .release.sources import Sources
from .service import hooks
from .service.service_files import Service

KEPT = 5  # releases that stay on disk to go back to


class Wish(NamedTuple):
    """What install was asked for, checked. *mode* "": as before, else the site's. *real*: command -> real path.

    *reader*: see `Build`.
    """

    prefix: Path
    folder: Path
    sources: Sources
    python: Interpreter
    real: dict[str, Path]
    mode: str = ""
    kind: str = "link"
    more: tuple[tuple[str, str], ...] = ()  # further keys of front.conf
    service: Service = Service()
    reader: Interpreter | None = None
    tools: tuple[Placed, ...] = ()  # commands for people


class Outcome(NamedTuple):
    """What was done: the release in force, whether it is a new one, the commands, the one before, and the mode."""

    release: str
    new: bool
    placed: tuple[Placed, ...]
    before: str
    mode: str = "repair"


def install(wish: Wish) -> Outcome:
    """Put a release in force and its front in front of the real commands; on any failure all is as it was."""
    undo: list[Callable[[], object]] = []
    try:
        return Steps(wish, undo).run()
    except BaseException:
        for step in reversed(undo):
            with contextlib.suppress(OSError):
                step()
        raise


class Steps:
    """The steps of one installation; each leaves on *undo* what takes it back."""

    def __init__(self, wish: Wish, undo: list[Callable[[], object]]) -> None:
        self.wish = wish
        self.where = layout(wish.prefix)
        self.undo = undo

    def run(self) -> Outcome:
        """Take the steps in order: nothing a user meets changes before the release is whole."""
        made = [*self.folder(self.wish.prefix), *self.folder(self.where.releases), *self.folder(self.wish.folder)]
        made += [*self.audit(), *self.spool()]
        made += [folder for file in self.wish.service.files for folder in self.folder(file.path.parent)]
        with alone(self.wish.prefix):
            former = read_receipt(self.where) or Receipt()
            self.refuse_foreign(former)
            releases.sweep(self.where)
            before = releases.in_force(self.where)
            name, new = self.build(before)
            self.note(former, name, made)
            self.switch(name, before)
            placed = tuple(self.put(name, former) for name in self.wish.real)
            placed += self.put_tools(former)
            self.put_share()
            self.refuse_chain()
            files = tuple(hooks.write(wanted, former.written, self.undo) for wanted in self.wish.service.files)
            gone = [old for old in former.placed if old.path not in {now.path for now in placed}]
            unwanted = [old for old in former.written if old.path not in {now.path for now in files}]
            kept = self.settle(former, name, made, placed, files)
        for program in gone:  # the command's folder was changed from one --bin to another
            place.remove(program, self.where)
        for file in unwanted:
            hooks.remove(file)
        for old in releases.names(self.where):
            if old not in kept:
                releases.discard(self.where, old)
        return Outcome(name, new, placed, before, self.mode(before))

    def folder(self, path: Path) -> list[str]:
        """Make a folder that is not there; return those that were made."""
        made = add_folder(path)
        self.undo.extend(lambda made_folder=made_folder: remove_empty(Path(made_folder)) for made_folder in made)  # type: ignore[misc]
        return [made_folder for made_folder in made if Path(made_folder) not in self.where.own()]

    def audit(self) -> list[str]:
        """Make the folder for audit lines: everybody may add a file, nobody may read or replace another's."""
        path = Path(dict(self.wish.more).get("audit", ""))
        if not path.is_absolute() or path.is_dir():
            return []
        made = self.folder(path)
        path.chmod(0o1733 if os.geteuid() == 0 else 0o700)
        return made

    def spool(self) -> list[str]:
        """Make the folder in which hooks leave events: its owner reads them, everybody may add one."""
        path = Path(self.wish.service.spool)
        if not path.is_absolute() or path.is_dir():
            return []
        made = self.folder(path)
        if os.geteuid() == 0 and self.wish.service.uid:
            os.chown(path, int(self.wish.service.uid), -1)
        path.chmod(0o1733 if os.geteuid() == 0 else 0o700)
        return made

    def refuse_foreign(self, former: Receipt) -> None:
        """Refuse before anything is built when a command's place is taken by somebody else's file."""
        if former == Receipt() and (taken := foreign(self.where)):
            raise Refused(f"{taken} is there and is not of an installation", "choose another --prefix")
        for name in self.wish.real:
            path = self.wish.folder / name
            place.refuse_foreign(path, self.where, placed_at(former, path))
        hooks.refuse_foreign(self.wish.service.files, former.written)

    def refuse_chain(self) -> None:
        """Refuse a real command that calls the front again, as it would for every user: tried for real."""
        path_variable = f"{self.wish.folder}:{os.environ.get('PATH', os.defpath)}"
        for name, real in self.wish.real.items():
            if why := place.finds_front(self.wish.folder / name, path_variable):
                raise Refused(f"{real} {why}", f"name the scheduler's own with --real-{name} PATH")

    def build(self, before: str) -> tuple[str, bool]:
        """Return the release for what was wished and whether it had to be built."""
        python, real = str(self.wish.python.path), {name: str(path) for name, path in self.wish.real.items()}
        facts = {
            "version": self.wish.sources.version,
            "site": self.wish.sources.site["id"],
            "python": python,
            "real": real,
            "compiler": self.wish.sources.compiler,
        }
        digest = self.wish.sources.digest(
            str(self.wish.prefix), repr(sorted(real.items())), python, repr(self.wish.more), repr(self.wish.reader)
        )
        name = f"{self.wish.sources.version}-{digest}"
        while (self.where.releases / name).is_dir():
            if not releases.damage(Release(self.where.releases / name)):
                self.set_mode(name, before)
                return name, False
            name += "r"  # the one of that name is damaged: a whole one is built beside it
        self.make(name, before, facts)
        return name, True

    def make(self, name: str, before: str, facts: dict[str, object]) -> None:
        """Build the release in a draft folder and move it to its name."""
        home = Release(self.where.releases / name)
        draft = Path(tempfile.mkdtemp(dir=self.where.releases, prefix=".new."))
        self.undo.append(lambda: shutil.rmtree(draft, ignore_errors=True))
        build = Build(self.wish.sources, self.wish.python, self.wish.prefix, draft, self.wish.reader)
        build.run(self.config(home, before), facts)
        os.rename(draft, home.root)
        self.undo.append(lambda: shutil.rmtree(home.root, ignore_errors=True))

    def config(self, home: Release, before: str) -> dict[str, str]:
        """Return front.conf: every path names this very release, so that a submission never meets parts of two."""
        real = {f"real_{name}": str(path) for name, path in self.wish.real.items()}
        fixed = {
            "python": str(self.wish.python.path),
            "helper": str(settings.helper_of(home)),
            "snapshot": str(home.snapshot),
            "facts": str(revisions.of(self.where.facts, str(self.wish.sources.site["id"])).in_force),
        }
        reader = interpreter.keys(home, self.wish.reader) if self.wish.reader is not None else {}
        kept = settings.deadlines(Release(self.where.releases / before)) if before else {}
        return {**real, **fixed, **reader, "mode": self.mode(before), **kept, **dict(self.wish.more)}

    def mode(self, before: str) -> str:
        """Return the mode wished for, else the one in force, else the site's, else repair.

        A site that was not in force before, a draft say, is not trusted with more than its own file says.
        """
        own = str(self.wish.sources.site.get("mode") or "")
        release = Release(self.where.releases / before)
        former = settings.values(release).get("mode", "") if before else ""
        former = former if former in settings.MODES else ""
        if former and own in settings.MODES and releases.manifest(release).get("site") != self.wish.sources.site["id"]:
            former = weaker(former, own)
        return settings.checked(self.wish.mode or former or own or "repair")

    def set_mode(self, name: str, before: str) -> None:
        """Give a release that was there already the front.conf that is wished for, whatever became of its own."""
        release = Release(self.where.releases / name)
        old = release.config.read_bytes() if release.config.exists() else None
        fresh = settings.text(self.config(release, before))
        if old != fresh or release.config.stat().st_mode & 0o777 != 0o644:
            self.undo.append(lambda: restore(release.config, old))
            write(release.config, fresh)

    def note(self, former: Receipt, name: str, made: list[str]) -> None:
        """Write down where things will be put before they are, so that uninstall finds them even after a crash."""
        old = self.where.receipt.read_bytes() if self.where.receipt.exists() else None
        self.undo.append(lambda: restore(self.where.receipt, old))
        planned = tuple(self.planned(command) for command in self.wish.real)
        others = tuple(placed for placed in former.placed if placed.path not in {now.path for now in planned})
        known = tuple(placed for placed in former.placed if placed.path in {now.path for now in planned})
        others += tuple(
            placed for placed in self.wish.tools if not os.path.lexists(placed.path) and placed not in others
        )
        old_files = {placed.path for placed in former.written}
        files = tuple(placed for placed in map(hooks.placed, self.wish.service.files) if placed.path not in old_files)
        folders = tuple(dict.fromkeys((*former.made, *made)))
        write_receipt(self.where, Receipt(former.history, others + (known or planned), folders, former.written + files))

    def planned(self, command: str) -> Placed:
        """Return what is about to be put for a command."""
        front = Release(self.where.current).front
        return Placed(str(self.wish.folder / command), self.wish.kind, str(front) if self.wish.kind == "link" else "")

    def switch(self, name: str, before: str) -> None:
        """Put the release in force."""
        undo = (
            (lambda: releases.switch(self.where, before))
            if before
            else (lambda: self.where.current.unlink(missing_ok=True))
        )
        self.undo.append(undo)
        releases.switch(self.where, name)

    def put(self, command: str, former: Receipt) -> Placed:
        """Put the front in a command's place."""
        path = self.wish.folder / command
        known = placed_at(former, path)
        if not os.path.lexists(path):
            self.undo.append(lambda: path.unlink(missing_ok=True))
        elif known and known.kind == "copy":
            old = path.read_bytes()
            self.undo.append(lambda: write(path, old, 0o755))
        elif path.is_symlink():
            target = os.readlink(path)
            self.undo.append(lambda: link(path, target))
        return place.place(path, self.where, self.wish.kind, known)

    def put_tools(self, former: Receipt) -> tuple[Placed, ...]:
        """Put the commands for people beside the front; a name that is taken is left to whom it is."""
        return tuple(placed for placed in self.wish.tools if self.put_tool(placed, former))

    def put_tool(self, placed: Placed, former: Receipt) -> bool:
        """Put a link to a command."""
        path = Path(placed.path)
        if path.is_symlink():
            target = os.readlink(path)
            self.undo.append(lambda: link(path, target))
        elif not os.path.lexists(path):
            self.undo.append(lambda: path.unlink(missing_ok=True))
        return place.place_link(placed, former.placed)

    def put_share(self) -> None:
        """Let shells and `man` find what they look for beside the commands, unless the prefix has a share already."""
        if not os.path.lexists(self.where.share):
            self.undo.append(lambda: self.where.share.unlink(missing_ok=True))
            link(self.where.share, str(Release(self.where.current).share))

    def settle(
        self, former: Receipt, name: str, made: list[str], placed: tuple[Placed, ...], files: tuple[Placed, ...]
    ) -> set[str]:
        """Write the receipt of what is there now; return the releases to keep."""
        history = tuple(release for release in former.history if release != name) + (name,)
        history = history[-KEPT:]
        write_receipt(self.where, Receipt(history, placed, tuple(dict.fromkeys((*former.made, *made))), files))
        return set(history)


def placed_at(former: Receipt, path: Path) -> Placed | None:
    """Return what the receipt says of a path."""
    return next((placed for placed in former.placed if placed.path == str(path)), None)


def foreign(where: Layout) -> Path | None:
    """Return what stands in the way of a first installation and was not made by one that was interrupted."""
    for path in (where.current, where.policy):
        if os.path.lexists(path):
            return path
    if where.audit.is_dir() and any(where.audit.iterdir()):
        return where.audit
    there = [entry for entry in where.releases.iterdir() if not entry.name.startswith(".new.")]
    return next((entry for entry in there if not Release(entry).manifest.is_file()), None)
