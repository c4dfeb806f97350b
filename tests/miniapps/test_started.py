"""A world of a test meets where nobody else may sit down: its port is no kernel's, and nobody's at that time."""

from __future__ import annotations

import contextlib
import re
import socket
from pathlib import Path

from tests.miniapps.started import free_port

KERNELS = Path("/proc/sys/net/ipv4/ip_local_port_range")


def test_a_port_of_a_world_is_none_that_a_kernel_gives_to_somebody_else() -> None:
    """torchrun binds it seconds later, when a client of another test may sit on one that a kernel chose."""
    first, last = map(int, re.findall(r"\d+", KERNELS.read_text()))
    ports = [free_port() for _ in range(40)]
    assert [port for port in ports if first <= port <= last] == []
    assert len(set(ports)) == len(ports)


def test_a_port_on_which_somebody_listens_is_passed_over() -> None:
    """Whoever comes next is given another one."""
    with contextlib.ExitStack() as listening:
        taken = set()
        for port in range(free_port() + 1, 32768)[:8]:
            one = listening.enter_context(socket.socket())
            with contextlib.suppress(OSError):  # somebody else has it already
                one.bind(("", port))
                one.listen()
                taken.add(port)
        assert free_port() not in taken
