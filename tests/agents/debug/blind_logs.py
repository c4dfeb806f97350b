"""Logs that were put together and labelled without sight of Maple, judged: `make bench-blind-logs` prints the table.

A set is one TOML file, `tests/cases/blind-logs/<date>.toml`; the date is that of its first run. Its keys: `name`,
`source`, `scheduler`, `verdict` ("failed" or "good"), `class` (what counts as right), `cause` in words, `telling`
(words of a line that shows it), `certain` (false where the log makes it only likely) and the `log` itself.

The second voter learns from these sets too: `python -m tests.agents.debug.blind_logs --left-out` leaves out the lines
of each case's own thread.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import tomllib
from maple_agents.diagnose.diagnosis import diagnose
from maple_agents.diagnose.rank.cause_event import Voter
from maple_agents.diagnose.read import read
from maple_agents.diagnose.recognise.neighbours import vote
from maple_agents.diagnose.values import Case, Diagnosis, Ended, Evidence, LogFile
from maple_agents.templates.knowledge import anchors, entries
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM

FOLDER = Path(__file__).parents[2] / "cases" / "blind-logs"
COLUMNS = (
    "failed", "right", "claimed", "claims right", "not only likely", "of them right", "telling line",
    "or in the excerpt", "good", "accused",
)  # fmt: skip


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
        sure = claimed and not self.told.causes[0].likely
        shown = [self._tells(self.told.causes[0].evidence), self._tells(self.told.excerpt)]
        return Counter({
            "failed": 1, "right": int(right), "claimed": int(claimed), "claims right": int(right and claimed),
            "not only likely": int(sure), "of them right": int(right and sure),
            "telling line": int(shown[0]), "or in the excerpt": int(any(shown)),
        })  # fmt: skip

    def _tells(self, lines: Sequence[Evidence]) -> bool:
        return any(words in line.text for words in self.case["telling"] for line in lines)


def sets() -> list[Path]:
    """Return the files of all sets, the oldest first."""
    return sorted(FOLDER.glob("*.toml"))


Asked = Callable[[dict[str, Any]], Voter]


def judged(path: Path, voter: Voter = vote, of_case: Asked | None = None) -> list[Judged]:
    """Return each case of a set with what is said of it; *voter*: what labelled lines say of a line, *of_case*: what
    those say that a case may be judged by.
    """
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
            said = of_case(case) if of_case is not None else voter
            rows.append(Judged(case, diagnose(asked, digest, None, known, said)))
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


def left_out() -> Asked:
    """Return the voter of each case: it never knows the lines of the case's own thread."""
    from tests.agents.debug.voter import without  # which learns from these sets

    return lambda case: without(case["source"] or case["name"])


if __name__ == "__main__":
    voters = left_out() if "--left-out" in sys.argv[1:] else None
    for path in sets():
        print(path.stem)
        print(table(judged(path, of_case=voters)))
