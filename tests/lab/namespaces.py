"""Nodes of their own: a host name, a hosts file and, when root, a network for each node.

A node's namespaces live in its slurmd alone (`unshare`, then exec), so they vanish with it: host name, mounts, network
and the node's end of its cable. The one thing on the host that has to be removed is the bridge. `ip netns exec` is not
used, because it mounts /sys anew, which slurmd does not survive.
"""

from __future__ import annotations

import os
import random
import subprocess
from typing import NamedTuple, Sequence


class Network(NamedTuple):
    """A bridge on the host with an address for each node."""

    lab: str
    prefix: str  # the first three parts of every address

    @property
    def bridge(self) -> str:
        return f"mb{self.lab}"

    @property
    def gateway(self) -> str:
        return f"{self.prefix}.1"

    def address(self, index: int) -> str:
        return f"{self.prefix}.{index + 11}"

    def open(self) -> None:
        """Make the bridge. Raises `OSError` where that is not allowed."""
        _ip(
            f"link add {self.bridge} type bridge",
            f"addr add {self.gateway}/24 dev {self.bridge}",
            f"link set {self.bridge} up",
        )

    def plug(self, pids: Sequence[int]) -> None:
        """Lay a cable from the bridge to each of the processes in *pids*."""
        lines = []
        for index, pid in enumerate(pids):
            outer = f"v{self.lab}-{index}"
            lines.append(f"link add {outer} type veth peer name eth0 netns {pid}")
            lines.append(f"link set {outer} master {self.bridge} up")
        _ip(*lines)


def free_network(lab: str) -> Network:
    """Return a network that nobody on this machine uses."""
    taken = subprocess.run(["ip", "-4", "route", "show", "table", "all"], capture_output=True, text=True, timeout=10)
    while True:
        prefix = f"10.{random.randint(200, 249)}.{random.randint(1, 254)}"
        if f"{prefix}." not in taken.stdout:
            return Network(lab, prefix)


def _ip(*lines: str) -> None:
    done = subprocess.run(
        ["ip", "-batch", "-"], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=20
    )
    if done.returncode:
        raise OSError(f"ip: {done.stderr.strip()}")


def can_own_networks() -> bool:
    """Return whether this process may make networks: root with the right capabilities, and `ip` is there."""
    if os.geteuid() != 0 or not _succeeds("ip", "-V"):
        return False
    return _succeeds("unshare", "--net", "--uts", "--mount", "true")


def can_own_names() -> bool:
    """Return whether this process may give its children host names."""
    return _succeeds(*unshare(False), "true")


def why_no_names() -> str:
    """Return what a person has to do before nodes can have names of their own, "" where nothing is known.

    In a chroot whose root is no mount point the kernel refuses to make mounts private (EINVAL), and nodes would take
    each other's host names without a word.
    """
    try:
        done = subprocess.run([*unshare(False), "true"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    if done.returncode and "root filesystem propagation" in done.stderr:
        return "this chroot's root is no mount point; outside: mount --bind ROOT ROOT, then chroot into it again"
    return ""


def unshare(own_network: bool) -> list[str]:
    """Return the words before a node's command that put it into namespaces of its own."""
    words = ["unshare", "--uts", "--mount", "--propagation", "private"]
    if os.geteuid() != 0:
        words += ["--user", "--map-current-user", "--keep-caps"]
    return [*words, "--net"] if own_network else words


def entry(host: str, hosts_file: str, network: Network | None, index: int) -> str:
    """Return the shell text that a node runs inside its namespaces: it says it is there, waits for a line, moves in."""
    lines = ["echo ready", "read go", f"hostname {host}", f"mount --bind {hosts_file} /etc/hosts"]
    if network is not None:
        # No default route: a name that the hosts file does not have is then unknown at once, not after DNS timeouts.
        orders = ["link set lo up", f"addr add {network.address(index)}/24 dev eth0", "link set eth0 up"]
        lines.append("printf '%s\\n' " + " ".join(f"'{one}'" for one in orders) + " | ip -batch -")
    return " && ".join(lines) + ' && exec "$@" </dev/null'


def _succeeds(*argv: str) -> bool:
    try:
        return subprocess.run(argv, capture_output=True, timeout=10, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
