"""Measures retrieval in the Python that has MiniLM, and prints one line of JSON: see `bench_retrieval.py`."""

from __future__ import annotations

import time

BEGUN = time.perf_counter()

import json  # noqa: E402
import os  # noqa: E402
import random  # noqa: E402
import statistics  # noqa: E402
import tempfile  # noqa: E402
from functools import partial  # noqa: E402
from typing import Any, Callable, Dict, List, Mapping, Sequence  # noqa: E402

from maple_agents.base.slots import Slots  # noqa: E402
from maple_agents.templates.retrieval import choose  # noqa: E402
from maple_agents.templates.retrieval.choose import RANKINGS, Judge  # noqa: E402
from maple_agents.templates.retrieval.index import (  # noqa: E402
    FusedIndex,
    Words,
    fused,
)
from maple_agents.templates.retrieval.minilm import configured  # noqa: E402
from maple_agents.templates.retrieval.passages import Passage  # noqa: E402
from maple_agents.templates.retrieval.vectors import Kept  # noqa: E402

from tests.bench.retrieval_cases import Request, load  # noqa: E402

ROUNDS = 60
PASSAGES = 10_000
WAYS = ("FTS5 alone", "MiniLM alone", "fused by places", "fused by values")


def main() -> None:
    """Measure times, then answers."""
    cases, times, large = load(), _first_and_next(), _large()
    with tempfile.TemporaryDirectory() as folder:
        embedder = Kept(configured(), os.path.join(folder, "vectors.sqlite"))
        embedder.vectors([case.text for case in cases])  # all at once is faster; times are measured above
        judge = Judge(choose.load(), embedder)
        answers = [_answered(case, judge.values(case.text), judge) for case in cases]
    said = {"times": times, "large": large, "cases": answers, "note": judge.note + choose.installed().note}
    print("MEASURED" + json.dumps(said))


def _first_and_next() -> Dict[str, float]:
    """Return seconds from the start of the program to the first answer, and of each further one."""
    cases = [case for case in load() if case.family != "nothing"][:40]
    choose.search(cases[0].text, choose.installed())
    choose.installed().judged(cases[0].text)  # loads the model, where words alone were enough
    first = time.perf_counter() - BEGUN
    after = _timed([partial(choose.choose, case.text, Slots()) for case in cases])
    return {"first": first * 1e3, "next": statistics.median(after), "next p95": _p95(after)}


def _answered(case: Request, values: Mapping[str, Mapping[str, float]], judge: Judge) -> Dict[str, Any]:
    names = sorted(choose.load())
    orders = {by: _order(names, values, by) for by in RANKINGS}
    chosen = choose.search(case.text, judge)
    return {
        "family": case.family, "fitting": case.fitting, "paradigm": case.paradigm,
        WAYS[0]: _first(fused([orders["words of all"], orders["words of parts"]]), names),
        WAYS[1]: _first(fused([orders["meaning of all"], orders["meaning of parts"]]), names),
        WAYS[2]: _first(fused([orders[by] for by in reversed(RANKINGS)]), names),
        WAYS[3]: judge.judged(case.text).order[0],
        "chosen": chosen.paradigm if chosen else "",
        "by words": chosen is not None and chosen.by == "words",
        "words chosen": _by_words(case, judge),
    }  # fmt: skip


def _by_words(case: Request, judge: Judge) -> str:
    """Return what is chosen where nothing but FTS5 is installed."""
    found = judge.judged(case.text, meaning=False)
    return found.order[0] if found.score >= choose.ENOUGH else ""


def _order(names: Sequence[str], values: Mapping[str, Mapping[str, float]], by: str) -> List[int]:
    """Return the numbers of the paradigms that stand in a ranking, the best first."""
    there = [at for at, name in enumerate(names) if by in values.get(name, {})]
    return sorted(there, key=lambda at: -values[names[at]][by])


def _first(order: Mapping[int, float], names: Sequence[str]) -> str:
    return names[next(iter(order))] if order else ""


class Drawn:
    """The real embedder for single texts, directions drawn by chance for many: ten thousand would take minutes."""

    def __init__(self, embedder: Any) -> None:
        self.name = "drawn"
        self._embedder = embedder

    def vectors(self, texts: Sequence[str]) -> Any:
        """Return a row for each text."""
        import numpy as np

        if len(texts) == 1:
            return self._embedder.vectors(texts)
        rows = np.random.default_rng(7).standard_normal((len(texts), 384), np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _large() -> Dict[str, List[float]]:
    """Return milliseconds of a query (median, p95) over many passages, by part."""
    rng = random.Random(7)
    known = [word for one in choose.parts(choose.load()) for word in one.text.split()]
    rare = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=7)) for _ in range(20_000)]
    passages = [_made(at, rng, known, rare) for at in range(PASSAGES)]
    embedder, texts = configured(), [case.text for case in load()][:: len(load()) // ROUNDS][:ROUNDS]
    words, both = Words(passages), FusedIndex(passages, Drawn(embedder))
    both.search(texts[0])
    parts: Dict[str, Callable[[str], object]] = {
        "embedding the query alone": lambda text: embedder.vectors([text]),
        "FTS5 alone": lambda text: words.search(text, 50),
        "fused": lambda text: both.search(text, 5),
    }
    return {name: _spread(_timed([partial(part, text) for text in texts])) for name, part in parts.items()}


def _made(at: int, rng: random.Random, known: Sequence[str], rare: Sequence[str]) -> Passage:
    text = " ".join([*rng.choices(known, k=40), *rng.choices(rare, k=20)])
    return Passage(str(at), " ".join(rng.choices(known, k=4)), text, "made", "drawn")


def _timed(calls: Sequence[Callable[[], object]]) -> List[float]:
    took = []
    for call in calls:
        begun = time.perf_counter()
        call()
        took.append((time.perf_counter() - begun) * 1e3)
    return took


def _spread(took: Sequence[float]) -> List[float]:
    return [statistics.median(took), _p95(took), min(took)]


def _p95(took: Sequence[float]) -> float:
    return sorted(took)[int(0.95 * (len(took) - 1))]


if __name__ == "__main__":
    main()
