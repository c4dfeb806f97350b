"""Two busy weeks of Philly as jobs of a queue, and the figures that were published of orderings of them."""

from __future__ import annotations

import csv
import gzip
import math
import random
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import List

from maple_agents.scheduling.queueing.jobs import Job

TRACES = Path(__file__).parents[2] / "cases" / "scheduling" / "traces"
FILE, MONTHS = TRACES / "philly_2w_sizes_13686.csv.gz", TRACES / "philly_82247.csv.gz"

# (ordering, pool): mean time to completion, mean wait (hours), preemptions; of `shared/facts/scheduling.md`.
COMPLETION = {
    ("fifo", 704): 9.83, ("fifo", 800): 6.15, ("random", 704): 6.93, ("random", 800): 5.92,
    ("easy", 704): 9.28, ("easy", 640): 15.1, ("size-only", 704): 6.44, ("size-only", 640): 7.09,
    ("control", 704): 6.81, ("control", 640): 8.33, ("oracle", 704): 6.15, ("oracle", 640): 6.50,
    ("2d-las 5 h", 704): 6.38, ("2d-las 5 h", 800): 5.58, ("2d-las 0.9 h / 2 h", 704): 7.03,
    ("2d-las 0.9 h / 2 h", 800): 5.76, ("2d-las 1 h / 10 h / 100 h", 704): 5.80,
    ("2d-las 1 h / 10 h / 100 h", 800): 5.52,
    ("2d-gittins", 704): 5.82, ("2d-gittins", 800): 5.52, ("srsf", 704): 5.62, ("srsf", 800): 5.51,
}  # fmt: skip
WAIT = {("fifo", 704): 4.36, ("easy", 704): 3.80, ("size-only", 704): 0.96, ("oracle", 704): 0.67}
SLOWDOWN = {("easy", 704): 4.9, ("size-only", 704): 1.80, ("oracle", 704): 1.37, ("size-only", 640): 2.09}


@lru_cache(None)
def jobs(seed: int = 0) -> List[Job]:
    """Return the jobs; asked limits are drawn by *seed*: 2.9 times the run time in the median, never below it."""
    draw = random.Random(seed)
    with gzip.open(FILE, "rt", encoding="ascii") as file:
        rows = list(csv.DictReader(file))
    return [
        Job("%d" % number, float(row["submit_min"]) * 60, int(float(row["num_gpu"])), float(row["duration_min"]) * 60,
            float(row["duration_min"]) * 60 * max(1.0, 2.9 * math.exp(0.8 * draw.gauss(0, 1))))
        for number, row in enumerate(rows)
    ]  # fmt: skip


@lru_cache(None)
def months(seed: int = 0) -> List[Job]:
    """Return the 82,247 jobs of fifteen weeks with their virtual clusters as groups; limits drawn as above."""
    draw = random.Random(seed)
    with gzip.open(MONTHS, "rt", encoding="ascii") as file:
        rows = list(csv.DictReader(file))
    return [
        Job("%d" % number, datetime.fromisoformat(row["timestamp"]).timestamp(), int(row["num_gpus"]),
            float(row["duration"]), float(row["duration"]) * max(1.0, 2.9 * math.exp(0.8 * draw.gauss(0, 1))),
            group=row["cluster"])
        for number, row in enumerate(rows)
    ]  # fmt: skip
