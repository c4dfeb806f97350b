"""A real front before a double of sbatch, a real daemon, and between them the process that reads a user's files."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from functools import lru_cache
from typing import Any, Optional

import maple_agents
import maple_submit_filter
import yaml

from tests.daemon.asking import found
from tests.daemon.leftovers import goes_with_us
from tests.daemon.serving import Daemon
from tests.doubles.stand import LIB, Seen, Stand

PACKAGES = [os.path.dirname(os.path.abspath(one.__file__ or "")) for one in (maple_agents, maple_submit_filter, yaml)]
SCRIPT = b"""#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
srun python train.py --config conf.yaml
"""
PROGRAM = b"""import argparse
import torch
import model
p = argparse.ArgumentParser()
p.add_argument("--lr", type=float, default=0.5)
p.add_argument("--config")
args = p.parse_args()
"""


@lru_cache(1)
def child() -> str:
    """The program that reads, beside copies of all it needs, as in a release."""
    folder = tempfile.mkdtemp(prefix="maple-reader-", dir="/tmp")
    goes_with_us(folder)
    for package in PACKAGES:
        shutil.copytree(package, os.path.join(folder, os.path.basename(package)))
    os.chmod(folder, 0o755)
    return os.path.join(folder, "maple_agents", "admission", "child.py")


class Site:
    """A login node: front, daemon, a user's folder with a job in it."""

    def __init__(self, stand: Stand, **settings: object) -> None:
        self.stand = stand
        self.daemon = Daemon(stand.conf, **settings)
        self.configure()
        stand.write("job.sh", SCRIPT)
        stand.write("train.py", PROGRAM)
        stand.write("model.py", b"HIDDEN = 4\nseed = 7\n")
        stand.write("conf.yaml", b"epochs: 3\n")

    def configure(self, **keys: object) -> None:
        """Write a front.conf that names the child."""
        sound: dict[str, object] = {
            "helper": os.path.join(LIB, "maple_submit_filter", "helper.py"), "socket": self.daemon.socket,
            "socket_ms": 20000, "child": child(), "child_python": sys.executable,
        }  # fmt: skip
        self.stand.configure(**{name: one for name, one in {**sound, **keys}.items() if one is not None})

    def submit(self, *words: str, **how: Any) -> Seen:
        """`sbatch job.sh`, or with these words."""
        return self.stand.run(True, list(words or ["job.sh"]), **how)

    def values(self, wanted: Optional[dict[str, str]] = None, seconds: float = 60, most: int = 500) -> dict[str, Any]:
        """The newest version's values by name, as soon as those *wanted* are among them."""
        end = time.monotonic() + seconds
        while True:
            versions = found(self.daemon, ask="versions", limit=most)
            values = {one["name"]: one for one in versions[0]["values"]} if versions else {}
            if all(values.get(name, {}).get("value") == value for name, value in (wanted or {}).items()):
                return values
            assert time.monotonic() < end, "only %r; %s" % (values, self.daemon.said)
            time.sleep(0.05)
