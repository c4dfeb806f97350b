"""What other numbers of GPUs would bring: from one's own runs of at least two sizes, or nothing is said."""

from __future__ import annotations

import pytest
from maple_agents.ask.memory.versions import Job
from maple_agents.forecast.own_jobs import compared, samples, sizes
from maple_submit_filter.types.job_records import Reached, Record, Value, Version


def version(name: str, gpus: int, **values: object) -> Version:
    """A version of a job on so many GPUs."""
    known = {"world_size": gpus, "model": "m", **values}
    told = tuple(Value(key, str(value), "", 0, "", "plan") for key, value in known.items())
    return Version(name, "line", "", 1000, 1.0, "slurm", "/w/job.sh", "job", "/w", (), b"", name, values=told)


def record(number: int, of: str, step_seconds: float | None) -> Record:
    """A run of a version, with its speed."""
    reached = Reached(str(number), of, 2.0, 100.0, 100, 0.0, step_seconds)
    return Record(str(number), of, 1000, float(number), "h", 1, 1, "repair", "clean", (), "decided", job=str(number),
                  reached=reached)  # fmt: skip


def job(*runs: tuple[Version, tuple[float | None, ...]]) -> Job:
    """A lineage of versions, the newest first, with the seconds of a step of each run."""
    records = {made.id: tuple(record(at * 10 + place, made.id, seconds) for at, seconds in enumerate(steps))
               for place, (made, steps) in enumerate(runs)}  # fmt: skip
    return Job(tuple(made for made, _ in runs), records)


def test_two_sizes_with_the_same_batch_are_compared_as_goodput() -> None:
    """0.5 s on 8 GPUs and 0.54 s on 4: 93 %."""
    two = job((version("a", 8, batch_size_global=256), (0.5,)), (version("b", 4, batch_size_global=256), (0.54,)))
    (line,) = compared(sizes(two))
    assert line.startswith("4 GPUs give 93 % of the goodput of 8: a GPU-hour trains 1.85 times as much")


def test_another_batch_is_not_called_goodput() -> None:
    """As where each GPU keeps its own batch: the larger step has more samples, of which each may count less."""
    two = job((version("a", 8, batch_size_per_device=32), (0.55,)), (version("b", 2, batch_size_per_device=32), (0.5,)))
    (line,) = compared(sizes(two))
    assert "goodput" not in line and line.startswith("2 GPUs give 28 % of the samples a second of 8")


@pytest.mark.parametrize("values", [{}, {"batch_size": 64}, {"batch_size_per_device": 8, "tensor_parallel": 4}])
def test_without_the_samples_of_a_step_nothing_is_said(values: dict[str, object]) -> None:
    """A plain batch_size may be of a rank or of all; with tensor parallelism ranks share one."""
    two = job((version("a", 8, **values), (0.5,)), (version("b", 4, **values), (0.6,)))
    assert compared(sizes(two)) == []


def test_one_size_is_no_comparison() -> None:
    """Nor is one whose speed nobody read, nor one of another model."""
    eight = version("a", 8, batch_size_global=256)
    assert compared(sizes(job((eight, (0.5, 0.6))))) == []
    assert compared(sizes(job((eight, (0.5,)), (version("b", 4, batch_size_global=256), (None,))))) == []
    assert compared(sizes(job((eight, (0.5,)), (version("b", 4, batch_size_global=256, model="other"), (0.6,))))) == []


def test_the_newest_runs_of_a_size_count() -> None:
    """The median of three, so that one slow run decides nothing."""
    many = job((version("a", 4, batch_size_global=64), (0.5, 5.0, 0.4, 9.0, 9.0)))
    (size,) = sizes(many)
    assert size.step_seconds == 0.5 and size.jobs == ("0", "10", "20")


def test_samples_of_a_step() -> None:
    """With accumulated gradients."""
    assert samples({"batch_size_per_device": "4", "world_size": "8", "gradient_accumulation": "2"}) == 64
    assert samples({"batch_size_global": "512", "world_size": "8"}) == 512
