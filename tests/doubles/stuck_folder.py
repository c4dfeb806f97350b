"""A file system that hangs: mounted over FUSE by this process, which greets the kernel and then answers nothing.

As with a file server that is gone, a process that asks it for anything waits in the kernel; where the request was
already taken (*taken*) not even SIGKILL ends it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import struct
import threading
from typing import Iterator

_IN, _OUT = "<IIQQIIII", "<IiQ"
_INIT = 26


def _mount(fd: int, folder: str) -> None:
    options = b"fd=%d,rootmode=40000,user_id=%d,group_id=%d,allow_other" % (fd, os.getuid(), os.getgid())
    library = ctypes.CDLL(None, use_errno=True)
    if library.mount(b"maple-test", os.fsencode(folder), b"fuse", 0, options) != 0:
        raise OSError(ctypes.get_errno(), "mount")


def _greet(fd: int) -> None:
    request = os.read(fd, 1 << 20)
    size, opcode, unique = struct.unpack_from("<IIQ", request)
    assert opcode == _INIT and size == len(request)
    body = struct.pack("<IIIIHHIIHH8I", 7, 31, 65536, 0, 16, 12, 65536, 1, 1, 0, *[0] * 8)
    os.write(fd, struct.pack(_OUT, struct.calcsize(_OUT) + len(body), 0, unique) + body)


@contextlib.contextmanager
def stuck(folder: str, taken: bool) -> Iterator[None]:
    """Let everything in *folder* hang for as long as the block lasts. Raises `OSError` where FUSE cannot be mounted."""
    fd = os.open("/dev/fuse", os.O_RDWR)
    try:
        _mount(fd, folder)
    except OSError:
        os.close(fd)
        raise
    over = threading.Event()
    taker = threading.Thread(target=_take, args=(fd, over), daemon=True)
    try:
        _greet(fd)
        os.set_blocking(fd, False)
        if taken:
            taker.start()
        yield
    finally:
        ctypes.CDLL(None).umount2(os.fsencode(folder), 2)  # MNT_DETACH
        over.set()
        if taker.is_alive():
            taker.join()  # before the number is free: a later read of it would be one of another test's file
        os.close(fd)  # all that waits is told that nobody is there


def _take(fd: int, over: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while not over.is_set():
            if select.select([fd], [], [], 0.05)[0]:
                with contextlib.suppress(BlockingIOError):  # somebody gave the request up
                    os.read(fd, 1 << 20)
