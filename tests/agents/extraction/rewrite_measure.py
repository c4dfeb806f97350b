"""What becomes of labelled requests once they are rewritten: `make bench-rewrites` prints it, rewrite by rewrite.

A request that gave its script, or rightly none, is rewritten in a way of `rewrites`; what comes then is judged by the
label that follows. Where the meaning was kept, another script than before is silently wrong too.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import tomllib

from tests.agents.extraction.blind_requests import FOLDER, Judged, asked
from tests.agents.extraction.rewrites import REWRITES, Case, Rewrite

GOOD = ("right", "told", "rightly asked", "rightly refused")


class Rewritten(NamedTuple):
    """A request before and after. *moved*: lines of the script that it lost and got, though the meaning was kept."""

    rewrite: Rewrite
    before: Judged
    after: Judged
    moved: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """Return what became of it: "silently wrong" also where another script came than before."""
        own, newly = self.after.verdict, {*self.after.told} - {*self.before.told}
        return "silently wrong" if self.moved and own in ("right", "told") and not newly else own


@cache
def requests() -> tuple[Case, ...]:
    """Return every labelled request of the blind sets."""
    return tuple(
        row for path in sorted(FOLDER.glob("*.toml")) for row in tomllib.loads(path.read_text("utf-8"))["case"]
    )


def rewritten(rewrite: Rewrite, count: int, seed: int, home: str) -> Iterator[Rewritten]:
    """Yield *count* rewritten requests at most, chosen by *seed* from those that the rewrite fits."""
    chance = random.Random("%s %d" % (rewrite.name, seed))
    cases = list(requests())
    chance.shuffle(cases)
    for case in cases:
        if count and (other := rewrite.make(case, chance)) is not None:
            before = asked(case, home)
            if before.verdict in GOOD and (rewrite.keeps or before.answer.get("script")):
                count -= 1
                after = asked(other, home)
                yield Rewritten(rewrite, before, after, _moved(before, after) if rewrite.keeps else ())


def _moved(before: Judged, after: Judged) -> tuple[str, ...]:
    """Return the lines that only one of two scripts has; none where only one has a script."""
    scripts = [one.answer.get("script") or "" for one in (before, after)]
    if not all(scripts):
        return ()
    first, second = (script.splitlines() for script in scripts)
    return (
        *("-" + line for line in first if line not in second),
        *("+" + line for line in second if line not in first),
    )


def _told(one: Rewritten) -> Iterator[str]:
    yield "    %-15s %-9s %s" % (one.verdict, one.after.case["site"][:9], one.after.case["name"])
    yield "      " + one.after.case["words"].replace("\n", "\n      ")
    yield "      lost %s told %s" % (one.after.lost, one.after.told) + "".join("\n      " + line for line in one.moved)
    answer = one.after.answer
    stops = [each for each in answer.get("unread", ()) if each["stops"]]
    yield "      %s" % (answer.get("error") or ("" if answer["script"] else (stops or answer["missing"])))


def main() -> None:
    """Print for each rewrite how many are right, asked or refused, and silently wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="one rewrite")
    parser.add_argument("--shown", default="silently wrong", help="verdicts whose requests are printed, with commas")
    options = parser.parse_args()
    sums: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as home:
        for rewrite in REWRITES:
            if options.only not in ("", rewrite.name):
                continue
            rows = list(rewritten(rewrite, options.count, options.seed, home))
            verdicts = Counter(one.verdict for one in rows)
            good, wrong = sum(map(verdicts.get, GOOD, (0,) * 4)), verdicts["silently wrong"]
            sums.update(rows=len(rows), good=good, wrong=wrong)
            print("%-20s %3d: right, told or rightly asked %3d, asked %3d, silently wrong %2d"
                  % (rewrite.name, len(rows), good, len(rows) - good - wrong, wrong))  # fmt: skip
            for one in rows:
                if one.verdict in options.shown.split(","):
                    print("\n".join(_told(one)))
    print("all: %(rows)d rewritten, right, told or rightly asked %(good)d, silently wrong %(wrong)d" % sums)


if __name__ == "__main__":
    main()
