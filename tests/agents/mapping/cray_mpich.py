"""A look-alike of how Cray MPICH takes a file MPICH_RANK_ORDER, after its manual page (intro_mpi, method 3).

The file lists all ranks once, by commas, as numbers or ranges, in as many lines as one likes; `#` begins a comment. The
first rank goes to the first slot of the first node, and so on, node after node. No MPICH but Cray's reads the file, so
this says where each rank belongs, and another launcher starts it there.
"""

from __future__ import annotations

from collections.abc import Sequence


def slots(text: str) -> list[int]:
    """Return the rank of each slot; raises `ValueError` where the file is no order of ranks."""
    made: list[int] = []
    for line in text.splitlines():
        for entry in filter(None, (part.strip() for part in line.partition("#")[0].split(","))):
            low, _, high = entry.partition("-")
            made += range(int(low), int(high or low) + 1)
    if sorted(made) != list(range(len(made))):
        raise ValueError(f"not every rank stands in it once: {text!r}")
    return made


def host_lines(text: str, hosts: Sequence[str], each: int) -> str:
    """Return a host file of a line for each rank, in the order of ranks."""
    order = slots(text)
    host_of = {rank: hosts[slot // each] for slot, rank in enumerate(order)}
    return "".join(host_of[rank] + "\n" for rank in sorted(order))
