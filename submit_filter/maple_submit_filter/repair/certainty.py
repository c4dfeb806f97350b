"""How sure the site file is, and what that makes of a finding.

A fact that is not held with high confidence proves nothing: a finding counts as proven only if it is found as well
where each such fact is unknown. So no rule has to know which of the facts that it reads are sure.
"""

from __future__ import annotations

from typing import Callable, Dict, List, Optional, Set, Tuple

from ..play.batch_shell import granted
from ..site.facts import GpuRequest, NodeKind, Partition, Site
from ..types.edits import Safety, Span
from ..types.findings import Finding
from ..types.job import Job

Place = Tuple[str, Optional[Span]]
NOT_SURE = "Not certain, because the site file does not confirm "
UNNAMED = "all facts behind this"


def certain(site: Site) -> Site:
    """Return the site with all that is not held with high confidence made unknown.

    What is named in an unsure table is still a name that exists: only what is said of it is forgotten.
    """
    if not site.unsure:
        return site
    made = site._replace(
        unsure=(),
        kinds=tuple(
            NodeKind(node_kind.name) if "node." + node_kind.name in site.unsure else node_kind
            for node_kind in site.kinds
        ),
        partitions=tuple(_place(partition, site) for partition in site.partitions),
        demands=tuple(demand for demand in site.demands if demand.key not in site.unsure),
        refusals=tuple(demand for demand in site.refusals if demand.key not in site.unsure),
        launchers=tuple(launcher_fact for launcher_fact in site.launchers if launcher_fact.key not in site.unsure),
    )
    if "gpu_request" in site.unsure:
        made = made._replace(gpu_request=GpuRequest())
    if "network" in site.unsure:
        made = made._replace(node_name_suffix="", interface="", interfaces=())
    return _without_scheduler(made) if "scheduler" in site.unsure else made


def _without_scheduler(site: Site) -> Site:
    return site._replace(
        version=(), partitions_complete=False, kinds_complete=False, default_partition="", default_qos="",
        srun_inherits_cpus=None,
    )  # fmt: skip


def _place(partition: Partition, site: Site) -> Partition:
    key = "%s.%s" % (partition.selector, partition.name)
    return (
        Partition(partition.name, partition.selector, sure=False, routed=partition.routed)
        if key in site.unsure
        else partition
    )


def plays_alike(job: Job, site: Site, other: Site) -> bool:
    """Return whether a job is played through alike on both: all that its playing asks of a site is the same."""
    names = {launcher_fact.name for launcher_fact in (*site.launchers, *other.launchers)} | {"mpirun", "mpiexec"}
    return (
        (site.scheduler, site.gpu_request, site.srun_inherits_cpus)
        == (other.scheduler, other.gpu_request, other.srun_inherits_cpus)
        and all(site.maker(name) == other.maker(name) for name in names if name.encode() in job.source)
        and granted(job.submission, job.settings, site) == granted(job.submission, job.settings, other)
    )


def weighed(findings: Tuple[Finding, ...], surely: Tuple[Finding, ...], site: Site) -> Tuple[Finding, ...]:
    """Return the *findings* on the site, proven only where it is proven *surely*, by what is certain of it, too."""
    held: Dict[Place, List[Finding]] = {}
    for finding in surely:
        if finding.proven:
            held.setdefault((finding.code, finding.at), []).append(finding)
    out = []
    for finding in findings:
        same = held.get((finding.code, finding.at)) if finding.proven else None
        out.append(same.pop(0) if same else doubted(finding, site) if finding.proven else finding)
    return tuple(out)


def doubted(finding: Finding, site: Site) -> Finding:
    """Return the finding as advice: what it rests on is likely, and no more, so its change is a suggestion."""
    fact = finding.site_fact if finding.site_fact in site.unsure else UNNAMED
    parts = ([finding.help] if finding.help else []) + [NOT_SURE + fact]
    fixes = tuple(fix._replace(safety=Safety.ASK) for fix in finding.fixes)
    return finding._replace(proven=False, fixes=fixes, help=". ".join(parts))


def rests_on(finding: Finding, site: Site, proven: Callable[[Site], Set[Place]]) -> Tuple[str, ...]:
    """Return the fewest of the unsure tables that must be so for the finding to hold; *proven*: what holds on a site.

    It plays the script once for each of them, so it is for people who wait, and not for a submission.
    """
    place = (finding.code, finding.at)
    needed = list(site.unsure)
    for key in site.unsure:
        fewer = [table for table in needed if table != key]
        if place in proven(certain(site._replace(unsure=tuple(table for table in site.unsure if table not in fewer)))):
            needed = fewer
    return tuple(needed)


def named(finding: Finding, site: Site, proven: Callable[[Site], Set[Place]]) -> Finding:
    """Return a doubted finding with the tables that it rests on in its help; any other as it is."""
    ending = NOT_SURE + UNNAMED
    if finding.proven or not finding.help.endswith(ending):
        return finding
    facts = " and ".join(rests_on(finding, site, proven)[:4])
    return finding._replace(help=finding.help[: -len(UNNAMED)] + facts) if facts else finding
