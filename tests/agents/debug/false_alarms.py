"""Good runs that are accused, and failures that are called a success, counted:
`python -m tests.agents.debug.false_alarms [SEED [EACH]]`.

Logs of good runs are dressed with what sounds like a death and is none (`frightening.toml`), before, between or behind
what they say, as it is or in other clothes; logs of failures get a last line that sounds like a good end. Which log
gets which words is drawn by SEED; EACH: logs for each words at each place.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import tomllib
from maple_agents.diagnose.read.progress import ended_well, is_progress

from tests.agents.debug.blind_logs import sets
from tests.agents.debug.dressed import said

WORDS = tomllib.loads(Path(__file__).with_name("frightening.toml").read_text("utf-8"))
SEED, EACH = 1, 2
BAR = " 45%|████▌     | 450/1000 [01:10<01:26,  6.41it/s]"
TIME = "2026-11-21 10:00:00,123 "
QUIET = ("none", "unknown")
Log = Sequence[str]


class Alarm(NamedTuple):
    """A log with words put into it, and what is said of it. *plain*: what is said without them."""

    name: str
    kind: str
    place: str
    clothes: str
    words: str
    log: str
    plain: str
    answer: str


@cache
def logs(verdict: str) -> tuple[dict[str, Any], ...]:
    """Return the cases of the blind sets with *verdict*, "good" or "failed"."""
    return tuple(
        case for path in sets() for case in tomllib.loads(path.read_text("utf-8"))["case"] if case["verdict"] == verdict
    )


def _before(log: Log) -> int | None:
    """Return where the training has not begun yet."""
    return next((at for at, line in enumerate(log) if is_progress(line)), None)


def _between(log: Log) -> int | None:
    """Return where half of the steps are still to come; none where there are few."""
    steps = [at for at, line in enumerate(log) if is_progress(line)]
    return steps[len(steps) // 2] if len(steps) > 5 and steps[-1] - steps[len(steps) // 2] > 2 else None


def _behind(log: Log) -> int | None:
    """Return the end, where the log says that it is one."""
    return len(log) if any(ended_well([line]) for line in log[-8:]) else None


PLACES: dict[str, Callable[[Log], int | None]] = {"before": _before, "between": _between, "behind": _behind}
CLOTHES: dict[str, Callable[[Log], list[str]]] = {
    "plain": list,
    "times": list,  # before each line of the log
    "two ranks": lambda lines: [rank + line for line in lines for rank in ("[rank2]: ", "[rank5]: ")],
    "a bar": lambda lines: [BAR + "\r" + lines[0], *lines[1:]],
}


def put_in(case: dict[str, Any], words: str, place: str, clothes: str) -> str | None:
    """Return the log of *case* with *words* at *place*, None where it has no such place."""
    log = case["log"].rstrip("\n").split("\n")
    at = PLACES[place](log)
    if at is None:
        return None
    lines = [*log[:at], *CLOTHES[clothes](words.split("\n")), *log[at:]]
    return "\n".join([*(TIME + line if line else line for line in lines), ""] if clothes == "times" else [*lines, ""])


def alarms(seed: int = SEED, each: int = EACH) -> Iterator[Alarm]:
    """Yield good runs with frightening words in them."""
    drawn = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        for row in WORDS["harmless"]:
            for place in row["at"]:
                fit = [case for case in logs("good") if put_in(case, "", place, "plain") is not None]
                for words in row["lines"]:
                    for case in drawn.sample(fit, min(each, len(fit))):
                        clothes = drawn.choice(list(CLOTHES))
                        log = put_in(case, words, place, clothes) or ""
                        answers = [said(text, case["scheduler"], Path(folder)) for text in (case["log"], log)]
                        yield Alarm(case["name"], row["kind"], place, clothes, words, log, *answers)


def successes(seed: int = SEED, each: int = EACH) -> Iterator[Alarm]:
    """Yield failures whose last line sounds like a good end."""
    drawn = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        for row in WORDS["good_end"]:
            for words in row["lines"]:
                for case in drawn.sample(logs("failed"), each):
                    log = case["log"].rstrip("\n") + "\n" + words + "\n"
                    answers = [said(text, case["scheduler"], Path(folder)) for text in (case["log"], log)]
                    yield Alarm(case["name"], row["kind"], "end", "plain", words, log, *answers)


def accused(row: Alarm) -> bool:
    """Return whether a good run is accused that was not without the words."""
    return row.plain in QUIET and row.answer not in QUIET


def acquitted(row: Alarm) -> bool:
    """Return whether a failure is called a success that was not without the words."""
    return row.plain != "none" and row.answer == "none"


def _counted(rows: Sequence[Alarm], wrong: Callable[[Alarm], bool], name: str) -> Iterator[str]:
    total, bad = Counter((row.kind, row.place) for row in rows), [row for row in rows if wrong(row)]
    count = Counter((row.kind, row.place) for row in bad)
    yield "%d of %d %s" % (len(bad), len(rows), name)
    yield from ("  %-48s %-8s %d of %d" % (*key, count[key], total[key]) for key in total)
    for row in bad:
        yield "    %s, %s (%s): %s, plain %s: %s" % (
            row.name, row.place, row.clothes, row.answer, row.plain, row.words.replace("\n", " / ")[:110],
        )  # fmt: skip


def main(words: Sequence[str]) -> None:
    """Print both tables."""
    seed, each = (*map(int, words), *(SEED, EACH)[len(words) :])
    for line in _counted([*alarms(seed, each)], accused, "good runs accused"):
        print(line, flush=True)
    for line in _counted([*successes(seed, each * 10)], acquitted, "failures called a success"):
        print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
