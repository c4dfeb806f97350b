"""Jobs as JSON: both forms of Slurm's, over a unix socket from a double that answers what a real slurmrestd said."""

from __future__ import annotations

import http.server
import json
import os
import socketserver
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from maple_agents.ask.schedulers import EndReason, JobState, SchedulerError
from maple_agents.ask.schedulers.slurm import json as slurm_json
from maple_agents.ask.schedulers.slurm.rest import SlurmRest


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


class Rest(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """slurmrestd that knows one version. *answer*: status and body of a question for jobs."""

    daemon_threads = True
    answer: tuple[int, bytes] = (200, json.dumps({"jobs": OLD}).encode())
    asked: list[str]


class Page(http.server.BaseHTTPRequestHandler):
    """What it answers."""

    def do_GET(self) -> None:
        """Answer one question."""
        server: Any = self.server
        server.asked.append(self.path)
        status, body = server.answer if self.path == "/slurm/v0.0.38/jobs" else (404, b"Not Found")
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self) -> str:
        """A unix socket has no name."""
        return ""

    def log_message(self, *words: object) -> None:
        """Say nothing."""


@pytest.fixture
def rest(tmp_path: Any) -> Iterator[Rest]:
    """A double that listens."""
    server = Rest(os.path.join(str(tmp_path), "s"), Page)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def test_one_request_tells_all_jobs(rest: Rest) -> None:
    """The version that it speaks is looked for once; an array under its own id is one job; an unknown one vanished."""
    scheduler = SlurmRest(str(rest.server_address))
    found = scheduler.jobs(["1", "3", "3_1", "99"])
    assert (found["1"].ending and found["1"].ending.exit_code, found["99"].state) == (3, JobState.VANISHED)
    assert found["3"].ending is not None and found["3"].ending.reason is EndReason.EXITED
    before = len(rest.asked)
    scheduler.jobs(["5"])
    assert len(rest.asked) == before + 1


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ((401, b"Authentication failure"), "as the user who asks"),
        ((500, b"x"), "log"),
        ((200, b"<html>"), "form"),
        ((404, b""), "version"),
    ],
)
def test_a_refusal_is_one_line_that_says_what_to_do(rest: Rest, answer: tuple[int, bytes], says: str) -> None:
    """No job is said to have vanished because nobody could be asked."""
    rest.answer = answer
    with pytest.raises(SchedulerError, match=says):
        SlurmRest(str(rest.server_address)).jobs(["1"])


def test_where_nobody_listens_it_is_said(tmp_path: Any) -> None:
    """And may be asked again."""
    with pytest.raises(SchedulerError, match="is slurmrestd running") as error:
        SlurmRest(str(tmp_path) + "/none").jobs(["1"])
    assert error.value.transient
