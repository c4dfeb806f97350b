"""Two mistakes at once: how often one hides the other. `python -m tests.reality.slips.pairs [SEED [N]]`.

Both are found alone. In the script with both the rule of each should speak, or `maple check` should tell of it all the
same: as changed with the other, as found in the repaired script, or as still wrong behind what is on offer.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections import Counter
from typing import Iterator, NamedTuple, Optional, Sequence

from maple_submit_filter.answer.decision import decide
from maple_submit_filter.answer.fate import suggested
from maple_submit_filter.answer.remainder import remainder
from maple_submit_filter.host.bounded_file import read_file

from tests.reality import blind
from tests.reality.asked import site, submission
from tests.reality.field import Work, lay_out
from tests.reality.slips.measure import rights, sound
from tests.reality.slips.script import Script, only_line
from tests.reality.slips.slip import Slip, every

ALONE_FROM = 60  # draws for one pair that has a place, at most


class Pair(NamedTuple):
    """Two slips in one script. *untold*: codes that are found of one alone, and told nowhere of both."""

    first: Slip
    second: Slip
    origin: Script
    hidden: tuple[str, ...]  # not among the findings
    untold: tuple[str, ...]
    says: tuple[str, ...]


def _found(origin: Script, text: bytes) -> set[str]:
    """Return what is found, as far as the right script does not have it too."""
    base, here = (
        Counter(one.code for one in blind.answered(origin.case._replace(script=each), origin.files).decision.findings)
        for each in (origin.text, text)
    )
    return set(here - base)


def _changed(slip: Slip, script: Script, chance: random.Random) -> Optional[bytes]:
    """Return the script with the slip in a spelling that is drawn, None where it has no place."""
    if only_line(script.text) is None or not slip.where(script):
        return None
    text = slip.spellings[chance.choice(sorted(slip.spellings))](script)
    return text if text != script.text else None


def _told(origin: Script, text: bytes) -> tuple[set[str], tuple[str, ...]]:
    """Return all codes that `maple check` tells of a script, whichever way, and its findings."""
    case = origin.case._replace(script=text)
    with tempfile.TemporaryDirectory(prefix="maple-pairs-") as folder:
        asked = submission(case, lay_out(Work(case, origin.files), os.path.join(folder, "job")))
        answer = suggested(decide(asked, site(case.site), peruse=read_file), asked, site(case.site))
        ways = [way for way in (answer.offered,) if way is not None and way != answer.repaired]
        rest = remainder(answer.findings, answer.repaired, ways, asked, site(case.site))
    changes = [way for way in (answer.repaired, *ways) if way is not None]
    codes = {code for way in changes for _, code in way.because}
    later = [*answer.findings, *rest.new, *(one for behind in rest.behind for one in behind)]
    return codes | {one.code for one in later}, tuple(f"{one.code} {one.says}" for one in answer.findings)


def _pair(first: Slip, second: Slip, origin: Script, seed: str) -> Optional[Pair]:
    """Return what becomes of both in one script; None where they have no place there, or one is not found alone."""
    one = _changed(first, origin, random.Random(seed + "1"))
    other = _changed(second, origin, random.Random(seed + "2"))
    if one is None or other is None:
        return None
    both = _changed(second, Script(origin.case._replace(script=one), origin.beside), random.Random(seed + "2"))
    if both is None or not sound(both, origin):
        return None
    alone = [_found(origin, text) & set(slip.codes) for slip, text in ((first, one), (second, other))]
    if not all(alone):
        return None
    here = _found(origin, both)
    hidden = [codes for codes in alone if not codes & here]
    told, says = _told(origin, both) if hidden else (set(), ())
    untold = [codes for codes in hidden if not codes & told]
    return Pair(first, second, origin, _listed(hidden), _listed(untold), says)


def _listed(parts: Sequence[set[str]]) -> tuple[str, ...]:
    return tuple(code for part in parts for code in sorted(part))


def drawn(seed: int, most: int) -> Iterator[Pair]:
    """Yield so many pairs of slips that different rules know."""
    chance, slips, origins = random.Random(seed), every(), list(rights())
    made = 0
    for number in range(ALONE_FROM * most):
        first, second = chance.sample(slips, 2)
        pair = _pair(first, second, chance.choice(origins), f"{seed} {number} ")
        if pair is not None and first.codes[0] != second.codes[0]:
            made += 1
            yield pair
        if made == most:
            return


def main(argv: Sequence[str]) -> int:
    """Print how many are hidden and how many are told nowhere, and each of these."""
    seed, most = (int(argv[at]) if len(argv) > at else default for at, default in ((0, 1), (1, 100)))
    began = time.monotonic()
    pairs = list(drawn(seed, most))
    counts = [sum(bool(codes) for codes in column) for column in zip(*((one.hidden, one.untold) for one in pairs))]
    print(f"{len(pairs)} pairs: one is not among the findings in {counts[0]}, and told nowhere in {counts[1]}"
          f" (seed {seed}, {time.monotonic() - began:.0f} s)")  # fmt: skip
    for pair in pairs:
        if pair.untold:
            names = " / ".join(f"{slip.codes[0]} {slip.name}" for slip in (pair.first, pair.second))
            print(f"  {' '.join(pair.untold)} of {names} in {pair.origin.case.name}: {' | '.join(pair.says)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
