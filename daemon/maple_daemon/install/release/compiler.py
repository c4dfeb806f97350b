"""Compiles the front with the very flags that its tests use: they are read from the front's own Makefile."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from ..refusals import Refused

# A static program starts sooner and is out of reach of LD_PRELOAD; without a static libc a dynamic one will do.
LINKS = (("-static",), ("-fPIE", "-pie", "-Wl,-z,relro,-z,now"))


def compile_front(compiler: str, folder: Path, prefix: Path, program: Path) -> None:
    """Make the front from the sources in *folder*; refuse with the compiler's own words where it cannot be made."""
    code = [folder / name for name in ("front.c", *variable(folder, "PARTS"))]
    flags = [*variable(folder, "WARN"), *variable(folder, "HARDEN"), f'-DMAPLE_PREFIX="{prefix}"']
    for link in LINKS:
        words = [compiler, *flags, *link, "-o", str(program), *map(str, code)]
        environment = {"PATH": os.defpath, "LC_ALL": "C", "TMPDIR": str(program.parent)}
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", env=environment, check=False)
        if done.returncode == 0:
            return
    raise Refused(
        f"the front does not compile: {reason(done)}", "--no-compiler takes the front that came built with Maple"
    )


def refuse_foreign(program: Path) -> None:
    """Refuse a front that this machine cannot start, as one of another architecture. It finds no command to become."""
    try:
        subprocess.run([program], stdin=subprocess.DEVNULL, capture_output=True, env={"PATH": "/nonexistent"},
                       timeout=10, check=False)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refused(
            f"the front that came with Maple does not run here: {error}", "install cc, to compile it"
        ) from None


def variable(folder: Path, name: str) -> list[str]:
    """Return the words of a variable of the front's Makefile."""
    lines = (folder / "Makefile").read_text().splitlines()
    return next((line.split("=", 1)[1].split() for line in lines if line.split("=", 1)[0].strip() == name), [])


def reason(done: subprocess.CompletedProcess[str]) -> str:
    """Return the line that says best why a command failed: the first that speaks of an error, else the last."""
    lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[-1] if lines else f"exit {done.returncode}")
