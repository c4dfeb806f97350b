"""The jobs of `tests/cases/forecast/eagle.csv.gz` as runs; times are taken as UTC."""

from __future__ import annotations

import csv
import gzip
import random
from datetime import datetime, timezone
from pathlib import Path

from maple_agents.forecast.runs import Asked, Run, Work

FILE = Path(__file__).parents[2] / "cases" / "forecast" / "eagle.csv.gz"
STATES = {"COMPLETED": "completed", "TIMEOUT": "timeout"}


def runs() -> list[Run]:
    """Return the thousand runs, in the order of the file."""
    with gzip.open(FILE, "rt", encoding="utf-8") as file:
        return [run_of(row) for row in csv.DictReader(file)]


def shuffled(seed: int = 7) -> list[Run]:
    """Return the runs with their run times dealt out anew: whoever looks ahead would still find them."""
    found, dice = runs(), random.Random(seed)
    times = [run.seconds for run in found]
    dice.shuffle(times)
    return [run._replace(seconds=time, ended=run.asked.submitted + time) for run, time in zip(found, times)]


def run_of(row: dict[str, str]) -> Run:
    """Return the run of a row."""
    work = Work((), int(row["nodes_req"]))
    submitted, limit = moment(row["submit_time"]), float(row["wallclock_req"])
    asked = Asked(row["user"], row["name"], row["work_dir"], submitted, limit, None, "", work)
    return Run(row["job_id"], asked, moment(row["end_time"]), float(row["run_time"]), STATES[row["state"]])


def moment(text: str) -> float:
    """Return seconds since 1970."""
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp()
