"""A bench for every test, and no process left behind."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

import pytest

from tests.miniapps.started import Bench, bench


@pytest.fixture
def ranks(tmp_path: Path) -> Iterator[Bench]:
    """A bench on which a test starts ranks."""
    with bench(tmp_path) as made:
        yield made
