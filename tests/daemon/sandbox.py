"""What a unit lets its processes do, in force without systemd: `python sandbox.py UNIT SYSCALLS COMMAND…`.

Its lines SystemCallFilter, SystemCallErrorNumber and RestrictAddressFamilies become a filter by libseccomp, as systemd
makes one; the command runs under it, with all that it starts.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import sys

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
NOT_EQUAL, EQUAL = 1, 4
LIBRARY = "libseccomp.so.2"


class Compared(ctypes.Structure):
    """A word of a system call beside a number (seccomp_rule_add(3))."""

    _fields_ = [
        ("word", ctypes.c_uint), ("how", ctypes.c_int), ("number", ctypes.c_uint64), ("other", ctypes.c_uint64),
    ]  # fmt: skip


def read_groups(text: str) -> dict[str, list[str]]:
    """What is in each group, of a file that says so in lines, further ones indented; `#` begins a remark."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    words = "\n".join(lines).replace("\n  ", " ").splitlines()
    return {line.split()[0]: line.split()[1:] for line in words}


def lines_of(unit: str, key: str) -> list[str]:
    """The values of a key in their order."""
    return [line.partition("=")[2] for line in unit.splitlines() if line.startswith(key + "=")]


def calls_in(names: list[str], groups: dict[str, list[str]]) -> set[str]:
    """The system calls that are meant, groups in groups too."""
    found = [calls_in(groups[one], groups) if one.startswith("@") else {one} for one in names]
    return set().union(*found)


def allowed_by(unit: str, groups: dict[str, list[str]]) -> set[str]:
    """The system calls that a unit allows; its first line has to be a list of these."""
    allowed = calls_in(groups["@default"], groups)
    for line in lines_of(unit, "SystemCallFilter"):
        named = calls_in(line.lstrip("~").split(), groups)
        allowed = allowed - named if line.startswith("~") else allowed | named
    return allowed


def refuse(unit: str, groups: dict[str, list[str]]) -> None:
    """Put the filter of a unit in force for this process; what systemd does not know is not there (ENOSYS)."""
    library = ctypes.CDLL(LIBRARY)
    library.seccomp_init.restype = ctypes.c_void_p
    refused = lines_of(unit, "SystemCallErrorNumber")
    action = ERRNO | getattr(errno, refused[-1]) if refused else KILL
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(ERRNO | errno.ENOSYS)))
    families = set(" ".join(lines_of(unit, "RestrictAddressFamilies")).split())
    allowed = allowed_by(unit, groups)
    for name in sorted((calls_in(["@known"], groups) | allowed) - ({"socket"} if families else set())):
        _rule(library, context, ALLOW if name in allowed else action, name)
    if families == {"AF_UNIX"}:
        for how, rule in ((NOT_EQUAL, ERRNO | errno.EAFNOSUPPORT), (EQUAL, ALLOW)):
            _rule(library, context, rule, "socket", Compared(0, how, socket.AF_UNIX, 0))
    assert library.seccomp_load(context) == 0


def _rule(library: ctypes.CDLL, context: ctypes.c_void_p, action: int, name: str, *compared: Compared) -> None:
    number = library.seccomp_syscall_resolve_name(name.encode())
    if number < 0:  # of another machine
        return
    rules = (Compared * len(compared))(*compared)
    done = library.seccomp_rule_add_array(context, ctypes.c_uint32(action), number, len(compared), rules)
    assert done == 0, (name, done)


def main() -> None:
    """Become the command under the filter."""
    with open(sys.argv[1], encoding="utf-8") as unit, open(sys.argv[2], encoding="utf-8") as syscalls:
        refuse(unit.read(), read_groups(syscalls.read()))
    os.execv(sys.argv[3], sys.argv[3:])


if __name__ == "__main__":
    main()
