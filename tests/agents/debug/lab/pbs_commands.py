"""qsub, qstat and qdel of a PBS lab, as commands in PATH: what they ask goes to the test that holds the lab.

Jobs run one after the other, each in its turn; what `qstat -f -F json` prints of one has the shape that OpenPBS 23.06
gives it.
"""

from __future__ import annotations

import contextlib
import json
import os
import socketserver
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.doubles import qstat
from tests.pbs_lab import Ended, PbsLab

_CLIENT = """\
#!/usr/bin/python3 -IS
import json, os, socket, sys
asked = socket.socket(socket.AF_UNIX)
asked.connect({socket!r})
asked.sendall(json.dumps([{name!r}, sys.argv[1:], os.getcwd(), dict(os.environ)]).encode() + b"\\n")
told = json.loads(asked.makefile().readline())
sys.stdout.write(told["out"])
sys.stderr.write(told["err"])
sys.exit(told["code"])
"""
_NAMES = ("qsub", "qstat", "qdel")
_UNKNOWN = 153  # the exit status of a command that was asked for a job that is not there


class PbsCommands:
    """The commands of *lab*, in `folder/bin`. *beside*: what happens on the hosts while a job runs."""

    def __init__(
        self, lab: PbsLab, folder: Path, deadline: float = 60,
        beside: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
    ) -> None:  # fmt: skip
        self.lab, self.folder, self.deadline, self.beside = lab, folder, deadline, beside
        self.told: dict[str, dict[str, Any]] = {}
        self.submitted: list[list[str]] = []
        self._turn = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._server: socketserver.ThreadingUnixStreamServer | None = None

    def __enter__(self) -> PbsCommands:
        os.makedirs(self.folder / "bin")
        path = str(self.folder / "asked")
        for name in _NAMES:
            command = self.folder / "bin" / name
            command.write_text(_CLIENT.format(socket=path, name=name))
            command.chmod(0o755)
        (self.folder / "pbs.conf").write_text("PBS_SERVER=pbs01\n")
        commands = self

        class Asked(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                name, words, cwd, env = json.loads(self.rfile.readline())
                self.wfile.write(json.dumps(commands.answer(name, words, cwd, env)).encode() + b"\n")

        self._server = socketserver.ThreadingUnixStreamServer(path, Asked)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._threads:
            one.join(self.deadline + 30)
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def environment(self, **more: str) -> dict[str, str]:
        """Return the environment of a user at the login host."""
        path = f"{self.folder}/bin:{self.lab.directory}/bin:/usr/bin:/bin"
        return {**self.lab.environment(), "PATH": path, "PBS_CONF_FILE": f"{self.folder}/pbs.conf", **more}

    def answer(self, name: str, words: list[str], cwd: str, env: Mapping[str, str]) -> dict[str, Any]:
        """Return what a command prints, and its exit status."""
        if name == "qsub":
            return self._qsub(words, cwd, env)
        ids = [word for word in words if word[:1].isdigit()]
        if name == "qdel":
            return {"out": "", "err": "", "code": 0 if all(one in self.told for one in ids) else _UNKNOWN}
        out, err, code = qstat.answer(self.told, words)
        return {"out": out, "err": err, "code": code}

    def _qsub(self, words: list[str], cwd: str, env: Mapping[str, str]) -> dict[str, Any]:
        sent = self.lab.qsub(*words, cwd=cwd, env=env)
        if sent.id is not None:
            self.submitted.append(words)
            self.told[sent.id] = _queued(sent.id, words, cwd, env)
            thread = threading.Thread(target=self._run, args=(sent.id,))
            self._threads.append(thread)
            thread.start()
        return {"out": sent.stdout, "err": sent.stderr, "code": sent.returncode}

    def _run(self, job: str) -> None:
        with self._turn:
            self.told[job] |= {"job_state": "R", "stime": _now(), "substate": 42}
            begun = time.monotonic()
            with self.beside():
                ended = self.lab.run(job, self.deadline)
            self.told[job] |= _ended(ended, int(time.monotonic() - begun))

    def wait(self, job: str, seconds: float = 60) -> dict[str, Any]:
        """Return what is told of a job that is over."""
        deadline = time.monotonic() + seconds
        while self.told[job]["job_state"] != "F":
            assert time.monotonic() < deadline, self.told[job]
            time.sleep(0.05)
        return self.told[job]


def _now() -> str:
    return time.strftime("%a %b %d %H:%M:%S %Y", time.gmtime())


def _queued(job: str, words: list[str], cwd: str, env: Mapping[str, str]) -> dict[str, Any]:
    name = Path(words[-1]).name
    return {
        "Job_Name": name,
        "Job_Owner": "root@login1",
        "job_state": "Q",
        "queue": "workq",
        "server": "pbs01",
        "Join_Path": "n",
        "Keep_Files": "n",
        "Output_Path": f"login1:{cwd}/{name}.o{job.partition('.')[0]}",
        "Error_Path": f"login1:{cwd}/{name}.e{job.partition('.')[0]}",
        "ctime": _now(),
        "Submit_arguments": " ".join(words),
        "run_count": 1,
        "Resource_List": {"walltime": "00:10:00"},
        "Variable_List": {
            "PBS_O_WORKDIR": cwd,
            **{f"PBS_O_{key}": env[key] for key in ("HOME", "LOGNAME", "PATH", "SHELL", "LANG") if key in env},
        },
    }


def _ended(one: Ended, seconds: int) -> dict[str, Any]:
    hosts = list(dict.fromkeys(name.split(".")[0] for name in one.nodes))
    return {
        "job_state": "F",
        "substate": 91 if one.state == "HUNG" else 92,
        "Exit_status": 271 if one.state == "HUNG" else one.exit_code,
        "exec_host": "+".join(f"{host}/0" for host in hosts),
        "obittime": _now(),
        "history_timestamp": int(time.time()),
        "comment": one.comment or f"Job run at {_now()} and finished",
        "resources_used": {"walltime": time.strftime("%H:%M:%S", time.gmtime(seconds)), "mem": "10240kb"},
    }
