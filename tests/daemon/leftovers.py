"""What a process leaves in /tmp goes with it, however it ends: a process of its own waits for that, and removes it."""

from __future__ import annotations

import subprocess
import sys
from typing import Optional

# The pipe ends when the last process that could write to it does; forks of the first one have it too.
_WAITING = """
import os, shutil, signal, sys
folders = sys.stdin.buffer.read().split(b"\\0")[:-1]
for folder in folders:
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % name, "rb") as file:
                if folder + b"/daemon.toml" in file.read().split(b"\\0"):
                    os.kill(int(name), signal.SIGKILL)
        except OSError:
            pass
    shutil.rmtree(folder, ignore_errors=True)
"""
_waiting: Optional[subprocess.Popen[bytes]] = None


def goes_with_us(folder: str) -> None:
    """Have a folder, and the daemon that has its settings there, go when this process has ended."""
    global _waiting
    if _waiting is None:
        words = [sys.executable, "-IS", "-c", _WAITING]
        quiet = subprocess.DEVNULL
        # A session of its own: what ends us by our group, or from the terminal, does not end it.
        _waiting = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, start_new_session=True)
    assert _waiting.stdin is not None
    _waiting.stdin.write(folder.encode() + b"\0")
    _waiting.stdin.flush()
