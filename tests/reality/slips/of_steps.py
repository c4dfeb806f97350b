"""Slips of launch/: how the shell runs the steps, and what stands around them."""

from __future__ import annotations

import re

from tests.reality.slips.forms import in_front, on_line, unread
from tests.reality.slips.lines import TORCHRUN, by_srun, outer
from tests.reality.slips.script import Script
from tests.reality.slips.slip import Change, Slip


def _ends(script: Script) -> bool:
    """The launch line is the last thing that the script does."""
    return not script.text[script.line.end :].strip() and b"wait" not in script.text and b"trap" not in script.text


def _end(form: bytes) -> Change:
    return lambda script: script.put(script.line.start, script.line.end, form.replace(b"LINE", script.launch))


def _slurm_step(script: Script) -> bool:
    """srun with all the job has, and no step beside it."""
    plain = b"--overlap" not in script.text and b"-s " not in script.launch and b"--oversubscribe" not in script.text
    return by_srun(script) and plain and script.has_gpus and b"&" not in script.text[: script.line.start]


def _plain_words(script: Script) -> bool:
    """srun's line has neither quotes nor words that another shell may know differently."""
    return by_srun(script) and not re.search(rb"['\"$`]", script.launch)


def _watch(words: bytes) -> Change:
    return in_front(words + b"\n")


SLIPS = [
    Slip(
        "a step that watches",
        ("MPL316",),
        _slurm_step,
        {
            "nvidia-smi": _watch(b"srun nvidia-smi -l 30 > gpus.log &"),
            "one a node": _watch(
                b"srun --ntasks-per-node=1 nvidia-smi --query-gpu=utilization.gpu --format=csv -l 10 > gpus.csv &"
            ),
            "a loop": _watch(b"srun bash -c 'while true; do nvidia-smi; sleep 30; done' > gpus.log 2>&1 &"),
            "one node": _watch(b"srun -N 1 -n 1 --exclusive nvidia-smi -l 5 >> smi.log &"),
            "rocm-smi": _watch(b"srun -N $SLURM_NNODES bash -c 'while :; do rocm-smi; sleep 5; done' &"),
            "a brace": _watch(b"{ srun nvidia-smi dmon -s u > dmon.log; } &"),
            "nvitop": _watch(b"srun --ntasks=$SLURM_NNODES dcgmi dmon -e 1002 > dcgm.log &"),
            "a script": _watch(b"srun ./watch_gpus.sh &\nWATCH=$!"),
        },
        {
            "overlap": _watch(b"srun --overlap --ntasks-per-node=1 nvidia-smi -l 30 > gpus.log &"),
            "in the batch shell": _watch(b"nvidia-smi -l 30 > gpus.log &"),
            "in the foreground": lambda script: (
                script.before(b"srun hostname > hosts.log\n") if by_srun(script) else None
            ),
        },
    ),
    Slip(
        "the script ends first",
        ("MPL317",),
        _ends,
        {
            "&": _end(b"LINE &"),
            "& and a log": _end(b"LINE > train.log 2>&1 &"),
            "nohup": _end(b"nohup LINE > nohup.out &"),
            "then an echo": _end(b"LINE &\necho started"),
            "its number": _end(b"LINE &\nPID=$!\necho $PID > train.pid"),
            "brackets": _end(b"( LINE ) &"),
            "disown": _end(b"LINE &\ndisown"),
            "tee": _end(b"LINE 2>&1 | tee train.log &"),
            "a function": _end(b"train() {\n    LINE &\n}\ntrain"),
            "a loop": _end(b"for seed in 1; do\n    LINE &\ndone"),
            "setsid": _end(b"setsid LINE &"),
        },
        {
            "waited for": _end(b"LINE &\nwait"),
            "by number": _end(b"LINE &\nwait $!"),
            "by name": _end(b"LINE &\nPID=$!\nwait $PID"),
        },
        False,
    ),
    Slip(
        "srun inside of srun",
        ("MPL322",),
        lambda script: by_srun(script) and b"'" not in script.launch and b"container" not in script.launch,
        {
            "bash -c": _end(b"srun bash -c 'LINE'"),
            "one a node": _end(b"srun --ntasks-per-node=1 bash -c 'LINE'"),
            "mpirun": _end(b"mpirun -np 2 bash -c 'LINE'"),
        },
        {"in the batch shell": lambda script: _end(b"bash -c 'LINE'")(script) if _plain_words(script) else None},
        False,
    ),
    Slip(
        "the script ends before",
        ("MPL332",),
        lambda script: True,
        {
            "exit": in_front(b"exit\n"),
            "exit 0": in_front(b"echo checked\nexit 0\n"),
            "exit $?": in_front(b"exit $?\n"),
            "behind &&": in_front(b"echo checked && exit 0\n"),
            "in braces": in_front(b"{ echo checked; exit 0; }\n"),
            "behind true": in_front(b"true; exit 0\n"),
        },
        {
            "in a condition": in_front(b"[ -d . ] || exit 1\n"),
            "in a trap": in_front(b"trap 'exit 1' TERM\n"),
            "in a function": in_front(b"die() {\n    exit 1\n}\n"),
            "in brackets": in_front(b"( exit 0 )\n"),
        },
    ),
    Slip(
        "a command of the shell in a step",
        ("MPL333",),
        by_srun,
        {
            **{
                words.decode(): _watch(b"srun " + words)
                for words in (
                    b"source venv/bin/activate",
                    b"module load cuda",
                    b"conda activate train",
                    b"export OMP_NUM_THREADS=8",
                    b". venv/bin/activate",
                    b"ulimit -l unlimited",
                    b"--ntasks=1 source env.sh",
                    b"-n 1 module purge",
                )
            },
            "a variable": on_line(TORCHRUN.pattern, rb"OMP_NUM_THREADS=8 \g<0>"),
            "two variables": lambda script: script.swap_launch(
                TORCHRUN.pattern, rb"NCCL_DEBUG=INFO OMP_NUM_THREADS=8 \g<0>"
            ),
        },
        {
            "env": on_line(TORCHRUN.pattern, rb"env OMP_NUM_THREADS=8 \g<0>"),
            **unread(b"srun source venv/bin/activate"),
        },
    ),
    Slip(
        "a list that is eaten",
        ("MPL336",),
        lambda script: outer(script) and b"<" not in script.launch and b"&" not in script.launch,
        {
            "read": _end(b"while read lr; do\n    LINE\ndone < grid.txt"),
            "read -r": _end(b"while read -r lr wd; do\n    LINE --lr $lr\ndone < grid.txt"),
            "IFS": _end(b"while IFS=, read -r lr wd; do\n    LINE --lr $lr\ndone < grid.csv"),
            "a pipe": _end(b"cat grid.txt | while read -r lr; do\n    LINE\ndone"),
            "a here string": _end(b'while read -r lr; do\n    LINE\ndone <<< "$LIST"'),
            "a process": _end(b"while read -r lr; do\n    LINE\ndone < <(sort grid.txt)"),
            "a function": _end(b"try() {\n    LINE\n}\nwhile read -r lr; do\n    try\ndone < grid.txt"),
            "a condition": _end(
                b'while read -r lr; do\n    if [ -n "$lr" ]; then\n        LINE || echo failed\n    fi\ndone < grid.txt'
            ),
            "tee": _end(b"while read -r lr; do\n    LINE 2>&1 | tee $lr.log\ndone < grid.txt"),
            "until": _end(b"until ! read -r lr; do\n    LINE\ndone < grid.txt"),
            "a variable": _end(b"while read -r lr; do\n    LR=$lr LINE\ndone < grid.txt"),
            "awk": _end(b"awk '{print $1}' grid.txt | while read lr; do LINE; done"),
        },
        {
            "from nothing": _end(b"while read lr; do\n    LINE < /dev/null\ndone < grid.txt"),
            "another number": _end(b"while read -r lr <&3; do\n    LINE\ndone 3< grid.txt"),
            "a for": _end(b"for lr in $(cat grid.txt); do\n    LINE\ndone"),
            "a list first": _end(b'mapfile -t all < grid.txt\nfor lr in "${all[@]}"; do\n    LINE\ndone'),
        },
        False,
    ),
]
