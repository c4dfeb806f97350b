"""submitit: one function in two tasks."""

import submitit


def add(first: int, second: int) -> int:
    """The work of the job."""
    return first + second


executor = submitit.AutoExecutor(folder="log", cluster="slurm")
executor.update_parameters(timeout_min=20, nodes=1, tasks_per_node=2, name="adds")
job = executor.submit(add, 5, 7)
print(job.results())
