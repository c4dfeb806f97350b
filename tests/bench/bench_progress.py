"""`make bench-progress`: how well `maple progress` reads logs, tells the time left, and holds its peace."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from tests.agents.progress import real_trainings
from tests.agents.progress.fragments import KEYS, blind, fragments, is_total, judged, public, read, told, traps, wrong
from tests.agents.progress.kept_trainings import kept
from tests.agents.progress.kept_trainings import seen as seen_of
from tests.agents.progress.lies import believed, transcripts
from tests.agents.progress.made import SHAPES, moment, seen
from tests.agents.progress.test_reading_ends import MEASURE, lines
from tests.agents.progress.test_time_left import HEALTHY, LIMITED, is_told_late

SOURCES = ("address", "named", "made")
SHARES = (0.1, 0.25, 0.5, 0.75, 0.95)


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table."""
    cells = [[str(cell) for cell in row] for row in [head, *rows]]
    widths = [max(len(row[at]) for row in cells) for at in range(len(head))]
    print("\n" + title)
    for row in cells:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def percent(part: float, of: float) -> str:
    """Return a share."""
    return "%.1f %%" % (100 * part / of) if of else "-"


def test_progress_fragments(tmp_path: Path) -> None:
    """Fragments and traps, format by format; labelled by who wrote the formats, so an upper bound."""
    cases, bad, keys, of = Counter[str](), Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    for one in fragments():
        off = wrong(one, tmp_path)
        cases[one.format] += 1
        of[one.format, public(one)] += 1
        bad[one.format] += bool(off)
        keys.update(off)
    rows = [
        (name, count, *(of[name, how] for how in SOURCES), count - bad[name]) for name, count in sorted(cases.items())
    ]
    whole = sum(cases.values())
    sums = [sum(of[name, how] for name in cases) for how in SOURCES]
    rows.append(
        ("all", whole, *sums, "%d, %s" % (whole - sum(bad.values()), percent(whole - sum(bad.values()), whole)))
    )
    head = ("format", "fragments", "public, with address", "public, named", "made", "right")
    table("fragments: step, total, speed and loss all right", head, rows)
    table("by value", ("value", "right"), [(key, percent(whole - keys[key], whole)) for key in KEYS])
    found = [(one, told(read(one.text, tmp_path))) for one in traps()]
    made_up = [one.name for one, said in found if ("total" in said or "product" in said) and not is_total(one, said)]
    table("traps", ("traps", "totals made up"), [(len(found), len(made_up))])


def test_progress_blind(tmp_path: Path) -> None:
    """Fragments that were labelled without sight of the code."""
    right, cases = Counter[str](), 0
    for one, _ in blind():
        found = judged(one, tmp_path)
        cases += 1
        right.update(key for key, value in found.items() if value)
    table("blind fragments, of %d" % cases, ("value", "right"), sorted(right.items()))


def test_progress_made_trainings(tmp_path: Path) -> None:
    """Logs of trainings whose end is known: the error of the time left, and alarms where nothing is wrong."""
    rows, alarmed, looks = [], 0, 0
    for share in SHARES:
        off = []
        for made in HEALTHY:
            for shape in SHAPES:
                now = moment(made, share)
                said = seen(tmp_path, made, shape, now)
                alarmed, looks = alarmed + bool(said.alarms), looks + 1
                if said.estimate.left is not None:
                    off.append(abs(said.estimate.left / (made.ends - now) - 1))
        rows.append(("%d %%" % (100 * share), len(off), *spread(off)))
    table("made trainings: error of the time left", ("at", "told", "median", "within 30 %", "worst"), rows)
    table("healthy runs", ("looks", "alarms"), [(looks, alarmed)])


def test_progress_limits_and_lies(tmp_path: Path) -> None:
    """Ends before and after the limit, and what a model says that may only choose a question."""
    right = sum(is_told_late(made, short, tmp_path) == (short < 1) for made, short in LIMITED)
    table("ends after its limit", ("built cases", "right"), [(len(LIMITED), right)])
    said = [(bool(one.means), believed(one, tmp_path) == one.means) for one in transcripts()]
    lies, true = [right for means, right in said if not means], [right for means, right in said if means]
    rows = [("lies", len(lies), lies.count(False)), ("right choices", len(true), true.count(True))]
    table("questions in a user's own words", ("transcripts", "number", "believed"), rows)


def spread(off: Sequence[float]) -> tuple[str, str, str]:
    """Return median, share within 30 %, and the worst."""
    if not off:
        return "-", "-", "-"
    within = sum(one <= 0.3 for one in off)
    return percent(statistics.median(off), 1), percent(within, len(off)), percent(max(off), 1)


def test_progress_kept_trainings(tmp_path: Path) -> None:
    """Trainings that ran on a GPU, as long as their pace was steady; "-": no time left, for no total is printed."""
    rows, alarmed, looks, off = [], Counter[str](), 0, dict[float, list[float]]()
    for one, said in kept(tmp_path):
        found = [(share, seen_of(one, said, share)) for share in (0.25, 0.5)]
        rows.append((one.kind, *("%+.0f %%" % (100 * at.off) if at.off is not None else "-" for _, at in found)))
        for share, at in found:
            looks += 1
            alarmed.update(alarm.kind for alarm in at.told.alarms)
            off.setdefault(share, []).extend([abs(at.off)] if at.off is not None else [])
    table("trainings on a GPU: error of the time left", ("training", "25 %", "50 %"), rows)
    summed = [("%d %%" % (100 * share), len(values), *spread(values)) for share, values in off.items()]
    table("trainings on a GPU, together", ("at", "told", "median", "within 30 %", "worst"), summed)
    table("alarms of trainings on a GPU, all healthy", ("looks", "alarms"), [(looks, dict(alarmed) or 0)])


@pytest.mark.timeout(3000)
def test_progress_real_trainings(tmp_path: Path) -> None:
    """Trainings by real frameworks, run here (six minutes, mostly asleep); without build/heavy-venv, a loop alone."""
    there = real_trainings.PYTHON.exists()
    found = real_trainings.recorded(tmp_path, real_trainings.chosen(real_trainings.KINDS if there else ("plain",)))
    rows, alarmed, looks = [], Counter[str](), 0
    for one in sorted(found, key=lambda one: (one.kind, one.plan)):
        at = [one.at(share) for share in (0.25, 0.5, 0.75)]
        rows.append(
            (one.kind, one.plan, *("%+.0f %%" % (100 * each.off) if each.off is not None else "-" for each in at))
        )
        for share in SHARES:
            looks += 1
            alarmed.update(
                each.kind for each in one.at(share).told.alarms if (each.kind, one.plan) != ("slower", "slower")
            )
    table("real trainings: error of the time left", ("framework", "plan", "25 %", "50 %", "75 %"), rows)
    quarter = [abs(one.at(0.25).off or 0) for one in found if one.at(0.25).off is not None and one.plan != "slower"]
    slow = [abs(one.at(0.75).off or 0) for one in found if one.at(0.75).off is not None and one.plan == "slower"]
    table("at a quarter, slow-downs in the middle left out", ("told", "median", "within 30 %", "worst"),
          [(len(quarter), *spread(quarter))])  # fmt: skip
    table("slow-downs, at three quarters", ("told", "median", "within 30 %", "worst"), [(len(slow), *spread(slow))])
    table("alarms of healthy runs", ("looks", "alarms"), [(looks, dict(alarmed) or 0)])


@pytest.mark.parametrize("kind", ["lines", "bars"])
def test_progress_of_a_gigabyte(tmp_path: Path, kind: str) -> None:
    """Processor and memory, the start of Python and all imports included."""
    path = tmp_path / "long"
    bar = b"\r %d%%|##########| %d/99999999 [00:33<00:10, 229.00it/s]"
    block = lines(80_000) if kind == "lines" else b"".join(bar % (step % 100, step) for step in range(120_000))
    with open(path, "wb") as file:
        while file.tell() < 1 << 30:
            file.write(block)
    began = time.perf_counter()
    said = subprocess.run([sys.executable, "-c", MEASURE, path], capture_output=True, text=True, check=True).stdout
    seconds, mebibytes, _ = said.split()
    took = "%.2f s" % (time.perf_counter() - began)
    row = ("%.2f s" % float(seconds), took, "%.0f MiB" % float(mebibytes))
    table("1 GiB of %s" % kind, ("processor", "wall", "memory"), [row])
    os.unlink(path)
