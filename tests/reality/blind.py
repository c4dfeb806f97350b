"""Blind sets: scripts that were written and labelled without sight of Maple, judged by what runs and by their labels.

A set is one TOML file, `tests/cases/blind/<date>-<kind>.toml`; the date is that of its first run. Each `[[case]]` has

- `name`, `site`, `scheduler` ("slurm" or "pbs"), `script`; `words`: those behind sbatch or qsub, `{}` is the script;
  `[[case.file]]`: `path` and `text` of what lies where the job is submitted
- `label`: "right" or "broken"; `worlds`: sizes of the worlds that the author means, [] where they are not fixed
- `lab`: whether a lab has all it needs; `why`: what is strange about it, or what is wrong

Of right scripts it counts those that would be submitted changed and those that are accused with certainty (the goal is
none of either), of broken ones those found, mended unasked or by an offer, and, by what ran in the lab, those that were
mended into another wrong one.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections import Counter
from types import MappingProxyType
from typing import Any, Mapping, NamedTuple, Optional, Sequence

import tomllib

from tests.case_files import CASES
from tests.reality import pbs_field
from tests.reality.asked import Answer, ask, offered, repaired
from tests.reality.corpus import Case
from tests.reality.field import Ran, Work, lay_out, run_all
from tests.reality.mutants import sizes
from tests.reality.shapes import shape_of
from tests.reality.verdict import why_broken

PATIENT = "8"  # seconds that stand-ins wait for each other
SETS = os.path.join(CASES, "blind")
COLUMNS = (
    "scripts", "ran", "as labelled", "noticed", "certain", "changed", "then right", "then wrong", "not judged",
    "offered",
)  # fmt: skip


class Labelled(NamedTuple):
    """A case and what its author says of it."""

    case: Case
    files: Mapping[str, bytes]  # beside it, by path
    right: bool
    worlds: tuple[int, ...]
    why: str


class Judged(NamedTuple):
    """What became of a script: why it ran wrong as written and as Maple would submit it (None: right, "": not run)."""

    labelled: Labelled
    ran: Optional[str]
    answer: Answer
    after: Optional[str]
    sizes: tuple[int, ...]  # of the worlds that met in the run of what Maple would submit

    @property
    def counts(self) -> Counter[str]:
        """Return this case as a row of the table."""
        decision = self.answer.decision
        return Counter({
            "scripts": 1,
            "ran": int(self.ran != ""),
            "as labelled": int(self.ran != "" and (self.ran is None) == self.labelled.right),
            "noticed": int(bool(decision.findings)),
            "certain": int(bool(self.answer.proven)),
            "changed": int(self.answer.changed),
            "then right": int(self.answer.changed and self.after is None),
            "then wrong": int(self.answer.changed and bool(self.after)),
            "not judged": int(self.answer.changed and self.after == ""),
            "offered": int(decision.offered is not None and not self.answer.changed),
        })  # fmt: skip

    @property
    def harm(self) -> str:
        """Return what harm was done, "" where none: a right script touched or accused, a wrong one made wrong anew.

        One that is labelled right and ran wrong counts too: a person decides whether its author or the lab was wrong.
        """
        if self.labelled.right:
            return "changed" if self.answer.changed else "accused" if self.answer.proven else ""
        return "mended into another wrong one" if self.answer.changed and self.after else ""


def read(path: str) -> list[Labelled]:
    """Return the cases of a set, in its order."""
    with open(path, "rb") as file:
        return [_labelled(case) for case in tomllib.load(file)["case"]]


def _labelled(said: Mapping[str, Any]) -> Labelled:
    words = tuple(said.get("words", ("{}",)))
    wrapped = any(word == "--wrap" or word.startswith("--wrap=") for word in words)
    prefix = "pbs/" if said["scheduler"] == "pbs" else ""
    stdin = words[-2:] == ("<", "{}")
    case = Case(f"{prefix}{said['label']}/{said['name']}", said["site"], None if wrapped else said["script"].encode(),
                words[:-2] if stdin else words, stdin, (), said["lab"])  # fmt: skip
    files = {file["path"]: file["text"].encode() for file in said.get("file", ())}
    return Labelled(case, files, said["label"] == "right", tuple(said["worlds"]), said["why"])


def answered(case: Case, files: Mapping[str, bytes] = MappingProxyType({})) -> Answer:
    """Return what Maple decides, with the case's files where they would lie."""
    with tempfile.TemporaryDirectory(prefix="maple-asked-") as folder:
        return ask(case, lay_out(Work(case, files), os.path.join(folder, "job")))


def judge(cases: Sequence[Labelled]) -> list[Judged]:
    """Run every script that a lab can run, ask Maple about all, and run what it would submit in their place."""
    bare = _ran([Work(one.case, one.files) for one in cases])
    answers = [answered(one.case, one.files) for one in cases]
    changed = [index for index, answer in enumerate(answers) if answer.changed]
    later = dict(zip(changed, _ran([Work(repaired(cases[n].case, answers[n]), cases[n].files) for n in changed])))
    return [
        Judged(one, _why(bare[index]), answers[index], *_then(one, bare[index], later.get(index)))
        for index, one in enumerate(cases)
    ]


def _then(labelled: Labelled, before: Optional[Ran], after: Optional[Ran]) -> tuple[Optional[str], tuple[int, ...]]:
    """Return why what Maple would submit ran wrong (None: right; "": not judged) and the sizes of the worlds that met.

    Right is what a right run is, and what meets in the worlds that the author means though something else fails (a file
    that no lab has). What fails as it failed before, for want of a module or a partition, is not judged.
    """
    if after is None or before is None:
        return "", ()
    met, why = sizes(after), _why(after)
    if why and labelled.worlds and met == tuple(sorted(labelled.worlds)) and all(fact["ok"] for fact in after.facts):
        return None, met
    return ("" if why and not met and _alike(why, _why(before)) else why), met


def _alike(one: Optional[str], other: Optional[str]) -> bool:
    return re.sub(r"/\S+|\d+", "", one or "") == re.sub(r"/\S+|\d+", "", other or "")


def _ran(works: Sequence[Work]) -> list[Optional[Ran]]:
    """Return what each did, None for those that no lab can run."""
    found: dict[int, Ran] = {}
    for scheduler in ("slurm", "pbs"):
        which = [index for index, work in enumerate(works) if work.case.runs and work.case.scheduler == scheduler]
        those = [works[index] for index in which]
        runs = pbs_field.run_all(those, deadline=PATIENT) if scheduler == "pbs" else _on_slurm(those)
        found.update(zip(which, runs))
    return [found.get(index) for index in range(len(works))]


def _on_slurm(works: Sequence[Work]) -> list[Ran]:
    return run_all(works, shape_of, deadline=PATIENT)


def _why(ran: Optional[Ran]) -> Optional[str]:
    return why_broken(ran) if ran is not None else ""


def table(judged: Sequence[Judged]) -> str:
    """Return the counts as text, a row for each site, and the sum."""
    rows: dict[str, Counter[str]] = {}
    for one in judged:
        rows.setdefault(one.labelled.case.site, Counter()).update(one.counts)
        rows.setdefault("all", Counter()).update(one.counts)
    head = f"{'':20}" + "".join(f"{name:>13}" for name in COLUMNS)
    order = [*sorted(set(rows) - {"all"}), "all"]
    return "\n".join([head, *(f"{name:20}" + "".join(f"{rows[name][key]:13}" for key in COLUMNS) for name in order)])


def plain(one: Judged) -> dict[str, object]:
    """Return a case and its verdicts as JSON takes them."""
    decision = one.answer.decision
    return {
        "name": one.labelled.case.name,
        "site": one.labelled.case.site,
        "label": "right" if one.labelled.right else "broken",
        "why": one.labelled.why,
        "worlds": one.labelled.worlds,
        "ran": one.ran,
        "harm": one.harm,
        "verdict": decision.verdict,
        "proven": one.answer.proven,
        "says": [f"{finding.code} {finding.says}" for finding in decision.findings],
        "held_back": decision.held_back,
        "changed": one.answer.changed,
        "after": one.after,
        "sizes": one.sizes,
        "repaired": (repaired(one.labelled.case, one.answer).script or b"").decode("latin-1"),
        "offered": (offered(one.labelled.case, one.answer).script or b"").decode("latin-1"),
    }


def sets() -> list[str]:
    """Return the paths of the sets, the oldest first."""
    return [os.path.join(SETS, name) for name in sorted(os.listdir(SETS)) if name.endswith(".toml")]


def main(paths: Sequence[str]) -> int:
    """Judge each set (`python -m tests.reality.blind FILE ...`) and print its table; each case goes to build/."""
    harmed = 0
    for path in paths or sets():
        judged = judge(read(path))
        name = os.path.basename(path).removesuffix(".toml")
        os.makedirs("build", exist_ok=True)
        with open(f"build/blind-{name}.json", "w", encoding="utf-8") as file:
            json.dump([plain(one) for one in judged], file, indent=1)
        print(f"\n{name}, each case in build/blind-{name}.json\n{table(judged)}", flush=True)
        for one in judged:
            if one.ran and one.labelled.right:
                print(f"  labelled right, ran wrong: {one.labelled.case.name}: {one.ran}")
            if one.harm:
                harmed += 1
                print(f"  HARM {one.harm}: {one.labelled.case.name}: {' '.join(one.answer.proven)} {one.after or ''}")
    return harmed


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
