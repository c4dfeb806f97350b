"""What a test wants of its machine: missing, it is skipped on a person's machine and fails in CI."""

from __future__ import annotations

import os
from typing import NoReturn, TypeVar

import pytest

from tests.lab import Lab, LabError
from tests.lab.processes import version

Kind = TypeVar("Kind", bound=Lab)


def up(lab: Kind) -> Kind:
    """Start a lab, and return it; whoever asks stops it."""
    try:
        lab.start()
    except LabError as error:
        missing(str(error))
    return lab


def slurm(at_least: tuple[int, int] = (0, 0), below: tuple[int, int] = (99, 0)) -> None:
    """Skip the test where the labs' Slurm is older than *at_least*, or not older than *below*: it holds for others."""
    has = version()
    if not at_least <= has < below:
        pytest.skip("it holds for other releases than Slurm %d.%02d" % has)


def missing(what: str) -> NoReturn:
    """End the test, or the fixture, for want of something; *what*: the line that says what to install."""
    if os.environ.get("CI", "").lower() in ("", "0", "false"):
        pytest.skip(what)
    pytest.fail(what, pytrace=False)
