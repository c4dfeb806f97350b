"""How often a failure is shown the right passage of a site's documents, and a wrong one: `make bench-documents`."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Optional

import pytest
import tomllib
from maple_agents.diagnose import explanation
from maple_agents.diagnose.documents import folders as documents
from maple_agents.diagnose.documents.folders import read
from maple_agents.diagnose.documents.search import LOGGED, Library, Weighed, _log_words, near, question
from maple_agents.diagnose.gather import by_files

from tests.miniapps.started import frameworks

ROOT = Path(__file__).parents[2]
BOOKS = ROOT / "tests/agents/debug/sitebooks"
STEPS = [at / 100 for at in range(20, 81, 5)]
Answers = Callable[["Asked"], Optional[int]]


class Asked(NamedTuple):
    """A failure. *weighed*: the passages by words, the best first; *logged*: weight of the words that the first of them
    shares with the log itself; *cosines*: of all passages.
    """

    log: str
    headings: Sequence[str]
    half: str
    question: str
    weighed: Sequence[Weighed]
    logged: float
    cosines: Sequence[float] = ()


class Score(NamedTuple):
    """*right*: the passage that speaks of it; *wrong*: another, or one where none does; *of*: failures with one."""

    right: int
    wrong: int
    of: int

    def __str__(self) -> str:
        shown = self.right + self.wrong
        precision = "%5.1f %%" % (100 * self.right / shown) if shown else "      -"
        return "%3d right %3d wrong of %d   precision %s   recall %5.1f %%" % (
            self.right, self.wrong, self.of, precision, 100 * self.right / self.of,
        )  # fmt: skip


@pytest.mark.timeout(1200)
def test_documents(tmp_path: Path) -> None:
    """Words alone, meaning alone, and both, on the half that chose the thresholds and on the half that did not."""
    paths = sorted(path for path in BOOKS.iterdir() if path.name not in ("symptoms.toml", "README.md"))
    found = [documents.Document(path.name, 0, "", tuple(read(str(path))[1]), "", True) for path in paths]
    pairs = documents.passages(found)
    library = Library(pairs)
    asked = [_asked(one, library, tmp_path) for one in tomllib.loads((BOOKS / "symptoms.toml").read_text())["symptom"]]
    whole = [one.whole for one in library._texts]
    cosines = _cosines(whole, [one.question for one in asked], tmp_path)
    asked = [one._replace(cosines=row) for one, row in zip(asked, cosines)]
    headings = [piece.heading.rpartition(" › ")[2] for _, piece in pairs]
    print("\n%d passages, %d failures of which %d have one" % (
        len(pairs), len(asked), sum(bool(one.headings) for one in asked)))  # fmt: skip
    for half in ("choose", "judge"):
        some = [one for one in asked if one.half == half]
        print("\n%s" % ("the half that the thresholds were set on" if half == "choose" else "the half that judges"))
        for name, answers in WAYS.items():
            print("  %-34s %s" % (name, _score(some, answers, headings)))
    _curves([one for one in asked if one.half == "choose"], headings)
    _told(asked, headings)


def _asked(row: dict[str, object], library: Library, folder: Path) -> Asked:
    path = folder / "job.out"
    path.write_text("step 1 loss 2.0\n%s\n" % row["log"])
    found = explanation.explained(by_files([str(path)], None, "generic-slurm", (), "failed", 1), "off")
    weighed = library.weighed(question(found))
    logged = library.logged(weighed[0], " ".join(_log_words(found))) if weighed else 0.0
    headings = row["headings"]
    assert isinstance(headings, list)
    return Asked(str(row["log"]), headings, str(row["half"]), question(found), weighed, logged)


def _cosines(passages: Sequence[str], questions: Sequence[str], home: Path) -> Sequence[Sequence[float]]:
    parts = ":".join(str(ROOT / part) for part in ("submit_filter", "agents", "."))
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": parts, "OMP_NUM_THREADS": "2"}
    argv = [str(frameworks() / "python"), "-m", "tests.bench.documents_measured"]
    told = json.dumps({"passages": passages, "questions": questions})
    done = subprocess.run(argv, env=env, cwd=ROOT, input=told, capture_output=True, text=True, timeout=1200)
    assert "MEASURED" in done.stdout, done.stderr[-3000:]
    found: Sequence[Sequence[float]] = json.loads(done.stdout.split("MEASURED")[1])
    return found


def by_words(one: Asked, least: float = 1.0, logged: float = LOGGED) -> Optional[int]:
    """Return the passage that shares enough telling words: what is shown where MiniLM is not installed."""
    first = next(iter(one.weighed), None)
    return first.number if first and first.fit >= least and one.logged >= logged else None


def by_meaning(one: Asked, least: float = 0.42) -> Optional[int]:
    """Return the passage of all that means most alike."""
    best = max(range(len(one.cosines)), key=lambda at: one.cosines[at])
    return best if one.cosines[best] >= least else None


def both(one: Asked) -> Optional[int]:
    """Return what words find and meaning agrees to."""
    return by_words(one) if near([one.cosines[row.number] for row in one.weighed] or [0.0]) else None


WAYS: dict[str, Answers] = {
    "FTS5 alone": by_words,
    "MiniLM alone, from 0.42": by_meaning,
    "MiniLM alone, from 0.60": lambda one: by_meaning(one, 0.6),
    "both, as shown to users": both,
}


def _score(asked: Sequence[Asked], answers: Answers, headings: Sequence[str]) -> Score:
    said = [(one, answers(one)) for one in asked]
    right = sum(at is not None and headings[at] in one.headings for one, at in said)
    return Score(right, sum(at is not None for _, at in said) - right, sum(bool(one.headings) for one, _ in said))


def _curves(asked: Sequence[Asked], headings: Sequence[str]) -> None:
    print("\non the first half, by the least cosine of MiniLM alone")
    for least in STEPS:
        print("  %.2f   %s" % (least, _score(asked, lambda one: by_meaning(one, least), headings)))  # noqa: B023
    print("on the first half, by the least fit of words alone")
    for least in (0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5):
        print("  %.2f   %s" % (least, _score(asked, lambda one: by_words(one, least), headings)))  # noqa: B023


def _told(asked: Sequence[Asked], headings: Sequence[str]) -> None:
    print("\nwrong, or missing, as shown to users")
    for one in asked:
        at = both(one)
        if (at is not None and headings[at] not in one.headings) or (at is None and one.headings):
            shown = headings[at] if at is not None else "-"
            first = headings[one.weighed[0].number] if one.weighed else "-"
            fit = one.weighed[0].fit if one.weighed else 0.0
            print("  %-7s shown %-22s (words: %-22s fit %.2f) | %s" % (
                one.half, shown[:22], first[:22], fit, one.log[-60:].replace("\n", " ")))  # fmt: skip
