"""`Lab`: a real Slurm of several nodes on this machine, up in about a second and gone without a trace.

with Lab(GPU4) as lab:
    job = lab.sbatch("job.sh", "--nodes=2")
    ended = lab.wait(job.id)
    print(ended.state, ended.exit_code)
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import getpass
import json
import os
import re
import secrets
import socket
import subprocess
import time
from typing import Callable, Mapping, NamedTuple, Optional, Sequence

from tests.lab import cleanup, doubles, processes
from tests.lab.config import Layout, gres_conf, hosts_file, slurm_conf
from tests.lab.lua import job_submit, needs_lua
from tests.lab.namespaces import Network, can_own_names, can_own_networks, free_network
from tests.lab.processes import LabError
from tests.lab.shape import GPU4, Shape

POLL = 0.03
_COMPLAINT = re.compile(r"error:|fatal:|refused|denied|rror:")
_NOISE = re.compile(r"pmix|hwloc|Domain socket directory|state (save )?file|state/")


class Submitted(NamedTuple):
    """What the submit command did. *id* None: it was refused."""

    id: Optional[int]
    returncode: int
    stdout: str
    stderr: str


class Ended(NamedTuple):
    """How a job ended, as the scheduler's own hook says. *state* as in sacct; *exit_code* 0-255, *signal* 0 if none."""

    id: int
    state: str
    exit_code: int
    signal: int
    facts: Mapping[str, str]


class Lab:
    """A cluster in the given shape. Use it as a context manager, or call `start` and `stop`.

    *networks* None: a network for each node where that is allowed (root), else one loopback for all.
    """

    def __init__(self, shape: Shape = GPU4, networks: Optional[bool] = None) -> None:
        self.shape = shape
        self.own_networks = networks
        self.own_names = True
        self.directory = ""
        self._lock: Optional[int] = None
        self._keeper: Optional[subprocess.Popen[bytes]] = None
        self._children: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Lab:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # ---- life

    def start(self) -> Lab:
        """Bring every node up and idle. Raises `LabError`; nothing is left behind then."""
        programs = processes.installed()
        atexit.register(self.stop)
        try:
            self._claim()
            self._write(programs)
            self._spawn(programs)
            self._await_idle()
        except BaseException as error:
            logs = self.logs()
            self.stop()
            if isinstance(error, (OSError, subprocess.SubprocessError, LabError)):
                raise LabError(f"the Slurm lab did not start: {error}\n{logs}") from error
            raise
        return self

    def stop(self) -> None:
        """End everything the lab started. May be called twice."""
        atexit.unregister(self.stop)
        if self.directory:
            cleanup.clean(self.directory)
        for child in self._children:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(5)
        self._children = []
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        if self._keeper is not None and self._keeper.stdin is not None:
            self._keeper.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._keeper.wait(10)
            self._keeper = None
        self.directory = ""

    def _claim(self) -> None:
        """Take a directory, locked from its first moment: a sweep leaves alone what is locked."""
        parent = f"/tmp/maple-labs-{os.getuid()}"
        os.makedirs(parent, mode=0o755, exist_ok=True)
        if os.stat(parent).st_uid != os.getuid():
            raise LabError(f"{parent} belongs to somebody else")
        cleanup.sweep(parent)
        name = secrets.token_hex(3)
        final, draft = f"{parent}/{name}", f"/tmp/.maple-lab-{os.getuid()}-{name}"
        os.mkdir(draft, 0o755)
        self._lock = os.open(draft, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        os.rename(draft, final)
        self.directory = final
        self._keeper = processes.start_keeper(final)

    def _write(self, programs: Mapping[str, str]) -> None:
        for name in ("etc", "run", "log", "spool", "state", "sbin", "ended", "nodes"):
            os.makedirs(f"{self.directory}/{name}", mode=0o755)
        for name in processes.PROGRAMS:
            # Under another program name Slurm's daemons do not know themselves and drop every Gres= line.
            os.symlink(programs[name], f"{self.directory}/sbin/{name}")
        self._settle()
        layout = self.layout
        self._file("etc/slurm.conf", slurm_conf(self.shape, layout))
        most = max((group.gpus for group in self.shape.groups if group.gres), default=0)
        self._file("etc/gres.conf", gres_conf(self.shape, processes.device_files(most, f"{self.directory}/dev")))
        self._file("etc/hosts", hosts_file(self.shape, layout, socket.gethostname()))
        self._file("etc/job-ended", _JOB_ENDED.format(ended=f"{self.directory}/ended"), 0o755)
        self._file("etc/munge.key", os.urandom(128).hex(), 0o400)
        if needs_lua(self.shape):
            self._file("etc/job_submit.lua", job_submit(self.shape))
        for host, group in self.shape.hosts():
            self._file(f"nodes/{host}.json", json.dumps(group._asdict()))
        doubles.install(self.directory, self.shape)

    def _settle(self) -> None:
        """Choose networks and ports that nobody uses."""
        if self.own_networks is None:
            self.own_networks = can_own_networks()
        self.own_names = self.own_networks or can_own_names()
        self.network: Optional[Network] = free_network(os.path.basename(self.directory)) if self.own_networks else None
        count = len(self.shape.hosts())
        if self.network is not None:
            addresses = tuple(self.network.address(index) for index in range(count))
        else:
            addresses = tuple(f"127.0.0.{index + 11}" for index in range(count))
        controller = self.network.gateway if self.network else "127.0.0.1"
        self.layout = Layout(
            self.directory, getpass.getuser(), _free_ports(count), controller, addresses, bool(self.own_networks)
        )

    def _spawn(self, programs: Mapping[str, str]) -> None:
        run, log = f"{self.directory}/run", f"{self.directory}/log"
        munged = [
            programs["munged"],
            "-F",
            "--force",
            f"--key-file={self.directory}/etc/munge.key",
            f"--socket={run}/munge.s",
            f"--pid-file={run}/munged.pid",
            f"--seed-file={run}/munge.seed",
            f"--log-file={log}/munged.log",
            "--num-threads=2",
        ]
        self._children.append(processes.start_daemon(self.directory, "munged", munged))
        if self.network is not None:
            self.network.open()
        _until(lambda: os.path.exists(f"{run}/munge.s"), 10, "munged made no socket")
        controller = [f"{self.directory}/sbin/slurmctld", "-D", "-f", f"{self.directory}/etc/slurm.conf"]
        self._children.append(processes.start_daemon(self.directory, "slurmctld", controller))
        hosts = [host for host, _ in self.shape.hosts()]
        self._children += processes.start_nodes(self.directory, hosts, self.network, self.own_names)

    def _await_idle(self) -> None:
        wanted = len(self.shape.hosts())
        deadline = time.monotonic() + 30
        answer = ""
        while time.monotonic() < deadline:
            dead = [child for child in self._children if child.poll() is not None]
            if dead:
                raise LabError(f"{dead[0].args!r} ended with {dead[0].returncode}")
            with contextlib.suppress(subprocess.TimeoutExpired):
                answer = self.run(["sinfo", "-h", "-N", "-o", "%N %T"], timeout=3).stdout
            if len({line for line in answer.splitlines() if line.endswith(" idle")}) == wanted:
                return
            time.sleep(POLL)
        raise LabError(f"nodes are not idle after 30 s:\n{answer}")

    # ---- use

    def environment(self, doubles_first: bool = True, **more: str) -> dict[str, str]:
        """Return an environment in which Slurm's commands reach this lab, and the stand-ins are found first.

        Jobs inherit the submitter's environment, so this is also what they run in.
        """
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SBATCH", "SRUN", "MAPLE", "PET_"))}
        path = kept.get("PATH", "/usr/bin:/bin")
        kept["PATH"] = f"{self.directory}/bin:{path}" if doubles_first else path
        return {**kept, "SLURM_CONF": f"{self.directory}/etc/slurm.conf", **more}

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float = 20,
        env: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None,
        stdin: str = "",
        user: Optional[str] = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as on the login node. Raises `subprocess.TimeoutExpired`: a client may wait for ever."""
        return subprocess.run(
            list(argv),
            env=dict(self.environment() if env is None else env),
            cwd=cwd,
            input=stdin,
            user=user,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=timeout,
            check=False,
        )

    def sbatch(
        self,
        *argv: str,
        timeout: float = 20,
        env: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None,
        stdin: str = "",
        command: str = "sbatch",
    ) -> Submitted:
        """Submit with *argv* as written on the command line; *command* may be a wrapped sbatch."""
        done = self.run([command, *argv], timeout=timeout, env=env, cwd=cwd, stdin=stdin)
        found = re.search(r"^(?:Submitted batch job )?(\d+)\b", done.stdout, re.MULTILINE)
        number = int(found.group(1)) if found and done.returncode == 0 else None
        return Submitted(number, done.returncode, done.stdout, done.stderr)

    def wait(self, job: int, timeout: float = 60) -> Ended:
        """Return how *job* ended. Raises `TimeoutError` while it is still there after *timeout* seconds."""
        path = f"{self.directory}/ended/{job}"
        deadline = time.monotonic() + timeout
        while not os.path.exists(path):
            if time.monotonic() > deadline:
                raise TimeoutError(f"job {job} has not ended after {timeout} s")
            time.sleep(POLL)
        with open(path, encoding="utf-8", errors="replace") as file:
            facts = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
        code, _, signal = facts.get("EXITCODE", "0:0").partition(":")
        return Ended(job, facts.get("JOBSTATE", ""), int(code or 0), int(signal or 0), facts)

    def ended(self) -> list[int]:
        """Return every job that has ended so far."""
        return sorted(int(name) for name in os.listdir(f"{self.directory}/ended") if name.isdigit())

    def cancel(self, job: int) -> None:
        """Cancel a job; one that has already ended is no mistake."""
        self.run(["scancel", str(job)])

    def script(self, job: int) -> bytes:
        """Return the script as the controller stored it."""
        done = self.run(["scontrol", "write", "batch_script", str(job), "-"])
        return done.stdout.encode("utf-8", "surrogateescape")

    def show(self, job: int) -> dict[str, str]:
        """Return what `scontrol show job` says; only fields whose value has no blank are whole."""
        text = self.run(["scontrol", "-o", "show", "job", str(job)]).stdout
        return dict(word.split("=", 1) for word in text.split() if "=" in word)

    def quiet(self) -> None:
        """Cancel every job and wait until the nodes are idle again, so that the next test starts on a free cluster."""
        self.run(["scancel", "--user", getpass.getuser()])
        _until(lambda: not self.run(["squeue", "-h", "-o", "%i"]).stdout.strip(), 20, "jobs are left")

    def logs(self) -> str:
        """Return what the daemons complain of, without what they always complain of."""
        lines = []
        folder = f"{self.directory}/log"
        for name in sorted(os.listdir(folder)) if self.directory and os.path.isdir(folder) else []:
            with open(f"{folder}/{name}", encoding="utf-8", errors="replace") as file:
                lines += [
                    f"{name}: {line.strip()}" for line in file if _COMPLAINT.search(line) and not _NOISE.search(line)
                ]
        return "\n".join(lines[-30:])

    def _file(self, name: str, text: str, mode: int = 0o644) -> None:
        path = f"{self.directory}/{name}"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)


def _free_ports(nodes: int) -> int:
    """Return a base port: it, and one more for each node, are free now; srun takes base+100 to base+199."""
    for _ in range(200):
        base = 10000 + secrets.randbelow(80) * 250
        if all(_is_free(port) for port in range(base, base + nodes + 1)) and _is_free(base + 100):
            return base
    raise LabError("no free ports between 10000 and 30000")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def _until(true: Callable[[], bool], seconds: float, otherwise: str) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise LabError(otherwise)
        time.sleep(POLL / 3)


# PENDING is what the hook says of a requeued job: that one has not ended.
_JOB_ENDED = """\
#!/bin/sh
[ "$JOBSTATE" = PENDING ] && exit 0
env > "{ended}/.$JOBID" && mv "{ended}/.$JOBID" "{ended}/$JOBID"
"""
