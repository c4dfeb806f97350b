"""What was found in the logs, as facts for the conditions of other entries: signs, and whether all was silent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from maple_submit_filter.answer.decision import Decision
from maple_submit_filter.types.launch_plan import LaunchPlan

from ...templates.knowledge.entries import Entry, Fact, holds
from ..read.log_blocks import EMPTY
from ..values import Case, Digest, Ended, Severity
from .matches import Match

# What a scheduler says when it ends a job: no word of the job's own.
ENDINGS = frozenset(("time_limit", "cancelled_by_user", "preempted_or_requeued", "terminal_hangup"))


def with_signs(
    given: Mapping[str, Fact], matches: Sequence[Match], known: Mapping[str, Entry], digest: Digest
) -> dict[str, Fact]:
    """Return *given* with "signs" (ids and classes of what was found) and "log.silent", which those decide.

    An entry whose own needs do not hold is no sign. A log is silent that holds nothing of the job but harmless words
    and what the scheduler said when it ended it.
    """
    kept = [match for match in matches if stands(known[match.entry], given)]
    signs = {match.entry for match in kept} | {known[match.entry].cause for match in kept}
    return {**given, "signs": tuple(sorted(signs)), "log.silent": _silent(given, matches, known, digest)}


def stands(entry: Entry, given: Mapping[str, Fact]) -> bool:
    """Return whether an entry may be a sign; one that waits for other signs is not asked about those."""
    if entry.role == "harmless":
        return False
    needs = {name: wanted for name, wanted in entry.needs.items() if name not in ("signs", "log.silent")}
    own = len(needs) == len(entry.needs)
    return own and (not needs or holds(needs, given) is True)


def _silent(given: Mapping[str, Fact], matches: Sequence[Match], known: Mapping[str, Entry], digest: Digest) -> Fact:
    if given.get("log.silent") is not False or digest.progress or digest.ended_well:
        return given.get("log.silent")
    quiet = {match.event.place for match in matches if _quiet(known[match.entry])}
    quiet -= {
        match.event.place for match in matches if _speaks(known[match.entry]) and stands(known[match.entry], given)
    }
    loud = [event for event in digest.events if event.severity >= Severity.ERROR and event.place not in quiet]
    few = isinstance(ordinary := given.get("log.ordinary"), int) and ordinary <= FEW_LINES
    return few and not loud


def _quiet(entry: Entry) -> bool:
    return entry.cause in ENDINGS or entry.role in ("follows", "harmless")


def _speaks(entry: Entry) -> bool:
    """Return whether the words are the log's own: what a rule proves of the script it takes from a scheduler's word."""
    return entry.role in ("cause", "symptom") and entry.cause not in ENDINGS and "findings" not in entry.needs


# What is known of a job that ended, under the names that conditions of the knowledge base use.

FEW_LINES = 60  # a log of so few ordinary lines may be one that hung in silence
_BACKEND = re.compile(rb"""(?:backend[=\s"']+|BACKEND=["']?)(nccl|gloo|mpi|ccl|xccl|hccl)\b""", re.I)

_COMMENT = re.compile(rb"^[ \t]*#(?!SBATCH\b|PBS\b).*$", re.M)
_ASSIGNED = re.compile(rb"\b([A-Za-z_][A-Za-z0-9_]*)=(?=[^\s;=])")  # also in the words of another shell, or an --export
_LOGGED = re.compile(r"\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?==[^\s=])|\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+) set ")


def facts(case: Case, digest: Digest, decision: Decision | None) -> dict[str, Fact]:
    """Return every fact of a job by its name (`knowledge.conditions.NAMES`); what is not known is None."""
    return {
        **_of_job(case.ended),
        **_of_logs(digest, len(case.logs)),
        **_of_script(case),
        **_of_plan(decision),
        "job.set": _set(case, digest),
        "site.id": case.site.id,
        "site.scheduler": case.scheduler,
        "site.vendor": _vendor(case, decision),
    }


def _of_job(ended: Ended) -> dict[str, Fact]:
    used, asked = ended.used_memory, ended.memory
    return {
        "job.state": None if ended.state == "unknown" else ended.state,
        "job.exit_code": ended.exit_code,
        "job.signal": ended.signal,
        "job.reason": " ".join((ended.reason, *ended.failed_steps)).strip() or None,
        "job.elapsed": ended.elapsed,
        "job.left": None if ended.limit is None or ended.elapsed is None else ended.limit - ended.elapsed,
        "job.memory": asked,
        "job.memory_share": used / asked if used and asked else None,
        "job.restarts": ended.restarts,
    }


def _of_logs(digest: Digest, logs: int) -> dict[str, Fact]:
    read = [stream for stream in digest.streams if not stream.wrong or stream.lines or stream.wrong == EMPTY]
    errors = sum(event.count for event in digest.events if event.severity >= Severity.ERROR)
    lines = sum(stream.lines for stream in read)
    if not read:
        return {"log.missing": True, "log.silent": None}
    return {
        "log.missing": False,
        "log.events": len(digest.events) + digest.dropped,
        "log.errors": errors,
        "log.lines": lines,
        "log.ordinary": digest.ordinary,
        "log.progress": digest.progress,
        "log.ended_well": bool(digest.ended_well),
        "log.silent": not errors and not digest.progress and not digest.ended_well and digest.ordinary <= FEW_LINES,
        "log.ranks": len(digest.ranks),
        "log.doubled": bool(digest.doubled),
        "log.absent": bool(digest.absent),
        "log.frozen": bool(digest.frozen),
        "log.world": max(digest.ranks, default=-1) + 1,
    }


def _of_script(case: Case) -> dict[str, Fact]:
    source = case.asked.script if case.asked else None
    if source is None:
        return {}
    backend = _BACKEND.search(source)
    return {
        "script.text": source.decode("utf-8", "replace"),
        "script.endings": "dos" if b"\r\n" in source else "unix",
        "plan.backend": backend[1].decode().lower() if backend else None,
    }


def _set(case: Case, digest: Digest) -> Fact:
    """Return the variables that are seen to be given a value, None where no script tells."""
    if case.asked is None or case.asked.script is None:
        return None
    names = {name for name, value in case.asked.environment.items() if value}
    names |= set(_ASSIGNED.findall(_COMMENT.sub(b"", case.asked.script)))
    logged = {name for event in digest.events for pair in _LOGGED.findall(event.text) for name in pair if name}
    return tuple(sorted({name.decode("utf-8", "replace") for name in names} | logged))


def _of_plan(decision: Decision | None) -> dict[str, Fact]:
    if decision is None or decision.verdict == "unread":
        return {}
    proven = {finding.code for finding in decision.findings if finding.proven}
    facts: dict[str, Fact] = {
        "findings": tuple(sorted(proven)),
        "advice": tuple(sorted({finding.code for finding in decision.findings} - proven)),
    }
    return {**facts, **_of_launches(decision.plan)} if decision.plan else facts


def _of_launches(plan: LaunchPlan) -> dict[str, Fact]:
    worlds = [group.world_size for step in plan.steps for group in step.groups if group.world_size]
    names = {link.name for step in plan.steps for link in step.links}
    return {
        "plan.nodes": plan.allocation.nodes,
        "plan.world": max(worlds, default=None),
        "plan.launchers": tuple(sorted(names)),
    }


def _vendor(case: Case, decision: Decision | None) -> str | None:
    """Return whose GPUs the job had, None where the node kinds that it may have had differ or are not known."""
    kinds = decision.plan.allocation.node_kinds if decision and decision.plan else case.site.kinds
    vendors = {kind.gpu_vendor for kind in kinds}
    return vendors.pop() or None if len(vendors) == 1 else None
