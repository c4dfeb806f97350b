"""A machine without what tests want skips them, unless it is CI."""

from __future__ import annotations

import pytest

from tests.lab import GPU2X2, Lab, LabError
from tests.wanted import up


class Unable(Lab):
    """A lab on a machine without Slurm."""

    def start(self) -> Lab:
        """Say what is missing."""
        raise LabError("apt-get install slurm-wlm")


@pytest.mark.parametrize(
    "ci, ends", [("", pytest.skip), ("0", pytest.skip), ("False", pytest.skip), ("1", pytest.fail)]
)
def test_a_lab_that_cannot_start_is_a_failure_in_ci_alone(monkeypatch: pytest.MonkeyPatch, ci: str, ends: type) -> None:
    """Either way the line says what to install."""
    monkeypatch.setenv("CI", ci)
    with pytest.raises(ends.Exception, match="apt-get install slurm-wlm"):  # type: ignore[attr-defined]
        up(Unable(GPU2X2))
