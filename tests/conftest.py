"""Fixtures that several areas share: labs, started once a session and used by every test that asks for them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Callable, Iterator

import pytest
from hypothesis import settings

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if ROOT not in sys.path:  # `tests.lab` is imported as a package from the checkout
    sys.path.insert(0, ROOT)

from tests.dispositions import give_back  # noqa: E402
from tests.lab import GPU2X2, GPU4, Lab, Shape  # noqa: E402
from tests.lab.processes import folders  # noqa: E402
from tests.wanted import up  # noqa: E402

# A version manager's shim asks bash some ten times which Python is meant, at every start, which takes longer than
# Python does: the one that .venv was made with comes first.
PATH = os.environ.get("PATH", os.defpath).split(os.pathsep)
SHIMS = [at for at, folder in enumerate(PATH) if os.path.basename(folder) == "shims"]
if SHIMS:
    PATH.insert(SHIMS[0], os.path.join(sys.base_prefix, "bin"))
os.environ["PATH"] = os.pathsep.join([*folders(), *PATH])

give_back()

settings.register_profile("maple", deadline=None)  # nothing is timed in an assertion: machines are busy
settings.load_profile("maple")


@pytest.fixture(scope="session")
def lab_of() -> Iterator[Callable[[Shape], Lab]]:
    """Return a function that gives the session's lab of a shape, started when first asked for."""
    running: dict[Shape, Lab] = {}

    def get(shape: Shape) -> Lab:
        if shape not in running:
            running[shape] = up(Lab(shape))
        return running[shape]

    yield get
    for one in running.values():
        one.stop()


@pytest.fixture(scope="session")
def lab(lab_of: Callable[[Shape], Lab]) -> Lab:
    """A lab of four nodes with four GPUs each."""
    return lab_of(GPU4)


@pytest.fixture(scope="session")
def small_lab(lab_of: Callable[[Shape], Lab]) -> Lab:
    """A lab of two nodes with two GPUs each."""
    return lab_of(GPU2X2)


@pytest.fixture
def delta(tmp_path: Path) -> Path:
    """A site file of one's own, to spoil or to correct."""
    from maple_agents.ask import sites

    path = tmp_path / "ncsa-delta.toml"
    path.write_bytes(Path(sites.path("ncsa-delta")).read_bytes())
    return path
