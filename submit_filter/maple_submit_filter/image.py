"""Variables inside an image: it brings some of its own, and gets those that are said to be for it."""

from __future__ import annotations

from .shell_state import Shell

# Apptainer sets NAME inside for each of these in front of it ("Environment and Metadata", Apptainer 1.3).
FOR_IMAGES = (b"SINGULARITYENV_", b"APPTAINERENV_")


def inside(shell: Shell) -> None:
    """Have the shell of a program that comes from an image know what may be set there."""
    for name, variable in list(shell.variables.items()):
        for prefix in FOR_IMAGES:
            if name.startswith(prefix) and variable.value is not None:
                shell.set(name[len(prefix) :], variable.value, exported=True)
    shell.elsewhere = True
