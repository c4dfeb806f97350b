"""The server of a PBS lab: qsub, qstat, qdel, pbsnodes and qmgr are typed, jobs wait, run and end, hooks are called.

It lives in the process that holds the lab. The commands are small programs that hand their words to its socket.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from queue import Queue
from typing import Any, NamedTuple

from tests.doubles import qstat
from tests.doubles.pbs_hooks import EPILOGUE, OBIT
from tests.lab.doubles import interpreter
from tests.pbs_lab.chunks import NeverRuns, placed
from tests.pbs_lab.lab import SERVER, Ended, PbsLab
from tests.pbs_lab.qmgr import Manager
from tests.pbs_lab.request import OPTIONS, seconds

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMMANDS = ("qsub", "qstat", "qdel", "pbsnodes", "qmgr")
LONGEST = 3600.0  # seconds of a job that names no walltime
WALLTIME, DELETED = -29, 271  # exit status of a job that was ended
KINDS = {"execjob_epilogue": EPILOGUE, "jobobit": OBIT}  # the node's hook comes before the server's

_CLIENT = """\
#!{python} -IS
import base64, getopt, json, os, socket, sys
words, stdin = sys.argv[1:], b""
if {name!r} == "qsub" and words != ["--version"]:
    try:
        said, rest = getopt.getopt(words, {options!r})
        reads = rest in ([], ["-"]) and ("-I", "") not in said
    except getopt.GetoptError:
        reads = False
    if reads:
        if os.isatty(0):
            print("Job script will be read from standard input. Submit with CTRL+D.", flush=True)
        stdin = sys.stdin.buffer.read()
elif {name!r} == "qmgr" and "-c" not in words:
    stdin = sys.stdin.buffer.read()
call = dict(name={name!r}, words=words, cwd=os.getcwd(), env=dict(os.environ), stdin=base64.b64encode(stdin).decode())
with socket.socket(socket.AF_UNIX) as server:
    server.connect({socket!r})
    server.sendall(json.dumps(call).encode() + b"\\n")
    for line in server.makefile("rb"):
        said = json.loads(line)
        sys.stdout.write(said["out"])
        sys.stderr.write(said["err"])
        sys.stdout.flush()
sys.exit(said["code"])
"""


class Answer(NamedTuple):
    """What a command prints, and its exit code."""

    out: str
    err: str = ""
    code: int = 0


class Call(NamedTuple):
    """A command that somebody typed."""

    name: str
    words: list[str]
    cwd: str
    env: dict[str, str]
    stdin: str

    @property
    def input(self) -> bytes:
        """Return what stood on its standard input, where it reads that."""
        return base64.b64decode(self.stdin)


class Server:
    """Jobs by their full id, as qstat tells of them; times are seconds since 1970."""

    def __init__(self, lab: PbsLab) -> None:
        self.lab = lab
        self.jobs: dict[str, dict[str, Any]] = {}
        self.manager = Manager(f"{lab.directory}/hooks", lab.shape)
        self._waiting: Queue[str] = Queue()
        self._ended = threading.Condition()
        self._socket = socket.socket(socket.AF_UNIX)

    def listen(self) -> None:
        """Put the commands into the lab's PATH, and answer them from now on."""
        path = f"{self.lab.directory}/run/pbs_server"
        self._socket.bind(path)
        self._socket.listen(64)
        for name in COMMANDS:
            text = _CLIENT.format(python=interpreter(), name=name, options=OPTIONS, socket=path)
            program = f"{self.lab.directory}/bin/{name}"
            with open(program, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(program, 0o755)
        for work in (self._accept, self._run):
            threading.Thread(target=work, daemon=True).start()

    def close(self) -> None:
        """Answer nobody any more."""
        self._socket.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                caller, _ = self._socket.accept()
                threading.Thread(target=self._serve, args=(caller,), daemon=True).start()

    def _serve(self, caller: socket.socket) -> None:
        with caller, caller.makefile("rwb") as stream, contextlib.suppress(BrokenPipeError):
            for answer in self.answers(Call(**json.loads(stream.readline()))):
                stream.write(json.dumps(answer._asdict()).encode() + b"\n")
                stream.flush()

    def answers(self, call: Call) -> Iterator[Answer]:
        """Yield what a command prints, as it prints it."""
        if call.words == ["--version"]:
            yield Answer("pbs_version = 23.06.06\n")
        elif call.name == "qsub":
            yield from self._qsub(call)
        elif call.name == "qdel":
            yield self._qdel(call.words)
        elif call.name == "qstat" and self.manager.tells(call.words) is None:
            yield self._qstat(call.words)
        elif call.name == "qmgr":
            yield Answer(*self.manager.typed(call.words, call.input.decode(), call.cwd))
        else:
            yield Answer(self.manager.tells(call.words if call.name == "qstat" else ["-n", *call.words]) or "")

    def _qsub(self, call: Call) -> Iterator[Answer]:
        sent = self.lab.qsub(*call.words, cwd=call.cwd, env=call.env, stdin=call.input)
        if sent.id is None:
            yield Answer(sent.stdout, sent.stderr, sent.returncode)
            return
        request = self.lab.request(sent.id)
        self.jobs[sent.id] = self._attributes(sent.id, call)
        yield Answer(sent.stdout, sent.stderr)
        self._waiting.put(sent.id)
        if request.attributes.get("block") == "true":
            with self._ended:
                self._ended.wait_for(lambda: self.jobs[sent.id or ""]["job_state"] == "F")
            yield Answer("", "", int(self.jobs[sent.id].get("Exit_status", 0)) & 255)

    def _attributes(self, job: str, call: Call) -> dict[str, Any]:
        request, user, now = self.lab.request(job), call.env.get("USER", "root"), int(time.time())
        letters, number = request.letters, job.partition(".")[0]
        paths = {letter: letters.get(letter) or f"{request.job_name}.{letter}{number}" for letter in "oe"}
        shown = {
            letter: path if ":" in path else f"login1:{os.path.join(call.cwd, path)}" for letter, path in paths.items()
        }
        found = {
            "Job_Name": request.job_name, "Job_Owner": f"{user}@login1", "euser": user, "job_state": "Q",
            "substate": 10, "queue": letters.get("q", "workq"), "server": SERVER, "ctime": now, "qtime": now,
            "Output_Path": shown["o"], "Error_Path": shown["e"], "Join_Path": letters.get("j", "n"),
            "Resource_List": dict(request.resources), "Variable_List": {"PBS_O_WORKDIR": call.cwd},
            "Submit_arguments": " ".join(call.words),
        }  # fmt: skip
        return {**found, **({"Account_Name": letters["A"]} if "A" in letters else {})}

    def _run(self) -> None:
        """Let one job run after the other, in the order in which they came."""
        while True:
            job = self._waiting.get()
            if self.jobs[job]["job_state"] != "Q":
                continue
            try:
                self._runs(job)
            except Exception as error:  # a lab that is being taken down
                if self._socket.fileno() < 0:
                    return
                self._end(job, Ended(job, "FAILED", 1, "", "", (), str(error)))

    def _runs(self, job: str) -> None:
        request, known = self.lab.request(job), self.jobs[job]
        try:
            hosts = [self.lab.shape.hosts[chunk.host].name for chunk in placed(request.resources, self.lab.shape)]
        except NeverRuns as error:
            known["comment"] = f"Can Never Run: {error}"
            return
        limit = seconds(request.resources["walltime"]) if request.resources.get("walltime") else LONGEST
        known.update(
            job_state="R", substate=42, stime=int(time.time()), exec_host="+".join(f"{host}/0" for host in hosts)
        )
        known["comment"] = f"Job run at {time.strftime('%a %b %d at %H:%M')}"
        ended = self.lab.run(job, timeout=limit)
        if ended.state == "HUNG":
            self._tell_of_limit(known, limit)
        self._end(job, ended)

    def _tell_of_limit(self, known: Mapping[str, Any], limit: float) -> None:
        path = known["Output_Path" if known["Join_Path"] == "oe" else "Error_Path"].partition(":")[2]
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"=>> PBS: job killed: walltime {limit + 7:.0f} exceeded limit {limit:.0f}\n")

    def _end(self, job: str, ended: Ended) -> None:
        known, now = self.jobs[job], int(time.time())
        code, substate = (ended.exit_code, 93 if ended.exit_code else 92)
        if ended.state == "HUNG":
            code, known["comment"] = WALLTIME, known["comment"] + " and exceeded resource walltime"
        if "terminated by" in known["comment"]:
            code, substate = DELETED, 91
        known.update(Exit_status=code, substate=substate, obittime=now, mtime=now)
        self._call_hooks(job)
        with self._ended:
            known["job_state"] = "F"
            self._ended.notify_all()

    def _call_hooks(self, job: str) -> None:
        environment = {**os.environ, "PBS_CONF_FILE": f"{self.lab.directory}/etc/pbs.conf"}
        told = json.dumps({**self.jobs[job], "id": job, "substate": 53})
        for event, kind in KINDS.items():
            for path in self.manager.hooks_of(event):
                words = [sys.executable, "-m", "tests.doubles.pbs_hooks", path, str(kind), told]
                done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
                with open(f"{self.lab.directory}/hooks.log", "a", encoding="utf-8") as log:
                    log.write(f"{job} {event} {done.returncode}\n{done.stderr}")

    def _qdel(self, words: Sequence[str]) -> Answer:
        errors, code = "", 0
        for name in [f"{word}.{SERVER}" if "." not in word else word for word in words if not word.startswith("-")]:
            known = self.jobs.get(name)
            if known is None:
                errors, code = errors + f"qdel: Unknown Job Id {name}\n", qstat.UNKNOWN
            elif known["job_state"] == "F":
                errors, code = errors + f"qdel: Job has finished {name}\n", qstat.FINISHED
            elif known["job_state"] == "R":
                known["comment"] += f" and terminated by {known['Job_Owner']}"
                self.lab.end_what_runs()
            else:
                known.update(job_state="F", substate=91, mtime=int(time.time()))
                self.lab.forget(name)
        return Answer("", errors, code)

    def _qstat(self, words: list[str]) -> Answer:
        letters = "".join(word[1:] for word in words if re.fullmatch(r"-[A-Za-z]+", word))
        if "f" in letters:
            return Answer(*qstat.answer({name: _with_dates(known) for name, known in self.jobs.items()}, words, SERVER))
        asked = [f"{word}.{SERVER}" if "." not in word else word for word in words if re.match(r"\d", word)]
        unknown = [name for name in asked if name not in self.jobs]
        shown = [name for name in asked or self.jobs if name in self.jobs and ("x" in letters or not self._over(name))]
        out = _TABLE + "".join(_row(name, self.jobs[name]) for name in shown) if shown else ""
        return Answer(
            out, "".join(f"qstat: Unknown Job Id {name}\n" for name in unknown), qstat.UNKNOWN if unknown else 0
        )

    def _over(self, job: str) -> bool:
        return bool(self.jobs[job]["job_state"] == "F")


_TABLE = """\
Job id            Name             User              Time Use S Queue
----------------  ---------------- ----------------  -------- - -----
"""


def _row(name: str, known: Mapping[str, Any]) -> str:
    title, user, state, queue = (known[one] for one in ("Job_Name", "euser", "job_state", "queue"))
    return f"{name:<17.17} {title:<16.16} {user:<17.17} 00:00:00 {state} {queue}\n"


def _with_dates(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes as qstat prints them to somebody whose zone is UTC."""
    dates = {name: time.asctime(time.gmtime(known[name])) for name in known if name.endswith("time")}
    return {**known, **dates}


@contextmanager
def served(lab: PbsLab) -> Iterator[Server]:
    """Serve a lab that is up; its `environment` is then that of a login with PBS's commands."""
    os.makedirs(f"{lab.directory}/mom/mom_priv", exist_ok=True)
    os.symlink(f"{lab.directory}/jobs", f"{lab.directory}/mom/mom_priv/jobs")
    with open(f"{lab.directory}/etc/pbs.conf", "w", encoding="utf-8") as file:
        file.write(f"PBS_SERVER={SERVER}\nPBS_EXEC={lab.directory}\nPBS_HOME={lab.directory}/mom\n")
    server = Server(lab)
    server.listen()
    try:
        yield server
    finally:
        server.close()
