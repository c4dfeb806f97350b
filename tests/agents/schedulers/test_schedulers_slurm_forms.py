"""Jobs as JSON: both forms of Slurm's, of rows that real releases gave."""

from __future__ import annotations

import json
from typing import Any

import pytest
from maple_agents.ask.schedulers import JobState
from maple_agents.ask.schedulers.slurm import json as slurm_json


def row(job: int, state: Any, code: Any, **more: Any) -> dict[str, Any]:
    """A job as 22.05.8 gives it (recorded)."""
    return {
        "job_id": job,
        "array_job_id": 0,
        "array_task_id": None,
        "array_task_string": "",
        "job_state": state,
        "exit_code": code,
        "state_reason": "None",
        "name": "wrap",
        "user_name": "root",
        "partition": "gpu",
        "account": "",
        "nodes": "gpu-node-1",
        "submit_time": 1795331554,
        "start_time": 1795331555,
        "end_time": 1795331559,
        "standard_output": "",
        "standard_error": "",
        "current_working_directory": "/w",
        **more,
    }


def new(value: int | None) -> dict[str, Any]:
    """A number as it has been written since 23.02."""
    return {"set": value is not None, "infinite": False, "number": value or 0}


OLD = [
    row(1, "FAILED", 768),
    row(2, "FAILED", 9),
    row(6, "COMPLETED", 0, array_job_id=3, array_task_id=1),
    row(7, "FAILED", 256, array_job_id=3, array_task_id=2),
    row(4, "PENDING", 0, array_job_id=4, array_task_string="1-3", state_reason="JobHeldUser", nodes="", start_time=0),
    row(5, "RUNNING", 0),
]
LATER = [
    row(
        11,
        ["FAILED"],
        {"status": ["ERROR"], "return_code": new(3), "signal": {"id": new(None), "name": ""}},
        array_job_id=new(0),
        array_task_id=new(None),
        submit_time=new(1795331554),
        end_time=new(1795331559),
        start_time=new(1795331555),
        standard_output="/w/out",
    ),
    row(12, ["COMPLETED", "COMPLETING"], {"return_code": new(0), "signal": {"id": new(None)}}),
    row(
        13, ["FAILED"], {"return_code": new(None), "signal": {"id": new(9)}}, array_job_id=new(13), array_task_id=new(0)
    ),
]


def test_both_forms_say_the_same() -> None:
    """A wait status or an object; one word or a list; a number or whether it is set."""
    found = {one.id: one for one in slurm_json.jobs(json.dumps({"jobs": OLD + LATER}))}
    endings = {key: (one.ending.exit_code, one.ending.signal) for key, one in found.items() if one.ending}
    assert endings == {
        "1": (3, None),
        "2": (None, 9),
        "3_1": (0, None),
        "3_2": (1, None),
        "11": (3, None),
        "13_0": (None, 9),
    }
    assert (found["11"].submitted, found["11"].ended, found["11"].stdout) == (1795331554, 1795331559, "/w/out")
    assert (found["1"].submitted, found["1"].stdout, found["1"].work_dir) == (1795331554, "/w/slurm-1.out", "/w")
    states = [found[key].state for key in ("12", "4_2", "5")]
    assert states == [JobState.EXITING, JobState.HELD, JobState.RUNNING]


@pytest.mark.parametrize(
    ("signal", "reason"),
    [
        (9, "RaisedSignal:9(Killed)"),
        (53, "RaisedSignal:53(Real-time signal 19)"),
        (99, "RaisedSignal:99(Unknown signal 99)"),
    ],
)
def test_the_reason_says_which_signal_as_the_table_does(signal: int, reason: str) -> None:
    """JSON of 24.11.5 and 26.05.5 has the word alone; that of 22.05.8 says it all."""
    code = {"status": ["SIGNALED"], "return_code": new(None), "signal": {"id": new(signal), "name": ""}}
    rows = [row(7, ["FAILED"], code, state_reason="RaisedSignal"), row(8, "FAILED", signal, state_reason=reason)]
    assert [one.substate for one in slurm_json.jobs(json.dumps({"jobs": rows}))] == [reason, reason]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"jobs": 7}', "x"])
def test_what_is_no_answer_is_refused(text: str) -> None:
    """It is not an empty list of jobs."""
    with pytest.raises(ValueError):
        slurm_json.jobs(text)
