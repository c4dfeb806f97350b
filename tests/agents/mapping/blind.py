"""Scripts whose mapping was labelled without sight of Maple, judged: `make bench-mapping` prints the counts.

A set is one TOML file, `tests/cases/blind-mapping/<date>.toml`; the date is that of its first run. Its keys: `name`,
`site`, `scheduler`, `label` ("wrong" or "right"), `script`, `words` behind sbatch or qsub (`{}` is the script), `why`
and, of wrong ones, `cure`; `[[case.file]]`: what lies beside the script.

A wrong one is found, and a right one accused, where `maple map check` or a rule of mappings says anything.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import tomllib

from tests.agents.mapping.cases import of_mapping
from tests.reality.asked import ask, site
from tests.reality.corpus import Case

FOLDER = Path(__file__).parents[2] / "cases" / "blind-mapping"
RULES = ("MPL223", "MPL331")


class Judged(NamedTuple):
    """A script, and all that is said of its mapping."""

    name: str
    right: bool
    says: tuple[str, ...]


def sets() -> list[Path]:
    """Return the files of all sets, the oldest first."""
    return sorted(FOLDER.glob("*.toml"))


def judged(path: Path) -> list[Judged]:
    """Return each case of a set with what is said of it."""
    return [Judged(row["name"], row["label"] == "right", tuple(_said(row))) for row in _rows(path)]


def _rows(path: Path) -> list[dict[str, Any]]:
    return list(tomllib.loads(path.read_text("utf-8"))["case"])


def _said(row: dict[str, Any]) -> Iterator[str]:
    """Yield what is said of a script, submitted where its files lie."""
    kind = "pbs/" if row["scheduler"] == "pbs" else ""
    case = Case(f"{kind}{row['label']}/{row['name']}", row["site"], row["script"].encode(), tuple(row["words"]), False,
                (), False)  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="maple-mapping-") as folder:
        for file in row.get("file", ()):
            place = Path(folder, file["path"])
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(file["text"], "utf-8")
        asked, decision = ask(case, folder)
        for finding in decision.findings:
            if finding.code in RULES:
                yield f"{finding.code} {finding.says}"
        for told in of_mapping(decision, asked, site(row["site"])):
            yield told.sentence


def table(rows: list[Judged]) -> str:
    """Return the counts in one line, and a line for each case that is not told as it is labelled."""
    wrong, right = [one for one in rows if not one.right], [one for one in rows if one.right]
    found, accused = [one for one in wrong if one.says], [one for one in right if one.says]
    lines = [f"wrong {len(wrong)}  found {len(found)}  right {len(right)}  accused {len(accused)}"]
    lines += [f"  {one.name:<28} missed" for one in wrong if not one.says]
    return "\n".join(lines + [f"  {one.name:<28} accused: {one.says[0]}" for one in accused])


if __name__ == "__main__":
    for path in sets():
        print(path.stem)
        print(table(judged(path)))
