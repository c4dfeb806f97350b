"""More memory of the host, in the form that the script has: never less, never more than a node gives."""

from __future__ import annotations

from maple_submit_filter.request.pbs.select import chunks
from maple_submit_filter.types.edits import Edit, Fix, Safety, Span
from maple_submit_filter.types.job import Setting

from ....base.quantities import size
from ..registry import Given, fix
from .directives import with_option
from .step_limits import Limit, of_step, own, raised

MIB, GIB = 1 << 20, 1 << 30
NAMES = ("mem", "mem-per-cpu", "mem-per-gpu")
GIVEN = 0.9  # of what is installed; the rest is the system's


@fix("raise-memory")
def raise_memory(given: Given) -> Fix | None:
    """Ask for half as much again as was used, at least *factor* times (1.5) what was asked for.

    What was asked for is taken from the job as it was submitted, or from the scheduler where the script says nothing.
    """
    if given.case.scheduler == "pbs":
        return _of_select(given) or _of_option(given, "mem", "gb")
    limit = Limit(
        NAMES,
        _read,
        lambda name: _bytes(given, given.first.settings.get(name)),
        lambda had, most: _new(given, had, most),
    )
    if of_step(given) and own(given, limit):
        return raised(given, limit)  # the job's memory is not what ended it
    for name in NAMES:
        if name in given.job.settings:
            return _of_option(given, name, "G")
    had = given.case.ended.memory
    wanted = _more(given, had, 1) if had else None
    if not wanted:
        return None
    return with_option(given, "mem", "%dG" % wanted, "%d GiB of memory on each node" % wanted)


def _read(raw: bytes) -> float | None:
    return size(raw.decode("ascii", "replace"), "m")


def _new(given: Given, had: float, most: float) -> str:
    """Return what a step may have of the job's memory: *factor* times what it had, no more than the job."""
    return "%dM" % (min(had * max(1.0, given.number("factor", 1.5)), most) // MIB)


def _of_option(given: Given, name: str, unit: str) -> Fix | None:
    had, now = _bytes(given, given.first.settings.get(name)), _bytes(given, given.job.settings.get(name))
    if not had or not now:
        return None  # --mem=0 is all that a node has
    wanted = _more(given, had, _shares(given, name))
    if not wanted or wanted * GIB <= now:
        return None
    return with_option(given, name, "%d%s" % (wanted, unit), "%d GiB of memory (%s)" % (wanted, name))


def _of_select(given: Given) -> Fix | None:
    """Raise the memory of each chunk of a `select` that says one; None where none does."""
    setting, first = given.job.settings.get("select"), given.first.settings.get("select")
    at = setting.origin.value_span if setting is not None and setting.origin.kind == "directive" else None
    now, before = chunks(setting.value) if setting else None, chunks(first.value) if first else None
    if setting is None or at is None or not now or not before or at.end - at.start != len(setting.value):
        return None
    edits, most = [], 0
    for chunk, old in zip(now, before):
        mem = next((resource for resource in chunk.resources if resource.name == b"mem"), None)
        had = size((old.value(b"mem") or b"").decode("ascii", "replace"), "")
        wanted = _more(given, had, 1) if mem is not None and had else None
        if mem is None or not wanted or wanted * GIB <= (size(mem.value.decode("ascii", "replace"), "") or 0):
            continue
        edits.append(Edit(Span(at.start + mem.start, at.start + mem.end), b"%dgb" % wanted, "raise-memory"))
        most = max(most, wanted)
    return Fix(tuple(edits), Safety.ASK, "%d GiB of memory on each node" % most) if edits else None


def _more(given: Given, had: int, shares: int) -> int | None:
    """Return GiB for one of so many equal *shares* of a node, None where no node has more than *had*."""
    used = (given.case.ended.used_memory or 0) / shares
    wanted = -(-int(max(used * 1.5, had * max(1.0, given.number("factor", 1.5)))) // GIB)
    most = max(
        (node_kind.memory_gib for node_kind in given.plan.allocation.node_kinds if node_kind.memory_gib), default=None
    )
    if most is not None:
        wanted = min(wanted, int(most * GIVEN / shares))
    return wanted if 0 < wanted < 1 << 20 and wanted * GIB > had else None


def _shares(given: Given, name: str) -> int:
    """Return how often a node gives what the option says: once for each CPU or GPU that the job has there."""
    each = given.plan.allocation
    if name == "mem-per-cpu":
        return max(1, (each.tasks_per_node or 1) * (each.cpus_per_task or 1))
    return max(1, each.gpus_per_node or 1) if name == "mem-per-gpu" else 1


def _bytes(given: Given, setting: Setting | None) -> int | None:
    return (
        size(setting.value.decode("ascii", "replace"), "m" if given.case.scheduler == "slurm" else "")
        if setting
        else None
    )
