"""Ranks of mpiexec, and the places that the job has for them."""

from __future__ import annotations

import re
from typing import Iterator, List, Optional, Tuple

from ...cures.launch_edits import change
from ...cures.option_edits import restate
from ...launchers.mpi.layout import FILES, LISTS, per_node, total
from ...play.program_owner import likely, unaware
from ...request.scheduler_words import is_pbs
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding, counted
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Link
from .. import rule

_MORE = re.compile(rb"(?i)oversubscribe|OMPI_MCA_rmaps|PRTE_MCA_rmaps|I_MPI_JOB_RESPECT|--map-by\b.*:PE=|--host\b")
_MODULE = re.compile(rb"(?m)^[^#\n]*\b(?:module|ml)\b[^\n]*\b(?:openmpi|mpich|impi|intel-mpi|hpcx)")
_ROUND = ("hydra", "intelmpi")
_SELECT = re.compile(rb"(?m)^#PBS[ \t]+-l[ \t]*select=(\d{1,5})(:[^\s+]*)?(?=\s|$)")


@rule("MPL327", "mpiexec is asked for more ranks than there are places")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """mpiexec takes its places from the job: the tasks of Slurm, the lines of PBS_NODEFILE, or --ppn on each node.

    Wrong: #PBS -l select=2:ncpus=32:ngpus=4 ... mpirun -np 8 (the node file has one line for each chunk)
    Wrong: #SBATCH --ntasks-per-node=1 --nodes=2 ... mpirun -np 8; mpiexec -n 24 --ppn 6 on two nodes
    Right: select=2:ncpus=32:ngpus=4:mpiprocs=4; --ntasks-per-node=4; --ppn 12
    Why:   Open MPI says that there are not enough slots available, PALS that the ranks do not fit; Hydra puts the rest
           where ranks are already. `maple check` shows the change; at submission Maple only reports it.
    """
    if any(oddity.kind != "ignored" for oddity in job.script.oddities):
        return  # what is asked for may stand on a line that is not read, and that is what is wrong then
    for step in plan.steps:
        link = step.links[0] if step.links else None
        if link is None or link.name != "mpiexec" or link.open or step.maybe or _elsewhere(link, job.source, site):
            continue
        if _MORE.search(job.source[step.span.start : step.span.end]) or _MORE.search(b" ".join(plan.assigned)):
            continue
        yield from _of_line(link, plan, job, site)


def _elsewhere(link: Link, source: bytes, site: Site) -> bool:
    """Return whether the ranks go elsewhere than to the job's places: to named hosts, or by one that knows no job."""
    name = link.argv[0].raw if link.argv else b""
    by_site = site.maker(name.decode("utf-8", "replace")) == "pals"  # no environment of Python brings that one
    if unaware(name, link.around) and not by_site and not _MODULE.search(source):
        return True
    named = link.option(*FILES, *LISTS)
    return named is not None and (named.value is None or named.value.raw != b"\0nodefile\0")


def _of_line(link: Link, plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    count, each = total(link)[1], per_node(link)
    nodes = plan.allocation.nodes or (_chunks(job) if is_pbs(job) and not each[0] else None)
    if not count or not nodes or (each[0] and not each[1]):
        return
    room = each[1] * nodes if each[1] else _places(plan, job)
    if room is None or count <= room or _is_given_all(link, plan, job, site):
        return
    option = link.option("np", "n", "c")
    at = option.span if option is not None else link.name_span
    where = "%d on each of %s" % (each[1], counted(nodes, "node")) if each[1] else counted(room, "place")
    says = "mpiexec is asked for %d ranks, but has %s" % (count, where)
    fixes = tuple(_wider(link, count, nodes, plan, job)) if count % nodes == 0 else ()
    yield Finding("MPL327", says, at or link.name_span, fixes=fixes,
                  help="%d ranks need %d on each node" % (count, -(-count // nodes)))  # fmt: skip


def _places(plan: LaunchPlan, job: Job) -> Optional[int]:
    """Return the places that the job itself has, where its request says so."""
    given = plan.allocation
    if is_pbs(job):
        return sum(given.node_file) if given.node_file is not None else _lines(job)
    counted = "ntasks" in job.settings or "ntasks-per-node" in job.settings
    return given.tasks if counted else None


def _chunks(job: Job) -> Optional[int]:
    """Return how many chunks are asked for, None where nobody said so."""
    from ...play.pbs_allocation import chunks_of  # not on the way of a Slurm job

    return sum(chunk.count for chunk in chunks_of(job.settings)) if "select" in job.settings else None


def _lines(job: Job) -> Optional[int]:
    """Return the lines of the node file wherever the chunks go: mpiprocs for each chunk, one where it says none."""
    from ...play.pbs_allocation import chunks_of  # not on the way of a Slurm job

    each = [(chunk.count, chunk.value(b"mpiprocs") or b"1") for chunk in chunks_of(job.settings)]
    if "select" not in job.settings or not all(ranks.isdigit() for _, ranks in each):
        return None
    return sum(count * int(ranks) for count, ranks in each)


def _is_given_all(link: Link, plan: LaunchPlan, job: Job, site: Site) -> bool:
    """Return whether the launcher fills the nodes by itself: PALS, and Hydra, which goes round the hosts once more."""
    if per_node(link)[0]:
        return False
    name = link.argv[0].raw if link.argv else b""
    return site.maker(name.decode("utf-8", "replace")) == "pals" or likely(name, link.around, site) in _ROUND


def _wider(link: Link, count: int, nodes: int, plan: LaunchPlan, job: Job) -> Iterator[Fix]:
    """Yield what makes room for all ranks: more places on each node, by the line or by the request."""
    each = count // nodes
    option = link.option("ppn", "npernode", "N", "perhost", "grr")
    if option is not None:
        edits = change(option, b"%d" % each, "MPL327")
        if edits:
            yield Fix(tuple(edits), Safety.ASK, "%d ranks on each node" % each)
        fewer = change(link.option("np", "n", "c"), b"%d" % ((per_node(link)[1] or 0) * nodes), "MPL327")
        if fewer:
            yield Fix(tuple(fewer), Safety.ASK, "start %s" % counted((per_node(link)[1] or 0) * nodes, "rank"))
    elif not per_node(link)[0]:
        fix = _in_chunks(each, nodes, job) if is_pbs(job) else _in_tasks(each, nodes, plan, job)
        if fix is not None:
            yield fix


def _in_chunks(each: int, nodes: int, job: Job) -> Optional[Fix]:
    match = _SELECT.search(job.source)
    if match is None or int(match.group(1)) != nodes:
        return None
    ranks = re.search(rb"(?<=:mpiprocs=)\d+", match.group())
    if ranks is not None:
        span = Span(match.start() + ranks.start(), match.start() + ranks.end())
        return Fix((Edit(span, b"%d" % each, "MPL327"),), Safety.ASK, "mpiprocs=%d" % each)
    edit = Edit(Span(match.end(), match.end()), b":mpiprocs=%d" % each, "MPL327")
    return Fix((edit,), Safety.ASK, "add mpiprocs=%d" % each)


def _in_tasks(each: int, nodes: int, plan: LaunchPlan, job: Job) -> Optional[Fix]:
    """Ask for as many tasks as ranks, which share the CPUs that the fewer tasks of a node had."""
    counts: List[Tuple[str, int]] = []
    if "ntasks-per-node" in job.settings:
        counts.append(("ntasks-per-node", each))
    if "ntasks" in job.settings:
        counts.append(("ntasks", each * nodes))
    has, cpus = plan.allocation.tasks_per_node, plan.allocation.cpus_per_task
    if has and cpus and "cpus-per-task" in job.settings and has * cpus >= each:
        counts.append(("cpus-per-task", has * cpus // each))
    whole = None
    for name, value in counts:
        setting = job.settings.get(name)
        made = restate(job, setting, b"%d" % value, "MPL327") if setting is not None else None
        if made is None:
            return None
        whole = made if whole is None else whole + made
    words = " ".join("--%s=%d" % count for count in counts)
    return whole.fix(Safety.ASK, words) if whole is not None else None
