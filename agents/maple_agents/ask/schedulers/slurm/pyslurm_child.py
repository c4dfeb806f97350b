"""Asks pyslurm for all jobs, in a process of its own, and prints them in the form of `squeue --json`.

With conditions of `pyslurm.db.JobFilter` as JSON: for what slurmdbd has of ended jobs, by the columns of `sacct`.
Only `pyslurm_api.py` starts it, as a script: nothing of Maple is imported here. Where no Slurm answers, or one of
another release, the import of pyslurm may end the process, print to it, or hang; so it is done nowhere else.
Attributes are those of pyslurm 23.11 to 25.11.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any

REFUSED = 4  # exit code: pyslurm is well, and the controller said no, or nothing
_PLAIN = {
    "job_id": "id",
    "array_job_id": "array_id",
    "array_task_id": "array_task_id",
    "array_task_string": "array_tasks_waiting",
    "het_job_id": "heterogeneous_id",
    "het_job_offset": "heterogeneous_offset",
    "job_state": "state",
    "state_reason": "state_reason",
    "name": "name",
    "user_name": "user_name",
    "partition": "partition",
    "account": "account",
    "nodes": "allocated_nodes",
    "current_working_directory": "working_directory",
    "submit_time": "submit_time",
    "start_time": "start_time",
    "end_time": "end_time",
    "command": "command",
    "comment": "comment",
    "batch_flag": "is_batch_job",
    "stdout_expanded": "standard_output",
    "stderr_expanded": "standard_error",
}


def row(job: Any) -> dict[str, Any]:
    """Return a job as `squeue --json` has it; what pyslurm cannot tell of it is left out."""
    fields = {key: _attribute(job, name) for key, name in _PLAIN.items()}
    code, signal = _attribute(job, "exit_code"), _attribute(job, "exit_code_signal")
    # Of some jobs the code raises, and of 137 it is 9, so that it may be either (25.11): only what is sure is told.
    if signal or (code == 0 and fields["job_state"] != "FAILED"):
        fields["exit_code"] = {"return_code": 0, "signal": {"id": signal}}
    if fields["array_job_id"] and not fields["array_task_string"]:
        fields["array_task_id"] = fields["array_task_id"] or 0  # of task 0 it says no index (25.11)
    return {key: value for key, value in fields.items() if value is not None}


_ACCOUNTED = {
    "User": "user_name", "JobName": "name", "WorkDir": "working_directory", "Submit": "submit_time",
    "Start": "start_time", "End": "end_time", "ElapsedRaw": "elapsed_time", "TimelimitRaw": "time_limit",
    "State": "state", "NNodes": "num_nodes",
}  # fmt: skip


def accounted(job: Any) -> dict[str, str]:
    """Return a job of slurmdbd by the columns of `sacct --parsable2`; what pyslurm cannot tell of it is "".

    Memory that was held is the most of all steps, as sacct has it in the rows of steps.
    """
    row = {column: _attribute(job, name) for column, name in _ACCOUNTED.items()}
    array, task = _attribute(job, "array_id"), _attribute(job, "array_task_id")
    row["JobID"] = "%s_%s" % (array, task) if array and isinstance(task, int) else _attribute(job, "id")
    gpus, asked, held = _gpus(job), _attribute(job, "memory"), _held(job)
    row["AllocTRES"] = "gres/gpu=%d" % gpus if gpus else ""
    row["ReqMem"] = "%dM" % asked if isinstance(asked, int) and asked else ""
    row["MaxRSS"] = str(held) if held else ""
    return {column: "" if value is None else str(value) for column, value in row.items()}


def _gpus(job: Any) -> int:
    try:
        return sum(int(gpu.count) for gpu in job.gpus.values())
    except Exception:  # releases before 25.05 have no such thing, and those after count by kind
        return 0


def _held(job: Any) -> int:
    try:
        parts = [job, *job.steps.values()]
    except Exception:
        parts = [job]
    seen = (_attribute(getattr(part, "stats", None), "max_resident_memory") for part in parts)
    return max((bytes_ for bytes_ in seen if isinstance(bytes_, int)), default=0)


def _attribute(job: Any, name: str) -> Any:
    try:
        value = getattr(job, name)
    except Exception:  # whatever it raises, the other attributes are asked for
        return None
    return value if isinstance(value, (str, int)) else None


def main() -> int:
    """Print the jobs, or rows of ended ones, to what was stdout; whatever pyslurm prints itself goes to stderr."""
    out = os.dup(1)
    os.dup2(2, 1)
    pyslurm = importlib.import_module("pyslurm")
    try:
        if len(sys.argv) > 1:
            asked = pyslurm.db.JobFilter(**json.loads(sys.argv[1]))
            answer = {"rows": [accounted(job) for job in pyslurm.db.Jobs.load(asked).values()]}
        else:
            answer = {"jobs": [row(job) for job in pyslurm.Jobs.load().values()]}
    except pyslurm.RPCError as error:
        sys.stderr.write("%s\n" % error)
        return REFUSED
    with os.fdopen(out, "w", encoding="ascii") as file:
        json.dump(answer, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
