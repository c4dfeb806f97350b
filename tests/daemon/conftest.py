"""What tests of the daemon need: a cache that leaves nothing in the person's; a store; a daemon; a cluster."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from maple_daemon.store import open_store
from maple_daemon.store.protocol import Store

from tests.daemon.ending import Cluster
from tests.daemon.serving import Daemon
from tests.ready import Ready


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let XDG_CACHE_HOME be a temporary folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def ready() -> Iterator[None]:
    """Let daemons be forked from a process that has imported what they import; those that are broken start anew."""
    made = Ready("maple_daemon.serve")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Daemon, "ready", made)
        yield
    made.end()


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Store]:
    """An empty store at `memory.db` of the test's folder, open as the service has it."""
    opened = open_store(str(tmp_path / "memory.db"))
    yield opened
    opened.close()


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    """One for a test alone, its connections unlimited."""
    made = Daemon(per_user={"rate": 100000, "burst": 100000, "connections": 500}).start()
    yield made
    if made.process is not None and made.process.poll() is None:
        made.stop(signal.SIGKILL)
    shutil.rmtree(made.folder)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A daemon with a spool, for a test alone; other users reach both."""
    made = Cluster(str(tmp_path))
    for folder in (made.daemon.folder, str(tmp_path)):
        os.chmod(folder, 0o711)
    yield made
    if made.daemon.process is not None and made.daemon.process.poll() is None:
        made.daemon.stop(signal.SIGKILL)
    shutil.rmtree(made.daemon.folder)
