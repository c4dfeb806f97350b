"""The corpus of `tests/cases/diagnosis/`: logs of jobs with the cause that is known, and how a diagnosis is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import tomllib
from maple_agents.diagnose.diagnosis import diagnose
from maple_agents.diagnose.gather import by_files
from maple_agents.diagnose.rank.cause_event import Voter
from maple_agents.diagnose.read import cleaned, read
from maple_agents.diagnose.recognise.neighbours import vote
from maple_agents.diagnose.values import Case, Diagnosis, Digest, Evidence
from maple_agents.templates.knowledge import Entry, anchors, entries
from maple_submit_filter.answer.decision import Decision, decide

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "tests/cases/diagnosis"
VERDICTS = ("wrong", "unknown", "in three", "right")  # the better ones last


@dataclass(frozen=True, slots=True)
class Known:
    """A case whose cause is known. *kind*: "failed", "hang" (in silence), "good" (it succeeded) or "unknown" (the cause
    is not in the files). *evidence*: any of these lines proves it; *cascade*: these only followed.
    """

    name: str
    cause: str
    kind: str
    state: str | None
    exit_code: int | None
    site: str
    logs: tuple[str, ...]
    script: str | None
    evidence: frozenset[tuple[str, int]]
    cascade: frozenset[tuple[str, int]]

    @property
    def group(self) -> str:
        """Return what its wording may be kin to: the first word of its name."""
        return self.name.split("-")[0]

    @property
    def folder(self) -> Path:
        """Return where its files lie."""
        return FOLDER / self.name


def known_cases() -> tuple[Known, ...]:
    """Return all cases by name."""
    return tuple(_known(path) for path in sorted(FOLDER.glob("*/expected.toml")))


def _known(path: Path) -> Known:
    said = tomllib.loads(path.read_text("utf-8"))
    return Known(
        path.parent.name,
        said["class"],
        said["kind"],
        said.get("state"),
        said.get("exit_code"),
        said["site"],
        tuple(said["logs"]),
        said.get("script"),
        frozenset((one["file"], one["line"]) for one in said["evidence"]),
        frozenset((one["file"], one["line"]) for one in said["cascade"]),
    )


@cache
def material(one: Known) -> tuple[Case, Digest, Decision | None]:
    """Return what is read of a case, once for all diagnoses of it."""
    logs = [str(one.folder / name) for name in one.logs]
    script = str(one.folder / one.script) if one.script else None
    case = by_files(logs, script, one.site, (), one.state, one.exit_code)
    decision = decide(case.asked, case.site, None) if case.asked else None
    return case, read(case.logs, _anchors()), decision


@cache
def _anchors() -> tuple[bytes, ...]:
    return anchors(entries())


def diagnosed(one: Known, known: Mapping[str, Entry], voter: Voter = vote) -> Diagnosis:
    """Return what is said of a case with the entries *known*, and what *voter* says of lines."""
    return diagnose(*material(one), known, voter)


def without(cause: str) -> dict[str, Entry]:
    """Return the knowledge base with no entry that claims *cause*; what follows and what is harmless stays."""
    return {name: one for name, one in entries().items() if one.cause != cause or one.role in ("follows", "harmless")}


def verdict(one: Known, told: Diagnosis) -> str:
    """Return how good the answer is, a word of `VERDICTS`."""
    said = [cause.cause for cause in told.causes]
    if said[0] == one.cause:
        return "right"
    if one.kind in ("good", "unknown"):
        return "unknown" if said[0] == "unknown" else "wrong"
    if one.cause in said[:3]:
        return "in three"
    return "unknown" if said[0] == "unknown" else "wrong"


def place(evidence: Evidence) -> tuple[str, int]:
    """Return file and line as expectations name them."""
    return Path(evidence.file).name, evidence.line


def stands(evidence: Evidence) -> bool:
    """Return whether the text stands at that line, cleaned as every shown line is."""
    lines = Path(evidence.file).read_bytes().split(b"\n")
    return 0 < evidence.line <= len(lines) and evidence.text in cleaned(lines[evidence.line - 1])


def proven(one: Known, told: Diagnosis) -> bool:
    """Return whether one of the lines that prove the cause is shown for it, and not first one that only followed."""
    shown = [place(line) for line in told.causes[0].evidence]
    if not one.evidence:
        return True
    return bool(one.evidence.intersection(shown)) and shown[0] not in one.cascade


def judged(cases: Sequence[Known]) -> dict[str, str]:
    """Return the verdict on every case by its name."""
    return {one.name: verdict(one, diagnosed(one, entries())) for one in cases}


__all__ = ["Known", "VERDICTS", "diagnosed", "judged", "known_cases", "place", "proven", "stands", "verdict", "without"]
