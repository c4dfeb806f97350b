"""Variables of a batch shell that Slurm sets besides those of the allocation, whose values nobody knows before.

By sbatch(1), "output environment variables", of 20.11 to 25.11, and what slurmstepd was seen to set without a word
there (22.05.8): a name that Slurm sets is not empty because its value is not known here. srun's own names are none of
these, nor are those by which srun is told how to start a step.
"""

from __future__ import annotations

from typing import Dict, Mapping, Optional, Tuple

from ..types.job import Settings
from ..types.launch_plan import Allocation, device_numbers
from ..types.text import EMPTY, Text, plain, unknown

_ALWAYS = (
    b"CONF JOB_ACCOUNT JOB_END_TIME JOB_GID JOB_GROUP JOB_QOS JOB_START_TIME JOB_UID JOB_USER GTIDS PRIO_PROCESS "
    b"TASK_PID TOPOLOGY_ADDR TOPOLOGY_ADDR_PATTERN"
).split()
_MAYBE = (  # by the site's defaults, or by what the job was given
    b"SLURM_JOB_LICENSES SLURM_JOB_RESERVATION SLURM_MEM_PER_CPU SLURM_MEM_PER_GPU SLURM_MEM_PER_NODE "
    b"SLURM_NODE_ALIASES SLURM_OOM_KILL_STEP SLURM_PROFILE SLURM_SCRIPT_CONTEXT SLURM_SHARDS_ON_NODE SLURM_STEP_GPUS "
    b"SLURM_THREADS_PER_CORE SLURM_WORKING_CLUSTER SLURM_TMPDIR GPU_DEVICE_ORDINAL"
).split()
# Set where the option was said, and only there.
_OF_OPTIONS: Mapping[bytes, str] = {
    b"SLURM_CPUS_PER_GPU": "cpus-per-gpu", b"SLURM_GPUS_PER_SOCKET": "gpus-per-socket", b"SLURM_GPU_BIND": "gpu-bind",
    b"SLURM_GPU_FREQ": "gpu-freq", b"SLURM_JOB_DEPENDENCY": "dependency", b"SLURM_CONTAINER": "container",
    b"SLURM_CPU_FREQ_REQ": "cpu-freq", b"SLURM_GET_USER_ENV": "export", b"SLURM_HINT": "hint",
    b"SLURM_NTASKS_PER_CORE": "ntasks-per-core", b"SLURM_NTASKS_PER_GPU": "ntasks-per-gpu",
    b"SLURM_NTASKS_PER_SOCKET": "ntasks-per-socket", b"SLURM_OVERCOMMIT": "overcommit",
    b"SLURM_ARRAY_TASK_COUNT": "array", b"SLURM_ARRAY_TASK_MAX": "array", b"SLURM_ARRAY_TASK_MIN": "array",
    b"SLURM_ARRAY_TASK_STEP": "array",
}  # fmt: skip


def _maybe(name: bytes) -> Text:
    return Text(unknown(b"job." + name).pieces, True)


# Made once: a submission is played many times.
_OF_ANY_JOB: Mapping[bytes, Text] = {
    **{b"SLURM_" + name: unknown(b"job." + name) for name in _ALWAYS},
    **{name: _maybe(name) for name in _MAYBE},
}


def beside(settings: Settings, given: Allocation) -> Dict[bytes, Optional[Text]]:
    """Return these variables; None: it surely is not set, since the option that would set it was not said."""
    out: Dict[bytes, Optional[Text]] = dict(_OF_ANY_JOB)
    out.update((name, _maybe(name) if option in settings else None) for name, option in _OF_OPTIONS.items())
    gpus = given.gpus_per_node  # the list counts through the node where others count from 0; they are as many
    out[b"SLURM_JOB_GPUS"] = devices(device_numbers(gpus)) if gpus else _maybe(b"SLURM_JOB_GPUS")
    return out


def devices(gpus: Optional[Tuple[bytes, ...]]) -> Text:
    """Return a list of devices of a node as masks have it; None: nobody knows which."""
    return unknown(b"cvd") if gpus is None else plain(b",".join(gpus)) if gpus else EMPTY


__all__ = ["beside", "devices"]
