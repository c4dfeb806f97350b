"""A verification as JSON and as a record. The shape of the JSON is stable: other programs read it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ..ask.verified import records
from ..ask.verified.records import SCHEMA, Inputs, as_table, digest, of_files
from .judge.comparison import Names, compare
from .run.facts import Fact
from .run.runs import Run
from .verification import Verified, Wanted

RANKS_AT_MOST = 4096  # of one launch line, in JSON; 64 in a record


def inputs_of(wanted: Wanted, made: Verified, template: str = "", revision: int = 0, composition: str = "") -> Inputs:
    """Return what the verdict depends on."""
    return Inputs(
        digest(wanted.submission.script or b""),
        tuple(wanted.words),
        wanted.site.id,
        wanted.site.revision,
        records.miniapps_digest(),
        of_files(made.depends),
        template,
        revision,
        composition,
    )


def as_json(wanted: Wanted, made: Verified, ranks_at_most: int = RANKS_AT_MOST) -> dict[str, Any]:
    """Return what `maple verify --json` prints; what is not known is None."""
    verdict = made.verdict
    names = Names(tuple(made.job.nodes) if made.job else (), made.job.id if made.job else "")
    return {
        "site": wanted.site.id,
        "scheduler": wanted.submission.scheduler,
        "job": made.job.id if made.job else None,
        "nodes": list(made.job.nodes) if made.job else [],
        "miniapps": list(made.miniapps),
        "result": verdict.result.value,
        "reasons": [
            {
                "kind": reason.kind.value, "says": reason.says, "remedy": reason.remedy, "line": reason.line,
                "ranks": list(reason.ranks), "hosts": list(reason.hosts),
            }
            for reason in verdict.reasons
        ],
        "warnings": [{"line": warning.line, "says": warning.says} for warning in verdict.warnings],
        "differences": [difference.__dict__ for difference in verdict.differences],
        "compared": {"values": verdict.values, "known": verdict.known},
        "aside": list(made.aside),
        "steps": [_step(run, names, ranks_at_most) for run in made.runs],
        "seconds": {"queue": _rounded(made.queued), "reported": _rounded(made.reported), "total": _rounded(made.total),
                    "ours": _rounded(made.ours)},
        "kept": made.folder or None,
    }  # fmt: skip


def record_of(wanted: Wanted, made: Verified, inputs: Inputs, name: str) -> dict[str, Any]:
    """Return the record of a verification."""
    now = time.gmtime()
    answer = as_json(wanted, made, 64)
    return {
        **answer,
        "schema": SCHEMA,
        "id": time.strftime("%Y%m%dT%H%M%SZ", now) + "-" + secrets.token_hex(4),
        "made_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", now),
        "of": "template" if inputs.template else "script",
        "name": name,
        "inputs": as_table(inputs),
        "frameworks": frameworks(made.runs),
    }


def frameworks(runs: Sequence[Run]) -> dict[str, str | None]:
    """Return the versions that the first rank of the run names."""
    versions: Mapping[str, Any] = next((fact.table("versions") for run in runs for fact in run.facts), {})
    return {str(name): None if value is None else str(value) for name, value in versions.items()}


def _step(run: Run, names: Names, most: int) -> dict[str, Any]:
    pairs = compare(run.step, run.facts, names).pairs
    return {
        "line": run.step.line,
        "launchers": [link.name for link in run.step.links],
        "miniapp": run.stage.app,
        "due": run.due,
        "came": len(run.facts),
        "ranks": [_rank(fact) for fact, _ in pairs[:most]],
    }


def _rank(fact: Fact) -> dict[str, Any]:
    seen = fact.visible()
    return {
        "rank": fact.rank, "local_rank": fact.local_rank, "world_size": fact.world_size, "host": fact.host,
        "master": fact.master_addr, "port": fact.master_port, "from": fact.from_variable,
        "gpus": None if seen is None else list(seen), "cpus": fact.table("machine").get("cpus"),
        "backend": fact.told.get("backend"), "phase": fact.phase, "ok": fact.ok,
        "error": {"class": fact.error, "says": fact.says} if fact.error else None,
        "bytes_per_second": fact.rates(), "seconds": _rounded(fact.seconds),
    }  # fmt: skip


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
