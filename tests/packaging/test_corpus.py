"""The public corpus: what is written is whole, and its scorer counts harm first and what it should."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCORER = ROOT / "packaging" / "corpus" / "score.py"
Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def corpus() -> tuple[Path, Rows]:
    """The folder that is written, and the rows of each kind."""
    done = subprocess.run([sys.executable, ROOT / "packaging" / "corpus" / "build.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    folder = ROOT / done.stdout.splitlines()[0]
    lines = {path.stem: path.read_text("utf-8").splitlines() for path in folder.glob("*.jsonl")}
    return folder, {kind: [json.loads(line) for line in those] for kind, those in lines.items()}


def test_every_row_has_a_name_of_its_own_a_label_and_a_split(corpus: tuple[Path, Rows]) -> None:
    folder, rows = corpus
    assert set(rows) == {"scripts", "mapping", "requests", "logs", "progress"}
    for kind, those in rows.items():
        ids = Counter(row["id"] for row in those)
        assert those and max(ids.values()) == 1, kind
        assert {row["split"] for row in those} == {"train", "test"} or len({row["set"] for row in those}) == 1, kind
    assert {row["label"] for row in rows["scripts"]} == {"right", "broken"}
    assert (folder / "README.md").exists() and (folder / "LICENSE").exists()


def scored(path: Path, answers: list[dict[str, Any]], tmp_path: Path) -> dict[str, int]:
    """The figures that are printed, by their names, in their order."""
    told = tmp_path / "answers.jsonl"
    told.write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    done = subprocess.run([sys.executable, "-I", SCORER, path, told], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {line[:40].strip(): int(line[40:].split(" of ")[0]) for line in done.stdout.splitlines()}


def test_who_calls_everything_broken_does_harm(corpus: tuple[Path, Rows], tmp_path: Path) -> None:
    folder, rows = corpus
    all_broken = [{"id": row["id"], "broken": True, "changed": "#!/bin/sh\n"} for row in rows["scripts"]]
    figures = scored(folder / "scripts.jsonl", all_broken, tmp_path)
    right = sum(row["label"] == "right" for row in rows["scripts"])
    assert next(iter(figures.items())) == ("right scripts that were called broken", right)
    assert figures["right scripts that were changed"] == right
    assert figures["broken ones that were found"] == len(rows["scripts"]) - right
    assert scored(folder / "scripts.jsonl", [], tmp_path)["without an answer"] == len(rows["scripts"])


def test_who_answers_as_labelled_is_right_in_all(corpus: tuple[Path, Rows], tmp_path: Path) -> None:
    folder, rows = corpus
    logs = [{"id": row["id"], "class": row["class"][0], "line": (row["telling"] or [""])[0]} for row in rows["logs"]]
    figures = scored(folder / "logs.jsonl", logs, tmp_path)
    failed = sum(row["verdict"] == "failed" for row in rows["logs"])
    assert list(figures.values()) == [0, 0, failed, failed]
    asked = [{"id": row["id"], "said": row["said"], "asks": bool(row["must_ask"])} for row in rows["requests"]]
    assert list(scored(folder / "requests.jsonl", asked, tmp_path).values()) == [0, 0, len(asked)]
    told = [{"id": row["id"], "said": row["said"]} for row in rows["progress"]]
    assert list(scored(folder / "progress.jsonl", told, tmp_path).values()) == [0, *[len(told)] * 4]


def test_what_is_said_of_nothing_is_harm(corpus: tuple[Path, Rows], tmp_path: Path) -> None:
    folder, rows = corpus
    logs = [{"id": row["id"], "class": "gpu_oom"} for row in rows["logs"]]
    good = sum(row["verdict"] == "good" for row in rows["logs"])
    assert scored(folder / "logs.jsonl", logs, tmp_path)["good runs that were accused"] == good
    told = [{"id": row["id"], "said": {"total": 7}} for row in rows["progress"]]
    none = sum("total" not in row["said"] for row in rows["progress"])
    assert scored(folder / "progress.jsonl", told, tmp_path)["totals invented"] == none
    written = [{"id": row["id"], "said": {}, "asks": False} for row in rows["requests"]]
    assert scored(folder / "requests.jsonl", written, tmp_path)["silently wrong"] > 100


def test_another_tool_s_answers_are_what_the_scorer_reads(corpus: tuple[Path, Rows], tmp_path: Path) -> None:
    """A stand-in that dislikes backquotes: its answers are scored, and one that breaks stops it."""
    folder, rows = corpus
    few = tmp_path / "scripts.jsonl"
    few.write_text("".join(json.dumps(row) + "\n" for row in rows["scripts"][:40]), "utf-8")
    tool = tmp_path / "shellcheck"
    words = [sys.executable, str(folder / "by_shellcheck.py"), str(few), "warning"]
    said = []
    for line in ("! grep -q '`'", "exit 3"):
        tool.write_text("#!/bin/sh\n%s\n" % line)
        tool.chmod(0o755)
        environ = {"PATH": "%s:/usr/bin:/bin" % tmp_path}
        said.append(subprocess.run(words, capture_output=True, text=True, env=environ, check=False))
    answers = [json.loads(line) for line in said[0].stdout.splitlines()]
    assert [answer["broken"] for answer in answers] == ["`" in row["script"] for row in rows["scripts"][:40]]
    assert said[1].returncode == 1 and "shellcheck ended with 3" in said[1].stderr
