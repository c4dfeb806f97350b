"""What is found of mappings that were labelled without sight of Maple."""

from __future__ import annotations

import pytest

from tests.agents.mapping import blind

# Wrong ones of each set; the count only grows.
FOUND = {
    "2026-11-27": 18,
    "2026-11-27-fifth": 18,
    "2026-11-27-fourth": 13,
    "2026-11-27-opened": 30,
    "2026-11-27-sixth": 19,
    "2026-11-27-seventh": 18,
}


@pytest.mark.parametrize("path", blind.sets(), ids=lambda path: path.stem)
def test_no_fewer_are_found_and_no_right_one_is_accused(path) -> None:
    """A right script that is accused counts before all that is found."""
    rows = blind.judged(path)
    accused = {one.name: one.says for one in rows if one.right and one.says}
    found = [one.name for one in rows if not one.right and one.says]
    assert not accused and len(found) >= FOUND[path.stem], blind.table(rows)
