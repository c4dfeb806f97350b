"""567 requests for a script, each result run in a lab; a table that ends with "N of 567"."""

from __future__ import annotations

import pytest

from tests.new567.__main__ import main


@pytest.mark.timeout(0)
@pytest.mark.parametrize("argv", [pytest.param([], id="567")])
def test_every_request(argv: list[str]) -> None:
    """MAPLE_SEED chooses other requests, MAPLE_567 a sample of so many or those whose name has that in it."""
    assert main(argv) == 0
