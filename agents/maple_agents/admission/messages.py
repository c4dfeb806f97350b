"""What the reading process and the daemon say to each other: which submission, and what its files say."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import json
import os
import socket
import stat
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

from maple_submit_filter.answer import reply
from maple_submit_filter.host import frames
from maple_submit_filter.site.facts import Site

from ..base.secrets.masking import masked
from .files import read_files
from .user_files import Extract, Files

ASK, TELL, ANSWER = b"MPH1", b"MPA1", b"MPJ1"
SECONDS = 5.0
MOST_ANSWER = 32 << 20
MOST_TOLD = 480 << 10  # bytes; the daemon takes a little more
MOST_EXTRACT = 100 << 10
MOST_PATH = 4096
MOST_LOOKED, MOST_PARTS, MOST_VALUES, MOST_TEXT = 64, 64, 1000, 1000
RUNTIME = "/run/user/%d"  # where pam_systemd makes the user's folder
FILES = ("program", "config", "requirements")


def alone(uid: int, service: str) -> BinaryIO | socket.socket | None:
    """Return a lock of the user's that holds while it is kept, None where another process of that service's has it.

    A file in the user's runtime folder; where there is none, a name of a socket that leaves nothing behind.
    """
    folder = RUNTIME % uid
    name = "maple-reading-" + hashlib.sha256(os.fsencode(service)).hexdigest()[:12]
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        there = os.lstat(folder)
        if not stat.S_ISDIR(there.st_mode) or there.st_uid != uid or there.st_mode & 0o022:
            raise OSError
        lock = os.fdopen(os.open(folder + "/" + name, flags, 0o600), "wb")
    except OSError:
        return _by_name("\0%s-%d" % (name, uid))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        return None
    return lock


def _by_name(name: str) -> socket.socket | None:
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        claim.bind(name)
    except OSError:
        claim.close()
        return None
    return claim


class Service:
    """The daemon at a socket; its process belongs to root, to the user or to *service_uid*."""

    def __init__(self, path: str, service_uid: str) -> None:
        self._path = path
        self._uids = {0, os.getuid()} | ({int(service_uid)} if service_uid.isdigit() else set())

    def ask(self, question: Mapping[str, object]) -> Any:
        """Return what is found. Raises `OSError` and `ValueError`."""
        return self._exchange(ASK, question).get("found")

    def tell(self, facts: Mapping[str, object]) -> Any:
        """Tell what was read."""
        return self._exchange(TELL, facts).get("found")

    def _exchange(self, kind: bytes, content: Mapping[str, object]) -> dict[str, Any]:
        body = json.dumps(content, separators=(",", ":")).encode()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(SECONDS)
            connection.connect(self._path)
            _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            if uid not in self._uids:
                raise OSError("uid %d listens there" % uid)
            connection.sendall(kind + struct.pack(">I", len(body)) + body)
            head = _exactly(connection, 8)
            size = int(struct.unpack(">I", head[4:])[0])
            if head[:4] != ANSWER or size > MOST_ANSWER:
                raise ValueError("no answer of the daemon's")
            answer = json.loads(_exactly(connection, size))
        return answer if isinstance(answer, dict) else {}


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(min(size - len(data), 1 << 20))
        if not part:
            raise OSError("it hung up")
        data += part
    return bytes(data)


def read(question: Mapping[str, Any], site: Site) -> dict[str, object]:
    """Return what the files of a submission say, as "MPA1" has it. Raises `ValueError` where the question is none."""
    request = frames.unpack_request(base64.b64decode(question["request"]))
    submission = reply.whole(request.submission)
    files = Files(os.fsdecode(submission.cwd), known=_known(question["known"]))
    if submission.uid == os.getuid():
        analysis = read_files(submission, (), site, files)
        parts = [part for part in analysis.parts if part.kind in FILES and _is_told(part.name)][:MOST_PARTS]
        values = [value for value in analysis.values if value.part in {part.hash for part in parts}][:MOST_VALUES]
    else:
        parts, values = [], []
    read_now = [files.parts[path].hash for path in files.read]
    made: dict[str, object] = {
        "record": question["record"],
        "parts": [list(part) for part in parts],
        "values": [list(value._replace(value=masked(value.value)[:MOST_TEXT])) for value in values],
        "read": sorted({part.hash for part in parts}.intersection(read_now)),
    }
    return {**made, "looked": _looked(files, MOST_TOLD - len(json.dumps(made)))}


def _is_told(name: str) -> bool:
    return len(name) <= MOST_TEXT and masked(name) == name


def _known(known_files: Any) -> dict[str, Extract]:
    known = (list(map(str, row)) for row in known_files)
    return {
        os.fsdecode(path.encode("latin-1")): Extract(facts.encode("latin-1"), text)
        for path, facts, _, text in known
        if text
    }


def _looked(files: Files, room: int) -> list[list[str]]:
    """Return path, facts, hash and extract of files that were looked for, those that were there first.

    What holds a secret, and what there is no room for, is read again each time.
    """
    named = ((path, facts) for path, facts in files.looked.items() if "\0" not in path and len(path) < MOST_PATH)
    order = sorted(named, key=lambda row: (row[0] not in files.parts, not row[1]))
    made = []
    for path, facts in order[:MOST_LOOKED]:
        part, text = files.parts.get(path), files.extracts.get(path, "")
        name = os.fsencode(path).decode("latin-1")
        row = [name, facts.decode("latin-1"), part.hash if part else "", ""]
        room -= len(json.dumps(row)) + 2
        if text and len(text) <= min(MOST_EXTRACT, room // 2) and masked(text) == text:
            row[3] = text
            room -= len(json.dumps(text))
        made.append(row)
    return made
