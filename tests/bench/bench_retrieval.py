"""How often the paradigm that a request describes is found, and how soon: `make bench-retrieval`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Dict, List, Sequence

import pytest

from tests.miniapps.started import frameworks

ROOT = Path(__file__).parents[2]
WAYS = ("FTS5 alone", "MiniLM alone", "fused by places", "fused by values")
Case = Dict[str, Any]


@pytest.mark.timeout(1200)
def test_retrieval(tmp_path: Path) -> None:
    """Every request of tests/cases/retrieval; 10,000 passages in at most 50 ms is the aim."""
    measured = _measured(tmp_path)
    assert measured["note"] == "", measured["note"]
    print(_recall(measured["cases"]), _chosen(measured["cases"]), _times(measured), sep="\n")


def _measured(home: Path) -> Dict[str, Any]:
    parts = ":".join(str(ROOT / part) for part in ("submit_filter", "agents", "."))
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": parts, "OMP_NUM_THREADS": "2"}
    argv = [str(frameworks() / "python"), "-m", "tests.bench.retrieval_measured"]
    done = subprocess.run(argv, env=env, cwd=ROOT, capture_output=True, text=True, timeout=1200)
    assert "MEASURED" in done.stdout, done.stderr[-3000:]
    found: Dict[str, Any] = json.loads(done.stdout.split("MEASURED")[1])
    return found


def _recall(cases: Sequence[Case]) -> str:
    said = [case for case in cases if case["paradigm"]]
    rows = [("all", said), ("held out", [case for case in said if not case["fitting"]])]
    rows += [(name, [case for case in said if case["paradigm"] == name]) for name in sorted(_paradigms(said))]
    lines = ["", "Recall@1 over %d paraphrased requests" % len(said), "%-16s %5s" % ("", "cases") + _heads(WAYS)]
    for name, among in rows:
        shares = [sum(case[way] == case["paradigm"] for case in among) / len(among) for way in WAYS]
        lines.append("%-16s %5d" % (name, len(among)) + "".join("%17.1f%%" % (100 * share) for share in shares))
    return "\n".join(lines)


def _heads(names: Sequence[str]) -> str:
    return "".join("%18s" % name for name in names)


def _paradigms(cases: Sequence[Case]) -> List[str]:
    return list({case["paradigm"] for case in cases})


def _chosen(cases: Sequence[Case]) -> str:
    """Return what is answered once "nothing fits" is an answer too."""
    lines = ["", "Answers above the threshold", "%-30s %5s" % ("", "cases") + _heads(("right", "wrong", "none"))]
    for key, where in (("chosen", "with MiniLM"), ("words chosen", "by words alone")):
        for half in (True, False):
            among = [case for case in cases if case["fitting"] == half]
            for kind, some in _kinds(among):
                name = "%s, %s" % (kind, "fitted" if half else "held out")
                lines.append("%-30s %5d" % (name, len(some)) + _outcome(some, key) + "   " + where)
    few = sum(case["by words"] for case in cases)
    return "\n".join(
        [*lines, "With MiniLM installed, words alone answered %d of %d: no model was loaded" % (few, len(cases))]
    )


def _kinds(cases: Sequence[Case]) -> List[Any]:
    kinds = {"describe a paradigm": ("",), "training, none described": ("unsaid",), "fit nothing": ("nothing",)}
    said = [case for case in cases if case["paradigm"]]
    rest = [
        (kind, [case for case in cases if case["family"] in names]) for kind, names in kinds.items() if names != ("",)
    ]
    return [("describe a paradigm", said), *rest]


def _outcome(cases: Sequence[Case], key: str) -> str:
    right = sum(case[key] == case["paradigm"] != "" for case in cases)
    none = sum(case[key] == "" for case in cases)
    return "%18d%18d%18d" % (right, len(cases) - right - none, none)


def _times(measured: Dict[str, Any]) -> str:
    times, large = measured["times"], measured["large"]
    bare = large["embedding the query alone"][0]
    first, later, slow = times["first"] / 1e3, times["next"], times["next p95"]
    lines = [
        "",
        "A request: first answer %.1f s after the start, next %.0f ms (p95 %.0f ms)" % (first, later, slow),
        "",
    ]
    lines.append("A query over 10,000 passages, vectors there (aim: 50 ms)")
    lines.append("%-28s" % "ms" + _heads(("median", "p95", "least", "to embedding it")))
    for name, (median, p95, least) in large.items():
        lines.append("%-28s%18.1f%18.1f%18.1f%17.2fx" % (name, median, p95, least, median / bare))
    return "\n".join(lines)
