"""PSI/J: one job, waited for."""

from datetime import timedelta
from pathlib import Path

from psij import Job, JobAttributes, JobExecutor, JobSpec, ResourceSpecV1

executor = JobExecutor.get_instance("slurm")
spec = JobSpec(
    executable="/bin/echo",
    arguments=["one word", "$HOME", "x=y"],
    stdout_path=Path("out.txt").absolute(),
    resources=ResourceSpecV1(node_count=1, processes_per_node=2),
    attributes=JobAttributes(duration=timedelta(minutes=20)),
    launcher="srun",
)
job = Job(spec)
executor.submit(job)
status = job.wait(timeout=timedelta(seconds=90))
print(status.state.name if status else "late")
print(Path("out.txt").read_text())
