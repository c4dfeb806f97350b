"""The installed sbatch as a judge, without a controller: with -v it lists the options it read, and is then ended."""

from __future__ import annotations

import os
import re
import subprocess
from typing import Mapping, NamedTuple, Optional, Sequence

from tests.lab.config import plugin_line

CONFIG = """ClusterName=judge
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=1
AuthType=auth/none
CredType=cred/none
GresTypes=gpu
NodeName=n1
PartitionName=p Nodes=n1 Default=YES
""" + plugin_line()
LISTED = re.compile(rb"sbatch: ([a-z0-9-]+)\s*: (.*)\n")


class Listed(NamedTuple):
    """*options*: None if sbatch refused; *said*: its complaint."""

    options: Optional[Mapping[str, bytes]]
    said: bytes


def listed(
    folder: str, script: bytes, argv: Sequence[bytes] = (), environment: Optional[Mapping[bytes, bytes]] = None
) -> Listed:
    """Return the options that the real sbatch reads from the script, the words and the variables."""
    config, path = os.path.join(folder, "slurm.conf"), os.path.join(folder, "job.sh")
    for name, text in ((config, CONFIG.encode()), (path, script)):
        with open(name, "wb") as file:
            file.write(text)
    env = {b"PATH": os.environb[b"PATH"], b"SLURM_CONF": config.encode(), **(environment or {})}
    command = [b"sbatch", b"-v", *argv, path.encode()]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env, cwd=folder
    )
    options: dict[str, bytes] = {}
    said = b""
    assert process.stderr is not None
    for line in process.stderr:
        match = LISTED.match(line)
        if b"end of defined options" in line:
            process.kill()
            break
        if match and match.group(1) not in (b"error", b"fatal") or match and line.startswith(b"sbatch: error  "):
            options[match.group(1).decode()] = match.group(2)
        else:
            said += line
    else:
        process.stderr.close()
        process.wait()
        return Listed(None, said)
    process.stderr.close()
    process.wait()
    options.pop("verbose")
    return Listed(options, said)


def complaint(words: Sequence[str], program: str = "sbatch", folder: str = "/") -> str:
    """Return what sbatch or srun says of words that it refuses."""
    config = os.path.join(folder, "slurm.conf")
    with open(config, "w") as file:
        file.write(CONFIG)
    env = {"PATH": os.environ["PATH"], "SLURM_CONF": config}
    ran = subprocess.run(
        [program, *words], stdin=subprocess.DEVNULL, capture_output=True, env=env, timeout=20, cwd=folder
    )
    return ran.stderr.decode(errors="replace")
