"""Fragments of logs with what is to be read in them, and what is read."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import tomllib
from maple_agents.progress.answers import progress as steps
from maple_agents.progress.answers import throughput
from maple_agents.progress.formats import formats
from maple_agents.progress.log_ends import progress
from maple_agents.progress.values import Progress

CASES = Path(__file__).parents[2] / "cases" / "progress"
TRAPS = "traps.toml"
BLIND = Path(__file__).parents[2] / "cases" / "blind-progress"
NOW = 1_790_000_000.0
KEYS = ("step", "total", "epoch", "loss", "speed", "unit")


class Fragment(NamedTuple):
    """*wanted*: what is labelled; what is not labelled is not told, but for the epoch."""

    name: str
    format: str
    text: str
    wanted: dict[str, Any]
    source: str = ""

    def __str__(self) -> str:
        return self.name


def public(one: Fragment) -> str:
    """Return how public a fragment's source is: by its address, named only, or made here after a program's source."""
    return "address" if one.source.startswith("https://") else "made" if one.source.startswith("made") else "named"


def fragments() -> Iterator[Fragment]:
    """Yield every fragment of a format."""
    for path in sorted(CASES.glob("*.toml")):
        if path.name != TRAPS:
            yield from _of(path)


def traps() -> Iterator[Fragment]:
    """Yield every text that has a number which is no total of the run."""
    yield from _of(CASES / TRAPS)


def _of(path: Path) -> Iterator[Fragment]:
    for case in tomllib.loads(path.read_text("utf-8"))["case"]:
        wanted = {key: case[key] for key in KEYS if key in case}
        yield Fragment(case["name"], path.stem, case["text"], wanted, case.get("from", ""))


def read(text: str, folder: Path) -> Progress:
    """Return what is read of a log with that text."""
    path = folder / "log.out"
    path.write_bytes(text.encode("utf-8"))
    return progress([str(path)], formats(), NOW)


def told(found: Progress) -> dict[str, Any]:
    """Return the numbers that are read, without those that are not.

    *total* is printed or told as such. *product*: epochs times the steps of one, both printed; it is said as "50 epochs
    of 1563 steps" and is no total. *place*: of a step that is said as the place in an epoch. *throughput*: samples or
    tokens a second beside the time of a step.
    """
    last = found.course.last
    if last is None:
        return {"total": found.course.total.steps} if found.course.total else {}
    loss = found.course.losses[-1][1] if found.course.losses else None
    total, rate, epoch = found.course.total, throughput(found), steps(found)["epoch"]
    said = {
        "step": last.step,
        "total": total.steps if total and not total.epochs else None,
        "product": total.steps if total and total.epochs else None,
        "factors": (total.epochs, total.steps // total.epochs) if total and total.epochs else None,
        "place": last.step if last.scope == "epoch" else None,
        "epoch": epoch["at"] if epoch is not None else None,
        "loss": loss if loss is not None and math.isfinite(loss) else None,
        "speed": last.speed.value if last.speed else None,
        "unit": last.speed.unit if last.speed else None,
        "throughput": rate["value"],
        "of": rate["unit"],
    }
    return {key: value for key, value in said.items() if value is not None}


def wrong(one: Fragment, folder: Path) -> dict[str, tuple[Any, Any]]:
    """Return the keys of step, total, speed and loss that are read otherwise: what is wanted, and what is told."""
    found = told(read(one.text, folder))
    keys = [key for key in KEYS if key != "epoch" or key in one.wanted]
    off = {key: (one.wanted.get(key), found.get(key)) for key in keys if one.wanted.get(key) != found.get(key)}
    if is_total(one, found):
        off.pop("total", None)
    if "speed" in off and _is_speed(one.wanted, found.get("throughput"), found.get("of")):
        off = {key: value for key, value in off.items() if key not in ("speed", "unit")}
    return off


# What both judges hold of a product: it is a reading where both of its numbers stand in the fragment, whether the label
# takes it for a total or leaves it out, and is made up where one does not.


def is_total(one: Fragment, found: dict[str, Any]) -> bool:
    """Return whether the total that is told is the label's, or a product of what is printed that it does not deny."""
    wanted = one.wanted.get("total")
    if "product" not in found:
        return _same(wanted, found.get("total"))
    epochs, steps = found["factors"]
    stand = [
        re.search(r"(?<![\d.,])(?:%s)(?!\d|,\d)" % number, one.text)
        for number in ("%d|%d" % (epochs, epochs - 1), steps)
    ]  # a bar that counts from 0 prints the last epoch
    return all(stand) and (wanted is None or _same(wanted, found["product"]))


# The blind set: fragments labelled without sight of the code.

JUDGED = ("step", "total", "speed", "loss")
_NEAR = 1e-3
_UNITS = {"step": "it", "iter": "it", "iters": "it", "steps": "it", "update": "it", "updates": "it", "sec": "s"}
_UNITS.update({"img": "samples", "images": "samples", "image": "samples", "tok": "tokens"})
_UNITS["words"] = "tokens"  # fairseq calls its tokens so


def blind() -> Iterator[tuple[Fragment, bool]]:
    """Yield every fragment of the blind sets, and whether a number in it only looks like a total."""
    for path in sorted(BLIND.glob("*.toml")):
        of_traps = [case.get("trap", False) for case in tomllib.loads(path.read_text("utf-8"))["case"]]
        yield from zip(_of(path), of_traps)


def judged(one: Fragment, folder: Path) -> dict[str, bool]:
    """Return which of the judged values are told as labelled; what is not labelled must not be told.

    A speed is right in any spelling of its unit, and within a thousandth. *all*: step, total and speed. *invented*: a
    total that the label does not have. Where labels differ by who wrote them: a product counts as both judges hold; the
    place in an epoch is told as such, and right whether a label calls it a step or has none; of a line that prints the
    time of a step and samples a second both are told, and a label has one of them. *strictly*: none of that.
    """
    found = told(read(one.text, folder))
    right = {key: _same(one.wanted.get(key), found.get(key)) for key in JUDGED}
    right["speed"] = _is_speed(one.wanted, found.get("speed"), found.get("unit"))
    right["strictly"] = right["step"] and right["total"] and right["speed"] and "product" not in found
    right["step"] = right["step"] or ("step" not in one.wanted and "place" in found and "epoch" in one.wanted)
    right["speed"] = right["speed"] or _is_speed(one.wanted, found.get("throughput"), found.get("of"))
    right["total"] = is_total(one, found)
    right["all"] = right["step"] and right["total"] and right["speed"]
    right["invented"] = not right["total"] and ("total" in found or "product" in found)
    return right


def _is_speed(wanted: dict[str, Any], value: float | None, unit: str | None) -> bool:
    return _same(wanted.get("speed"), value) and _unit(wanted.get("unit")) == _unit(unit)


def _same(wanted: float | None, said: float | None) -> bool:
    if wanted is None or said is None:
        return wanted is said
    return math.isclose(wanted, said, rel_tol=_NEAR)


def _unit(unit: str | None) -> str:
    above, _, below = (unit or "").removesuffix(" of one device").partition("/")
    return "%s/%s" % (_UNITS.get(above, above), _UNITS.get(below, below))
