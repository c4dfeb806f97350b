"""To which release one goes back: the one in force before, however many there are."""

from __future__ import annotations

from pathlib import Path

import pytest
from maple_daemon.install.refusals import Refused
from maple_daemon.install.release.layout import Layout, layout
from maple_daemon.install.release.releases import chosen, in_force, switch


@pytest.fixture
def where(tmp_path: Path) -> Layout:
    """Four releases; the last is in force."""
    made = layout(tmp_path)
    for name in ("0.1.0-aa", "0.2.0-bb", "0.3.0-cc", "0.3.0-dd"):
        (made.releases / name).mkdir(parents=True)
    switch(made, "0.3.0-dd")
    return made


HISTORY = ("0.1.0-aa", "0.3.0-cc", "0.2.0-bb", "0.3.0-dd")


@pytest.mark.parametrize(
    ("history", "wanted", "name"),
    [
        (HISTORY, "", "0.2.0-bb"),  # in force before: neither the oldest nor the highest
        ((*HISTORY, "0.1.0-aa"), "", "0.1.0-aa"),  # gone back to and forth
        (("0.1.0-aa", "0.9.0-gone", "0.3.0-dd"), "", "0.1.0-aa"),  # what is not there any more is passed over
        (HISTORY, "0.1.0", "0.1.0-aa"),
        (HISTORY, "0.3.0-cc", "0.3.0-cc"),
        (HISTORY, "0.3.0", "0.3.0-dd"),  # of two of one version the one that was in force later
        (("0.3.0-dd", "0.3.0-cc"), "0.3.0", "0.3.0-cc"),
    ],
)
def test_the_one_before(where: Layout, history: tuple[str, ...], wanted: str, name: str) -> None:
    """Or the one that is named."""
    assert in_force(where) == "0.3.0-dd"
    assert chosen(where, history, wanted) == name


@pytest.mark.parametrize(
    ("history", "wanted"), [((), ""), (("0.3.0-dd",), ""), (("0.9.0-gone", "0.3.0-dd"), ""), (HISTORY, "0.4.0")]
)
def test_none_is_said(where: Layout, history: tuple[str, ...], wanted: str) -> None:
    """In one line."""
    with pytest.raises(Refused, match="there is no "):
        chosen(where, history, wanted)
