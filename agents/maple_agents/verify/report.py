"""A verification as JSON and as a record. The shape of the JSON is stable: other programs read it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, Optional, TypedDict, Union

from ..ask import verified_runs
from ..ask.verified_runs import SCHEMA, Inputs, as_table, digest, of_files
from .judge.comparison import Names, compare
from .run.facts import Fact
from .run.runs import Run
from .verification import Verified, Wanted

RANKS_AT_MOST = 4096  # of one launch line, in JSON; 64 in a record
Error = TypedDict("Error", {"class": str, "says": str})


class Reason(TypedDict):
    """What broke, and what to do; *line* of the script, *ranks* and *hosts* that it is about."""

    kind: str
    says: str
    remedy: str
    line: Optional[int]
    ranks: list[int]
    hosts: list[str]


class Unwise(TypedDict):
    """What did not break and will cost time."""

    line: Optional[int]
    says: str


class Otherwise(TypedDict):
    """A value of a process that came otherwise than foretold."""

    what: str
    planned: str
    real: str
    host: str
    rank: Optional[int]


class Compared(TypedDict):
    """How many values there were to compare, and how many of them the plan knew."""

    values: int
    known: int


Rank = TypedDict(
    "Rank",
    {
        "rank": Optional[int], "local_rank": Optional[int], "world_size": Optional[int], "host": str,
        "master": Optional[str], "port": Optional[int], "from": Optional[str], "gpus": Optional[list[str]],
        "cpus": Optional[str], "backend": Optional[str], "phase": str, "ok": Optional[bool], "error": Optional[Error],
        "bytes_per_second": dict[str, int], "seconds": Optional[float],
    },
)  # fmt: skip


class Step(TypedDict):
    """A launch line: how many processes were due, how many came, and what each said."""

    line: int
    launchers: list[str]
    miniapp: str
    due: Optional[int]
    came: int
    ranks: list[Rank]


class Seconds(TypedDict):
    """How long it took: in the queue, until all ranks had reported, all of it, and Maple's own part."""

    queue: Optional[float]
    reported: Optional[float]
    total: Optional[float]
    ours: Optional[float]


class Report(TypedDict):
    """A verification; a record holds it too."""

    site: str
    scheduler: str
    job: Optional[str]
    nodes: list[str]
    miniapps: list[str]
    result: str
    reasons: list[Reason]
    warnings: list[Unwise]
    differences: list[Otherwise]
    compared: Compared
    aside: list[int]
    steps: list[Step]
    seconds: Seconds
    kept: Optional[str]


class Named(Report):
    """A verification of a script or a template, with the record that is kept."""

    name: str
    site_known_by: str
    record: Optional[str]


class Answer(Named):
    """What `maple verify --json` prints. *explained*: by maple-fix, of one that failed; *written*: the fixed copy."""

    explained: NotRequired[dict[str, Any]]
    written: NotRequired[Optional[str]]


class NoAnswer(TypedDict):
    """Of a template that could not be verified."""

    name: str
    result: str
    says: str


Answers = Union[Answer, list[Union[Answer, NoAnswer]]]


def inputs_of(wanted: Wanted, made: Verified, template: str = "", revision: int = 0, composition: str = "") -> Inputs:
    """Return what the verdict depends on."""
    return Inputs(
        digest(wanted.submission.script or b""),
        tuple(wanted.words),
        wanted.site.id,
        wanted.site.revision,
        verified_runs.miniapps_digest(),
        of_files(made.depends),
        template,
        revision,
        composition,
    )


def as_json(wanted: Wanted, made: Verified, ranks_at_most: int = RANKS_AT_MOST) -> Report:
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
        "differences": [
            {
                "what": difference.what, "planned": difference.planned, "real": difference.real,
                "host": difference.host, "rank": difference.rank,
            }
            for difference in verdict.differences
        ],
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


def _step(run: Run, names: Names, most: int) -> Step:
    pairs = compare(run.step, run.facts, names).pairs
    return {
        "line": run.step.line,
        "launchers": [link.name for link in run.step.links],
        "miniapp": run.stage.app,
        "due": run.due,
        "came": len(run.facts),
        "ranks": [_rank(fact) for fact, _ in pairs[:most]],
    }


def _rank(fact: Fact) -> Rank:
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
