"""A daemon's socket: a stale one is replaced, what another serves is left alone."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from maple_daemon.base.peers import NoSocket, bound, put_away


def test_a_socket_that_nobody_serves_is_replaced(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as left:
        left.bind(path)
    with bound(path, 0o600) as ours, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asks:
        asks.connect(path)
        assert ours.getsockname() == path and os.stat(path).st_mode & 0o777 == 0o600


@pytest.mark.parametrize("waiting", [0, 3])
def test_a_socket_that_another_program_serves_stays(tmp_path: Path, waiting: int) -> None:
    """Also where its queue is full: it is busy, not gone."""
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as theirs:
        theirs.bind(path)
        theirs.listen(0)
        guests = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(waiting)]
        for guest in guests:
            guest.setblocking(False)
            guest.connect_ex(path)
        before = os.stat(path).st_ino
        with pytest.raises(NoSocket, match="another program listens there"):
            bound(path)
        assert os.stat(path).st_ino == before
        for guest in guests:
            guest.close()


def test_what_is_no_stream_socket_is_not_removed(tmp_path: Path) -> None:
    file, datagrams = tmp_path / "file", str(tmp_path / "d")
    file.write_text("kept")
    with pytest.raises(FileExistsError, match="no socket"):
        put_away(str(file))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as theirs:
        theirs.bind(datagrams)
        with pytest.raises(OSError):
            put_away(datagrams)
    assert file.read_text() == "kept" and os.path.exists(datagrams)
