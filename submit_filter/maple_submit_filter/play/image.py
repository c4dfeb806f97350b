"""Variables inside an image, or behind a prolog: what those bring, and what of the script's reaches the program."""

from __future__ import annotations

from typing import Dict, Mapping, Optional, Sequence

from ..types.launch_plan import Link
from ..types.submission import Submission, is_watched
from ..types.text import Text
from .shell_state import Shell, Variable

# Apptainer sets NAME inside for each of these in front of it ("Environment and Metadata", Apptainer 1.3).
FOR_IMAGES = (b"SINGULARITYENV_", b"APPTAINERENV_")
# enroot's hook for PyTorch images sets these where Slurm starts the container, and pyxis lets what the container has
# win over what the job exports, all but --container-env (enroot 3.4, pyxis 0.20: read, not run).
HOOKED = (b"MASTER_ADDR", b"MASTER_PORT", b"RANK", b"LOCAL_RANK", b"WORLD_SIZE", b"OMP_NUM_THREADS")
BY_PYXIS = ("container-image", "container-name", "environment")  # the last is that of CSCS' container engine
OF_SCHEDULERS = (b"SLURM", b"PBS_", b"PALS_", b"PMI", b"OMPI_", b"PET_", b"SBATCH_", b"SRUN_", b"MAPLE")


def asked_for(submission: Submission) -> bool:
    """Return whether the batch shell itself runs in an image: sbatch's own table knows no option of a plug-in."""
    options = tuple(b"--" + name.encode() for name in BY_PYXIS)
    if any(word.partition(b"=")[0] in options for word in submission.argv):
        return True
    lines = (line.split() for line in (submission.script or b"").split(b"\n") if line.startswith(b"#SBATCH"))
    return any(word.partition(b"=")[0] in options for words in lines for word in words)


def handed(shell: Shell) -> Dict[bytes, Text]:
    """Return the variables that are meant for images."""
    return {
        name[len(prefix) :]: variable.value
        for name, variable in list(shell.variables.items())
        for prefix in FOR_IMAGES
        if name.startswith(prefix) and variable.value is not None
    }


def inside(shell: Shell, brought: Optional[Mapping[bytes, Text]] = None) -> None:
    """Have the shell of a program that comes from an image know what may be set there, and what is *brought* in."""
    for name, value in (handed(shell) if brought is None else brought).items():
        shell.set(name, value, exported=True)
    shell.elsewhere, shell.image = shell.elsewhere or b"image", True


def started(link: Link, shell: Shell) -> None:
    """Go into the image, and behind the prolog, that a step of srun is given."""
    bundle = link.option("container") is not None or _is_set(shell, b"SLURM_CONTAINER")
    prolog = link.option("task-prolog") is not None or _is_set(shell, b"SLURM_TASK_PROLOG")
    if link.option(*BY_PYXIS) is not None:
        inside(shell)
        kept = link.option("container-env")
        hooked(shell, kept.value.raw.split(b",") if kept is not None and kept.value is not None else ())
    elif bundle:
        inside(shell)
    if prolog:
        shell.elsewhere = b"prolog"
        for name in [name for name in shell.variables if is_watched(name) and not name.startswith(OF_SCHEDULERS)]:
            shell.variables[name] = Variable(shell.brought(name), None, True)


def _is_set(shell: Shell, name: bytes) -> bool:
    variable = shell.variables.get(name)
    return variable is not None and bool(variable.texts())


def hooked(shell: Shell, kept: Sequence[bytes]) -> None:
    """Forget what the hooks of a site may have set in place of the script, all but the names that are *kept*."""
    for name in HOOKED:
        if name not in kept:
            shell.variables[name] = Variable(shell.brought(name), None, True)
