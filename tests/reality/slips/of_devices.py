"""Slips of environment/: which devices the tasks see."""

from __future__ import annotations

from typing import Optional

from tests.reality.slips.forms import in_front, on_line, unread, variable
from tests.reality.slips.lines import by_srun, many_workers, starts_python, torchrun_over_srun
from tests.reality.slips.script import Script
from tests.reality.slips.slip import Slip

AMD_OR_INTEL = ("olcf-frontier", "csc-lumi", "alcf-aurora", "tacc-stampede3")


def _shows_all(script: Script) -> bool:
    """Several workers a node, and nobody says which devices they see; srun itself would say so for its step."""
    asks = many_workers(script) and b"_VISIBLE_DEVICES" not in script.text and not by_srun(script)
    return asks and script.case.site not in AMD_OR_INTEL


def _set_above(script: Script, line: bytes) -> Optional[bytes]:
    text = script.swap_launch(rb"(--nproc[-_]per[-_]node[= ])\d+", rb"\g<1>$NGPUS")
    return text[: script.body] + b"\n" + line + b"\n" + text[script.body :] if text is not None else None


SLIPS = [
    Slip(
        "one device for several workers",
        ("MPL401",),
        _shows_all,
        variable(b"CUDA_VISIBLE_DEVICES", b"0"),
        {
            **unread(b"export CUDA_VISIBLE_DEVICES=0"),
            "another's": in_front(b"CUDA_VISIBLE_DEVICES=0 python prepare.py\n"),
        },
    ),
    Slip("no device for several workers", ("MPL401",), _shows_all, variable(b"CUDA_VISIBLE_DEVICES", b'""')),
    Slip(
        "one GPU for a task of several workers",
        ("MPL403",),
        lambda script: torchrun_over_srun(script) and many_workers(script),
        {
            words.decode(): on_line(rb"\bsrun\b", b"srun " + words)
            for words in (
                b"--gpus-per-task=1",
                b"--gpus-per-task 1",
                b"--gpu-bind=single:1",
                b"--gpu-bind=closest",
                b"--gpu-bind closest",
                b"--gpu-bind=map_gpu:0,1,2,3",
                b"--gpu-bind=per_task:1",
                b"--gpu-bind=verbose,closest",
            )
        }
        | {
            "directive": lambda script: script.swap(rb"(?m)^(#SBATCH[^\n]*\n)", rb"\1#SBATCH --gpu-bind=closest\n"),
            "gpus-per-task in a directive": lambda script: script.swap(
                rb"(?m)^(#SBATCH[^\n]*\n)", rb"\1#SBATCH --gpus-per-task=1\n"
            ),
        },
        {"none": on_line(rb"\bsrun\b", b"srun --gpu-bind=none")},
    ),
    Slip(
        "devices by the rank of the job",
        ("MPL408",),
        lambda script: (
            by_srun(script)
            and script.several_nodes
            and starts_python(script)
            and b"VISIBLE_DEVICES=$SLURM_LOCALID" in script.launch
        ),
        {
            "$SLURM_PROCID": on_line(rb"(?<=VISIBLE_DEVICES=)\$SLURM_LOCALID", b"$SLURM_PROCID"),
            "${SLURM_PROCID}": on_line(rb"(?<=VISIBLE_DEVICES=)\$SLURM_LOCALID", b"${SLURM_PROCID}"),
            "arithmetic": on_line(rb"(?<=VISIBLE_DEVICES=)\$SLURM_LOCALID", b"$((SLURM_PROCID))"),
        },
    ),
    Slip(
        "GPUs counted by a tool of another maker",
        ("MPL413",),
        lambda script: script.case.site in AMD_OR_INTEL and many_workers(script),
        {
            "nvidia-smi -L": on_line(rb"(--nproc[-_]per[-_]node[= ])\d+", rb"\g<1>$(nvidia-smi -L | wc -l)"),
            "set above": lambda script: _set_above(script, b"NGPUS=$(nvidia-smi -L | wc -l)"),
            "query": lambda script: _set_above(
                script, b"NGPUS=$(nvidia-smi --query-gpu=name --format=csv,noheader | wc -l)"
            ),
            "exported": lambda script: _set_above(script, b"export NGPUS=`nvidia-smi --list-gpus | wc -l`"),
            "grep": lambda script: _set_above(script, b"NGPUS=$(nvidia-smi -L | grep -c GPU)"),
        },
    ),
]
