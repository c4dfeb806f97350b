"""What a process may use is read from where the kernel says it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from maple_miniapps import machine


@given(st.sets(st.integers(0, 300)))
def test_ranges_say_the_same_numbers(numbers):
    assert machine.from_ranges(machine.ranges(sorted(numbers))) == numbers


def test_ranges_are_short():
    assert machine.ranges([0, 1, 2, 8]) == "0-2,8"


def test_the_smallest_memory_limit_above_counts(tmp_path):
    job = tmp_path / "slurm" / "job"
    (job / "step").mkdir(parents=True)
    (job / "memory.max").write_text("1000\n")
    (job / "step" / "memory.max").write_text("max\n")
    (tmp_path / "slurm" / "memory.max").write_text("5000\n")
    assert machine.memory_limit("0::/slurm/job/step\n", str(tmp_path)) == 1000


def test_the_older_kind_of_control_group_is_read_as_well(tmp_path):
    job = tmp_path / "memory" / "job"
    job.mkdir(parents=True)
    (job / "memory.limit_in_bytes").write_text("2048\n")
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    assert machine.memory_limit("7:cpu:/job\n4:memory:/job\n", str(tmp_path)) == 2048


def test_no_limit_is_none(tmp_path):
    assert machine.memory_limit("0::/\nnonsense\n", str(tmp_path)) is None


def test_the_facts_agree_with_each_other():
    facts = machine.facts({"CUDA_VISIBLE_DEVICES": "0,1", "PATH": "/bin"})
    assert len(machine.from_ranges(facts["cpus"])) == facts["cpu_count"] >= (facts["cores"] or 1)
    assert facts["visible_devices"] == {"CUDA_VISIBLE_DEVICES": "0,1"}
