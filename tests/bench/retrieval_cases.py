"""The requests of `tests/cases/retrieval`, and which half of them a case belongs to."""

from __future__ import annotations

from pathlib import Path
from typing import List, NamedTuple

import tomllib

FOLDER = Path(__file__).parents[1] / "cases" / "retrieval"
NEGATIVE = ("nothing", "unsaid")  # files whose requests describe no paradigm


class Request(NamedTuple):
    """A request, the paradigm that it describes ("" none), its file, and whether curves may be fitted with it."""

    text: str
    paradigm: str
    family: str
    fitting: bool


def load() -> List[Request]:
    """Return every request; of each file every second one is for fitting, the others judge the fit."""
    return [one for path in sorted(FOLDER.glob("*.toml")) for one in _of(path)]


def _of(path: Path) -> List[Request]:
    read = tomllib.loads(path.read_text("utf-8"))
    texts = read["requests"]
    return [Request(text, read["paradigm"], path.stem, at % 2 == 0) for at, text in enumerate(texts)]
