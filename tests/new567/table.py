"""What came of the requests, as tables and as a file."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, NamedTuple

from tests.new567.answering import Made, Start, answer_all, command, started
from tests.new567.asked import WAYS, Asked
from tests.new567.judging import reasons
from tests.new567.running import Script, run
from tests.reality.field import Ran


class Result(NamedTuple):
    """One request and what is wrong with what came of it; [] where all is right. *output*: what its job printed."""

    asked: Asked
    made: Made
    wrong: list[str]
    output: str = ""


def results(asked: Sequence[Asked], cache: str, labs: int = 3, start: Start = started) -> list[Result]:
    """Ask, run and judge every one of them; *start* runs `maple`."""
    made = answer_all(asked, cache, start)
    runs = [number for number, one in enumerate(made) if one.script is not None and not one.exit]
    found = dict(zip(range(len(asked)), (_judged(one, made[at], None) for at, one in enumerate(asked))))
    for _ in range(2):  # what did not run right is run once more: a busy machine is no fault of a script
        again = [at for at in runs if any(why.startswith("run:") for why in found[at].wrong)]
        ran = run([Script(f"{at}", asked[at].case.site, made[at].script or b"") for at in again], labs)
        found.update((at, _judged(asked[at], made[at], one)) for at, one in zip(again, ran))
    return [found[at] for at in range(len(asked))]


def _judged(one: Asked, made: Made, ran: Ran | None) -> Result:
    return Result(one, made, reasons(one, made, ran), ran.output if ran else "")


def table(found: Sequence[Result]) -> str:
    """Return the tables by cluster, by strategy or model and by way of asking, what is wrong, and the sum."""
    parts = [
        _rows(found, "cluster", lambda one: one.asked.case.site),
        _rows(found, "strategy or model", lambda one: one.asked.case.name),
        _rows(found, "way of asking", lambda one: one.asked.way),
    ]
    wrong = [f"  {one.asked.name}: {one.wrong[0]}" for one in found if one.wrong]
    parts += ["\n".join(["wrong:", *wrong])] if wrong else []
    times = sorted(one.made.seconds for one in found)
    texts = {hashlib.sha256(one.made.script).digest() for one in found if one.made.script}
    parts.append(
        f"{len(texts)} distinct scripts; request to script, the whole process: median {median(times):.2f} s, "
        f"95 % within {times[int(0.95 * (len(times) - 1))]:.2f} s"
    )
    right = sum(not one.wrong for one in found)
    return "\n\n".join(parts) + f"\n\n{right} of {len(found)}"


def _rows(found: Sequence[Result], title: str, of: Callable[[Result], str]) -> str:
    names = list(dict.fromkeys(of(one) for one in found))
    order = [name for name in WAYS if name in names] if set(names) <= set(WAYS) else names
    every = Counter(of(one) for one in found)
    right = Counter(of(one) for one in found if not one.wrong)
    return "\n".join([f"{title:22}{'right':>7}{'of':>6}"] + [f"{n:22}{right[n]:7}{every[n]:6}" for n in order])


def plain(one: Result) -> dict[str, Any]:
    """Return a result as JSON takes it."""
    return {
        "name": one.asked.name,
        "came_from": one.asked.came_from,
        "wrong": one.wrong,
        "command": command(one.asked),
        "theirs": (one.asked.script or b"").decode(),
        "exit": one.made.exit,
        "said": one.made.said,
        "asked": one.made.asked,
        "seconds": round(one.made.seconds, 3),
        "answer": one.made.document,
        "output": one.output[-3000:],
        "script": (one.made.script or b"").decode(errors="replace"),
    }


def keep(found: Sequence[Result], path: str) -> None:
    """Write every result to a JSON file."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump([plain(one) for one in found], file, indent=1)
