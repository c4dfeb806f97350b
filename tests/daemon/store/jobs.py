"""Jobs that tests remember."""

from __future__ import annotations

from maple_submit_filter.types.job_records import Outcome, Part, Record, Value, Version


def version(id: str = "v1", uid: int = 1001, at: float = 1e9, **other: object) -> Version:
    """A version of a job."""
    told: dict[str, object] = {
        "lineage": "train", "parent": "", "scheduler": "slurm", "path": "train.sh", "name": "train",
        "cwd": "/work/a", "argv": ("sbatch", "train.sh"), "script": b"#!/bin/bash\nsrun python train.py\n",
        "script_hash": "ab" * 32, "parts": (Part("launch", "", "p1", (2, 2)), Part("config", "a.yaml", "p2")),
        "values": (Value("program", "train.py", "", 2, "p1", "script"),),
        **other,
    }  # fmt: skip
    return Version(id=id, uid=uid, at=at, **told)  # type: ignore[arg-type]


def record(id: str = "r1", uid: int = 1001, at: float = 1e9, **other: object) -> Record:
    """A submission."""
    told: dict[str, object] = {
        "version": "v1", "host": "login1", "pid": 4711, "pid_started": 99, "mode": "repair", "verdict": "repaired",
        "codes": ("MPL301",), "how": "decided", **other,
    }  # fmt: skip
    return Record(id=id, uid=uid, at=at, **told)  # type: ignore[arg-type]


def outcome(job: str = "17", uid: int = 1001, state: str = "completed", **other: object) -> Outcome:
    """How a job ended."""
    return Outcome(job, state, uid, "hook", **other)  # type: ignore[arg-type]
