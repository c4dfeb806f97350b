"""`Lab`: a real Slurm of several nodes on this machine, up in about a second and gone without a trace.

with Lab(GPU4) as lab:
    job = lab.sbatch("job.sh", "--nodes=2")
    ended = lab.wait(job.id)
    print(ended.state, ended.exit_code)
"""

from __future__ import annotations

import atexit
import contextlib
import getpass
import json
import os
import re
import socket
import subprocess
import time
from typing import Mapping, Optional

from tests.lab import doubles, processes
from tests.lab.client import POLL, Client, Ended, Submitted, until
from tests.lab.config import Layout, gres_conf, hosts_file, slurm_conf
from tests.lab.ground import Ground
from tests.lab.lua import job_submit, needs_lua
from tests.lab.namespaces import Network, can_own_names, can_own_networks, free_network, why_no_names
from tests.lab.processes import LabError
from tests.lab.shape import GPU4, Shape

_COMPLAINT = re.compile(r"error:|fatal:|refused|denied|rror:")
_NOISE = re.compile(r"pmix|hwloc|Domain socket directory|state (save )?file|state/")

__all__ = ["Ended", "Lab", "LabError", "Submitted"]


class Lab(Client):
    """A cluster in the given shape. Use it as a context manager, or call `start` and `stop`.

    *networks* None: a network for each node where that is allowed (root), else one loopback for all.
    """

    def __init__(self, shape: Shape = GPU4, networks: Optional[bool] = None) -> None:
        self.shape = shape
        self.own_networks = networks
        self.own_names = True
        self.directory = ""
        self._ground = Ground()
        self._ports: Optional[socket.socket] = None  # the claim to a block of ports
        self._children: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Lab:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> Lab:
        """Bring every node up and idle. Raises `LabError`; nothing is left behind then."""
        programs = processes.installed()
        if why_no_names():
            raise LabError(why_no_names())
        atexit.register(self.stop)
        try:
            self.directory = self._ground.claim()
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
        self._ground.leave()
        for child in self._children:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(5)
        self._children = []
        if self._ports is not None:
            self._ports.close()
            self._ports = None
        self.directory = ""

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
        self._ports, base = _claim_ports(count)
        self.layout = Layout(self.directory, getpass.getuser(), base, controller, addresses,
                             bool(self.own_networks), processes.plugins())  # fmt: skip

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
        until(lambda: os.path.exists(f"{run}/munge.s"), 10, "munged made no socket")
        controller = [f"{self.directory}/sbin/slurmctld", "-D", "-f", f"{self.directory}/etc/slurm.conf"]
        self._children.append(processes.start_daemon(self.directory, "slurmctld", controller))
        # A slurmd that finds no controller tries again only after a second.
        until(
            lambda: self._alive() and _answers(self.layout.controller, self.layout.base_port),
            10,
            "slurmctld does not answer",
        )
        hosts = [host for host, _ in self.shape.hosts()]
        self._children += processes.start_nodes(self.directory, hosts, self.network, self.own_names)

    def _alive(self) -> bool:
        """Return True while every daemon lives. Raises `LabError` when one has ended."""
        for child in self._children:
            if child.poll() is not None:
                words = child.args if isinstance(child.args, list) else [child.args]
                raise LabError(f"{os.path.basename(str(words[0]))} ended with {child.returncode}")
        return True

    def _await_idle(self) -> None:
        wanted = len(self.shape.hosts())
        deadline = time.monotonic() + 30
        answer = ""
        while time.monotonic() < deadline:
            self._alive()
            with contextlib.suppress(subprocess.TimeoutExpired):
                answer = self.run(["sinfo", "-h", "-N", "-o", "%N %T"], timeout=3).stdout
            if len({line for line in answer.splitlines() if line.endswith(" idle")}) == wanted:
                return
            time.sleep(POLL)
        raise LabError(f"nodes are not idle after 30 s:\n{answer}")

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


def _claim_ports(nodes: int) -> tuple[socket.socket, int]:
    """Return a claim to hold as long as the lab lives, and its base port: it, and one more for each node, are free now.

    They lie above what a kernel hands out by itself (32768 to 60999) and above what scripts take for their master: a
    slurmd at 20001 took the port from a job that had counted 20000 + its id. The claim is an abstract socket's name, so
    labs that start side by side, in this process too, never choose the same, and it goes with its owner.
    """
    for base in range(61000, 63000, 50):
        claim = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(OSError):
            claim.bind(f"\0maple-lab-ports-{base}")
            if all(_is_free(port) for port in range(base, base + nodes + 1)):
                return claim, base
        claim.close()
    raise LabError("no free ports between 61000 and 63000: end what other labs have left")


def _answers(address: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((address, port)) == 0


def _is_free(port: int) -> bool:
    """Ask as slurmctld binds: a connection of an earlier lab that still waits for its end is in nobody's way."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


# PENDING is what the hook says of a requeued job: that one has not ended.
_JOB_ENDED = """\
#!/bin/sh
[ "$JOBSTATE" = PENDING ] && exit 0
env > "{ended}/.$JOBID" && mv "{ended}/.$JOBID" "{ended}/$JOBID"
"""
