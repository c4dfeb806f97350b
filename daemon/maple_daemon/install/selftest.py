"""A dry run of the front: the same program, helper and facts, in front of a command that submits nothing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from . import settings
from .layout import Release

SCRIPT = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
srun python train.py
"""
WORD = "maple-self-test"


PATIENCE = 15000  # ms; far beyond any deadline: who does not answer by then is not slow but broken


class Found(NamedTuple):
    """*state* as in a check. "note": it works, but an answer came later than the deadline allows."""

    state: str
    says: str
    todo: str = ""


def run(release: Release) -> Found:
    """Run the front of a release; nothing is submitted and no audit line is left."""
    found = attempt(release, "")
    if found.state == "ok":
        return found
    patient = attempt(release, str(PATIENCE))  # a cold disk or a busy machine is no fault of the installation
    if patient.state != "ok":
        return patient
    return Found(
        "note", f"{patient.says}, later than helper_ms allows: submitted as written", "look again when it is quiet"
    )


def attempt(release: Release, helper_ms: str) -> Found:
    """Run the front once, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="maple-doctor.") as folder:
        front = lay_out(release, Path(folder), {"helper_ms": helper_ms} if helper_ms else {})
        begun = time.monotonic()
        try:
            done = subprocess.run([front, "job.sh"], cwd=folder, env=environment(folder), capture_output=True,
                                  stdin=subprocess.DEVNULL, timeout=2 * PATIENCE / 1000, check=False)  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return Found("wrong", f"the front does not run: {error}", "install again")
        spent = round((time.monotonic() - begun) * 1000)
    said = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode or WORD not in done.stdout.decode("utf-8", "replace"):
        return Found("wrong", f"the front did not become the real command: {said or done.returncode}", "install again")
    silent = [
        line for line in said.splitlines() if "no answer" in line or re.match(r"maple: (helper: )?\w+Error", line)
    ]
    if silent:
        return Found("wrong", f"after {spent} ms: {silent[0]}", f"try {reproduce(release)}")
    return Found("ok", f"answered in {spent} ms")


def lay_out(release: Release, folder: Path, changed: dict[str, str]) -> Path:
    """Put a copy of the front beside a configuration of its own; return its path."""
    for name in ("bin", "etc"):
        (folder / name).mkdir(mode=0o755)
    front = folder / "bin" / "sbatch"
    shutil.copyfile(release.front, front)
    (folder / "real").write_text(f"#!/bin/sh\necho {WORD}\n")
    (folder / "job.sh").write_text(SCRIPT)
    values = {key: value for key, value in settings.values(release).items() if key not in ("audit", "socket", "policy")}
    config = folder / "etc" / "front.conf"
    config.write_bytes(settings.text({**values, "real_sbatch": str(folder / "real"), "mode": "observe", **changed}))
    config.chmod(0o644)
    front.chmod(0o755)
    (folder / "real").chmod(0o755)
    return front


def environment(folder: str) -> dict[str, str]:
    """Return an environment in which the front speaks, and keeps what it writes in *folder*."""
    return {
        "PATH": os.defpath,
        "HOME": folder,
        "XDG_STATE_HOME": folder,
        "XDG_CACHE_HOME": folder,
        "MAPLE": "verbose,observe",
    }


def reproduce(release: Release) -> str:
    """Return a command that shows why the helper does not answer."""
    values = settings.values(release)
    return f"{values.get('python', 'python3')} -IS {values.get('helper', 'helper.py')} {release.config} </dev/null"
