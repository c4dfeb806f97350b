"""Where data is found: what belongs to this very checkout comes before what an installation once copied."""

from __future__ import annotations

from pathlib import Path

import pytest
from maple_submit_filter.host import places

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["templates", "site_configs"])
def test_a_checkout_s_own_data_is_the_strongest_but_the_site_s(name: str) -> None:
    """An editable installation copies the data to the prefix once, and that copy grows old."""
    assert places.folders(name, {"MAPLE_ETC": "/etc/none"})[0] == str(ROOT / name)
    assert places.folders(name, {"MAPLE_ETC": str(ROOT)})[0] == str(ROOT / name)
