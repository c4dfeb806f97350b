"""`maple-fix` as a person calls it: a process of its own, in a folder of the test's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tests.ready import ran

MAIN = "import sys; sys.argv[0] = 'maple-fix'; from maple_agents.cli.fix.command import main; main()"
COMMAND = (sys.executable, "-c", MAIN)
SECONDS = 120

SCRIPT = """#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
export MASTER_PORT=29500
RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS srun python train.py
"""
LOG = """Traceback (most recent call last):
  File "train.py", line 6, in <module>
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29500, \
useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use
srun: error: gpu-node-1: task 0: Exited with exit code 1
"""


class Called(NamedTuple):
    """What a call gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What `--json` printed."""
        return json.loads(self.out)

    @property
    def cause(self) -> str:
        """The class of the first cause that `--json` names."""
        return str(self.json["cause"]["class"])


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return an environment in which nothing is remembered, and all that Maple writes lies below *home*."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG", "TMPDIR") if name in os.environ}
    own = {
        "HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_CONFIG_HOME": str(home / "config"), "MAPLE_SOCKET": "/proc/nowhere/socket", "TERM": "dumb",
    }  # fmt: skip
    return {**kept, **own, **more}


def fix(*words: str, cwd: Path, stdin: bytes = b"", **more: Any) -> Called:
    """Call `maple-fix` in *cwd*. *more*: of `subprocess.run`; `env` is added to `environment`.

    A process of its own, as a person's is; where nothing but its environment is said of it, one that is forked.
    """
    env = environment(cwd, **more.pop("env", {}))
    if not more:
        ended = ran("maple-fix", words, cwd=str(cwd), environment=env, stdin=stdin, timeout=SECONDS)
        return Called(ended.returncode, ended.stdout.decode(), ended.stderr.decode())
    done = subprocess.run(
        [*COMMAND, *words], cwd=cwd, input=stdin, capture_output=True, timeout=SECONDS, env=env, check=False, **more
    )
    return Called(done.returncode, done.stdout.decode(), done.stderr.decode())


def case(folder: Path, log: str | bytes = LOG, script: str | bytes = SCRIPT) -> tuple[str, ...]:
    """Write a log and a script into *folder*, and return the words that name them."""
    for name, text in (("job.log", log), ("job.sh", script)):
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape"))
    return (
        "--log",
        "job.log",
        "--script",
        "job.sh",
        "--site",
        "generic-slurm",
        "--state",
        "failed",
        "--exit-code",
        "1",
    )
