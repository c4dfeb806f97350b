"""How many ranks each maker's mpiexec puts on which host.

Hydra (MPICH 4.0.2, run): the hosts are filled in order, each with its slots or with `-ppn`. Open MPI fills slots in
order. Intel MPI is a Hydra that by default prefers the layout of the job to `-ppn`
(I_MPI_JOB_RESPECT_PROCESS_PLACEMENT). PALS (read, not run): `--ppn` ranks on each host in order.
"""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Sequence, Tuple

from ...play.shell_state import Shell
from ...types.launch_plan import Link
from ...types.text import number
from .hosts import FILES, LISTS, Host

_PER_NODE = re.compile(rb"ppr:(\d{1,5}):node")
Layout = Tuple[Tuple[int, int], ...]  # (node, ranks) in the order of the ranks


def total(one: Link) -> Tuple[bool, Optional[int]]:
    """Return whether the line says how many ranks, and how many (None unknown)."""
    found = one.option("np", "n", "c")
    return (False, None) if found is None else (True, number(found.value))


def per_node(one: Link) -> Tuple[bool, Optional[int]]:
    """Return whether the line says how many ranks a node gets, and how many (None unknown)."""
    found = one.option("map-by")
    if found is not None and found.value is not None and b"node" in found.value.raw:
        match = _PER_NODE.match(found.value.raw)
        return True, int(match.group(1)) if match else None
    if one.option("pernode") is not None:
        return True, 1
    found = one.option("ppn", "npernode", "N", "perhost", "grr")
    return (False, None) if found is None else (True, number(found.value))


def layout(one: Link, makers: Sequence[str], hosts: Optional[List[Host]], shell: Shell) -> Optional[Layout]:
    """Return where the ranks are, None where it is not known or the makers do not agree."""
    if hosts is None or one.open:
        return None
    found: Dict[Optional[Layout], None] = {}
    for maker in makers:
        found[_pals(one, hosts, shell) if maker == "pals" else _OF_MAKER[maker](one, hosts)] = None
    return next(iter(found)) if len(found) == 1 else None


def _hydra(one: Link, hosts: List[Host]) -> Optional[Layout]:
    said, count = total(one)
    each_said, each = per_node(one)
    if (said and count is None) or (each_said and not each):
        return None
    if not said and each_said:
        return None
    room = [each if each else host.slots for host in hosts]
    return _filled(hosts, room, count if said else sum(room))


def _intel(one: Link, hosts: List[Host]) -> Optional[Layout]:
    each_said, each = per_node(one)
    if each_said and one.option(*FILES, *LISTS) is None and any(host.slots != each for host in hosts):
        return None
    return _hydra(one, hosts)


def _openmpi(one: Link, hosts: List[Host]) -> Optional[Layout]:
    said, count = total(one)
    each_said, each = per_node(one)
    if (said and count is None) or (each_said and not each) or one.option("rankfile", "rf", "bynode"):
        return None
    if one.option("map-by", "rank-by") is not None and not each_said:
        return None
    room = [each if each else host.slots for host in hosts]
    whole = sum(room)
    if said and count is not None and count > whole:
        return None  # refused, or oversubscribed, by version and settings
    return _filled(hosts, room, count if said else whole)


def _pals(one: Link, hosts: List[Host], shell: Shell) -> Optional[Layout]:
    """What the line does not say PALS_NRANKS and PALS_PPN do; without either there is one rank."""
    count, each = pals_total(one, shell), _said_or(per_node(one), b"PALS_PPN", shell, 0)
    if not count or each is None:
        return None
    if not each:
        return ((hosts[0].node, count),) if len(hosts) == 1 or count == 1 else None
    return _filled(hosts, [each] * len(hosts), count)


def pals_total(one: Link, shell: Shell) -> Optional[int]:
    """Return how many ranks PALS starts, None unknown."""
    return _said_or(total(one), b"PALS_NRANKS", shell, 1)


def _said_or(said: Tuple[bool, Optional[int]], variable: bytes, shell: Shell, default: int) -> Optional[int]:
    if said[0]:
        return said[1]
    texts = shell.get(variable).texts()
    return number(texts[0]) if texts else default


def _filled(hosts: List[Host], room: Sequence[int], count: Optional[int]) -> Optional[Layout]:
    """Fill the hosts in order; None where there are more ranks than room, which wraps around or is refused."""
    if not count or count > sum(room):
        return None
    out: List[Tuple[int, int]] = []
    for host, most in zip(hosts, room):
        here = min(most, count - sum(ranks for _, ranks in out))
        if here > 0:
            out.append((host.node, here))
    return tuple(out)


_OF_MAKER = {"hydra": _hydra, "intelmpi": _intel, "openmpi": _openmpi}
