"""The cluster on which jobs fail, one for all tests of the folder."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.agents.debug.lab.cluster import FailingLab
from tests.lab import LabError


@pytest.fixture(scope="session")
def failing_lab() -> Iterator[FailingLab]:
    """Give the lab. Where it cannot start, tests are skipped on a person's machine and fail in CI."""
    made = FailingLab()
    try:
        made.start()
    except LabError as error:
        if os.environ.get("CI", "").lower() in ("", "0", "false"):
            pytest.skip(str(error))
        pytest.fail(str(error), pytrace=False)
    yield made
    made.stop()
