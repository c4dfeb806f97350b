"""Which service listens at a socket, and by what it decides: a frame "MPV1" asks it, anybody may, "MPJ1" answers.

For administrators: under socket activation the kernel names who made the socket, which is not who answers.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from typing import NamedTuple

import maple_submit_filter

from ..decide.rules_in_force import InForce, modes_of

ASK, ANSWER = b"MPV1", b"MPJ1"
SECONDS = 2.0  # that whoever asks waits
_MOST = 65536


class About(NamedTuple):
    """*facts*: hash of the rules and the site that decide, in hexadecimal. *uid*, *pid*: of the service.

    *modes*: hash of the modes that it goes by, "" of a service that does not tell.
    """

    version: str
    site: str
    revision: str
    facts: str
    uid: int
    pid: int
    modes: str = ""


class Found(NamedTuple):
    """*owner*: the uid that the front sees at the other end, -1 where there is nobody. *why*: there is no *about*."""

    owner: int
    about: About | None
    why: str = ""


def answer(in_force: InForce) -> bytes:
    """Return the frame that answers."""
    site = in_force.site
    about = About(
        maple_submit_filter.__version__, site.id, site.revision, in_force.facts.hex(), os.getuid(), os.getpid(),
        modes_of(in_force.policy),
    )  # fmt: skip
    text = json.dumps({"found": about._asdict()}).encode()
    return ANSWER + struct.pack(">I", len(text)) + text


def ask(path: str) -> Found:
    """Return who listens at the socket *path*."""
    owner = -1
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as one:
            one.settimeout(SECONDS)
            one.connect(path)
            owner = struct.unpack("3i", one.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1] & 0xFFFFFFFF
            one.sendall(ASK + bytes(4))
            return _read(_all_of(one), owner)
    except TimeoutError:
        return Found(owner, None, "does not answer within %d seconds" % SECONDS)
    except OSError as error:
        return Found(owner, None, (error.strerror or str(error)).lower())


def _all_of(one: socket.socket) -> bytes:
    found = b""
    while len(found) <= _MOST and (part := one.recv(_MOST)):
        found += part
    return found


def _read(frame: bytes, owner: int) -> Found:
    if not frame:
        return Found(owner, None, "hangs up when it is asked what it is: an older service, or one that is busy")
    try:
        if frame[:4] != ANSWER or len(frame) > _MOST:
            raise ValueError
        told = json.loads(frame[8:])["found"]
        version, site, revision, facts = (str(told[name]) for name in About._fields[:4])
        return Found(
            owner, About(version, site, revision, facts, int(told["uid"]), int(told["pid"]), str(told.get("modes", "")))
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return Found(owner, None, "answers, but not as Maple's service does")
