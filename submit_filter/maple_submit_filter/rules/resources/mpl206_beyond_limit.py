"""More than the partition, QOS or queue gives."""

from __future__ import annotations

from typing import Iterator, List, Optional

from ...cures.counts import on_fewer_nodes
from ...cures.option_edits import at, restate
from ...cures.places import alike, for_a_purpose, has_a_price, moves, needs_of
from ...request.scheduler_words import is_pbs, option
from ...request.slurm import values
from ...site.facts import Partition, Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding, counted
from ...types.job import Job, Setting
from ...types.launch_plan import LaunchPlan
from ...types.text import as_clock
from .. import rule
from ..limits import Limit, gpu_count, judged, limit, text


@rule("MPL206", "more nodes or time than the partition or queue gives")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A job beyond the limits of its partition, QOS or queue is refused, or waits forever.

    Wrong: #SBATCH --partition=gpuA100x4-interactive --time=04:00:00, where one hour is the most
    Right: #SBATCH --time=01:00:00, or another partition
    Wrong: #PBS -q debug -l select=4, on Polaris, where two nodes are the most
    Right: #PBS -q debug-scaling -l select=4
    Wrong: #SBATCH --array=0-15 in a partition where a user may have eight jobs: each task of an array is a job
    Why:   Slurm says: Requested time limit is invalid; where the site does not enforce limits at submission the job
           stays pending with PartitionTimeLimit or PartitionNodeLimit. qsub says: Job violates queue and/or server
           resource limits. A routing queue may take a job that none of the queues behind it takes: qsub prints an
           id, and the job vanishes. Maple offers the other partitions, QOS or queues with such nodes that take
           the request, those of the same purpose first, or less of it where that is the one change to be made. Where
           one alone takes all that is asked for, on the same nodes, it is named unasked.
    """
    if not judged(job, site):
        return
    findings = [
        finding for finding in (_nodes(plan, job, site), _too_few(job, site), _time(job, site)) if finding is not None
    ]
    yield from findings
    yield from _jobs(job, site)
    if is_pbs(job) and not findings:
        yield from _nowhere(job, site)


def _wanted(job: Job, site: Site) -> Optional[int]:
    """Return the fewest nodes that would do."""
    if is_pbs(job):
        from ..limits import chunk_count

        return chunk_count(job, site)
    nodes = values.nodes(job.settings.value("nodes") or b"")
    tasks = values.whole(job.settings.value("ntasks") or b"")
    return None if nodes is None else min(nodes[0], tasks) if tasks else nodes[0]


def _nodes(plan: LaunchPlan, job: Job, site: Site) -> Optional[Finding]:
    most, wanted = limit(job, site, "max_nodes"), _wanted(job, site)
    if most is None or wanted is None or wanted <= most.most:
        return None
    says = "%d nodes, but %s allows at most %d" % (wanted, most.row.name, most.most)
    finding = _finding(job, site, _nodes_say(job), says, most, _fewer(job, most.most))
    less = on_fewer_nodes(plan, job, wanted, most.most, "MPL206")
    if less is None:
        return finding
    alone = option(job, _nodes_say(job), _fewer(job, most.most).decode("utf-8", "replace"))
    fixes = tuple(less if fix.says == alone else fix for fix in finding.fixes)
    return finding._replace(fixes=fixes if less in fixes else (*fixes, less))


def _nodes_say(job: Job) -> str:
    return "select" if is_pbs(job) and "select" in job.settings else "nodes"


def _fewer(job: Job, most: int) -> bytes:
    """Return what asks for so many nodes; nothing where several kinds of chunks are asked for."""
    if not is_pbs(job):
        return b"%d" % most
    request = job.settings.value(_nodes_say(job)) or b""
    count, colon, rest = request.partition(b":")
    return b"%d" % most + colon + rest if count.isdigit() and b"+" not in request else b""


def _most(job: Job, site: Site) -> Optional[int]:
    """Return the most nodes that would do."""
    nodes = None if is_pbs(job) else values.nodes(job.settings.value("nodes") or b"")
    return _wanted(job, site) if is_pbs(job) else nodes[1] if nodes is not None else None


def _too_few(job: Job, site: Site) -> Optional[Finding]:
    nodes, least = _most(job, site), limit(job, site, "min_nodes")
    if nodes is None or least is None or nodes >= least.most:
        return None
    says = "%s, but %s requires at least %d" % (counted(nodes, "node"), least.row.name, least.most)
    return _finding(job, site, _nodes_say(job), says, least, b"")


def _time(job: Job, site: Site) -> Optional[Finding]:
    most, wanted = _of_size(job, site, limit(job, site, "max_walltime")), _seconds(job)
    if most is None or not wanted or wanted <= most.most:
        return None
    shown = as_clock(most.most).decode()
    name = "walltime" if is_pbs(job) else "time"
    size = " for %s nodes" % _wanted(job, site) if most.row.sizes else ""
    says = "a time limit of %s, but %s allows at most %s%s" % (text(job.settings, name), most.row.name, shown, size)
    return _finding(job, site, name, says, most, shown.encode())


def _of_size(job: Job, site: Site, row: Optional[Limit]) -> Optional[Limit]:
    """Return the limit for a job of so many nodes, where the row tells sizes apart."""
    least, most = _wanted(job, site), _most(job, site)
    if row is None or least is None or most is None:
        return row
    bounds = [
        size_bin.max_walltime
        for size_bin in row.row.sizes
        if size_bin.min_nodes <= most and least <= size_bin.max_nodes
    ]
    return row._replace(most=max(bounds)) if bounds else row


def _seconds(job: Job) -> Optional[int]:
    if is_pbs(job):
        from ...request.pbs.select import seconds

        return seconds(job.settings.value("walltime") or b"")
    return values.seconds(job.settings.value("time") or b"")


def _nowhere(job: Job, site: Site) -> Iterator[Finding]:
    """Of what a routing queue leads to the site file may not know all, so this is proven only where it does."""
    from ...cures.places import open_to, route

    leads, nodes, time = route(site), _wanted(job, site), _seconds(job)
    if leads is None or leads.name != (text(job.settings, "queue") or site.default_partition):
        return
    if not open_to(site, nodes, time):
        says = "no known queue behind %s takes %s nodes for this time: the job may be deleted without a message"
        yield Finding("MPL206", says % (leads.name, nodes if nodes is not None else "so many"), at(_deciding(job)),
                      site.partitions_complete, help="request less time, or a different number of nodes",
                      site_fact="queue.%s" % leads.name)  # fmt: skip


def _jobs(job: Job, site: Site) -> Iterator[Finding]:
    """Yield that an array has more tasks than a user may have jobs; only told, for a site may count arrays as one."""
    if is_pbs(job):
        return  # a server may count the whole array
    setting, most = job.settings.get("array"), limit(job, site, "max_jobs")
    count = tasks_of_array(setting.value) if setting is not None else None
    if setting is not None and most is not None and count is not None and count > most.most:
        says = "an array of %d tasks, but %s takes %s of a user" % (count, most.row.name, counted(most.most, "job"))
        yield Finding("MPL206", says, at(setting), help="each task counts: submit fewer at a time, or loop in one job",
                      site_fact=most.key)  # fmt: skip


def tasks_of_array(value: bytes) -> Optional[int]:
    """Return how many tasks an array has, by `0-15%4` or `1,3,5-9:2`; None where that cannot be read."""
    count = 0
    for item in value.partition(b"%")[0].split(b","):
        bounds, _, step = item.partition(b":")
        low, dash, high = bounds.partition(b"-")
        numbers = [low, high or low, step or b"1"]
        if not all(number.isdigit() and 0 < len(number) < 8 for number in numbers) or dash and not high:
            return None
        first, last, by = map(int, numbers)
        count += max(0, (last - first) // by + 1) if by else 0
    return count


def _deciding(job: Job) -> Optional[Setting]:
    return job.settings.get("walltime") or job.settings.get(_nodes_say(job))


def _finding(job: Job, site: Site, name: str, says: str, row: Limit, value: bytes) -> Finding:
    setting, others = job.settings.get(name), _roomier(job, site, row.row)
    fixes = [_moved(job, row.row, other) for other in others[:4]]
    fixes.append(_with(job, setting, value))
    fixes += _within(job, site, row.row) if not others and not value else []
    if not others and not is_pbs(job) and row.row.node_kinds:
        needs = needs_of(job, _gpus(job) or _gpus_of(row.row, site))
        fixes += moves(job, site, needs, row.row.node_kinds, "MPL206", row.row.selector)
        fixes += moves(job, site, needs, (), "MPL206", row.row.selector) if needs.gpus and len(fixes) < 2 else ()
    helps = "stay within the limit, or choose another %s" % _kind_of(row)
    if others:
        form = "the %s %s takes it" if len(others) == 1 else "these %s take it: %s"
        helps = form % (_kind_of(row, len(others)), ", ".join(others[:4]))
    return Finding("MPL206", says, at(setting), True, fixes=tuple(fix for fix in fixes if fix is not None),
                   help=helps, site_fact=row.key)  # fmt: skip


def _gpus_of(row: Partition, site: Site) -> Optional[int]:
    kind = site.kind(row.node_kinds[0])
    return row.gpus_per_node if row.gpus_per_node is not None else kind.gpus if kind is not None else None


def _gpus(job: Job) -> Optional[int]:
    return gpu_count(job.settings, "gpus-per-node") or gpu_count(job.settings, "gres")


def _roomier(job: Job, site: Site, row: Partition) -> List[str]:
    """Return the names that could stand in place of the row's: the same nodes, given in the same way, and enough."""
    least, most = _wanted(job, site), _most(job, site)
    ordered = sorted(alike(site, row), key=lambda other: (
        has_a_price(other), for_a_purpose(other) != for_a_purpose(row)))  # fmt: skip
    return [partition.name for partition in ordered if _takes(partition, least, most, _seconds(job))]


def _takes(row: Partition, least: Optional[int], most: Optional[int], time: Optional[int]) -> bool:
    """Return whether the row surely takes a job of that size and time: what it does not say, it may refuse."""
    if time and (row.max_walltime is None or time > row.max_walltime):
        return False
    if least is not None and row.max_nodes is not None and least > row.max_nodes:
        return False
    return most is None or row.min_nodes is None or most >= row.min_nodes


def _within(job: Job, site: Site, row: Partition) -> List[Optional[Fix]]:
    """Return the changes to another name, with the time or the nodes that it gives where one of both is too much."""
    nodes, time, made = _most(job, site), _seconds(job), []
    for other in alike(site, row):
        if nodes is None or (other.min_nodes or 0) > nodes:
            continue
        shorter = other.max_walltime if other.max_walltime and time and time > other.max_walltime else None
        fewer = other.max_nodes if other.max_nodes is not None and nodes > other.max_nodes else None
        if (shorter is None) != (fewer is None):
            made.append(_moved(job, row, other.name, shorter, fewer))
    return made[:4]


def _moved(
    job: Job, row: Partition, name: str, seconds: Optional[int] = None, nodes: Optional[int] = None
) -> Optional[Fix]:
    setting = job.settings.get(row.selector)
    if setting is None or text(job.settings, row.selector) != row.name:
        return None
    values = [(row.selector, name.encode())]
    if seconds:
        values.append(("walltime" if is_pbs(job) else "time", as_clock(seconds)))
    if nodes:
        values.append((_nodes_say(job), _fewer(job, nodes)))
    settings = [(job.settings.get(name), value) for name, value in values]
    made = [restate(job, known, value, "MPL206") if known is not None and value else None for known, value in settings]
    changes = [change for change in made if change is not None]
    if len(changes) < len(values):
        return None
    says = " and ".join(option(job, name, value.decode()) for name, value in values)
    return sum(changes[1:], changes[0]).fix(Safety.ASK, says)


def _kind_of(row: Limit, number: int = 1) -> str:
    kind = {"queue": "queue", "qos": "QOS"}.get(row.row.selector, "partition")
    return kind + "s" if number > 1 and kind != "QOS" else kind


def _with(job: Job, setting: Optional[Setting], value: bytes) -> Optional[Fix]:
    made = restate(job, setting, value, "MPL206") if setting is not None and value else None
    if made is None or setting is None:
        return None
    return made.fix(Safety.ASK, option(job, setting.name, value.decode("utf-8", "replace")))
