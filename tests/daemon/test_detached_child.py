"""A user's files are read by a process of his own, after the submission and unseen by it; a version once."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from tests.daemon.asking import found, written
from tests.daemon.detached import Site
from tests.doubles.stand import Stand, build, compiled


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The double of sbatch."""
    return compiled("sbatch", str(tmp_path_factory.mktemp("double")))


@pytest.fixture
def site(request: pytest.FixtureRequest, tmp_path: Any, double: str) -> Iterator[Site]:
    """A login node whose daemon serves; its settings come as the fixture's parameter."""
    made = Site(Stand(str(tmp_path), build(), double), **getattr(request, "param", {}))
    made.daemon.start()
    yield made
    if made.daemon.process is not None and made.daemon.process.poll() is None:
        made.daemon.stop(signal.SIGKILL)
    shutil.rmtree(made.daemon.folder)


def test_what_stands_in_the_program_and_its_config_is_known_with_its_place(site: Site) -> None:
    """After one submission, with file and line."""
    site.submit()
    values = site.values({"learning_rate": "0.5", "epochs": "3"})
    lr, epochs = values["learning_rate"], values["epochs"]
    assert (lr["file"], lr["line"], lr["by"]) == ("train.py", 5, "program")
    assert (epochs["file"], epochs["line"], epochs["by"]) == ("conf.yaml", 1, "config")
    parts = {one["name"]: one["hash"] for one in found(site.daemon, ask="versions")[0]["parts"]}
    assert (lr["part"], epochs["part"]) == (parts["train.py"], parts["conf.yaml"])
