"""Slips of environment/: which variables the tasks see, and of which scheduler they are."""

from __future__ import annotations

import re
from typing import Optional

from tests.reality.slips.forms import in_front, on_line, swapped
from tests.reality.slips.lines import by_srun, outer
from tests.reality.slips.script import Script
from tests.reality.slips.slip import Change, Slip

_TEXT = re.compile(rb"\b(?:ba)?sh -l?c '([^']*)'")
_EXPORTED = rb"(?m)^export[ \t]+(?=%s=)"


def _needed(script: Script) -> Optional[bytes]:
    """Return a variable of the script that it exports once, and that the tasks' shells expand."""
    text = _TEXT.search(script.launch)
    names = re.findall(rb"(?m)^export[ \t]+(\w+)=", script.text)
    used = [name for name in names if text and re.search(rb"\$\{?%s\b" % name, text[1])]
    return used[0] if used and script.text.count(b"export " + used[0]) == 1 and outer(script) else None


def _kept(form: bytes) -> Change:
    """Set the variable of the batch shell without an export."""

    def change(script: Script) -> Optional[bytes]:
        return script.swap(_EXPORTED % re.escape(_needed(script) or b""), form)

    return change


SLIPS = [
    Slip(
        "a variable that stays in the batch shell",
        ("MPL402",),
        lambda script: _needed(script) is not None,
        {
            "no export": _kept(b""),
            "local of a function": _kept(rb"declare "),
            "typeset": _kept(rb"typeset "),
            "readonly": _kept(rb"readonly "),
            "export -n": lambda script: script.before(b"export -n " + (_needed(script) or b"") + b"\n"),
            "unset": lambda script: script.before(b"unset " + (_needed(script) or b"") + b"\n"),
            "--export=NONE": lambda script: (
                script.swap_launch(rb"\bsrun\b", b"srun --export=NONE") if by_srun(script) else None
            ),
            "--export=FOO": lambda script: (
                script.swap_launch(rb"\bsrun\b", b"srun --export=NCCL_DEBUG=INFO,PATH") if by_srun(script) else None
            ),
        },
    ),
    Slip(
        "variables of PBS",
        ("MPL406", "MPL501", "MPL402"),
        lambda script: not script.is_pbs and b"MASTER_ADDR=" in script.text,
        {
            "head": swapped(rb"(?m)(?<=MASTER_ADDR=)\$\((?:[^()\n])*\)", rb"$(head -n 1 $PBS_NODEFILE)"),
            "head, quoted": swapped(rb"(?m)(?<=MASTER_ADDR=)\$\((?:[^()\n])*\)", rb'$(head -n 1 "${PBS_NODEFILE}")'),
            "cat": swapped(rb"(?m)(?<=MASTER_ADDR=)\$\((?:[^()\n])*\)", rb"$(cat $PBS_NODEFILE | head -1)"),
            "sort": swapped(rb"(?m)(?<=MASTER_ADDR=)\$\((?:[^()\n])*\)", rb"$(sort -u $PBS_NODEFILE | head -1)"),
            "cd": in_front(b"cd $PBS_O_WORKDIR\n"),
            "count": in_front(b"export WORLD_SIZE_OF_MINE=$(wc -l < $PBS_NODEFILE)\n"),
        },
        {
            "a default": in_front(b"cd ${PBS_O_WORKDIR:-$SLURM_SUBMIT_DIR}\n"),
            "asked first": in_front(b'if [ -n "$PBS_JOBID" ]; then cd $PBS_O_WORKDIR; fi\n'),
        },
    ),
    Slip(
        "variables of Slurm",
        ("MPL406",),
        lambda script: script.is_pbs and b"MASTER_ADDR=" in script.text,
        {
            "scontrol": swapped(
                rb"(?m)(?<=MASTER_ADDR=)\$\((?:[^()\n])*\)",
                rb"$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)",
            ),
            "cd": in_front(b"cd $SLURM_SUBMIT_DIR\n"),
            "count": in_front(b"export WORLD_SIZE=$SLURM_NTASKS\n"),
            "port": swapped(rb"(?m)(?<=MASTER_PORT=)[^\n]+$", rb"$((20000 + SLURM_JOB_ID % 20000))"),
            "a log": in_front(b"mkdir -p logs/$SLURM_JOB_ID\n"),
        },
    ),
    Slip(
        "a name that is nearly one",
        ("MPL416", "MPL402", "MPL304"),
        lambda script: (
            bool(re.search(rb"SLURM_(?:NODEID|PROCID|LOCALID|NTASKS|JOB_NODELIST)\b", script.text))
            and not script.is_pbs
        ),
        {
            f"{good.decode()} as {bad.decode()}": swapped(rb"(?<=[${])" + good + rb"\b", bad)
            for good, bad in (
                (b"SLURM_NODEID", b"SLURM_NODE_ID"),
                (b"SLURM_PROCID", b"SLURM_PROC_ID"),
                (b"SLURM_LOCALID", b"SLURM_LOCAL_ID"),
                (b"SLURM_LOCALID", b"SLURM_LOCAL_RANK"),
                (b"SLURM_NTASKS", b"SLURM_NTASK"),
                (b"SLURM_JOB_NODELIST", b"SLURM_JOB_NODE_LIST"),
                (b"SLURM_JOB_NODELIST", b"SLURM_NODE_LIST"),
                (b"SLURM_PROCID", b"SLURM_RANK"),
                (b"SLURM_NODEID", b"SLURM_NODERANK"),
            )
        },
    ),
    Slip(
        "rank words of another launcher",
        ("MPL409", "MPL304", "MPL402"),
        lambda script: (
            by_srun(script)
            and bool(_TEXT.search(script.launch))
            and b"PROCID" in script.launch
            and b"mpi" not in script.launch
        ),
        {
            word.decode(): on_line(rb"\$\{?SLURM_PROCID\}?", word)
            for word in (
                b"$OMPI_COMM_WORLD_RANK",
                b"${OMPI_COMM_WORLD_RANK}",
                b"$PMI_RANK",
                b"$PMIX_RANK",
                b"$PALS_RANKID",
                b"$MV2_COMM_WORLD_RANK",
                b"$RANK",
            )
        },
    ),
]
