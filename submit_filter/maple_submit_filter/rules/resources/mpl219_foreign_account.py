"""Accounts that this cluster, or this kind of node, does not take."""

from __future__ import annotations

from typing import Iterator, Optional

from ...cures.option_edits import at, restate
from ...request.scheduler_words import option
from ...site.facts import Site, foreign_names
from ...types.edits import Safety
from ...types.findings import Finding
from ...types.job import Job, Setting
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..limits import judged, rows_in_force, text


@rule("MPL219", "an account of another cluster, or for other nodes")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Some centres end an account's name with the cluster that it is for, and with what may be used by it.

    Wrong: #SBATCH --account=abcd-delta-gpu, on DeltaAI; --account=abcd-delta-cpu with a partition of GPUs, on Delta
    Right: #SBATCH --account=abcd-dtai-gh; --account=abcd-delta-gpu
    Wrong: #SBATCH --account=abc123456-gpu --partition=ai, on Anvil
    Why:   Slurm says: Invalid account or account/partition combination specified. Maple asks first: which accounts
           you have, only you and the centre know.
    """
    setting = job.settings.get("account")
    if setting is None or not judged(job, site):
        return
    if any(row.account_ending for row in site.partitions):
        yield from _of_partition(setting, job, site)
        return
    if not (site.account_endings or site.elsewhere):
        return
    name = text(job.settings, "account").lower()
    own = next((ending for ending in site.account_endings if name.endswith(ending)), "")
    gpus = [bool(kind.gpus) for kind in plan.allocation.node_kinds if kind.gpus is not None]
    kind = ("gpu" if all(gpus) else "cpu" if not any(gpus) else "") if gpus else ""
    if own:
        half = _half(own, kind, site)
        if half:
            says = "%s is an account for %s nodes" % (text(job.settings, "account"), "CPU" if kind == "gpu" else "GPU")
            yield _finding(job, setting, own, half, says)
        return
    for other in foreign_names(site, "account"):
        if name.endswith(other.name):
            here = [ending for ending in site.account_endings if not kind or _half(ending, kind, site) == ""]
            says = "%s is an account of %s" % (text(job.settings, "account"), other.site)
            yield _finding(job, setting, other.name, here[0] if len(here) == 1 else "", says)
            return


def _of_partition(setting: Setting, job: Job, site: Site) -> Iterator[Finding]:
    """Yield that a partition is charged to accounts with an ending of their own, and this one has another's."""
    wanted = {row.account_ending for row in rows_in_force(job, site) if row.selector == "partition"}
    name, ending = text(job.settings, "account").lower(), next(iter(wanted)) if len(wanted) == 1 else ""
    others = {row.account_ending for row in site.partitions} - {"", ending}
    suffix = next((other for other in others if name.endswith(other)), "")
    if ending and not name.endswith(ending) and "$" not in name:
        says = "%s is charged to accounts that end with %s" % (text(job.settings, "partition"), ending)
        yield _finding(job, setting, suffix, ending, says)


def _half(ending: str, kind: str, site: Site) -> str:
    """Return the ending for the nodes that are asked for, "" where this one is for them."""
    other = {"gpu": "cpu", "cpu": "gpu"}.get(kind)
    if other is None or not ending.endswith("-" + other):
        return ""
    wanted = ending[: -len(other)] + kind
    return wanted if wanted in site.account_endings else ""


def _finding(job: Job, setting: Setting, old: str, new: str, says: str) -> Finding:
    value: Optional[bytes] = setting.value[: len(setting.value) - len(old)] + new.encode() if new else None
    made = restate(job, setting, value, "MPL219") if value else None
    fixes = (made.fix(Safety.ASK, option(job, "account", value.decode("utf-8", "replace"))),) if made and value else ()
    return Finding("MPL219", says, at(setting), asks_for="account", fixes=fixes,
                   help="name an account for this cluster and these nodes", site_fact="account_shapes")  # fmt: skip
