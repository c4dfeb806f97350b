"""The job's first node and a port of its own, for ranks that were not told where to meet."""

from __future__ import annotations

from maple_submit_filter import fixes
from maple_submit_filter.edits import Edit, Fix, Safety
from maple_submit_filter.rank_words import first_node

from .given import Given, fix
from .inserting import line
from .ports import expression
from .variables import exported

MEETING = ("MASTER_ADDR", "MASTER_PORT")


def words(given: Given) -> dict[str, bytes]:
    """Return what the batch shell makes the job's first node of, and a port of its own."""
    return {"MASTER_ADDR": first_node(given.site)[0], "MASTER_PORT": expression(given.case.scheduler)}


@fix("master-of-job")
def master_of_job(given: Given) -> Fix | None:
    """Set and export MASTER_ADDR and MASTER_PORT, as far as the script does not, where the log says one is missing.

    That rank and world size are told, and these are not, the log shows: torch asks for them last.
    """
    missing = given.caught("variable")
    if missing not in MEETING or not given.plan.steps:
        return None
    edits: list[Edit] = []
    unset = [name for name in MEETING if name.encode() not in given.plan.assigned]
    for name in MEETING:
        if name not in unset and not exported(given, name):
            edits += fixes.exported(given.plan, [name.encode()], "master-of-job") or []
    if missing in unset:
        said = b" ".join(name.encode() + b"=" + words(given)[name] for name in unset)
        new = line(given, b"export " + said, "master-of-job")
        edits += [new] if new is not None else []
    return Fix(tuple(edits), Safety.ASK, "the ranks meet at the job's first node") if edits else None
