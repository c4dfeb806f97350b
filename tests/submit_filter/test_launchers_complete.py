"""Whoever adds a launcher adds its cases and something that starts what it would start."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest
from maple_submit_filter.launchers.registry import registry

from tests.lab import doubles
from tests.submit_filter.test_worlds_kept_everywhere import everything

REAL = {"srun": "the lab's own", "remote": "tests/pbs_lab"}  # run for real, or by a lab's own stand-ins


def by_module() -> dict[str, list[str]]:
    """Return the names that people type, by the module that reads them."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, start in registry().items():
        found[start.__module__.rpartition(".")[2]].append(name.decode())
    return found


@pytest.fixture(scope="module")
def scripts() -> bytes:
    """Every script of the tree."""
    return b"\n".join(asked.script or b"" for _, asked, _, _ in everything())


@pytest.mark.parametrize(("module", "names"), sorted(by_module().items()), ids=lambda one: str(one))
def test_a_launcher_has_cases_and_a_stand_in(module: str, names: list[str], scripts: bytes) -> None:
    """A launch line in a case, and a command of that name in the labs."""
    assert any(re.search(rb"(?m)(^|[\s;&|'\"(/])%s\s" % re.escape(name.encode()), scripts) for name in names)
    assert module in REAL or set(names) & set(doubles.COMMANDS)
