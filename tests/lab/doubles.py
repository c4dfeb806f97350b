"""Put the stand-ins for the launchers into a lab's `bin` folder."""

from __future__ import annotations

import os
import shutil
import sys

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
    shutil.copytree(LAUNCHERS, folder, ignore=shutil.ignore_patterns("__pycache__", "*.md", "test_*"))
    os.makedirs(f"{directory}/bin", exist_ok=True)
    with open(f"{directory}/etc/mpi", "w", encoding="utf-8") as file:
        file.write(shape.mpi + "\n")
    for name, module in COMMANDS.items():
        if name not in shape.launchers_absent and os.path.exists(f"{folder}/{module}.py"):
            _entry(f"{directory}/bin/{name}", name, module, folder)


def _entry(path: str, name: str, module: str, folder: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(_ENTRY.format(python=interpreter(), folder=folder, module=module, name=name))
    os.chmod(path, 0o755)
