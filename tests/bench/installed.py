"""Maple installed for a benchmark, as an administrator does it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Mapping

MAPLE = os.path.join(os.path.dirname(sys.executable), "maple")


class Installed:
    """A prefix below *root*; its sbatch hands over to *real*."""

    def __init__(self, root: Path, real: str, site: str = "ncsa-delta", socket: str = "") -> None:
        self.prefix, self.front = root / "maple", str(root / "maple" / "bin" / "sbatch")
        words = ["--prefix", str(self.prefix), "--bin", str(self.prefix / "bin"), "--site", site]
        words += ["--socket", socket] if socket else []
        command = [MAPLE, "admin", "install", *words, "--real-sbatch", real]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        with open(self.prefix / "current/etc/front.conf", "a") as file:
            file.write("helper_ms=30000\nsocket_ms=30000\n")  # a late answer would be measured as none
        self.home = root / "home"
        self.home.mkdir()

    def environment(self, **more: str) -> dict[str, str]:
        """Return a small environment for calls."""
        return {"PATH": "/usr/bin:/bin", "HOME": str(self.home), **more}

    def says(self, *words: str, env: Mapping[str, str] = {}) -> str:
        """Return what Maple says to a person who submits this."""
        done = subprocess.run(
            [self.front, *words], env={**self.environment(), **env, "MAPLE": "verbose"}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        return done.stderr

    def forget_byte_code(self) -> None:
        """Take the compiled modules away: the next start reads the sources, and leaves byte code again."""
        for image in (self.prefix / "current/lib").rglob("*.image"):
            image.unlink()
        for folder in (self.prefix / "current/lib").rglob("__pycache__"):
            shutil.rmtree(folder)
