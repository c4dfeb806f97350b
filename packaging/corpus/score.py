"""Scores a tool's answers on the corpus: harm first, then what was found. Python 3.9, nothing else.

usage: python3 score.py ROWS.jsonl ANSWERS.jsonl [--split test]
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, Callable, Dict, Iterable, List, Tuple

Row = Dict[str, Any]
Figure = Tuple[str, int, int]  # what, how many, of how many
COUNTED = ("nodes", "gpus_total", "gpus_per_node", "ranks_per_node")


def scripts(pairs: List[Tuple[Row, Row]]) -> List[Figure]:
    """Harm: right ones that were called broken, or changed. An answer that is missing says nothing."""
    right = [answer for row, answer in pairs if row["label"] == "right"]
    broken = [answer for row, answer in pairs if row["label"] != "right"]
    return [
        ("right scripts that were called broken", sum(bool(answer.get("broken")) for answer in right), len(right)),
        ("right scripts that were changed", sum(answer.get("changed") is not None for answer in right), len(right)),
        ("broken ones that were found", sum(bool(answer.get("broken")) for answer in broken), len(broken)),
        ("broken ones with a change", sum(answer.get("changed") is not None for answer in broken), len(broken)),
    ]


def logs(pairs: List[Tuple[Row, Row]]) -> List[Figure]:
    """Harm: good runs of which a failure is claimed. A claim is any class but "none" and "unknown"."""
    good = [answer for row, answer in pairs if row["verdict"] == "good"]
    failed = [(row, answer) for row, answer in pairs if row["verdict"] != "good"]
    claims = [(row, answer) for row, answer in failed if answer.get("class", "unknown") not in ("none", "unknown")]
    accused = sum(answer.get("class", "none") not in ("none", "unknown") for answer in good)
    wrong = sum(answer["class"] not in row["class"] for row, answer in claims)
    right = sum(answer.get("class", "unknown") in row["class"] for row, answer in failed)
    lines = sum(any(words in answer.get("line", "") for words in row["telling"]) for row, answer in failed)
    return [
        ("good runs that were accused", accused, len(good)),
        ("claims that were wrong", wrong, len(claims)),
        ("failures named rightly", right, len(failed)),
        ("telling lines shown", lines, len(failed)),
    ]


def requests(pairs: List[Tuple[Row, Row]]) -> List[Figure]:
    """Harm: a script came, and something that was said is missing or other, or should have been asked for."""
    silent = sum(not answer.get("asks") and (bool(row["must_ask"]) or _lost(row, answer)) for row, answer in pairs)
    needless = sum(bool(answer.get("asks")) and not row["must_ask"] for row, answer in pairs)
    return [
        ("silently wrong", silent, len(pairs)),
        ("asked without need", needless, len(pairs)),
        ("right or rightly asked", len(pairs) - silent - needless, len(pairs)),
    ]


def _lost(row: Row, answer: Row) -> bool:
    said = answer.get("said", {})
    return any(str(said.get(name)) != str(value) for name, value in row["said"].items() if name in COUNTED)


def progress(pairs: List[Tuple[Row, Row]]) -> List[Figure]:
    """Harm: a total that nothing tells."""
    told = [(row["said"], answer.get("said", {})) for row, answer in pairs]
    invented = sum("total" not in said and here.get("total") is not None for said, here in told)
    right = {
        key: sum(here.get(key) == said.get(key) for said, here in told) for key in ("step", "total", "loss", "speed")
    }
    return [("totals invented", invented, len(pairs)), *((f"{key} right", n, len(pairs)) for key, n in right.items())]


KINDS: Dict[str, Callable[[List[Tuple[Row, Row]]], List[Figure]]] = {
    "scripts": scripts, "mapping": scripts, "logs": logs, "requests": requests, "progress": progress,
}  # fmt: skip


def kind_of(row: Row) -> str:
    """Return which file a row is of."""
    names = {"script": "scripts", "log": "logs", "text": "progress"}
    return next((kind for key, kind in names.items() if key in row), "requests")


def read(path: str) -> Iterable[Row]:
    """Yield the rows of a file of JSON lines."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def main() -> int:
    """Print the figures, harm first."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rows")
    parser.add_argument("answers")
    parser.add_argument("--split", choices=("train", "test"))
    asked = parser.parse_args()
    rows = [row for row in read(asked.rows) if asked.split in (None, row["split"])]
    answers = {answer["id"]: answer for answer in read(asked.answers)}
    if not rows:
        sys.exit("%s: no rows" % asked.rows)
    for what, number, of in KINDS[kind_of(rows[0])]([(row, answers.get(row["id"], {})) for row in rows]):
        print("%-40s %4d of %4d  %5.1f %%" % (what, number, of, 100 * number / of if of else 0.0))
    missing = sum(row["id"] not in answers for row in rows)
    if missing:
        print("%-40s %4d of %4d" % ("without an answer", missing, len(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
