"""Logs that were put together and labelled without sight of Maple, judged: `make bench-blind-logs` prints the table.

A set is one TOML file, `tests/cases/blind-logs/<date>.toml`; the date is that of its first run. Its keys: `name`,
`source`, `scheduler`, `verdict` ("failed" or "good"), `class` (what counts as right), `cause` in words, `telling`
(words of a line that shows it), `certain` (false where the log makes it only likely) and the `log` itself.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import tomllib
from maple_agents.diagnose.diagnosis import diagnose
from maple_agents.diagnose.rank.telling import Voter
from maple_agents.diagnose.read import read
from maple_agents.diagnose.recognise.neighbours import vote
from maple_agents.diagnose.values import Case, Diagnosis, Ended, LogFile
from maple_agents.templates.knowledge import anchors, entries
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM

FOLDER = Path(__file__).parents[2] / "cases" / "blind-logs"
COLUMNS = ("failed", "right", "claimed", "claims right", "telling line", "good", "accused")


class Judged(NamedTuple):
    """A case and what is said of its log, which is all there is: no script, no scheduler's word."""

    case: dict[str, Any]
    told: Diagnosis

    @property
    def said(self) -> str:
        """Return the class of the likeliest cause."""
        return self.told.causes[0].cause

    @property
    def counts(self) -> Counter[str]:
        """Return the case as a row of the table."""
        if self.case["verdict"] == "good":
            return Counter({"good": 1, "accused": int(self.said not in ("none", "unknown"))})
        right, claimed = self.said in self.case["class"], self.said != "unknown"
        lines = [one.text for one in self.told.causes[0].evidence]
        return Counter({
            "failed": 1, "right": int(right), "claimed": int(claimed), "claims right": int(right and claimed),
            "telling line": int(any(words in line for words in self.case["telling"] for line in lines)),
        })  # fmt: skip


def sets() -> list[Path]:
    """Return the files of all sets, the oldest first."""
    return sorted(FOLDER.glob("*.toml"))


def judged(path: Path, voter: Voter = vote) -> list[Judged]:
    """Return each case of a set with what is said of it; *voter*: what labelled lines say of a line."""
    known = entries()
    literals = anchors(known)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(tomllib.loads(path.read_text("utf-8"))["case"]):
            log = Path(folder, str(number), "slurm-1.out")
            log.parent.mkdir()
            log.write_text(case["log"], "utf-8")
            asked = Case(Ended(), "pbs" if case["scheduler"] == "pbs" else "slurm",
                         GENERIC_PBS if case["scheduler"] == "pbs" else GENERIC_SLURM)  # fmt: skip
            digest = read((LogFile(str(log), "both"),), literals)
            rows.append(Judged(case, diagnose(asked, digest, None, known, voter)))
    return rows


def table(rows: list[Judged]) -> str:
    """Return the counts in one line, and a line for each case that is not right."""
    total = sum((one.counts for one in rows), Counter[str]())
    lines = ["  ".join("%s %d" % (name, total[name]) for name in COLUMNS)]
    for one in rows:
        wrong = one.said not in one.case["class"]
        if wrong:
            lines.append("  %-36s %s, not %s" % (one.case["name"], one.said, " or ".join(one.case["class"])))
    return "\n".join(lines)


if __name__ == "__main__":
    for path in sets():
        print(path.stem)
        print(table(judged(path)))
