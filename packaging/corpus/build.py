"""Writes the corpus of blind sets as files of JSON lines, with card, licence and scorer: `make corpus`."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tomllib
from maple_submit_filter import __version__

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CASES = ROOT / "tests" / "cases"
TO = ROOT / "dist" / f"maple-corpus-{__version__}"
FOLDERS = {
    "scripts": "blind", "mapping": "blind-mapping", "requests": "blind-requests", "logs": "blind-logs",
    "progress": "blind-progress",
}  # fmt: skip
SAYS = {
    "scripts": "a batch script, right or broken",
    "mapping": "a script whose ranks are placed well or wrongly",
    "requests": "what somebody types, and what is said in it",
    "logs": "a job's output, failed or good",
    "progress": "the end of a running training's log",
}
OF_SCRIPTS = ("site", "scheduler", "label", "script", "words", "worlds", "why", "cure", "certain")
OF_LOGS = ("source", "scheduler", "verdict", "class", "cause", "telling", "certain", "log")
NO_WORDS = {"name", "site", "words", "style", "must_ask"}  # of a request: not what it says
VALUES = ("step", "total", "epoch", "loss", "speed", "unit")


def rows(kind: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a kind, the oldest set first; those of the newest day are the test split."""
    paths = sorted((CASES / FOLDERS[kind]).glob("*.toml"))
    dated = [(path, path.name[:10]) for path in paths if re.match(r"\d{4}-\d\d-\d\d", path.name)]
    newest = max(day for _, day in dated)
    for path, day in dated:
        split, seen = "test" if day == newest else "train", Counter[str]()
        for case in tomllib.loads(path.read_text("utf-8"))["case"]:
            seen[case["name"]] += 1  # two authors of a set may have had the same name
            again = "" if seen[case["name"]] == 1 else "-%d" % seen[case["name"]]
            yield {"id": f"{path.stem}/{case['name']}{again}", "set": day, "split": split, **_told(kind, case)}


def _told(kind: str, case: dict[str, Any]) -> dict[str, Any]:
    if kind in ("scripts", "mapping"):
        files = {file["path"]: file["text"] for file in case.get("file", ())}
        return {"words": ["{}"], **{key: case[key] for key in OF_SCRIPTS if key in case}, "files": files}
    if kind == "logs":
        nothing = "none" if case["verdict"] == "good" else "unknown"
        return {**{key: case[key] for key in OF_LOGS if key in case}, "class": case.get("class") or [nothing]}
    if kind == "progress":
        said = {key: case[key] for key in VALUES if key in case}
        return {"from": case.get("from", ""), "text": case["text"], "said": said, "trap": case.get("trap", False)}
    said = {key: value for key, value in case.items() if key not in NO_WORDS}
    return {"site": case["site"], "words": case["words"], "said": said, "must_ask": case.get("must_ask", [])}


def main() -> None:
    """Write it below dist/, anew."""
    shutil.rmtree(TO, ignore_errors=True)
    TO.mkdir(parents=True)
    table = []
    for kind, says in SAYS.items():
        made = list(rows(kind))
        text = "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in made)
        (TO / f"{kind}.jsonl").write_text(text, "utf-8")
        tests = sum(row["split"] == "test" for row in made)
        table.append(f"| `{kind}.jsonl` | {len(made)} ({tests} of the newest sets) | {says} |")
    card = (HERE / "card.md").read_text("utf-8").format(version=__version__, rows="\n".join(table))
    (TO / "README.md").write_text(card, "utf-8")
    for program in ("score.py", "by_shellcheck.py"):
        shutil.copy(HERE / program, TO)
    shutil.copy(ROOT / "LICENSE", TO)
    sys.stdout.write(f"{TO.relative_to(ROOT)}\n" + "\n".join(table) + "\n")


if __name__ == "__main__":
    main()
