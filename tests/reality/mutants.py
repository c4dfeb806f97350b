"""Mutants judged by what ran.

Right scripts are changed by seeded operators; each mutant runs bare on a lab in the shape of its site, and the facts
say whether it is broken. Then Maple sees it, and what Maple makes of it runs, too. Two figures matter: how many broken
mutants are found and mended, and how many that still run right are touched or called wrong (the goal is none).
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import cache
from typing import Callable, Iterable, Mapping, NamedTuple, Optional, Sequence

from tests.reality import pbs_field
from tests.reality.asked import Answer, ask, repaired
from tests.reality.corpus import Case, cases
from tests.reality.field import DEADLINE, Ran, Work, lay_out, run_all
from tests.reality.operators import KEEPING, MEANT_TO_BREAK, Operator
from tests.reality.pbs_keeping import PBS_KEEPING
from tests.reality.pbs_operators import PBS_MEANT_TO_BREAK
from tests.reality.shapes import shape_of
from tests.reality.verdict import why_broken

HIDDEN = 3  # one in so many breaking mutants is hidden as well, by an operator that keeps the meaning
PATIENT = "8"  # seconds stand-ins wait in the second run of what is contested
NEEDS_RANK = b"import torch.distributed as dist\n\ndist.init_process_group()\n"
COLUMNS = (
    "mutants", "broken", "found", "repaired", "then right", "same worlds", "still right", "changed", "called wrong",
)  # fmt: skip


class Range(NamedTuple):
    """One scheduler's part: its scripts, the changes made to them, and how they are run within a deadline."""

    scheduler: str
    breaking: Mapping[str, Operator]
    keeping: Mapping[str, Operator]
    run: Callable[[Sequence[Work], str], list[Ran]]

    @property
    def operators(self) -> dict[str, Operator]:
        """Return every operator by name."""
        return {**self.breaking, **self.keeping}

    def origins(self) -> list[Case]:
        """Return the right scripts that a lab can run."""
        return [case for case in cases("right", self.scheduler) if case.script is not None and case.runs]


SLURM = Range("slurm", MEANT_TO_BREAK, KEEPING, lambda works, deadline: run_all(works, shape_of, deadline=deadline))
PBS = Range("pbs", PBS_MEANT_TO_BREAK, PBS_KEEPING, lambda works, deadline: pbs_field.run_all(works, deadline=deadline))


class Mutant(NamedTuple):
    """A right script changed by an operator (and hidden by another one, or "")."""

    case: Case
    origin: Case
    operator: str
    hidden: str


class Result(NamedTuple):
    """What became of a mutant. *broken*, *still_broken*: why, None when right. *answer*: what Maple said."""

    mutant: Mutant
    broken: Optional[str]
    answer: Answer
    still_broken: Optional[str]
    worlds: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())  # sizes that met: of the origin, and after the repair

    @property
    def counts(self) -> Counter[str]:
        """Return this result as a row of the table."""
        if self.broken is None:
            return Counter(
                {
                    "mutants": 1,
                    "still right": 1,
                    "changed": int(self.answer.changed),
                    "called wrong": int(bool(self.answer.proven)),
                }
            )
        mended = self.answer.changed
        return Counter({"mutants": 1, "broken": 1, "found": int(bool(self.answer.proven)), "repaired": int(mended),
                        "then right": int(mended and self.still_broken is None),
                        "same worlds": int(mended and self.worlds[0] == self.worlds[1])})  # fmt: skip


def mutants(
    origins: Sequence[Case], seed: int, operators: Optional[Iterable[str]] = None, within: Range = SLURM
) -> list[Mutant]:
    """Return every mutant of *origins*, each once, in an order that depends on nothing but the seed."""
    found: list[Mutant] = []
    seen = {(case.site, case.script) for case in origins}
    for origin in origins:
        for name in within.operators if operators is None else operators:
            chance = random.Random(f"{seed}:{name}:{origin.name}")
            for hidden in (
                "",
                chance.choice(sorted(within.keeping))
                if name in within.breaking and chance.randrange(HIDDEN) == 0
                else None,
            ):
                made = _made(origin, name, hidden, chance, within) if hidden is not None else None
                if made and (origin.site, made.case.script) not in seen:
                    seen.add((origin.site, made.case.script))
                    found.append(made)
    return found


def _made(origin: Case, name: str, hidden: str, chance: random.Random, within: Range) -> Optional[Mutant]:
    script = within.operators[name](origin.script or b"", chance)
    if script is not None and hidden:
        script = within.operators[hidden](script, chance)
    if script is None or script == origin.script or not _parses(script):
        return None
    label = f"{origin.name}~{name}" + (f"+{hidden}" if hidden else "")
    return Mutant(origin.with_script(script, origin.words, label), origin, name, hidden)


@cache
def _parses(script: bytes) -> bool:
    """Return whether bash reads it; the mutants of one seed are made by several tests."""
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, timeout=10, check=False)
    return done.returncode == 0 and not done.stderr


def programs(ran: Ran) -> Mapping[str, bytes]:
    """Return a file for each program that held a rank in a right run: one that insists on having a rank."""
    found = {fact["program"] for fact in ran.leaves if fact["source"] == "torch" and fact["program"].endswith(".py")}
    return {os.path.normpath(name): NEEDS_RANK for name in sorted(found) if not os.path.isabs(name)}


def sizes(ran: Ran) -> tuple[int, ...]:
    """Return the sizes of the worlds that met in a run, the smallest first."""
    worlds = {fact["world_id"]: fact["world_size"] for fact in ran.leaves}
    return tuple(sorted(size for size in worlds.values() if size is not None))


class Needs(dict[str, bytes]):
    """Files for the mutants of an origin, and the sizes of the worlds that met when it ran."""

    worlds: tuple[int, ...] = ()


def judge(made: Sequence[Mutant], needs: Mapping[str, Needs], within: Range = SLURM) -> list[Result]:
    """Run each mutant bare and through Maple. *needs*: what each origin needs, by its name."""
    works = [Work(one.case, needs.get(one.origin.name, Needs())) for one in made]
    reasons = [why_broken(ran) for ran in within.run(works, DEADLINE)]
    answers = [_answer(work) for work in works]
    again = [
        index
        for index, answer in enumerate(answers)
        if reasons[index] is not None and (made[index].operator in within.keeping or not answer.proven)
    ]
    _run_again(works, reasons, again, within)
    changed = [index for index, answer in enumerate(answers) if answer.changed]
    mended = [Work(repaired(made[index].case, answers[index]), works[index].extra) for index in changed]
    runs = within.run(mended, DEADLINE)
    after: list[Optional[str]] = [why_broken(ran) for ran in runs]
    met = {index: (needs[made[index].origin.name].worlds, sizes(ran)) for index, ran in zip(changed, runs)}
    _run_again(mended, after, [index for index, why in enumerate(after) if why is not None], within)
    later = dict(zip(changed, after))
    return [
        Result(one, reasons[index], answers[index], later.get(index), met.get(index, ((), ())))
        for index, one in enumerate(made)
    ]


def _run_again(works: Sequence[Work], reasons: list[Optional[str]], which: Sequence[int], within: Range) -> None:
    """A loaded machine can be too slow for a short deadline: what matters is run a second time, with patience."""
    again = [works[index] for index in which]
    for index, ran in zip(which, within.run(again, PATIENT)):
        reasons[index] = why_broken(ran)


def _answer(work: Work) -> Answer:
    with tempfile.TemporaryDirectory(prefix="maple-asked-") as folder:
        return ask(work.case, lay_out(work, os.path.join(folder, "job")))


def baseline(origins: Sequence[Case], within: Range = SLURM) -> tuple[list[Case], dict[str, Needs], dict[str, str]]:
    """Return the origins that run right, their programs' files, and why the others do not."""
    good, bad = [], {}
    needs: dict[str, Needs] = {}
    for ran in within.run([Work(case) for case in origins], DEADLINE):
        why = why_broken(ran)
        if why is None:
            good.append(ran.case)
            needs[ran.case.name] = Needs(programs(ran))
            needs[ran.case.name].worlds = sizes(ran)
        else:
            bad[ran.case.name] = why
    return good, needs, bad


# ---- the table


def table(results: Sequence[Result], by: str, within: Range = SLURM) -> str:
    """Return the counts as text, a row for each operator or site, and the sum."""
    rows: dict[str, Counter[str]] = {}
    for result in results:
        name = result.mutant.operator if by == "operator" else result.mutant.case.site
        rows.setdefault(name, Counter()).update(result.counts)
        rows.setdefault("all", Counter()).update(result.counts)
    order = [name for name in within.operators if name in rows] if by == "operator" else sorted(set(rows) - {"all"})
    head = f"{by:28}" + "".join(f"{name:>14}" for name in COLUMNS)
    lines = [
        f"{name:28}" + "".join(f"{rows[name][column]:14}" for column in COLUMNS)
        for name in [*order, "all"]
        if name in rows
    ]
    return "\n".join([head, *lines])


def plain(result: Result) -> dict[str, object]:
    """Return a result as JSON takes it."""
    mutant, answer = result.mutant, result.answer
    mended = repaired(mutant.case, answer)
    return {
        "name": mutant.case.name,
        "site": mutant.case.site,
        "operator": mutant.operator,
        "hidden": mutant.hidden,
        "broken": result.broken,
        "verdict": answer.decision.verdict,
        "proven": answer.proven,
        "changed": answer.changed,
        "still_broken": result.still_broken,
        "worlds": result.worlds,
        "says": [finding.says for finding in answer.decision.findings],
        "held_back": answer.decision.held_back,
        "script": (mutant.case.script or b"").decode("latin-1"),
        "repaired": (mended.script or b"").decode("latin-1") if answer.changed else None,
    }


def keep(results: Sequence[Result], path: str) -> None:
    """Write the results to a JSON file."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump([plain(result) for result in results], file, indent=1)


def main(argv: Sequence[str], within: Range = SLURM, path: str = "build/mutants.json") -> int:
    """Run the full table, or a sample: `python -m tests.reality.mutants [SEED [COUNT]]`. The results go to *path*."""
    seed = int(argv[0]) if argv else 1
    began = time.monotonic()
    good, needs, bad = baseline(within.origins(), within)
    made = mutants(good, seed, within=within)
    if len(argv) > 1:
        made = random.Random(seed).sample(made, min(int(argv[1]), len(made)))
    print(
        f"{len(good)} right scripts, {len(bad)} that do not run right here, {len(made)} mutants, seed {seed}",
        flush=True,
    )
    for name, why in bad.items():
        print(f"  not right: {name}: {why}")
    results = judge(made, needs, within)
    keep(results, path)
    print(table(results, "operator", within), table(results, "site", within), sep="\n\n")
    print(f"\n{time.monotonic() - began:.0f} s; each mutant in {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
