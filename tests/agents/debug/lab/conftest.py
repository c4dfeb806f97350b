"""The cluster on which jobs fail, one for all tests of the folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agents.debug.lab.cluster import FailingLab
from tests.wanted import up


@pytest.fixture(scope="session")
def failing_lab() -> Iterator[FailingLab]:
    """Give the lab. Where it cannot start, tests are skipped on a person's machine and fail in CI."""
    made = up(FailingLab())
    yield made
    made.stop()
