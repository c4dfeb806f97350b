"""What nobody typed is no option: the limits that a partition gives by default."""

from __future__ import annotations

from pathlib import Path

import pytest
from maple_agents.diagnose.gather.sources import from_slurm
from maple_agents.diagnose.gather.sources.from_slurm import Commands, shape

PARTITION = "PartitionName=gpu DefaultTime=%s MaxTime=2-00:00:00 DefMemPerNode=UNLIMITED DefMemPerCPU=1000 State=UP"
JOB = {"Partition": "gpu", "TimeLimit": "01:00:00", "MinMemoryCPU": "1000M", "NumNodes": "2"}


def shaped(folder: Path, fields: dict[str, str], default: str = "01:00:00", code: int = 0) -> dict[str, str]:
    """Return the options that are made of a job's fields, where scontrol knows of the partition."""
    scontrol = folder / "scontrol"
    scontrol.write_text("#!/bin/sh\necho '%s'\nexit %d\n" % (PARTITION % default, code))
    scontrol.chmod(0o755)
    return dict(shape(from_slurm.asked_by_partition(fields, Commands({"PATH": f"{folder}:/usr/bin:/bin"}))))


def test_a_partition_s_default_makes_no_option(tmp_path: Path) -> None:
    """Time and memory alike; what is the job's own stays."""
    assert shaped(tmp_path, JOB) == {"partition": "gpu", "nodes": "2"}


@pytest.mark.parametrize("limit", ["2-00:00:00", "48:00:00"])
def test_without_a_default_a_partition_gives_its_longest_time(tmp_path: Path, limit: str) -> None:
    """However it is written."""
    assert "time" not in shaped(tmp_path, {**JOB, "TimeLimit": limit}, "NONE")
    assert shaped(tmp_path, {**JOB, "TimeLimit": limit})["time"] == limit


def test_what_differs_was_asked_for(tmp_path: Path) -> None:
    """And where the partition cannot be asked, nothing is left out."""
    told = shaped(tmp_path, {**JOB, "TimeLimit": "00:30:00", "MinMemoryCPU": "4G"})
    assert (told["time"], told["mem-per-cpu"]) == ("00:30:00", "4G")
    assert shaped(tmp_path, JOB, code=1)["time"] == "01:00:00"
