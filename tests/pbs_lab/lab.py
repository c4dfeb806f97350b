"""`PbsLab`: a PBS cluster of several hosts on this machine, in which job scripts really run.

with PbsLab(shape_of_site("alcf-polaris")) as lab:
    sent = lab.qsub("-A", "proj", "job.sh", cwd=folder)
    ended = lab.run(sent.id, timeout=30)
    print(ended.state, ended.exit_code, ended.stdout)

There is no server: `qsub` reads and refuses as the real one does, `run` does what the mom does. One job at a time.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import subprocess
from io import FileIO
from typing import Mapping, NamedTuple, Optional

from tests.lab.ground import Ground
from tests.lab.processes import LabError
from tests.pbs_lab import environment, programs
from tests.pbs_lab.chunks import NeverRuns, Placed, node_file, placed
from tests.pbs_lab.hosts import Hosts
from tests.pbs_lab.request import Refused, Request, read
from tests.pbs_lab.rules import check
from tests.pbs_lab.shape import GENERIC, PbsShape

SERVER = "pbs01"
LOGIN_SHELLS = ("bash", "sh", "dash", "ksh", "zsh")


class Submitted(NamedTuple):
    """What qsub did. *id* None: it was refused."""

    id: Optional[str]
    returncode: int
    stdout: str
    stderr: str


class Ended(NamedTuple):
    """How a job ended.

    *state*: "COMPLETED" (exit 0), "FAILED", "HUNG" (still there at the deadline, then killed) or "NEVER" (no host can
    take it; *comment* is the scheduler's). *nodes*: the lines of its PBS_NODEFILE.
    """

    id: str
    state: str
    exit_code: int
    stdout: str
    stderr: str
    nodes: tuple[str, ...] = ()
    comment: str = ""


class _Job(NamedTuple):
    id: str
    request: Request
    cwd: str
    carried: Mapping[str, str]
    member: str = ""  # its index within an array


class PbsLab:
    """A cluster in the given shape. Use it as a context manager, or call `start` and `stop`."""

    def __init__(self, shape: PbsShape = GENERIC) -> None:
        self.shape = shape
        self.directory = ""
        self._ground = Ground()
        self._hosts: Optional[Hosts] = None
        self._jobs: dict[str, _Job] = {}
        self._last = -1

    def __enter__(self) -> PbsLab:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> PbsLab:
        """Bring every host up. Raises `LabError`; nothing is left behind then."""
        atexit.register(self.stop)
        try:
            self.directory = self._ground.claim()
            for name in ("home", "aux", "tmp", "jobs", "run", "etc"):
                os.makedirs(f"{self.directory}/{name}", mode=0o755)
            # /etc/profile sets PATH anew; the login environment of a site comes behind it.
            self._write("home/.bash_profile", f"export PATH={self.directory}/bin:$PATH\n")
            self._write("home/.profile", f"export PATH={self.directory}/bin:$PATH\n")
            programs.install(self.directory, self.shape)
            self._hosts = Hosts(self.shape, self.directory)
            self._hosts.open()
        except BaseException as error:
            self.stop()
            if isinstance(error, (OSError, subprocess.SubprocessError)):
                raise LabError(f"the PBS lab did not start: {error}") from error
            raise
        return self

    def stop(self) -> None:
        """End everything the lab started. May be called twice."""
        atexit.unregister(self.stop)
        self._ground.leave()
        if self._hosts is not None:
            self._hosts.close()
            self._hosts = None
        self.directory = ""

    @property
    def addresses(self) -> dict[str, str]:
        """Return host name -> address."""
        return self._up.addresses

    @property
    def _up(self) -> Hosts:
        if self._hosts is None:
            raise LabError("the PBS lab is not up")
        return self._hosts

    def environment(self, **more: str) -> dict[str, str]:
        """Return the environment of a login: that of the submitter, unless a test says otherwise."""
        return {**environment.login(self.directory), "LANG": "C.UTF-8", **more}

    def tell(self, **said: str) -> None:
        """Tell the stand-ins something beside their environment: MAPLE_FACTS, MAPLE_PALS_GENV and the like."""
        programs.settle(self.directory, said, self.shape)

    def qsub(self, *words: str, cwd: str, env: Optional[Mapping[str, str]] = None, stdin: bytes = b"") -> Submitted:
        """Submit, with *words* behind `qsub`, from the folder *cwd*."""
        submitter = dict(env) if env is not None else self.environment()
        try:
            request = read(words, stdin, cwd, submitter)
            check(request, self.shape)
            with contextlib.suppress(NeverRuns):  # accepted, and then it waits for ever
                placed(request.resources, self.shape)
            carried = environment.exported(request, submitter)
        except Refused as error:
            return Submitted(None, error.code, "", error.says + "\n")
        self._last += 1
        job = f"{self._last}{'[]' if 'J' in request.letters else ''}.{SERVER}"
        carried.update(environment.outside(submitter, cwd, request.letters.get("q", "")))
        self._jobs[job] = _Job(job, request, cwd, carried)
        quiet = "z" in request.letters
        return Submitted(job, 0, "" if quiet else f"{job}\n", "")

    def request(self, job: str) -> Request:
        """Return what a job that has not begun asks for."""
        return self._jobs[job].request

    def forget(self, job: str) -> None:
        """Take back a job that has not begun."""
        del self._jobs[job]

    def end_what_runs(self) -> None:
        """End every process on every host, and with them the job that runs."""
        self._up.end_what_runs()

    def run(self, job: str, timeout: float = 60) -> Ended:
        """Place the job, run it to its end or to the deadline in seconds, and end all that it left running.

        The members of an array run one after the other, each with that deadline; their ends are put together.
        """
        one = self._jobs.pop(job)
        members = _members(one)
        ends = [self._one(member, timeout) for member in members]
        bad = next((end for end in ends if end.state != "COMPLETED"), ends[0])
        texts = ("".join(end.stdout for end in ends), "".join(end.stderr for end in ends))
        return bad._replace(id=job, stdout=texts[0], stderr=texts[1])

    def _one(self, one: _Job, timeout: float) -> Ended:
        job = one.id
        out, err = (_output(one, letter) for letter in "oe")
        if one.request.letters.get("j") in ("oe", "eo"):
            out = err = err if one.request.letters["j"] == "eo" else out
        try:
            found = placed(one.request.resources, self.shape)
        except NeverRuns as error:
            return Ended(job, "NEVER", -1, "", "", (), str(error))
        nodes = tuple(node_file(found, self.shape))
        state, code = self._run(one, found, nodes, out, err, timeout)
        return Ended(job, state, code, _text(out), "" if out == err else _text(err), nodes)

    def _run(
        self, job: _Job, found: list[Placed], nodes: tuple[str, ...], out: str, err: str, timeout: float
    ) -> tuple[str, int]:
        env = environment.of_job(self.directory, job.id, job.request, found, job.carried)
        env.update({"PBS_ARRAY_INDEX": job.member, "PBS_ARRAY_ID": _array(job.id)} if job.member else {})
        self._write(f"aux/{job.id}", "".join(f"{name}\n" for name in nodes))
        self._write("etc/job.json", json.dumps(env))
        os.makedirs(env["TMPDIR"], exist_ok=True)
        script = self._stored(job)
        shell = job.request.letters.get("S", "").split("@")[0] or "/bin/bash"
        if not os.access(shell, os.X_OK):
            _note(err, f"pbs_mom, exec of {shell} failed with error: No such file or directory\n")
            return "FAILED", 254
        words = [shell, "-l"] if os.path.basename(shell) in LOGIN_SHELLS else [shell]
        with _opened(out) as stdout, stdout if out == err else _opened(err) as stderr:
            begun = subprocess.Popen(
                [*self._up.enter(found[0].host, env["HOME"]), *words],
                stdin=subprocess.PIPE,
                stdout=stdout,
                stderr=stderr,
                env=env,
                start_new_session=True,
            )
            with contextlib.suppress(subprocess.TimeoutExpired):
                begun.communicate(f"{script}\n".encode(), timeout)
            hung = begun.poll() is None
            self._up.end_what_runs()
            code = begun.wait(10)
        if hung:
            return "HUNG", -1
        code = code if code >= 0 else 128 - code
        return ("COMPLETED" if code == 0 else "FAILED"), code

    def _stored(self, job: _Job) -> str:
        """Return the path of the mom's copy of the script.

        Another process writes it: were it open for writing in this one while another thread forks, starting it could
        fail with "Text file busy".
        """
        path = f"{self.directory}/jobs/{job.id}.SC"
        subprocess.run(["install", "-m", "700", "/dev/stdin", path], input=job.request.script, check=True, timeout=20)
        return path

    def _write(self, name: str, text: str) -> None:
        with open(f"{self.directory}/{name}", "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)


def _members(job: _Job) -> list[_Job]:
    """Return the jobs of an array, or the one job."""
    if "J" not in job.request.letters:
        return [job]
    found = re.fullmatch(r"(\d+)-(\d+)(?::(\d+))?(?:%\d+)?", job.request.letters["J"])
    if found is None:
        raise ValueError(f"job {job.id} was accepted with -J {job.request.letters['J']}")
    indices = range(int(found[1]), int(found[2]) + 1, int(found[3] or 1))
    return [job._replace(id=job.id.replace("[]", f"[{index}]"), member=str(index)) for index in indices]


def _array(job: str) -> str:
    return re.sub(r"\[\d+\]", "[]", job)


def _output(job: _Job, letter: str) -> str:
    """Return where the output goes: it is always written in place, as with -k doe."""
    number = job.id.split("[")[0].split(".")[0] + (f".{job.member}" if job.member else "")
    path = job.request.letters.get(letter, "")
    path = path.split(":", 1)[1] if ":" in path and "/" not in path.split(":", 1)[0] else path
    path = os.path.join(job.cwd, path or f"{job.request.job_name}.{letter}{number}")
    if os.path.isdir(path):
        return os.path.join(path, f"{job.id}.{'OU' if letter == 'o' else 'ER'}")
    return path if os.path.isdir(os.path.dirname(path)) else os.devnull


def _opened(path: str) -> FileIO:
    return open(path, "ab", buffering=0)


def _note(path: str, text: str) -> None:
    with _opened(path) as file:
        file.write(text.encode())


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return "" if path == os.devnull else file.read()[-8000:]
    except OSError:
        return ""
