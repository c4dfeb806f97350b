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

from .. import settings
from .layout import Release

SCRIPTS = {
    "sbatch": "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\nsrun python train.py\n",
    "qsub": "#!/bin/bash\n#PBS -l select=2\n#PBS -l place=scatter\nmpiexec -n 2 python train.py\n",
}
WORD = "maple-self-test"


PATIENCE = 15000  # ms; far beyond any deadline: who does not answer by then is not slow but broken


class Result(NamedTuple):
    """*state* as in a check. "note": it works, but an answer came later than the deadline allows."""

    state: str
    says: str
    todo: str = ""


def run(release: Release) -> Result:
    """Run the front of a release as each command it stands in for; return the first that fails, else the last.

    Nothing is submitted and no audit line is left.
    """
    for command in commands(release):
        result = run_as(command, release)
        if result.state != "ok":
            break
    return result


def commands(release: Release) -> list[str]:
    """Return the commands that the release stands in for, by its front.conf."""
    values = settings.values(release)
    return [name for name in SCRIPTS if values.get(f"real_{name}")] or ["sbatch"]


def run_as(command: str, release: Release) -> Result:
    """Run the front as *command*; one that is only late gets a second chance."""
    result = attempt(command, release, "")
    if result.state == "ok":
        return result
    patient = attempt(command, release, str(PATIENCE))  # a cold disk or a busy machine is no fault of the installation
    if patient.state != "ok":
        return patient
    return Result(
        "note", f"{patient.says}, later than helper_ms allows: submitted as written", "look again when it is quiet"
    )


def attempt(command: str, release: Release, helper_ms: str) -> Result:
    """Run the front once, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="maple-doctor.") as folder:
        front = lay_out(command, release, Path(folder), {"helper_ms": helper_ms} if helper_ms else {})
        begun = time.monotonic()
        try:
            done = subprocess.run([front, "job.sh"], cwd=folder, env=environment(folder), capture_output=True,
                                  stdin=subprocess.DEVNULL, timeout=2 * PATIENCE / 1000, check=False)  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return Result("wrong", f"the front does not run: {error}", "install again")
        spent = round((time.monotonic() - begun) * 1000)
    printed = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode or WORD not in done.stdout.decode("utf-8", "replace"):
        return Result(
            "wrong", f"the front did not become the real command: {printed or done.returncode}", "install again"
        )
    silent = [
        line for line in printed.splitlines() if "no answer" in line or re.match(r"maple: (helper: )?\w+Error", line)
    ]
    if silent:
        return Result("wrong", f"after {spent} ms: {silent[0]}", f"try {reproduce(release)}")
    return Result("ok", f"answered in {spent} ms")


def lay_out(command: str, release: Release, folder: Path, changed: dict[str, str]) -> Path:
    """Put a copy of the front beside a configuration of its own; return its path."""
    for name in ("bin", "etc"):
        (folder / name).mkdir(mode=0o755)
    front = folder / "bin" / command
    shutil.copyfile(release.front, front)
    (folder / "real").write_text(f"#!/bin/sh\necho {WORD}\n")
    (folder / "job.sh").write_text(SCRIPTS[command])
    values = {key: value for key, value in settings.values(release).items() if key not in ("audit", "socket", "policy")}
    config = folder / "etc" / "front.conf"
    values |= {f"real_{command}": str(folder / "real"), "mode": "observe"}
    config.write_bytes(settings.text({**values, **changed}))
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
