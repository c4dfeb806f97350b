"""The hosts of a PBS lab: namespaces with a name and a network of their own, each held open by one sleeping process.

Only root may make networks. Where that is not allowed the lab cannot start: two hosts that share one network would call
a missing node rank "address already in use", where a cluster hangs.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from typing import Sequence

from tests.lab import cleanup
from tests.lab.namespaces import Network, can_own_networks, entry, free_network, unshare
from tests.lab.processes import LabError, environment_of_daemons
from tests.pbs_lab.shape import PbsShape


class Hosts:
    """The hosts of one lab, by their index in the shape. *directory* must exist."""

    def __init__(self, shape: PbsShape, directory: str) -> None:
        self.shape, self.directory = shape, directory
        self.network: Network = free_network(os.path.basename(directory))
        self._held: list[subprocess.Popen[bytes]] = []

    @property
    def addresses(self) -> dict[str, str]:
        """Return name -> address."""
        return {host.name: self.network.address(index) for index, host in enumerate(self.shape.hosts)}

    def open(self) -> None:
        """Make every host, and write down how the stand-ins for ssh find it. Raises `LabError` or `OSError`."""
        if not can_own_networks():
            raise LabError("the PBS lab gives each host a network of its own, which takes root, unshare and ip")
        self._file("etc/hosts", self._names())
        self.network.open()
        self._held = [self._hold(index) for index in range(len(self.shape.hosts))]
        for one in self._held:
            if one.stdout is None or one.stdout.readline() != b"ready\n":
                raise LabError("a host of the PBS lab did not get its namespaces")
            one.stdout.close()
        self.network.plug([one.pid for one in self._held])
        for one in self._held:
            if one.stdin is not None:
                one.stdin.write(b"go\n")
                one.stdin.close()
        self._file("etc/hosts.json", json.dumps(self._entries()))
        for host in self.shape.hosts:
            node = {"gpus": host.gpus, "vendor": host.vendor, "gpu_type": host.gpu_type, "gres": False}
            self._file(f"nodes/{host.name}.json", json.dumps(node))
        self._settled()

    def _settled(self) -> None:
        """Wait until each host has moved in: what is started before would still see the machine's own name."""
        deadline = time.monotonic() + 10
        for index, host in enumerate(self.shape.hosts):
            while subprocess.run([*self.enter(index, "/"), "hostname"], capture_output=True).stdout != (
                host.name.encode() + b"\n"
            ) or not os.path.exists(f"{self.directory}/run/{host.name}"):
                if time.monotonic() > deadline or self._held[index].poll() is not None:
                    raise LabError(f"host {host.name} did not come up")
                time.sleep(0.01)

    def enter(self, index: int, cwd: str) -> list[str]:
        """Return the words in front of a command that run it on the host, in *cwd*."""
        pid = str(self._held[index].pid)
        return ["nsenter", f"--target={pid}", "--uts", "--mount", "--net", f"--wdns={cwd}", "--"]

    def end_what_runs(self) -> None:
        """End every process on every host, as a mom does when a job has ended. Raises `LabError` if one stays."""
        mine = {one.pid for one in self._held}
        deadline = time.monotonic() + 10
        while left := [pid for pid in cleanup.belonging(self.directory) if pid not in mine]:
            for pid in left:
                _kill(pid)
            if time.monotonic() > deadline:
                raise LabError(f"processes {left} of a job do not end")
            time.sleep(0.01)

    def close(self) -> None:
        """Reap the processes that held the hosts; `Ground.leave` has ended them."""
        for one in self._held:
            try:
                one.wait(5)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait(5)
        self._held = []

    def _hold(self, index: int) -> subprocess.Popen[bytes]:
        host = self.shape.hosts[index].name
        text = entry(host, f"{self.directory}/etc/hosts", self.network, index)
        sleeps = f"touch {self.directory}/run/{host}; exec sleep infinity"
        return subprocess.Popen(
            [*unshare(True), "sh", "-c", text, "host", "sh", "-c", sleeps],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
            env=environment_of_daemons(self.directory),
        )

    def _aliases(self, name: str) -> Sequence[str]:
        return [name, f"{name}{self.shape.suffix}"] if self.shape.suffix else [name]

    def _names(self) -> str:
        lines = ["127.0.0.1 localhost", f"{self.network.gateway} pbs01 login1"]
        lines += [f"{address} {' '.join(self._aliases(name))}" for name, address in self.addresses.items()]
        return "\n".join(lines) + "\n"

    def _entries(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for (name, address), one in zip(self.addresses.items(), self._held):
            found.update(dict.fromkeys([*self._aliases(name), address], one.pid))
        return found

    def _file(self, name: str, text: str) -> None:
        path = f"{self.directory}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def _kill(pid: int) -> None:
    """Kill a process that may have ended by itself."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
