"""Slips of environment/: what tasks see of devices and variables."""

from __future__ import annotations

import re
from typing import Optional

from tests.reality.slips.forms import in_front, on_line, swapped, unread, variable
from tests.reality.slips.lines import by_srun, many_workers, outer, starts_python, torchrun_over_srun
from tests.reality.slips.script import Script
from tests.reality.slips.slip import Change, Slip

_TEXT = re.compile(rb"\b(?:ba)?sh -l?c '([^']*)'")
_EXPORTED = rb"(?m)^export[ \t]+(?=%s=)"
AMD_OR_INTEL = ("olcf-frontier", "csc-lumi", "alcf-aurora", "tacc-stampede3")


def _shows_all(script: Script) -> bool:
    """Several workers a node, and nobody says which devices they see; srun itself would say so for its step."""
    asks = many_workers(script) and b"_VISIBLE_DEVICES" not in script.text and not by_srun(script)
    return asks and script.case.site not in AMD_OR_INTEL


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


def _asks_for_conda(script: Script) -> bool:
    """Nothing that may bring conda's function: no file is read, no module is loaded, no login shell runs."""
    brings = (
        rb"source|(?m:^)\.[ \t]|module|\bml\b|conda|mamba|eval|spack|BASH_ENV|bash -\w*[li]|uenv|shifter|container"
        rb"|#!.*(?:-l|login)"
    )
    return not re.search(brings, script.text) and not script.is_pbs


def _around(form: bytes) -> Change:
    return lambda script: script.put(script.line.start, script.line.end, form.replace(b"LINE", script.launch))


def _in_its_shell(form: bytes) -> Change:
    """Have srun start a shell, which activates and then starts the program."""

    def change(script: Script) -> Optional[bytes]:
        at = script.program
        if (
            at is None
            or b"$" in script.launch
            or b"'" in script.launch
            or b'"' in script.launch[at[0] - script.line.start :]
        ):
            return None
        words = script.text[at[0] : script.line.end]
        return script.put(at[0], script.line.end, form.replace(b"WORDS", words)) if b"\\" not in words else None

    return change


_OWN_SHELL = re.compile(rb"shifter|apptainer|singularity|podman|enroot|conda|mamba|bash -\w*l|BASH_ENV|container")


def _one_line(script: Script) -> bool:
    return by_srun(script) and script.program is not None and not _OWN_SHELL.search(script.text)


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
    Slip(
        "conda activate in a batch shell",
        ("MPL415",),
        _asks_for_conda,
        {
            "alone": in_front(b"conda activate train\n"),
            "behind a PATH": in_front(b"export PATH=$HOME/miniconda3/bin:$PATH\nconda activate train\n"),
            "mamba": in_front(b"mamba activate train\n"),
            "its path": in_front(b"conda activate /work/envs/train\n"),
            "in a function": in_front(b"setup() {\n    conda activate train\n}\nsetup\n"),
            "behind &&": in_front(b'cd "$HOME/run" && conda activate train\n'),
            "deactivate first": in_front(b"conda deactivate; conda activate train\n"),
            "or stop": in_front(b"conda activate train || exit 1\n"),
            "in an if": in_front(b'if [ -z "$CONDA_DEFAULT_ENV" ]; then\n    conda activate train\nfi\n'),
            "in quotes": in_front(b'conda activate "$HOME/envs/train"\n'),
            "micromamba": in_front(b"micromamba activate train\n"),
        },
        {
            **unread(b"conda activate train"),
            "conda.sh": in_front(b". $HOME/miniconda3/etc/profile.d/conda.sh\nconda activate train\n"),
            "hook": in_front(b'eval "$(conda shell.bash hook)"\nconda activate train\n'),
            "run": in_front(b"conda run -n train python -V\n"),
            "bashrc": in_front(b"source ~/.bashrc\nconda activate train\n"),
        },
    ),
    Slip(
        "conda activate in a shell of the tasks",
        ("MPL415",),
        _one_line,
        {
            "bash -c": _in_its_shell(b"bash -c 'conda activate train && WORDS'"),
            "double quotes": _in_its_shell(b'bash -c "conda activate train; WORDS"'),
            "lines": _in_its_shell(b"bash -c '\n    conda activate train\n    WORDS\n'"),
            "sh": _in_its_shell(b"sh -c 'conda activate train && WORDS'"),
            "its path": _in_its_shell(b"/bin/bash -c 'conda activate train && exec WORDS'"),
            "behind cd": _in_its_shell(b"bash -c 'cd $SLURM_SUBMIT_DIR && conda activate train && WORDS'"),
            "env": _in_its_shell(b"env bash -c 'conda activate train && WORDS'"),
            "-e": _in_its_shell(b"bash -ec 'conda activate train; WORDS'"),
        },
        {
            "conda.sh": _in_its_shell(
                b"bash -c 'source ~/miniconda3/etc/profile.d/conda.sh && conda activate train && WORDS'"
            ),
            "login": _in_its_shell(b"bash -lc 'conda activate train && WORDS'"),
            "run": _in_its_shell(b"conda run -n train WORDS"),
            "hook": _in_its_shell(b"bash -c 'eval \"$(conda shell.bash hook)\"; conda activate train; WORDS'"),
        },
        False,
    ),
]


def _set_above(script: Script, line: bytes) -> Optional[bytes]:
    text = script.swap_launch(rb"(--nproc[-_]per[-_]node[= ])\d+", rb"\g<1>$NGPUS")
    return text[: script.body] + b"\n" + line + b"\n" + text[script.body :] if text is not None else None
