"""A batch script of any cluster -> slots, and the parts of it that are bound to that cluster."""

from __future__ import annotations

from .script_parts import Foreign


def read(script: bytes, scheduler: str | None = None, path: bytes = b"") -> Foreign:
    """Return what *script* says and the parts that it has.

    *scheduler*: "slurm" or "pbs", None: by its directives and commands. *path*: where it lies, so that files beside it
    that its launch needs are read; b"": none are. Raises `Refused` with one line that says why it cannot be read: it is
    no shell script, or starts nothing.
    """
    raise NotImplementedError
