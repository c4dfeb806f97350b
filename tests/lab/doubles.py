"""Put the stand-ins for the launchers into a lab's `bin` folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache

from tests.lab.shape import Shape

LAUNCHERS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "doubles", "launchers")

_ENTRY = """\
#!{python} -IS
import sys
sys.path.insert(0, {folder!r})
import {module}
sys.exit({module}.main({name!r}, sys.argv[1:]))
"""

# command -> module that stands in for it
COMMANDS = {
    "python": "leaf",
    "python3": "leaf",
    "torchrun": "torchrun",
    "accelerate": "accelerate",
    "deepspeed": "deepspeed",
    "mpirun": "mpirun",
    "mpiexec": "mpirun",
    "ibrun": "mpirun",
    "horovodrun": "horovodrun",
    "jsrun": "jsrun",
    "apptainer": "containers",
    "singularity": "containers",
    "shifter": "containers",
    "nvidia-smi": "surroundings",
    "module": "surroundings",
    "conda": "surroundings",
}


def interpreter() -> str:
    """Return a real Python for the stand-ins: the system's where there is one, for other users may run it too."""
    return next((path for path in ("/usr/bin/python3",) if os.access(path, os.X_OK)), os.path.realpath(sys.executable))


def install(directory: str, shape: Shape) -> None:
    """Copy the stand-ins and make a command for each launcher that the shape has."""
    folder = f"{directory}/launchers"
    lay_out(LAUNCHERS, folder)
    os.makedirs(f"{directory}/bin", exist_ok=True)
    with open(f"{directory}/etc/mpi", "w", encoding="utf-8") as file:
        file.write(shape.mpi + "\n")
    for name, module in COMMANDS.items():
        if name not in shape.launchers_absent and os.path.exists(f"{folder}/{module}.py"):
            _entry(f"{directory}/bin/{name}", name, module, folder)


def lay_out(stand_ins: str, folder: str) -> None:
    """Copy stand-ins, compiled: the processes that a job starts at once would each compile them for itself."""
    _compile(stand_ins)
    shutil.copytree(stand_ins, folder, ignore=shutil.ignore_patterns("*.md", "test_*"), dirs_exist_ok=True)


@cache
def _compile(folder: str) -> None:
    """Have the stand-ins' Python leave its byte code beside them, where that may be written; it goes by their times."""
    words = [interpreter(), "-IS", "-m", "compileall", "-q", "-l", folder]
    subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)


def _entry(path: str, name: str, module: str, folder: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(_ENTRY.format(python=interpreter(), folder=folder, module=module, name=name))
    os.chmod(path, 0o755)
