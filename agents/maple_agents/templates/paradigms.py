"""How a program divides its training over ranks: `templates/paradigm/`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..base.tables import Part, paths, read

KIND = "paradigm"
Divided = Literal["parameters", "gradients", "optimizer"]
Launcher = Literal["torchrun", "accelerate", "deepspeed", "python", "plain"]


class Paradigm(Part):
    """A paradigm; its name is that of its file.

    *phrases*: what people call it, for the grammar of requests. *says*: what it is, for people and for retrieval;
    *described*: the same in words that people use who do not know its name, a sentence each, for retrieval alone; one
    without them is said, and never guessed.
    *launchers*: what starts it, the best first; "python" is a program that the outer launcher starts rank by rank,
    "plain" one that needs no launcher. *processes*: a process for each GPU, for each node, or one. *divides*: what each
    rank holds only its share of. *mini_app*: what proves a launch of it. *around*: what the program needs that is not
    in the script (a DeepSpeed configuration), a sentence each.
    """

    title: str
    says: str
    phrases: Annotated[list[str], Field(min_length=1)]
    described: list[str] = []
    launchers: Annotated[list[Launcher], Field(min_length=1)]
    divides: list[Divided] = []
    processes: Literal["gpu", "node", "one"] = "gpu"
    mini_app: Literal["ddp", "fsdp", "zero3", "accelerate_ddp", "three_d", "dry"]
    around: list[str] = []


def names() -> list[str]:
    """Return the names of all paradigms, sorted."""
    return list(paths(KIND))


def load(name: str) -> Paradigm:
    """Return the paradigm of that name. Raises `ValueError` with one line where there is none or its file is wrong."""
    files = paths(KIND)
    if name not in files:
        raise ValueError("no paradigm %r; there are %s" % (name, ", ".join(files)))
    return read(Paradigm, files[name])
