"""What a launch line says, by its words: which launcher starts which, with how many workers; preconditions of slips."""

from __future__ import annotations

import re
from typing import Optional

from tests.reality.slips.script import Script

TORCHRUN = re.compile(rb"(?<![\w.-])(?:torchrun|python3?[ \t]+-m[ \t]+torch\.distributed\.(?:run|launch))(?![\w.-])")
NPROC = re.compile(rb"--nproc[-_]per[-_]node[= ]+(\d+)\b")
_ENDPOINT = re.compile(rb"--rdzv[-_]endpoint[= ]+\"?(\$\{?\w+\}?)(?::[\w${}]+)?\"?")
SCRIPT_FILE = re.compile(rb"(?<=[\s])[\w./${}-]+\.py\b")
OUTER = (b"srun", b"mpiexec", b"mpirun", b"ibrun")


def outer(script: Script) -> bool:
    """Return whether the line begins with a launcher that starts one program on many nodes."""
    return script.line.launcher in OUTER


def by_srun(script: Script) -> bool:
    """Return whether the line begins with srun."""
    return script.line.launcher == b"srun"


def starts_python(script: Script) -> bool:
    """Return whether the line starts Python itself, and no launcher of torch, accelerate or deepspeed."""
    at = script.program
    return at is not None and script.text[at[0] : at[0] + 6] == b"python" and not TORCHRUN.search(script.launch)


def torchrun_over_srun(script: Script) -> bool:
    """Return whether srun starts torchrun itself, without a shell or a container between them."""
    found = TORCHRUN.search(script.launch)
    return by_srun(script) and found is not None and not re.search(
        rb"bash|sh -c|apptainer|singularity|shifter|container|podman|--multi-prog|-l?c ", script.launch[: found.start()]
    )  # fmt: skip


def workers(script: Script) -> Optional[int]:
    """Return how many workers a node the line says, by a number."""
    found = NPROC.search(script.launch)
    return int(found[1]) if found is not None else None


def many_workers(script: Script) -> bool:
    """Return whether torchrun is told by a number to start several workers."""
    return (workers(script) or 1) > 1


def counts_tasks(script: Script) -> bool:
    """Return whether the launch line itself says how many tasks start."""
    before = TORCHRUN.split(script.launch)[0]
    return bool(re.search(rb"[ \t](?:-n|-np|--ntasks(?:-per-node)?|-ppn|--ppn|-N|--nodes)(?:[= ]|\d)", before))


def meets_by_c10d(script: Script) -> Optional[bytes]:
    """Return the variable that names the head node, where torchrun meets by c10d at it."""
    found = _ENDPOINT.search(script.launch)
    return found[1] if found is not None and b"c10d" in script.launch else None


def without_rendezvous(script: Script) -> bytes:
    """Return the launch line without any option of a rendezvous."""
    one = rb"[ \t]+(?:\\\n[ \t]*)?--rdzv[-_]\w+(?:=|[ \t]+)(?:\"[^\"\n]*\"|[^\s'\"]+)"
    return re.sub(one, b"", script.launch)
