"""What mpiexec hands its ranks: the variables that tell them who they are, and those that the line passes on.

Hydra: run (MPICH 4.0.2). PALS: read in its public client code and site guides.
"""

from __future__ import annotations

import re
from typing import Dict, Mapping, NamedTuple, Optional, Sequence, Tuple

from ...play.shell_state import Place, Shell, Variable
from ...types.launch_plan import Link
from ...types.text import Text, plain, token

_NAME = re.compile(rb"[A-Z]\w+")
_OF_SRUN = (b"SLURM_PROCID", b"SLURM_LOCALID", b"SLURM_NODEID", b"SLURMD_NODENAME")


class Names(NamedTuple):
    """The variables of a maker that hold the rank, the world size, the local rank, ranks of the node, the node."""

    rank: Tuple[bytes, ...]
    size: Tuple[bytes, ...]
    local: Tuple[bytes, ...]
    local_size: Tuple[bytes, ...] = ()
    node: Tuple[bytes, ...] = ()


_HYDRA = Names((b"PMI_RANK",), (b"PMI_SIZE",), (b"MPI_LOCALRANKID",), (b"MPI_LOCALNRANKS",))
NAMES: Mapping[str, Names] = {
    "hydra": _HYDRA,
    "intelmpi": _HYDRA,
    "openmpi": Names(
        (b"OMPI_COMM_WORLD_RANK", b"PMIX_RANK"),
        (b"OMPI_COMM_WORLD_SIZE",),
        (b"OMPI_COMM_WORLD_LOCAL_RANK",),
        (b"OMPI_COMM_WORLD_LOCAL_SIZE",),
    ),
    "pals": Names(
        (b"PALS_RANKID", b"PMI_RANK", b"PMIX_RANK"),
        (b"PMI_SIZE",),
        (b"PALS_LOCAL_RANKID", b"PMI_LOCAL_RANK"),
        (b"PALS_LOCAL_SIZE", b"PMI_LOCAL_SIZE"),
        (b"PALS_NODEID",),
    ),
}
UNKNOWN = Names(  # whose it is, is not known: who names one of these knows it
    (b"PMI_RANK", b"PMIX_RANK", b"OMPI_COMM_WORLD_RANK"),
    (b"PMI_SIZE", b"OMPI_COMM_WORLD_SIZE"),
    (b"MPI_LOCALRANKID", b"OMPI_COMM_WORLD_LOCAL_RANK", b"PALS_LOCAL_RANKID"),
)


EVERY_NAME = frozenset(name for maker in NAMES.values() for some in maker for name in some)


def names_of(makers: Sequence[str]) -> Names:
    """Return the variables that the ranks of any of the makers get."""
    if len(makers) == 1:
        return NAMES[makers[0]]
    if not makers:
        return UNKNOWN
    each = [NAMES[maker] for maker in makers]
    return Names(*(tuple(dict.fromkeys(name for one in each for name in one[field])) for field in range(5)))


def meant(makers: Tuple[str, ...], program: Sequence[Text]) -> Tuple[str, ...]:
    """Return those of the makers whose rank variables the program's own words name: who wrote them knew whose it is."""
    named = EVERY_NAME.intersection(_NAME.findall(b" ".join(text.raw for text in program)))
    sets = {maker: {name for some in NAMES[maker] for name in some} for maker in makers}
    return tuple(maker for maker in makers if named <= sets[maker]) or makers


def identify(child: Shell, place: Place, size: Optional[int], names: Names, on_node: Optional[int]) -> None:
    """Set the variables that tell the rank at *place* who it is; what is not known is a value of its own."""
    values = ((names.rank, place.task), (names.size, size), (names.local, place.local_task))
    for some, value in (*values, (names.local_size, on_node), (names.node, place.node)):
        for name in some:
            text = plain(b"%d" % value) if value is not None else plain(token(b"vary", name + place.name))
            child.set(name, text, exported=True)
    for name in EVERY_NAME - {one for some in names for one in some} if names != UNKNOWN else ():
        child.unset(name)
    for name in (
        _OF_SRUN if names == UNKNOWN else ()
    ):  # whether srun starts the ranks' daemons, and these differ, depends on the maker
        child.set(name, plain(token(b"vary", name + place.name)), exported=True)


def pass_on(one: Link, child: Shell) -> None:
    """Give the rank what the line's own options say of its environment."""
    if any(one.option(name) is not None for name in ("envnone", "genvnone", "envlist", "genvlist")):
        _drop(child, _listed(one))
    for option in one.options:
        if option.name not in ("env", "genv", "x") or option.value is None:
            continue
        raw = option.value.raw
        equals = raw.find(b"=")
        if equals > 0:
            child.set(raw[:equals], option.value.slice(equals + 1), exported=True)


def _drop(child: Shell, kept: Mapping[bytes, None]) -> None:
    gone: Dict[bytes, Variable] = {}
    for name, one in list(child.variables.items()):
        if name not in kept and not name.startswith((b"PBS_", b"SLURM_", b"PALS_", b"PMI", b"OMPI_")):
            gone[name] = one._replace(exported=False)
            child.unset(name)
    child.parents = (*child.parents, gone)


def _listed(one: Link) -> Dict[bytes, None]:
    out: Dict[bytes, None] = {b"HOME": None, b"USER": None, b"PATH": None}
    for option in one.options:
        if option.name in ("envlist", "genvlist") and option.value is not None:
            out.update(dict.fromkeys(option.value.raw.split(b",")))
    return out
