"""The corpora run once for all tests that look at what ran."""

from __future__ import annotations

import pytest

from tests.reality import pbs_field
from tests.reality.corpus import cases
from tests.reality.field import Ran, Work, run_all
from tests.reality.shapes import shape_of


@pytest.fixture(scope="session")
def corpora() -> list[Ran]:
    """What every right, tricky and wrong script did that can run on a lab."""
    everything = [case for kind in ("right", "tricky", "wrong") for case in cases(kind) if case.runs]
    return run_all([Work(case) for case in everything], shape_of)


@pytest.fixture(scope="session")
def pbs_corpora() -> list[Ran]:
    """The same for the scripts of PBS."""
    everything = [case for kind in ("right", "tricky", "wrong") for case in cases(kind, "pbs") if case.runs]
    return pbs_field.run_all([Work(case) for case in everything])
