"""Files and links that are either the old ones or the new ones, never half of each."""

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
from typing import Any

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
