"""Blind sets: scripts that were written and labelled without sight of Maple, judged by what runs and by their labels.

A set is a folder of `NAME.sh` and `NAME.toml`. The label says

- `site`, `scheduler` ("slurm" or "pbs"); `words`: those behind sbatch or qsub, `{}` is the script among them
- `label`: "right" or "broken"; `worlds`: sizes of the worlds that the author means, [] where they are not fixed
- `files`: a folder beside it whose content lies where the job is submitted
- `lab`: whether a lab has all it needs; `why`: what is strange about it, or what is wrong

Of right scripts it counts those that would be submitted changed and those that are accused with certainty (the goal is
none of either), of broken ones those found, mended unasked or by an offer, and, by what ran in the lab, those that were
mended into another wrong one.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from typing import NamedTuple, Optional, Sequence

import tomllib

from tests.reality import pbs_field
from tests.reality.asked import Answer, ask, offered, repaired
from tests.reality.corpus import CASES, Case
from tests.reality.field import Ran, Work, lay_out, run_all
from tests.reality.mutants import sizes
from tests.reality.shapes import shape_of
from tests.reality.verdict import why_broken

PATIENT = "8"  # seconds that stand-ins wait for each other
SETS = os.path.join(CASES, "blind")
COLUMNS = ("scripts", "ran", "as labelled", "noticed", "certain", "changed", "then right", "then wrong", "offered")


class Labelled(NamedTuple):
    """A case and what its author says of it."""

    case: Case
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


def read(folder: str) -> list[Labelled]:
    """Return the cases of a set, by name."""
    names = sorted(name[:-5] for name in os.listdir(folder) if name.endswith(".toml"))
    return [_read(folder, name) for name in names]


def _read(folder: str, name: str) -> Labelled:
    with open(os.path.join(folder, name + ".toml"), "rb") as file:
        label = tomllib.load(file)
    with open(os.path.join(folder, name + ".sh"), "rb") as file:
        script = file.read()
    words = tuple(label.get("words", ("{}",)))
    wrapped = any(word == "--wrap" or word.startswith("--wrap=") for word in words)
    files = os.path.join(folder, label["files"]) if label.get("files") else ""
    prefix = "pbs/" if label["scheduler"] == "pbs" else ""
    stdin = words[-2:] == ("<", "{}")
    case = Case(f"{prefix}{label['label']}/{name}", label["site"], None if wrapped else script,
                words[:-2] if stdin else words, stdin, files, bool(label["lab"]))  # fmt: skip
    return Labelled(case, label["label"] == "right", tuple(label.get("worlds", ())), label["why"])


def answered(case: Case) -> Answer:
    """Return what Maple decides, with the case's files where they would lie."""
    with tempfile.TemporaryDirectory(prefix="maple-asked-") as folder:
        return ask(case, lay_out(Work(case), os.path.join(folder, "job")))


def judge(cases: Sequence[Labelled]) -> list[Judged]:
    """Run every script that a lab can run, ask Maple about all, and run what it would submit in their place."""
    bare = _ran([one.case for one in cases])
    answers = [answered(one.case) for one in cases]
    mended = [repaired(one.case, answer) if answer.changed else None for one, answer in zip(cases, answers)]
    later = iter(_ran([one for one in mended if one is not None]))
    after = [next(later) if one is not None else None for one in mended]
    return [
        Judged(one, _why(ran), answer, _why(then) if then else None, sizes(then) if then is not None else ())
        for one, ran, answer, then in zip(cases, bare, answers, after)
    ]


def _ran(cases: Sequence[Case]) -> list[Optional[Ran]]:
    """Return what each case did, None for those that no lab can run."""
    found: dict[int, Ran] = {}
    for scheduler in ("slurm", "pbs"):
        which = [index for index, case in enumerate(cases) if case.runs and case.scheduler == scheduler]
        works = [Work(cases[index]) for index in which]
        runs = pbs_field.run_all(works, deadline=PATIENT) if scheduler == "pbs" else _on_slurm(works)
        found.update(zip(which, runs))
    return [found.get(index) for index in range(len(cases))]


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


def main(folders: Sequence[str]) -> int:
    """Judge each set (`python -m tests.reality.blind FOLDER ...`) and print its table; each case goes to build/."""
    harmed = 0
    for folder in folders or [os.path.join(SETS, name) for name in sorted(os.listdir(SETS))]:
        judged = judge(read(folder))
        name = os.path.basename(os.path.normpath(folder))
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
