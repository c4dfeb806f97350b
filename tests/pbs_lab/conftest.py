"""Labs of PBS that the tests of this folder share; each is up in a tenth of a second."""

from __future__ import annotations

from typing import Callable, Iterator

import pytest

from tests.pbs_lab import PAIR, PbsLab, PbsShape
from tests.pbs_lab.sites import shape_of_site


@pytest.fixture(scope="session")
def pbs_lab_of() -> Iterator[Callable[[PbsShape], PbsLab]]:
    """Return a function that gives the session's lab of a shape, started when first asked for."""
    running: dict[PbsShape, PbsLab] = {}

    def get(shape: PbsShape) -> PbsLab:
        if shape not in running:
            running[shape] = PbsLab(shape).start()
        return running[shape]

    yield get
    for one in running.values():
        one.stop()


@pytest.fixture
def pair(pbs_lab_of: Callable[[PbsShape], PbsLab]) -> PbsLab:
    """Two hosts of two GPUs, and the real Hydra."""
    return pbs_lab_of(PAIR)


@pytest.fixture
def polaris(pbs_lab_of: Callable[[PbsShape], PbsLab]) -> PbsLab:
    """Four hosts in the shape of Polaris, and the look-alike of PALS."""
    return pbs_lab_of(shape_of_site("alcf-polaris"))


@pytest.fixture
def aurora(pbs_lab_of: Callable[[PbsShape], PbsLab]) -> PbsLab:
    """Four hosts in the shape of Aurora, and the look-alike of PALS."""
    return pbs_lab_of(shape_of_site("alcf-aurora"))
