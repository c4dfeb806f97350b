"""`make bench-progress`: jobs of a real Slurm that stop, wait for themselves or lose their loss, and healthy ones.

All run beside each other for two to three minutes, mostly asleep. Each is looked at as `maple progress JOBID` does.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Optional

import pytest
from maple_agents.progress import job_logs
from maple_agents.progress.formats import formats
from maple_agents.progress.log_ends import progress

from tests.bench.bench_progress import table
from tests.lab import Lab

PROGRAM = Path(__file__).parents[1] / "agents" / "progress" / "lab_job.py"
SHAPES = ("plain", "megatron", "bar")
SILENT, LOST = ("stopped", "locks", "pipe"), ("nan", "explodes")
EVALUATED: dict[str, Any] = {"line": 1.5, "pause": [6, 12.0], "lines": 21}  # two evaluations, and some steps
SLOW: dict[str, Any] = {"line": 11.0, "lines": 8}
HEALTHY: tuple[dict[str, Any], ...] = (
    {"line": 1.5, "pause": [6, 12.0]}, {"line": 11.0}, {"line": 0.5}, {"line": 2.0, "pause": [20, 25.0]},
    {"line": 0.2, "pause": [40, 6.0]}, {"line": 5.0, "resumed": 700}, {"line": 3.0, "pause": [9, 15.0]},
    {"line": 20.0}, {"line": 1.0, "lines": 60}, {"line": 0.3, "pause": [100, 20.0]},
)  # fmt: skip
SECONDS = 190  # that all of it may take
OVER = 1.0  # second of a clock that shows whole ones


class LabJob(NamedTuple):
    """A job: what it does, its id, its log."""

    plan: dict[str, Any]
    job: str
    log: Path

    @property
    def kind(self) -> str:
        return str(self.plan.get("ends", "")) or "well"

    def last_line(self) -> float:
        """Return when it printed last."""
        return self.log.stat().st_mtime


def plans() -> Iterator[dict[str, Any]]:
    """Yield what each job does: 16 that fall silent, 8 whose loss is lost, 40 that are well."""
    for number in range(16):
        yield {**(EVALUATED if number % 2 else SLOW), "ends": SILENT[number % 3], "shape": SHAPES[number // 2 % 3]}
    for number in range(8):
        yield {**EVALUATED, "ends": LOST[number % 2], "shape": SHAPES[number // 2 % 3]}
    for number in range(40):
        yield {"lines": 10_000, **HEALTHY[number % len(HEALTHY)], "shape": SHAPES[number // len(HEALTHY) % 3]}


def submitted(lab: Lab, folder: Path) -> list[LabJob]:
    """Submit them all."""
    shutil.copy(PROGRAM, folder / "train.py")
    out = []
    for number, plan in enumerate(plans()):
        words = json.dumps({**plan, "seed": number})
        (folder / "job.sh").write_text(
            "#!/bin/bash\n#SBATCH --time=23:00:00 --ntasks=1 --mem=100M --output=%d.log\nexec %s train.py '%s'\n"
            % (number, sys.executable, words)
        )
        made = lab.sbatch("job.sh", cwd=str(folder))
        assert made.id is not None, made.stderr
        out.append(LabJob(plan, str(made.id), folder / ("%d.log" % number)))
    return out


def looked(one: LabJob, environ: dict[str, str], at: Optional[float] = None) -> set[str]:
    """Return the alarms of a job, as its user sees them now."""
    found = job_logs.of_job(one.job, environ=environ)
    told = progress(found.files, formats(), at or time.time(), found.run, found.hints, found.ranks)
    return {alarm.kind for alarm in told.alarms}


def longest_gap(one: LabJob, until: float) -> float:
    """Return the longest time between two lines of its healthy part, by what it was told to do."""
    line = 1.1 * float(one.plan["line"])
    pause = one.plan.get("pause", [0, 0.0])[1]
    return line + pause if pause else line


def fell_ill(one: LabJob) -> bool:
    """Return whether what is wrong with it has begun: it printed all its lines, or one whose loss is lost."""
    text = one.log.read_text(errors="replace") if one.log.exists() else ""
    steps = [int(step) for step in re.findall(r"(?:step|iteration|\|)\s+(\d+)/\s*5000", text)]
    beyond = one.plan["lines"] * 10
    return bool(steps) and (steps[-1] > beyond if one.kind in LOST else steps[-1] >= beyond)


def test_progress_of_jobs_on_a_lab(small_lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An alarm within three times the longest gap of the healthy part, and none on a job that is well."""
    monkeypatch.setenv("MAPLE_SOCKET", "/proc/nowhere/socket")
    os.chmod(tmp_path, 0o755)
    environ = small_lab.environment()
    jobs, began = submitted(small_lab, tmp_path), time.monotonic()
    ill: dict[str, float] = {}  # by job: when it fell ill
    early, late, false, looks = [], {}, [], 0
    try:
        while time.monotonic() - began < SECONDS and len(late) < 24:
            for one in jobs:
                if one.kind == "well" or one.job in late:
                    continue
                if one.job not in ill and fell_ill(one):
                    ill[one.job] = one.last_line()
                    early += [one.kind] if "silent" in looked(one, environ) else []
                if one.job in ill and time.time() >= ill[one.job] + 3 * longest_gap(one, ill[one.job]) - OVER:
                    late[one.job] = looked(one, environ)
            if int(time.monotonic() - began) % 15 < 2:
                for one in [one for one in jobs if one.kind == "well"]:
                    looks += 1
                    false += [(one.plan, kinds) for kinds in [looked(one, environ)] if kinds]
            time.sleep(0.5)
    finally:
        for one in jobs:
            small_lab.cancel(int(one.job))
    wanted = {"nan": "loss-not-finite", "explodes": "loss-explodes"}
    rows = []
    for kind in (*SILENT, *LOST):
        own = [one for one in jobs if one.kind == kind]
        hit = [one for one in own if wanted.get(kind, "silent") in late.get(one.job, ())]
        rows.append((kind, len(own), len(hit)))
    table("lab jobs: an alarm within three times the longest healthy gap", ("what happens", "jobs", "alarm"), rows)
    table("too early, while it may be well", ("jobs", "alarms"), [(len(ill), len(early))])
    well = sum(one.kind == "well" for one in jobs)
    table("lab jobs that are well", ("jobs", "looks", "alarms"), [(well, looks, false or 0)])
    assert looks >= 2 * well
    assert [row for row in rows if row[1] != row[2]] == [] and early == [] and false == []
