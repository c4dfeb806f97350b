"""How many slips are noticed, by which spelling and in which shape of line, and whether their twins stay silent."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import cache
from typing import Iterator, NamedTuple, Optional, Sequence

from maple_submit_filter.answer.decision import Rewritten
from maple_submit_filter.answer.fate import suggested

from tests.reality import blind
from tests.reality.asked import Answer, ask, site
from tests.reality.corpus import Case, cases
from tests.reality.field import Work, lay_out
from tests.reality.slips.dressings import DRESSINGS, PLAIN, dressed
from tests.reality.slips.script import Script, with_one_line
from tests.reality.slips.slip import Slip, every

COLUMNS = ("made", "noticed", "by its rule", "offered", "unasked")
TWIN_COLUMNS = ("made", "said", "changed")


class Made(NamedTuple):
    """A slip in one script, and what becomes of it."""

    slip: Slip
    spelling: str
    dressing: str
    origin: Script
    text: bytes
    more: tuple[str, ...]  # codes found beside those of the right script
    cure: str  # "unasked", "offered" or ""
    says: tuple[str, ...]

    @property
    def counts(self) -> Counter[str]:
        """Return it as a row of the table."""
        own = bool(set(self.more) & set(self.slip.codes))
        return Counter({"made": 1, "noticed": int(bool(self.more)), "by its rule": int(own),
                        "offered": int(bool(self.cure and self.more)),
                        "unasked": int(self.cure == "unasked")})  # fmt: skip

    @property
    def harm(self) -> Counter[str]:
        """Return a twin as a row of the table."""
        return Counter({"made": 1, "said": int(bool(self.more)), "changed": int(self.cure == "unasked")})


@cache
def rights() -> tuple[Script, ...]:
    """Return every right script of the tree that can take a slip, of hand-written and of judged sets."""
    own = [
        (case, {file.path: file.content for file in case.files})
        for scheduler in ("slurm", "pbs")
        for kind in ("right", "tricky")
        for case in cases(kind, scheduler)
    ]
    judged = [(one.case, one.files) for path in blind.sets() for one in blind.read(path) if one.right]
    return tuple(with_one_line([*own, *judged]))


@cache
def _answer(origin: Script, dressing: str) -> Answer:
    text = dressed(origin.text, dressing)
    return blind.answered(origin.case._replace(script=text if text is not None else origin.text), origin.files)


def _codes(answer: Answer) -> Counter[str]:
    return Counter(finding.code for finding in answer.decision.findings)


def judged(slip: Slip, spelling: str, dressing: str, origin: Script, text: bytes) -> Made:
    """Return what Maple makes of a script with a slip, beside what it makes of the right one in the same shape."""
    before = _answer(origin, dressing)
    case = origin.case._replace(script=text)
    after, proposed = _proposed(case, origin)
    more = tuple((_codes(after) - _codes(before)).elements())
    changed = after.changed and not before.changed
    offered = bool(more) and not changed and proposed is not None
    says = tuple(f"{one.code} {one.says}" for one in after.decision.findings)
    return Made(slip, spelling, dressing, origin, text, more, "unasked" if changed else "offered" * offered, says)


def _proposed(case: Case, origin: Script) -> tuple[Answer, Optional[Rewritten]]:
    """Return what Maple decides, and what `maple check` would propose, with the files beside the script still there."""
    with tempfile.TemporaryDirectory(prefix="maple-slips-") as folder:
        answer = ask(case, lay_out(Work(case, origin.files), os.path.join(folder, "job")))
        return answer, suggested(answer.decision, answer.submission, site(case.site)).offered


def sound(text: Optional[bytes], origin: Script) -> bool:
    """Return whether a change was made, and bash reads what came out."""
    if text is None or text == origin.text:
        return False
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, timeout=10, check=False)
    return done.returncode == 0 and not done.stderr


def drawn(slip: Slip, twins: bool, each: int, seed: int) -> Iterator[Made]:
    """Yield up to *each* scripts a spelling as it stands, and as many with their launch line in another shape."""
    for spelling, change in (slip.twins if twins else slip.spellings).items():
        chance = random.Random(f"{seed} {slip.name} {spelling} {twins}")
        origins = [origin for origin in rights() if twins or slip.where(origin)]
        chance.shuffle(origins)
        left = {PLAIN: each, "other": each if slip.dressed else 0}
        for origin in origins:
            kind = PLAIN if left[PLAIN] >= left["other"] and left[PLAIN] else "other"
            if not left[kind]:
                break
            shape = PLAIN if kind == PLAIN else chance.choice(list(DRESSINGS))
            text = change(origin)
            text = dressed(text, shape) if text is not None else None
            if text is not None and dressed(origin.text, shape) is not None and sound(text, origin):
                left[kind] -= 1
                yield judged(slip, spelling, shape, origin, text)


def table(rows: Sequence[tuple[str, Counter[str]]], columns: Sequence[str]) -> str:
    """Return counts as text, summed by name in the order of their first."""
    sums: dict[str, Counter[str]] = {}
    for name, counts in rows:
        sums.setdefault(name, Counter()).update(counts)
    width = max((len(name) for name in sums), default=0) + 2
    head = " " * width + "".join(f"{column:>13}" for column in columns)
    lines = [f"{name:{width}}" + "".join(f"{counts[one]:13}" for one in columns) for name, counts in sums.items()]
    return "\n".join([head, *lines])


def show(made: Sequence[Made], twins: Sequence[Made], verbose: bool) -> None:
    """Print the tables: by slip, by spelling, by shape of line, and the twins."""
    by_slip: list[tuple[str, Counter[str]]] = []
    for slip in dict.fromkeys(one.slip.name for one in made):
        mine = [one for one in made if one.slip.name == slip]
        by_slip += [(f"{one.slip.codes[0]} {slip}", one.counts) for one in mine]
        by_slip += [(f"    {one.spelling:20} {one.slip.codes[0]} {slip[:30]}", one.counts) for one in mine]
    print(table([*by_slip, *(("all", one.counts) for one in made)], COLUMNS))
    print("\n" + table(sorted((one.dressing, one.counts) for one in made), COLUMNS))
    told = [(f"{one.slip.codes[0]} {one.slip.name}", one.harm) for one in twins]
    print("\ntwins\n" + table([*told, *(("all", one.harm) for one in twins)], TWIN_COLUMNS))
    for one in twins:
        if one.more or one.cure == "unasked":
            print(f"  TWIN {one.slip.name} / {one.spelling} / {one.dressing} in {one.origin.case.name}: {one.more}")
    if verbose:
        for one in made:
            if not one.more or not one.cure:
                print(f"  {'missed' if not one.more else 'no cure'} {one.slip.name} / {one.spelling} / {one.dressing}"
                      f" in {one.origin.case.name} {' | '.join(one.says)}")  # fmt: skip


def main(argv: Sequence[str]) -> int:
    """Print the tables: `python -m tests.reality.slips [SEED [EACH [WORD]]]`; WORD: those whose name or code has it."""
    seed, each = (int(argv[at]) if len(argv) > at else default for at, default in ((0, 1), (1, 2)))
    word = argv[2] if len(argv) > 2 else ""
    began = time.monotonic()
    chosen = [slip for slip in every() if word in slip.name or word in " ".join(slip.codes)]
    made = [one for slip in chosen for one in drawn(slip, False, each, seed)]
    twins = [one for slip in chosen for one in drawn(slip, True, each, seed)]
    show(made, twins, bool(word))
    print(f"\n{len(rights())} right scripts, {len(chosen)} slips, seed {seed}, {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
