"""Advice in the words of the scheduler that is here: what only the other one has is said anew, or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterable

_FOR = re.compile(r"\[(slurm|pbs)\] ")
_ONLY = {
    "slurm": re.compile(
        r"\b(?:srun|sbatch|salloc|scontrol|squeue|sacct|sacctmgr|scancel|sinfo|sstat|seff|sbcast|sattach|Slurm)\b"
        r"|\bS(?:LURM|BATCH|RUN)_\w+|#SBATCH"
        r"|--(?:ntasks|gpus-per|cpus-per|gres|gpu-bind|kill-on-bad-exit|chdir|open-mode|requeue|overlap)\b"
    ),
    "pbs": re.compile(
        r"\b(?:qsub|qstat|qdel|qalter|qsig|qrls|pbsnodes|pbsdsh|tracejob|PBS|mpiprocs)\b|\bPBS_\w+|#PBS|-l select"
    ),
}
_OTHER = {"slurm": "pbs", "pbs": "slurm"}
# What PBS has in place of it (OpenPBS 23.06): pbsdsh starts a program on each node, mpiexec one on the first. Braces
# that hold no caught name are doubled.
_OF_PBS = (
    (re.compile(r'\$\(scontrol show hostnames "\$SLURM_JOB_NODELIST" \| head -n 1\)'), '$(head -n 1 "$PBS_NODEFILE")'),
    (re.compile(r'scontrol show hostnames "\$SLURM_JOB_NODELIST"'), 'sort -u "$PBS_NODEFILE"'),
    (re.compile(r"\bSLURM_JOB_ID %"), "${{PBS_JOBID%%[^0-9]*}} %"),
    (re.compile(r"\$SLURM_JOB_ID\b"), "${{PBS_JOBID%%[^0-9]*}}"),
    (re.compile(r"\$SLURM_SUBMIT_DIR\b"), "$PBS_O_WORKDIR"),
    (re.compile(r"\bsrun --ntasks-per-node=1 (?!bash|torchrun)"), "pbsdsh -- "),
    (re.compile(r"\bsrun -N1 -n1 -w (\S+) "), r"mpiexec -n 1 --host \1 "),
    (re.compile(r"\bsrun (?:-N1 )?-n1 "), "mpiexec -n 1 "),
)


def spoken(text: str, scheduler: str) -> str:
    """Return a sentence or step of advice as it is right under *scheduler*, "" where it holds for the other alone.

    *text* is as the knowledge base has it, `{name}` for what was caught. `[pbs] …` and `[slurm] …` are for that one.
    Under any scheduler but these two nothing is changed.
    """
    meant = _FOR.match(text)
    text = text[meant.end() :] if meant else text
    if scheduler not in _OTHER:
        return text
    if meant and meant[1] != scheduler:
        return ""
    for pattern, other in _OF_PBS if scheduler == "pbs" else ():
        text = pattern.sub(other, text)
    return "" if foreign(text, scheduler) else text


def all_spoken(texts: Iterable[str], scheduler: str) -> tuple[str, ...]:
    """Return those of *texts* that are right under *scheduler*, as they are said there."""
    return tuple(filter(None, (spoken(text, scheduler) for text in texts)))


def foreign(text: str, scheduler: str) -> frozenset[str]:
    """Return the words of the other scheduler in *text*: of its commands, variables, directives and options."""
    other = _OTHER.get(scheduler)
    return frozenset(_ONLY[other].findall(text)) if other else frozenset()
