"""How many ranks each maker's mpiexec puts on which host.

Hydra (MPICH 4.0.2, run): the hosts are filled in order, each with its slots or with `-ppn`. Open MPI fills slots in
order. Intel MPI is a Hydra that by default prefers the layout of the job to `-ppn`
(I_MPI_JOB_RESPECT_PROCESS_PLACEMENT). PALS (read, not run): `--ppn` ranks on each host in order.

Which hosts an mpiexec line names: by list, by file, or those of the job's node file.

What mpiexec hands its ranks: the variables that tell them who they are, and those that the line passes on.

Hydra: run (MPICH 4.0.2). PALS: read in its public client code and site guides.
"""

from __future__ import annotations

import re
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ...play.outputs import lines, node_of
from ...play.scene import Scene
from ...play.shell_state import Parent, Place, Shell, Variable
from ...types.launch_plan import Allocation, Link
from ...types.text import Text, number, plain, token

_NAME = re.compile(rb"[A-Z]\w+")
_OF_SRUN = (b"SLURM_PROCID", b"SLURM_LOCALID", b"SLURM_NODEID", b"SLURMD_NODENAME")

FILES = ("hostfile", "machinefile", "f", "machine", "machines", "machinelist")
LISTS = ("hosts", "host", "hostlist", "H")
_SLOTS = re.compile(rb"\s+(?:slots|max[-_]slots)\s*=\s*(\d{1,6})")
_COLON = re.compile(rb":(\d{1,6})\s*\Z")

_PER_NODE = re.compile(rb"ppr:(\d{1,5}):node")
Layout = Tuple[Tuple[int, int], ...]  # (node, ranks) in the order of the ranks


def total(link: Link) -> Tuple[bool, Optional[int]]:
    """Return whether the line says how many ranks, and how many (None unknown)."""
    option = link.option("np", "n", "c")
    return (False, None) if option is None else (True, number(option.value))


def per_node(link: Link) -> Tuple[bool, Optional[int]]:
    """Return whether the line says how many ranks a node gets, and how many (None unknown)."""
    option = link.option("map-by")
    if option is not None and option.value is not None and b"node" in option.value.raw:
        if option.value.raw.split(b":")[0] == b"node":
            return False, None  # in turn: each node gets what its slots take
        match = _PER_NODE.match(option.value.raw)
        return True, int(match.group(1)) if match else None
    if link.option("pernode") is not None:
        return True, 1
    option = link.option("ppn", "npernode", "N", "perhost", "grr")
    return (False, None) if option is None else (True, number(option.value))


def layout(link: Link, makers: Sequence[str], hosts: Optional[List[Host]], shell: Shell) -> Optional[Layout]:
    """Return where the ranks are, None where it is not known or the makers do not agree."""
    if hosts is None or link.open:
        return None
    layouts: Dict[Optional[Layout], None] = {}
    for maker in makers:
        layouts[_pals(link, hosts, shell) if maker == "pals" else _OF_MAKER[maker](link, hosts)] = None
    return next(iter(layouts)) if len(layouts) == 1 else None


def _hydra(link: Link, hosts: List[Host]) -> Optional[Layout]:
    total_said, count = total(link)
    each_said, each = per_node(link)
    if (total_said and count is None) or (each_said and not each):
        return None
    if not total_said and each_said:
        return None
    room = [each if each else host.slots for host in hosts]
    return _filled(hosts, room, count if total_said else sum(room))


def _intel(link: Link, hosts: List[Host]) -> Optional[Layout]:
    each_said, each = per_node(link)
    if each_said and link.option(*FILES, *LISTS) is None and any(host.slots != each for host in hosts):
        return None
    return _hydra(link, hosts)


def _openmpi(link: Link, hosts: List[Host]) -> Optional[Layout]:
    total_said, count = total(link)
    each_said, each = per_node(link)
    if (total_said and count is None) or (each_said and not each) or link.option("rankfile", "rf", "bynode"):
        return None
    in_turn = _policy(link, "map-by") == b"node" and _policy(link, "rank-by") in (b"", b"node", b"slot")
    if link.option("map-by", "rank-by") is not None and not each_said and not in_turn:
        return None
    if in_turn and total_said and count is not None:
        return _dealt(hosts, count)
    room = [each if each else host.slots for host in hosts]
    if not each and _by_cores(link, hosts):
        return None
    whole = sum(room)
    if total_said and count is not None and count > whole:
        return None  # refused, or oversubscribed, by version and settings
    return _filled(hosts, room, count if total_said else whole)


def _by_cores(link: Link, hosts: List[Host]) -> bool:
    """Return whether a host stands once in a file without a word of slots: it has one where Open MPI was built for the
    scheduler, and else as many as cores (4.1.4, run).
    """
    named = link.option(*FILES) is not None and link.option(*LISTS) is None
    return named and len(hosts) > 1 and any(host.slots == 1 and not host.explicit for host in hosts)


def _policy(link: Link, name: str) -> bytes:
    """Return the first word of what an option says, b"" where it is not there."""
    option = link.option(name)
    return option.value.raw.split(b":")[0] if option is not None and option.value is not None else b""


def _dealt(hosts: List[Host], count: int) -> Optional[Layout]:
    """Return how many ranks each host gets in turn; None where there are more than slots, which differs by version."""
    if not hosts or count > sum(host.slots for host in hosts):
        return None
    here = [0] * len(hosts)
    while count:
        for at, host in enumerate(hosts):
            if count and here[at] < host.slots:
                here[at] += 1
                count -= 1
    return tuple((host.node, ranks) for host, ranks in zip(hosts, here) if ranks)


def _pals(link: Link, hosts: List[Host], shell: Shell) -> Optional[Layout]:
    """What the line does not say PALS_NRANKS and PALS_PPN do; without either there is one rank."""
    count, each = pals_total(link, shell), _said_or(per_node(link), b"PALS_PPN", shell, 0)
    if not count or each is None:
        return None
    if not each:
        return ((hosts[0].node, count),) if len(hosts) == 1 or count == 1 else None
    return _filled(hosts, [each] * len(hosts), count)


def pals_total(link: Link, shell: Shell) -> Optional[int]:
    """Return how many ranks PALS starts, None unknown."""
    return _said_or(total(link), b"PALS_NRANKS", shell, 1)


def _said_or(count: Tuple[bool, Optional[int]], variable: bytes, shell: Shell, default: int) -> Optional[int]:
    if count[0]:
        return count[1]
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


class Host(NamedTuple):
    """A node of the job by its number, and how many ranks the line or file gives it (its slots)."""

    node: int
    slots: int
    explicit: bool  # the slots were said, not counted by the lines


def hosts(link: Link, shell: Shell, scene: Scene) -> Optional[List[Host]]:
    """Return the hosts in order, None where they are not known."""
    listed = link.option(*LISTS)
    if listed is not None:
        return _merged(_split(listed.value)) if listed.value is not None else None
    named = link.option(*FILES)
    if named is not None:
        content = scene.content(named.value, shell.cwd) if named.value is not None else None
        return _merged(lines(content)) if content is not None and not content.open else None
    return of_job(scene.allocation)


def of_job(given: Allocation) -> Optional[List[Host]]:
    """Return the hosts of the job's node file."""
    if given.node_file is None:
        return None
    return [Host(node, count, False) for node, count in enumerate(given.node_file) if count]


def _split(text: Text) -> List[Text]:
    out: List[Text] = []
    at = 0
    raw = text.raw
    for piece in raw.split(b","):
        out.append(text.slice(at, at + len(piece)))
        at += len(piece) + 1
    return out


def _merged(many: Sequence[Text]) -> Optional[List[Host]]:
    """Return each node once, in order; None where a line is not understood, or a node comes back later."""
    out: List[Host] = []
    for line in many:
        raw = line.raw
        if not raw.strip() or raw.lstrip().startswith(b"#"):
            continue
        match = _SLOTS.search(raw) or _COLON.search(raw)
        end = match.start() if match else len(raw)
        start = len(raw) - len(raw.lstrip())
        node = node_of(line.slice(start, start + len(raw[start:end].rstrip())))
        if node is None:
            return None
        count = int(match.group(1)) if match else 1
        if out and out[-1].node == node and not match:
            out[-1] = out[-1]._replace(slots=out[-1].slots + 1)
        elif any(host.node == node for host in out):
            return None
        else:
            out.append(Host(node, count, match is not None))
    return out or None


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
    return Names(*(tuple(dict.fromkeys(name for names in each for name in names[field])) for field in range(5)))


def meant(makers: Tuple[str, ...], program: Sequence[Text]) -> Tuple[str, ...]:
    """Return those of the makers whose rank variables the program's own words name: who wrote them knew whose it is."""
    named = EVERY_NAME.intersection(_NAME.findall(b" ".join(text.raw for text in program)))
    sets = {maker: {name for some in NAMES[maker] for name in some} for maker in makers}
    return tuple(maker for maker in makers if named <= sets[maker]) or makers


def identify(child: Shell, place: Place, size: Optional[int], names: Names, on_node: Optional[int]) -> None:
    """Set the variables that tell the rank at *place* who it is; what is not known is a value of its own.

    Under Slurm one task of srun, or ssh, starts all ranks of a node, so what srun sets is alike in them.
    """
    values = ((names.rank, place.task), (names.size, size), (names.local, place.local_task))
    for some, value in (*values, (names.local_size, on_node), (names.node, place.node)):
        for name in some:
            text = plain(b"%d" % value) if value is not None else plain(token(b"vary", name + place.name))
            child.set(name, text, exported=True)
    for name in EVERY_NAME - {variable for some in names for variable in some} if names != UNKNOWN else ():
        child.unset(name)
    for name in (
        _OF_SRUN if names == UNKNOWN else ()
    ):  # whether srun starts the ranks' daemons, and these differ, depends on the maker
        of_node = b"%d" % (place.node or 0) if name != b"SLURM_LOCALID" else b"0"
        known = child.presumes and place.node is not None and name != b"SLURMD_NODENAME"
        child.set(name, plain(of_node if known else token(b"vary", name + place.name)), exported=True)


def pass_on(link: Link, child: Shell) -> None:
    """Give the rank what the line's own options say of its environment."""
    if any(link.option(name) is not None for name in ("envnone", "genvnone", "envlist", "genvlist")):
        _drop(child, _listed(link))
    if by_ssh(link) and child.place.node:
        _drop(child, _named(link))
    for option in link.options:
        if option.name not in ("env", "genv", "x") or option.value is None:
            continue
        raw = option.value.raw
        equals = raw.find(b"=")
        if equals > 0:
            child.set(raw[:equals], option.value.slice(equals + 1), exported=True)


def by_ssh(link: Link) -> bool:
    """Return whether Open MPI is told to start its daemons over ssh: other nodes then have what -x names alone."""
    words = [text.raw for text in link.argv]
    return any(pair == (b"plm", b"rsh") for pair in zip(words, words[1:])) or b"plm_rsh_agent" in words


def _named(link: Link) -> Dict[bytes, None]:
    names = [option.value.raw.partition(b"=")[0] for option in link.options if option.name == "x" and option.value]
    return dict.fromkeys((b"HOME", b"USER", b"PATH", b"LD_LIBRARY_PATH", *names))


def _drop(child: Shell, kept: Mapping[bytes, None]) -> None:
    gone: Dict[bytes, Variable] = {}
    for name, variable in list(child.variables.items()):
        if name not in kept and not name.startswith((b"PBS_", b"SLURM_", b"PALS_", b"PMI", b"OMPI_")):
            gone[name] = variable._replace(exported=False)
            child.unset(name)
    child.parents = (*child.parents, Parent(gone))


def _listed(link: Link) -> Dict[bytes, None]:
    out: Dict[bytes, None] = {b"HOME": None, b"USER": None, b"PATH": None}
    for option in link.options:
        if option.name in ("envlist", "genvlist") and option.value is not None:
            out.update(dict.fromkeys(option.value.raw.split(b",")))
    return out
