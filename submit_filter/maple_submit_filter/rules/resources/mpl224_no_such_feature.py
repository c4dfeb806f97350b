"""Features and QOS that the cluster does not list."""

from __future__ import annotations

import re
from typing import Iterable, Iterator, List, Tuple

from ...cures.option_edits import at, restate, unsay
from ...cures.places import for_a_purpose, moves, needs_of
from ...site.facts import Site, foreign_names
from ...types.edits import Fix, Safety
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..limits import asks_for_gpus, judged, text
from ..spelling import misspelt, nearest

CODE = "MPL224"
_WORD = re.compile(r"[A-Za-z][\w.-]*")


@rule("MPL224", "a feature or QOS that the site does not list", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """--constraint names features of nodes, --qos a class of jobs; each cluster has names of its own.

    Wrong: #SBATCH --constraint=haswell, on Perlmutter; --constraint=gpu, which is Perlmutter's, on Lonestar6
    Wrong: #SBATCH --qos=gpu_regular, on Perlmutter
    Right: #SBATCH --constraint=gpu, --qos=regular, on Perlmutter; no constraint on Lonestar6
    Why:   Slurm says: Invalid feature specification, or: Invalid qos specification. Maple only shows the change: a site
           may have names that its file does not know.
    """
    if not judged(job, site) or "reservation" in job.settings:
        return
    yield from _features(job, site)
    yield from _qos(job, site)


def _features(job: Job, site: Site) -> Iterator[Finding]:
    setting, own = job.settings.get("constraint"), {feature for kind in site.kinds for feature in kind.features}
    if setting is None or b"$" in setting.value:
        return
    complete = bool(own) and all(kind.features for kind in site.kinds)
    others = {name.name: name.site for name in foreign_names(site, "constraint")}
    for word in _WORD.findall(text(job.settings, "constraint")):
        if word not in own and (complete or word in others or any(misspelt(word, feature) for feature in own)):
            says = "the site file lists no feature %s%s" % (word, _whose(others.get(word, "")))
            yield Finding(CODE, says, at(setting),
                          fixes=_renamed(job, "constraint", word, own) or _of_gpus(job, site),
                          help=_there(sorted(own)))  # fmt: skip
            return


def _whose(site: str) -> str:
    return "; %s has one" % site if site else ""


def _there(names: List[str]) -> str:
    return "available: %s" % ", ".join(names) if names else "the partition alone decides about the nodes"


def _renamed(job: Job, name: str, word: str, names: Iterable[str]) -> Tuple[Fix, ...]:
    """Write the name that is spelled nearly so."""
    setting, other = job.settings.get(name), nearest(word, sorted(names))
    made = (
        restate(job, setting, setting.value.replace(word.encode(), other.encode()), CODE) if setting and other else None
    )
    return (made.fix(Safety.ASK, "%s in place of %s" % (other, word)),) if made is not None else ()


def _of_gpus(job: Job, site: Site) -> Tuple[Fix, ...]:
    """Name the feature of all nodes with GPUs where the site has one, else no feature."""
    setting = job.settings.get("constraint")
    have = [set(kind.features) for kind in site.kinds if kind.gpus]
    lack = {feature for kind in site.kinds if not kind.gpus for feature in kind.features}
    feature = min(set.intersection(*have) - lack if have else set(), key=len, default="")
    if feature and setting is not None and asks_for_gpus(job.settings):
        made = restate(job, setting, feature.encode(), CODE)
        return (made.fix(Safety.ASK, "--constraint=%s" % feature),) if made is not None else ()
    gone = unsay(job, "constraint", CODE) if not feature else None
    return (gone.fix(Safety.ASK, "remove --constraint"),) if gone is not None else ()


def _qos(job: Job, site: Site) -> Iterator[Finding]:
    """Yield a QOS that is none of those listed; where few are, only one that another cluster has."""
    name, setting = text(job.settings, "qos"), job.settings.get("qos")
    known = list(dict.fromkeys(row.name for row in site.partitions if row.selector == "qos"))
    if setting is None or not name or "$" in name or name in known:
        return
    near = _renamed(job, "qos", name, known)
    slip = any(misspelt(name, other) for other in known)
    where = next((other.site for other in foreign_names(site, "qos") if other.name == name), "")
    if site.default_qos or slip or (where and not known and not for_a_purpose_alone(name)):
        gone = unsay(job, "qos", CODE) if not known else None
        fixes = near + tuple(moves(job, site, needs_of(job, None), (), CODE, "qos"))[:3]
        fixes = fixes or ((gone.fix(Safety.ASK, "remove --qos=%s" % name),) if gone is not None else ())
        yield Finding(CODE, "the site file lists no QOS %s%s" % (name, _whose(where)), at(setting), False, "qos", fixes,
                      _there(known) if known else "the partition alone decides about the limits")  # fmt: skip


def for_a_purpose_alone(name: str) -> bool:
    """Return whether a name is one that most clusters have: debug, interactive, preempt."""
    from ...site.facts import Partition

    return for_a_purpose(Partition(name, "qos"))
