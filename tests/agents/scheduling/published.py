"""The workloads of the Pollux study, and what its authors published of them."""

from __future__ import annotations

import gzip
import json
from functools import lru_cache
from pathlib import Path
from typing import Dict, List

from maple_agents.scheduling.training import application, simulation

FOLDER = Path(__file__).parents[2] / "cases" / "scheduling" / "pollux"
WORKLOADS = range(1, 9)
applications = lru_cache(None)(lambda: application.read(FOLDER / "measured"))


def workload(number: int) -> List[simulation.Job]:
    """Return the jobs of a workload, fresh."""
    return simulation.read(FOLDER / "workloads" / f"workload-{number}.csv", applications())


def times(policy: str, number: int) -> Dict[str, int]:
    """Return what the authors published: seconds from submission to completion by job."""
    found = json.loads(gzip.decompress((FOLDER / "results" / f"{policy}.json.gz").read_bytes()))
    return {name: int(value) for name, value in found["jcts"][f"workload-{number}"].items()}
