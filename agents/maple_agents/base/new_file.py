"""Files of the user's that a command makes: a script where none was, and what lies in his own state folder."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
from collections.abc import Iterator, Mapping

from maple_submit_filter.host import own_folders

from .complaint import Complaint


def put(script: bytes, path: str | None, mode: int | None = None) -> None:
    """Write *script* to standard output, or to a new file at *path*, whole or not at all. Raises `Complaint`.

    *mode*: the file's permissions; None: as the umask has them.
    """
    if path is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(script)
        sys.stdout.buffer.flush()
        return
    free(path)
    try:
        _write(script, path, mode)
    except FileExistsError as error:
        raise _there(path) from error
    except OSError as error:
        raise Complaint("%s: %s" % (path, (error.strerror or str(error)).lower())) from error


def free(path: str) -> None:
    """Raise `Complaint` where something is at *path* already."""
    if os.path.lexists(path):
        raise _there(path)


def _there(path: str) -> Complaint:
    return Complaint("%s: is there already" % path, "Maple overwrites nothing; name another file")


def _write(script: bytes, path: str, mode: int | None) -> None:
    """A link is made only where nothing has the name, so that no file of somebody else's is lost."""
    fresh = "%s.%s" % (path, os.urandom(3).hex())
    try:
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(script)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(fresh, path)
        except OSError as error:
            if isinstance(error, FileExistsError) or os.path.lexists(path):
                raise FileExistsError(path) from error
            os.rename(fresh, path)  # a file system without hard links
    finally:
        with contextlib.suppress(OSError):
            os.unlink(fresh)


def keep(value: object, path: str) -> None:
    """Put *value* as JSON at *path*, as `keep_bytes` does."""
    keep_bytes(json.dumps(value).encode(), path)


def keep_bytes(data: bytes, path: str) -> None:
    """Put *data* at *path*, for its owner alone, whole or not at all; what cannot be written harms nothing."""
    fresh = "%s.%s" % (path, os.urandom(3).hex())
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        try:
            with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
            os.replace(fresh, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(fresh)
            raise


_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


@contextlib.contextmanager
def opened(name: str = "", make: bool = True, environ: Mapping[bytes, bytes] = os.environb) -> Iterator[int]:
    """Yield the user's folder `maple`, or *name* in it, made with mode 0700 if *make* says so. Raises `OSError`."""
    path = (own_folders.made if make else own_folders.path)(own_folders.STATE, environ)
    if path is None:
        raise OSError("there is no folder of one's own")
    folder = _checked(os.open(path, _FOLDER))
    try:
        if name:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=folder)
            inner = _checked(os.open(name, _FOLDER, dir_fd=folder))
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def read(folder: int, name: str, most: int) -> bytes | None:
    """Return what a file holds; None where there is none, it is longer, or not one's own alone. Raises nothing."""
    try:
        file = os.open(name, os.O_RDONLY | _FILE, dir_fd=folder)
    except OSError:
        return None
    try:
        status = os.fstat(file)
        own = status.st_uid == os.geteuid() and status.st_nlink == 1 and not status.st_mode & 0o022
        if not stat.S_ISREG(status.st_mode) or not own or status.st_size > most:
            return None
        with open(file, "rb", closefd=False) as data:
            return data.read(most)
    except OSError:
        return None
    finally:
        os.close(file)


def write(folder: int, name: str, data: bytes) -> None:
    """Put a file of mode 0600 there, whole or not at all, in place of what had its name. Raises `OSError`."""
    new = ".%s.%s" % (name, os.urandom(6).hex())
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, 0o600, dir_fd=folder)
    try:
        with open(file, "wb") as out:
            out.write(data)
        os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new, dir_fd=folder)
        raise


def leave(folder: int, most: int) -> None:
    """Remove the oldest, so that no more than *most* stay, and drafts that nobody finished."""
    names = sorted(os.listdir(folder), key=lambda name: (name.startswith("."), -age(folder, name)))
    for name in names[most:]:
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=folder)


def age(folder: int, name: str) -> float:
    """Return when a file was written, 0 for one that is gone."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime
    except OSError:
        return 0.0


def _checked(folder: int) -> int:
    """Return *folder*, closed to others. Raises `OSError` where it is another's."""
    status = os.fstat(folder)
    if status.st_uid != os.geteuid():
        os.close(folder)
        raise PermissionError("the folder is another user's")
    if stat.S_IMODE(status.st_mode) & 0o077:
        os.fchmod(folder, 0o700)
    return folder
