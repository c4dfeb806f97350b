"""Asks bash itself whether it takes a script (`bash -n`), only ever for a script that is being changed."""

from __future__ import annotations

import os

BASH = ("/bin/bash", "/usr/bin/bash")


def parses(source: bytes) -> bool:
    """Return whether `bash -n` takes the bytes. Without a bash the answer is no: then nothing is changed."""
    bash = next((path for path in BASH if os.access(path, os.X_OK)), None)
    if bash is None or not hasattr(os, "memfd_create"):
        return False
    script = os.memfd_create("maple", 0)
    try:
        os.write(script, source)
        os.lseek(script, 0, os.SEEK_SET)
        quiet = [
            (os.POSIX_SPAWN_DUP2, script, 0),
            (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0),
        ]
        child = os.posix_spawn(bash, [bash, "--norc", "-n"], {"LC_ALL": "C"}, file_actions=quiet)
        _, status = os.waitpid(child, 0)
        return status == 0
    except OSError:
        return False
    finally:
        os.close(script)
