"""`make bench-567`: 567 requests for a script, each result run in a lab; a table, and "N of 567" at its end."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.new567.asked import SEED, everything
from tests.new567.table import keep, results, table


@pytest.mark.timeout(0)
@pytest.mark.parametrize("kept", [pytest.param("build/567.json", id="567")])
def test_every_request(kept: str, tmp_path: Path) -> None:
    """MAPLE_SEED chooses other requests, MAPLE_567 a sample of so many or those whose name has that in it."""
    asked = everything(int(os.environ.get("MAPLE_SEED", SEED)))
    only = os.environ.get("MAPLE_567", "")
    if only.isdigit():
        asked = random.Random(1).sample(asked, min(int(only), len(asked)))
    elif only:
        asked = [one for one in asked if only in one.name]
    found = results(asked, str(tmp_path))
    keep(found, kept)
    print("\n" + table(found))
    print(f"each request in {kept}") if len(asked) < 567 else None
    assert len(found) == len(asked)
