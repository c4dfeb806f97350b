"""Memory that the kernel takes back: each step in a cgroup, as on most clusters; Slurm tells of it in its own words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.debug.lab import table
from tests.agents.debug.lab.cluster import KernelLab
from tests.agents.debug.lab.failing import failures
from tests.agents.debug.lab.provoking import Provoked


@pytest.mark.timeout(300)
def test_what_the_kernel_killed_is_known_and_cured(tmp_path: Path) -> None:
    """The words of the out-of-memory handler are the evidence, and with more memory the job ends well."""
    if not KernelLab.can_be():
        pytest.skip("no cgroup file system for memory that may be written")
    tmp_path.chmod(0o755)
    with KernelLab() as lab:
        seen = Provoked(lab, failures()["memory-limit"], tmp_path).outcome()
        assert (seen.right, seen.evidence, seen.rounds) == (True, True, 1), table.row(seen)
        said = seen.asked.told["evidence"][0]["text"].lower()  # slurmstepd's line or srun's
        assert "oom-kill event" in said or "oom_kill" in said or "out of memory" in said
    assert not list(Path(KernelLab.MEMORY).glob("slurm_gpu-node-*"))
