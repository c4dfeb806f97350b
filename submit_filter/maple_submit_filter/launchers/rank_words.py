"""The variables in which a task finds its own numbers, by the launcher that starts it; and words of the scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional, Sequence, Tuple

from ..play.program_owner import IMAGE, maker
from ..site.facts import Site
from ..types.launch_plan import Link
from ..types.text import plain
from .record import RankWords
from .registry import LAUNCHERS, foreign

if TYPE_CHECKING:
    from .mpi.layout import Names


def rank_words(links: Sequence[Link], site: Site, source: bytes = b"") -> Optional[RankWords]:
    """Return the variables of the first launcher among *links* that has any, None where none is known.

    Whose mpiexec it is, the names in the script's *source* may tell.
    """
    for link in links:
        launcher = LAUNCHERS.get(link.name)
        if launcher is not None and launcher.words is not None:
            return launcher.words
        if link.name == "mpiexec":
            return _of_mpiexec(link, site, source)
    return None


def _of_mpiexec(link: Link, site: Site, source: bytes) -> Optional[RankWords]:
    """Return what every mpiexec that takes these words sets."""
    from .mpi.layout import EVERY_NAME, NAMES, meant

    if foreign(link.argv[0].raw, link.around) and not any(name in source for name in EVERY_NAME):
        makers = takers(link, site)  # whose it is, its options may say
        return _words([NAMES[makers[0]]]) if len(makers) == 1 and link.options else None
    each = [NAMES[maker] for maker in meant(takers(link, site), (plain(source),))]
    if not each:
        return None
    return _words(each)


def takers(link: Link, site: Site) -> Tuple[str, ...]:
    """Return the makers whose mpiexec it may be, and would take the words of the line."""
    from .mpi.options import readings
    from .mpiexec import makers_here

    return tuple(readings(list(link.argv), 1, makers_here(link.argv[0].raw, site, link.around)))


def of_maker(own: str) -> Optional[RankWords]:
    """Return what the mpiexec of a maker sets, None for one that is not known."""
    from .mpi.layout import NAMES

    return _words([NAMES[own]]) if own in NAMES else None


def of_site(site: Site, link: Link) -> Optional[RankWords]:
    """Return what the site's own mpiexec sets, in place of a launcher; None where it is not known whose that is."""
    from .mpi.layout import NAMES

    own = maker(b"mpiexec", link.around, site)
    return _words([NAMES[own]]) if own in NAMES else None


def _words(each: Sequence[Names]) -> Optional[RankWords]:
    rank, local = _common([names.rank for names in each]), _common([names.local for names in each])
    node = _common([names.node for names in each]) or rank
    return RankWords(rank, local, node, _common([names.size for names in each])) if rank else None


def _common(many: Sequence[Tuple[bytes, ...]]) -> bytes:
    return next((name for name in many[0] if all(name in names for names in many)), b"")


def first_node(site: Site) -> Tuple[bytes, ...]:
    """Return shell words for the job's first node: as a task reaches it, without quotes, and out of single quotes.

    PBS writes the node file on the first node alone, and no container has scontrol, so there the batch shell has to
    read the list: the last way ends the single quotes around it.
    """
    suffix = site.node_name_suffix.encode()
    if site.scheduler == "pbs":
        suffix = b""  # the file names the nodes with their domain
        quoted = b'$(head -n 1 "$PBS_NODEFILE")'
        return quoted + suffix, quoted.replace(b'"', b"") + suffix, b"'\"" + quoted + suffix + b"\"'"
    quoted = b'$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
    return quoted + suffix, quoted.replace(b'"', b"") + suffix, b"'\"" + quoted + suffix + b"\"'"


def job_id(site: Site) -> bytes:
    """Return the shell word for the job's id."""
    return b"$PBS_JOBID" if site.scheduler == "pbs" else b"$SLURM_JOB_ID"


def once_on_each(nodes: int, site: Site, link: Link) -> Tuple[bytes, bool]:
    """Return the mpiexec that starts a launcher once on each node, and whether the site surely has that one there."""
    own = site.maker("mpiexec")
    sure = maker(b"mpiexec", tuple(reason for reason in link.around if reason != IMAGE), site) != ""
    words = {
        "pals": b"mpiexec --envall -n %d --ppn 1 --cpu-bind none",
        "openmpi": b"mpiexec -n %d --map-by ppr:1:node --bind-to none",
    }.get(own, b"mpiexec -n %d -ppn 1")
    return words % nodes, sure
