"""One submission by a caller's own code, without waiting for its job: `submissions.py NAME` prints what was parsed.

What a caller needs beside its submission (a database, a hub, a job that ends) is not there, so the parts that call
`sbatch` and read its answer are called as their own callers call them. Works in the working directory.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from types import SimpleNamespace

SCRIPT = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --time=00:02:00\nsrun python train.py\n"
HERE = Path.cwd()


def torchx() -> object:
    """Two replicas of a training: a heterogeneous job."""
    from torchx.components.dist import ddp
    from torchx.schedulers.slurm_scheduler import create_scheduler

    app = ddp("--lr", "1e-4", script="train.py", image=str(HERE), j="2x4", gpu=4, name="sums")
    scheduler = create_scheduler("session")
    return scheduler.schedule(scheduler.submit_dryrun(app, {"partition": "gpu", "time": "10"}))


def pysqa() -> object:
    """A file with the words of the user's template."""
    from pysqa import QueueAdapter

    adapter = QueueAdapter(queue_type="SLURM")
    return adapter.submit_job(job_name="sums", working_directory=str(HERE), cores=2, run_time_max=120, partition="gpu",
                              command="srun python train.py")  # fmt: skip


def executorlib() -> object:
    """A function's call in a file, submitted by way of pysqa."""
    from executorlib.task_scheduler.file.spawner_pysqa import execute_with_pysqa

    command = [sys.executable, "-m", "executorlib.backend.cache_serial", str(HERE / "sums_i.h5")]
    return execute_with_pysqa(command, str(HERE / "sums_i.h5"), {"fn": print, "args": (1,), "kwargs": {}}, str(HERE),
                              resource_dict={"cores": 1, "partition": "gpu"}, backend="SLURM")  # fmt: skip


def myqueue(kind: str = "slurm") -> object:
    """The script on standard input; for Slurm, and for PBS."""
    from myqueue.config import Configuration
    from myqueue.schedulers import get_scheduler
    from myqueue.task import create_task

    nodes = [("gpu", {"cores": 4, "memory": "8GB"})]
    scheduler = get_scheduler(Configuration(kind, nodes=nodes, home=HERE, use_mpi=True))
    return scheduler.submit(create_task("train.py", resources="4:10m", folder=str(HERE)))


def toil() -> object:
    """One job in --wrap."""
    from toil.batchSystems.slurm import SlurmBatchSystem

    system = SlurmBatchSystem.__new__(SlurmBatchSystem)
    unsaid = {name: None for name in ("gpu_partition", "gpu_qos", "qos", "time", "args", "pe", "default_all_mem")}
    said = {**unsaid, "allocate_mem": True, "partition": "gpu", "export_all_environment": True}
    system.config = SimpleNamespace(**{f"slurm_{name}": value for name, value in said.items()})
    system.environment, system.nativeConfig, system.parallelEnv = {}, None, None
    system.partitions = SimpleNamespace(
        get_partition=lambda time: None, default_gpu_partition=None, gpu_partitions=set()
    )
    system.format_std_out_err_path = lambda job, name, end: str(HERE / f"toil_{job}.{name}.{end}")
    grid = SlurmBatchSystem.GridEngineThread.__new__(SlurmBatchSystem.GridEngineThread)
    grid.boss = system
    line = grid.prepareSubmission(1, 1 << 30, 600, 1, "_toil_worker sums file:store kind-sums", "sums", None, 0)
    return grid.submitJob(line)


def fireworks() -> object:
    """A rocket launcher's script of the adapter's own template."""
    from fireworks.user_objects.queue_adapters.common_adapter import CommonAdapter

    words = {"nodes": 1, "ntasks": 2, "queue": "gpu", "walltime": "00:02:00", "rocket_launch": "rlaunch singleshot"}
    adapter = CommonAdapter("SLURM", "sums", logdir=str(HERE), job_name="sums", launch_dir=str(HERE), **words)
    Path("FW_submit.script").write_text(adapter.get_script_str(str(HERE)))
    return adapter.submit_to_queue("FW_submit.script")


def jobflow() -> object:
    """jobflow-remote: qtoolkit's command in a shell, in the job's folder."""
    import subprocess

    from qtoolkit.core.data_objects import QResources
    from qtoolkit.io.slurm import SlurmIO

    slurm = SlurmIO()
    options = QResources(queue_name="gpu", job_name="sums", nodes=1, processes_per_node=2, time_limit=120)
    Path("submit.sh").write_text(slurm.get_submission_script(["jf -fe execution run $PWD"], options))
    command = f"cd {HERE} && {slurm.get_submit_cmd('submit.sh')}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    return slurm.parse_submit_output(done.returncode, done.stdout, done.stderr).job_id


def aiida() -> object:
    """A shell in the job's folder, with the file's name quoted."""
    import subprocess

    from aiida.schedulers.plugins.slurm import SlurmScheduler

    def run(command: str, workdir: str) -> tuple[int, str, str]:
        done = subprocess.run(["bash", "-c", command], cwd=workdir, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    Path("_aiidasubmit.sh").write_text(SCRIPT)
    scheduler = SlurmScheduler()
    scheduler.set_transport(SimpleNamespace(exec_command_wait=run))
    return scheduler.submit_job(str(HERE), "_aiidasubmit.sh")


def batchspawner() -> object:
    """A notebook server's script on standard input of a shell's command."""
    from batchspawner import SlurmSpawner

    spawner = SlurmSpawner.__new__(SlurmSpawner)
    words = {"homedir": str(HERE), "keepvars": "PATH,LANG", "partition": "gpu", "runtime": "1:00:00", "srun": "srun",
             "cmd": "batchspawner-singleuser jupyterhub-singleuser"}  # fmt: skip
    from batchspawner.batchspawner import format_template

    script = format_template(SlurmSpawner.batch_script.default_value, **words)
    command = SlurmSpawner.batch_submit_cmd.default_value
    said = asyncio.run(SlurmSpawner.run_command(spawner, command, script, dict(os.environ)))
    return SlurmSpawner.parse_job_id(spawner, said)


if __name__ == "__main__":
    name, _, rest = sys.argv[1].partition("-")
    print(globals()[name](*filter(None, [rest])))
