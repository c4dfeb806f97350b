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

    *modes*: hash of the modes that it goes by, "" of a service that does not tell. *lost*: changes of its memory for
    which there was no room since it began, -1 where it does not tell.
    """

    version: str
    site: str
    revision: str
    facts: str
    uid: int
    pid: int
    modes: str = ""
    lost: int = -1


class Listener(NamedTuple):
    """*owner*: the uid that the front sees at the other end, -1 where there is nobody. *why*: there is no *about*."""

    owner: int
    about: About | None
    why: str = ""


def answer(in_force: InForce, lost: int) -> bytes:
    """Return the frame that answers."""
    site = in_force.site
    about = About(
        maple_submit_filter.__version__, site.id, site.revision, in_force.facts.hex(), os.getuid(), os.getpid(),
        modes_of(in_force.policy), lost,
    )  # fmt: skip
    text = json.dumps({"found": about._asdict()}).encode()
    return ANSWER + struct.pack(">I", len(text)) + text


def ask(path: str) -> Listener:
    """Return who listens at the socket *path*."""
    owner = -1
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as connection:
            connection.settimeout(SECONDS)
            connection.connect(path)
            owner = (
                struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1] & 0xFFFFFFFF
            )
            connection.sendall(ASK + bytes(4))
            return _read(_all_of(connection), owner)
    except TimeoutError:
        return Listener(owner, None, "does not answer within %d seconds" % SECONDS)
    except OSError as error:
        return Listener(owner, None, (error.strerror or str(error)).lower())


def _all_of(connection: socket.socket) -> bytes:
    data = b""
    while len(data) <= _MOST and (part := connection.recv(_MOST)):
        data += part
    return data


def _read(frame: bytes, owner: int) -> Listener:
    if not frame:
        return Listener(owner, None, "hangs up when it is asked what it is: an older service, or one that is busy")
    try:
        if frame[:4] != ANSWER or len(frame) > _MOST:
            raise ValueError
        fields = json.loads(frame[8:])["found"]
        version, site, revision, facts = (str(fields[name]) for name in About._fields[:4])
        process = int(fields["uid"]), int(fields["pid"])
        more = str(fields.get("modes", "")), int(fields.get("lost", -1))
        return Listener(owner, About(version, site, revision, facts, *process, *more))
    except (ValueError, KeyError, TypeError, RecursionError):
        return Listener(owner, None, "answers, but not as Maple's service does")
