"""Sets of logs asked with what was known before each was seen: `python -m tests.agents.debug.first_asked [--record]`.

The code is today's, the templates are those of the commit before a set was written: how the mechanisms do on logs that
no entry, labelled line or reading was made from. `--record` adds what is seen of each answer to
`first-answers.jsonl`, by which `python -m tests.agents.debug.voter --record` says how sure answers are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

from maple_agents.diagnose.recognise import neighbours
from maple_submit_filter.host import places

from tests.agents.debug import blind_logs, voter

# When each set was written: what was known then is that of the last commit before.
WRITTEN = {
    "2026-11-27": "2026-11-27T05:03:00Z", "2026-11-27-second": "2026-11-27T06:12:50Z",
    "2026-11-27-third": "2026-11-27T09:47:00Z", "2026-11-27-fourth": "2026-11-27T12:42:40Z",
    "2026-11-27-fifth": "2026-11-27T14:59:00Z", "2026-11-27-gpu": "2026-11-27T14:59:00Z",
    "2026-11-27-gpu-second": "2026-11-27T16:24:40Z", "2026-11-27-sixth": "2026-11-27T17:57:30Z",
    "2026-11-27-seventh": "2026-11-27T18:15:00Z", "2026-11-27-eighth": "2026-11-27T21:24:40Z",
}  # fmt: skip
ROOT = Path(__file__).parents[3]


def templates_of(time: str, folder: str) -> None:
    """Put the templates of the last commit before *time* into *folder*."""
    commit = subprocess.run(
        ["git", "rev-list", "-1", "--before", time, "HEAD"], cwd=ROOT, check=True, capture_output=True
    )
    archive = ["git", "archive", commit.stdout.decode().strip(), "templates"]
    packed = subprocess.run(archive, cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "x", "-C", folder], input=packed, check=True)


def only_in(folder: str) -> Callable[..., tuple[str, ...]]:
    """Return what finds data in *folder* where it is of the templates, and else as ever."""
    as_ever = places.folders

    def folders(name: str, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
        there = os.path.join(folder, name)
        return as_ever(name, environ) if name.split("/")[0] != "templates" else (there,) if os.path.isdir(there) else ()

    return folders


def answers(path: Path) -> Iterator[dict[str, Any]]:
    """Yield what is seen of each answer of a set that names a cause, and whether it is right."""
    for one, claims in _with_claims(path):
        for who, seen, cause in claims if one.case["verdict"] == "failed" and one.said != "none" else ():
            right = cause in one.case["class"]
            rounded = {name: round(value, 3) for name, value in seen.items() if value}
            yield {
                "set": path.stem,
                "case": one.case["name"],
                "voter": who,
                "said": cause,
                "right": right,
                "seen": rounded,
            }


def _with_claims(path: Path) -> Iterator[tuple[blind_logs.Judged, voter.Claims]]:
    claims: list[voter.Claims] = []
    asked = blind_logs.diagnose

    def diagnose(*given: Any) -> Any:
        told, more = voter.with_claims(lambda: asked(*given))
        claims.append(list(more))
        return told

    with patch.object(blind_logs, "diagnose", diagnose):
        yield from zip(blind_logs.judged(path, neighbours.vote), claims, strict=True)


def main(names: list[str], record: bool) -> None:
    """Print a table for each set, or add its answers to those of first runs; each set in a process of its own."""
    for name in names or WRITTEN:
        if len(names) != 1:
            more = ["--record"] if record else []
            subprocess.run([sys.executable, "-m", __spec__.name, name, *more], cwd=ROOT, check=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            templates_of(WRITTEN[name], folder)
            path = blind_logs.FOLDER / f"{name}.toml"
            with patch.object(places, "folders", only_in(folder)):
                if record:
                    _add(answers(path))
                else:
                    print(name, blind_logs.table(blind_logs.judged(path)), sep="\n", flush=True)


def _add(rows: Iterator[dict[str, Any]]) -> None:
    made = [json.dumps(row) for row in rows]
    kept = voter.FIRST.read_text("utf-8").splitlines()
    sets = {json.loads(row)["set"] for row in made}
    voter.FIRST.write_text(
        "\n".join([row for row in kept if json.loads(row)["set"] not in sets] + made) + "\n", "utf-8"
    )


if __name__ == "__main__":
    main([word for word in sys.argv[1:] if word != "--record"], "--record" in sys.argv[1:])
