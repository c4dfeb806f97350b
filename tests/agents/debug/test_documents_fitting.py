"""What a passage must share with a failure to be shown: words of the log, and with MiniLM its meaning too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tomllib
from maple_agents.diagnose.documents import folders as documents
from maple_agents.diagnose.documents.folders import read
from maple_agents.diagnose.documents.passages import Piece
from maple_agents.diagnose.documents.search import ALIKE, Library, cited, near
from maple_agents.templates.retrieval import minilm
from maple_agents.templates.retrieval.passages import Unavailable

from tests.agents.debug.test_documents import explained

BOOKS = Path(__file__).parent / "sitebooks"
SYMPTOMS = tomllib.loads((BOOKS / "symptoms.toml").read_text())["symptom"]
PIECES = [
    Piece(1, "Quota", "disk quota exceeded: ask for more space in your home"),
    Piece(9, "Backup", "the disk of your home is copied at night, quota or not"),
    Piece(20, "Ports", "a port that is in use is refused"),
    Piece(30, "Hours", "the front desk is open at nine"),
    *(Piece(40 + at, "Page %d" % at, "chapter %d tells of other things" % at) for at in range(12)),
]


class Embedder:
    """Gives the question and each passage a vector of which the cosine is known."""

    name = "stand-in"

    def __init__(self, cosines: dict[str, float]) -> None:
        self._cosines = cosines

    def vectors(self, texts: list[str]) -> np.ndarray:
        """The question lies along the first axis; a passage as far from it as was said."""
        rows = [next((value for head, value in self._cosines.items() if text.startswith(head)), 1.0) for text in texts]
        return np.array([[value, (1 - value * value) ** 0.5] for value in rows], np.float32)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Library:
    """A few passages, and nothing of this machine."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(minilm, "configured", _missing)
    return Library([(documents.Document("a.md", 0, "", tuple(PIECES), "", True), one) for one in PIECES])


def _missing() -> Embedder:
    raise Unavailable("not here")


def _shown(library: Library, text: str, said: str | None = None) -> str:
    found = library.fitting(text, said)
    return found[1].heading if found else ""


def test_without_an_embedder_words_decide(library: Library) -> None:
    """Maple is whole without MiniLM."""
    assert _shown(library, "OSError: disk quota exceeded") == "Quota"
    assert _shown(library, "the tensor has another shape") == ""


def test_what_only_the_rules_say_is_not_enough(library: Library) -> None:
    """The sentence of a class stands below a thousand different failures; the log's own words tell them apart."""
    asked = "disk_quota_or_full disk quota exceeded space home write failed at block 7"
    assert _shown(library, asked, "disk quota exceeded") == "Quota"
    assert _shown(library, asked, "write failed at block 7") == ""
    assert _shown(library, asked) == "Quota"


@pytest.mark.parametrize(
    ("cosines", "shown"),
    [({"Quota": 0.6, "Backup": 0.2}, "Quota"), ({"Quota": 0.6, "Backup": 0.9}, "Quota"),
     ({"Quota": ALIKE - 0.05, "Backup": 0.2}, "")],
    ids=["nearest", "second", "far from all"],
)  # fmt: skip
def test_meaning_has_to_agree(
    library: Library, monkeypatch: pytest.MonkeyPatch, cosines: dict[str, float], shown: str
) -> None:
    """It chooses none, but may speak against what words found."""
    monkeypatch.setattr(minilm, "configured", lambda: Embedder(cosines))
    assert _shown(library, "OSError: disk quota exceeded") == shown


@pytest.mark.parametrize(
    ("cosines", "agrees"),
    [([0.5], True), ([0.2], False), ([0.5, 0.6, 0.4], True), ([0.5, 0.6, 0.7], False), ([0.5, 0.5, 0.5], True)],
)
def test_near(cosines: list[float], agrees: bool) -> None:
    """One of the two nearest of those that share words, and not far from the question."""
    assert near(cosines) is agrees


def test_words_alone_show_few_wrong_passages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On 88 failures, of which five made-up handbooks speak of 44, without any model: a guard against a relapse."""
    monkeypatch.setattr(minilm, "configured", _missing)
    paths = sorted(path for path in BOOKS.iterdir() if path.name not in ("symptoms.toml", "README.md"))
    found = [documents.Document(path.name, 0, "", tuple(read(str(path))[1]), "", True) for path in paths]
    library = Library(documents.passages(found))
    right = wrong = 0
    for one in SYMPTOMS:
        shown = cited(explained(one["log"], tmp_path), library)
        heading = shown[0].heading.rpartition(" › ")[2] if shown else ""
        right, wrong = right + (heading in one["headings"]), wrong + (heading not in ("", *one["headings"]))
    print("passages by words alone: %d right of 44, %d wrong" % (right, wrong))
    assert right >= 30
    assert wrong <= 4
