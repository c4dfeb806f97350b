"""Where everything of an installation lies below its prefix, and files there that are the old ones or the new ones.

What an installation put where: the one thing that rollback and uninstall go by.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..refusals import Refused


def write(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Put *content* at *path* in one rename; on failure what was there stays."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


def write_json(path: Path, value: Any, mode: int = 0o644) -> None:
    """Put *value* as JSON at *path* in one rename."""
    write(path, json.dumps(value, indent=1, sort_keys=True).encode() + b"\n", mode)


def link(path: Path, target: str) -> None:
    """Make *path* a link to *target* in one rename, whatever link or file was there."""
    draft = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    try:
        os.symlink(target, draft / "link")
        os.replace(draft / "link", path)
    finally:
        draft.rmdir()


def sweep(path: Path) -> None:
    """Remove the drafts that a killed `write` or `link` of *path* left beside it."""
    for draft in path.parent.glob(f".{glob.escape(path.name)}.????????"):
        if draft.is_dir() and not draft.is_symlink():
            shutil.rmtree(draft, ignore_errors=True)
        else:
            draft.unlink(missing_ok=True)


def sha256(path: Path) -> str:
    """Return the hash of the file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold *folder* so that no second installation works in it; nothing is left behind."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise Refused(f"{folder}: another maple admin is running here", "wait until it has finished") from None
    finally:
        os.close(handle)


class Layout(NamedTuple):
    """The paths of an installation. Only `current` says which release is in force, so one rename switches them all."""

    prefix: Path

    @property
    def releases(self) -> Path:
        """One folder for each release that was installed."""
        return self.prefix / "releases"

    @property
    def current(self) -> Path:
        """The link to the release in force."""
        return self.prefix / "current"

    @property
    def receipt(self) -> Path:
        """What the installation put where; `uninstall` works from it."""
        return self.prefix / "install.json"

    @property
    def policy(self) -> Path:
        """The modes of partitions, groups and rules; they outlive a release."""
        return self.prefix / "policy.json"

    @property
    def audit(self) -> Path:
        """Where each user's audit lines are gathered, unless --audit named another folder."""
        return self.prefix / "audit"

    @property
    def hooks(self) -> Path:
        """The scheduler's hooks, which its own configuration names."""
        return self.prefix / "hooks"

    @property
    def facts(self) -> Path:
        """What administrators found out about their cluster and applied: a folder for each site."""
        return self.prefix / "facts"

    @property
    def share(self) -> Path:
        """The link to the pages and completions of the release in force, where shells and `man` look beside `bin`."""
        return self.prefix / "share"

    def own(self) -> tuple[Path, ...]:
        """Return all that an installation makes directly below the prefix."""
        return (self.releases, self.current, self.receipt, self.policy, self.audit, self.facts, self.hooks)


class Release(NamedTuple):
    """The paths inside one release."""

    root: Path

    @property
    def front(self) -> Path:
        """What stands in place of the submit command."""
        return self.root / "bin" / "front"

    @property
    def library(self) -> Path:
        """The folder that holds the package of the helper."""
        return self.root / "lib"

    @property
    def package(self) -> Path:
        """The package of the helper."""
        return self.library / "maple_submit_filter"

    @property
    def reader(self) -> Path:
        """The folder that holds the packages of the process that reads a user's files."""
        return self.root / "reader"

    @property
    def child(self) -> Path:
        """That process's program."""
        return self.reader / "maple_agents" / "admission" / "child.py"

    @property
    def config(self) -> Path:
        """What the front reads at each start."""
        return self.root / "etc" / "front.conf"

    @property
    def snapshot(self) -> Path:
        """The site's facts, as the helper reads them."""
        return self.root / "etc" / "site.json"

    @property
    def share(self) -> Path:
        """Templates, man pages, completions."""
        return self.root / "share"

    @property
    def manifest(self) -> Path:
        """The hash and mode of every file of the release."""
        return self.root / "manifest.json"


def layout(prefix: str | Path) -> Layout:
    """Return the layout of an installation below *prefix*."""
    return Layout(Path(prefix))


class Placed(NamedTuple):
    """A command that we put somewhere, a link to the front or a copy of it; or a file of the service's."""

    path: str
    kind: str  # "link", "copy", "unit", or "settings", which are the administrator's to change
    what: str  # the link's target, or the hash of what we wrote


class Receipt(NamedTuple):
    """*history*: the releases that were in force, the last one now. *made*: folders that were not there before.

    *written*: files of the service's.
    """

    history: tuple[str, ...] = ()
    placed: tuple[Placed, ...] = ()
    made: tuple[str, ...] = ()
    written: tuple[Placed, ...] = ()


def read_receipt(where: Layout) -> Receipt | None:
    """Return the receipt below the prefix, None when nothing is installed there."""
    try:
        data = json.loads(where.receipt.read_bytes())
        placed, written = (tuple(Placed(*map(str, row)) for row in data.get(key, ())) for key in ("placed", "written"))
        return Receipt(tuple(map(str, data["history"])), placed, tuple(map(str, data["made"])), written)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Refused(
            f"{where.receipt}: {error}", "it is written by maple admin install: put back a saved copy"
        ) from None


def installed(where: Layout) -> Receipt:
    """Return the receipt; refuse where nothing is installed."""
    receipt = read_receipt(where)
    if receipt is None:
        raise Refused(
            f"no Maple is installed below {where.prefix}", "name the prefix that install was given with --prefix"
        )
    return receipt


def write_receipt(where: Layout, receipt: Receipt) -> None:
    """Put the receipt in place."""
    data: dict[str, object] = {"history": receipt.history, "made": receipt.made}
    data["placed"] = [list(placed) for placed in receipt.placed]
    if receipt.written:
        data["written"] = [list(placed) for placed in receipt.written]
    write_json(where.receipt, data)


def add_folder(path: Path) -> list[str]:
    """Make the folder and its parents; return those that were not there, the outermost first."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o755)
        folder.chmod(0o755)  # whatever the umask: all users start the front from here
    return [str(folder) for folder in reversed(missing)]


def remove_empty(path: Path) -> bool:
    """Remove a folder if nothing is in it; return whether it is gone."""
    try:
        path.rmdir()
    except OSError:
        return not path.exists()
    return True


def restore(path: Path, content: bytes | None) -> None:
    """Put back what a file held, or take it away where there was none."""
    if content is None:
        path.unlink(missing_ok=True)
    else:
        write(path, content)
