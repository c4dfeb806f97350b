"""Slips of launch/: how many start, where, and as whom."""

from __future__ import annotations

import re
from typing import Optional

from tests.reality.slips.forms import in_front, on_line, option, swapped, unread
from tests.reality.slips.lines import (
    SCRIPT_FILE,
    TORCHRUN,
    by_srun,
    counts_tasks,
    many_workers,
    meets_by_c10d,
    outer,
    torchrun_over_srun,
    without_rendezvous,
)  # fmt: skip
from tests.reality.slips.script import Script
from tests.reality.slips.slip import Change, Slip

_TORCH = rb"(?<![\w.-])(torchrun|python3?[ \t]+-m[ \t]+torch\.distributed\.(?:run|launch))(?![\w.-])"
_WORD = rb"(?:\"[^\"\n]*\"|\$\([^()\n]*\)|[^\s'\"]+)"
_BLANK = rb"(?:[ \t]|\\\n)+"
_TASKS = rb"(?m)^(#SBATCH[ \t]+--ntasks-per-node[= ])1[ \t]*$"
_NO_TASKS = rb"(?m)^(?:#SBATCH|srun)[^\n]*[ \t](?:--ntasks(?![-\w])|-n[ \t=]?\d)"


def _fans_out(script: Script) -> bool:
    """One task a node by its directives alone, and each starts several workers."""
    alone = not re.search(_NO_TASKS, script.text) and script.tasks_per_node == 1 and not counts_tasks(script)
    return alone and torchrun_over_srun(script) and many_workers(script) and script.nodes is not None


def _tasks(form: bytes) -> Change:
    return lambda script: script.swap(_TASKS, form.replace(b"TOTAL", b"%d" % (4 * (script.nodes or 1))))


def _line_tasks(form: bytes) -> Change:
    return lambda script: script.swap_launch(rb"srun\b", form.replace(b"TOTAL", b"%d" % (4 * (script.nodes or 1))))


def _bare_torchrun(script: Script) -> bool:
    """srun brings torchrun to several nodes, whose count torchrun is told."""
    return script.several_nodes and torchrun_over_srun(script) and b"--nnodes" in script.launch


def _from_torchrun(words: bytes) -> Change:
    """Begin the line with the launcher that srun started."""

    def change(script: Script) -> Optional[bytes]:
        found = TORCHRUN.search(script.text, script.line.start, script.line.end)
        return script.put(script.line.start, found.start(), words) if found is not None else None

    return change


def _static(rank: bytes, above: bytes = b"", form: bytes = b"WORDS") -> Change:
    """Meet at a fixed master in place of c10d, with a node rank that the batch shell writes."""

    def change(script: Script) -> Optional[bytes]:
        head = meets_by_c10d(script)
        words = b"--node_rank=%s --master_addr=%s --master_port=29500" % (rank, head or b"")
        new = re.sub(
            _TORCH, lambda found: found[0] + b" " + form.replace(b"WORDS", words), without_rendezvous(script), count=1
        )
        lines = above.replace(b"WORDS", words)
        return script.put(script.line.start, script.line.end, lines + new)

    return change


def _c10d(script: Script) -> bool:
    return _bare_torchrun(script) and meets_by_c10d(script) is not None


def _loose_quotes(script: Script) -> bool:
    """A text in single quotes whose rank words the tasks' shells expand, and which may stand in double ones as well."""
    found = re.search(rb"\bsh -l?c '([^']*)'", script.launch)
    early = rb"\$\{?(?:SLURM_PROCID|SLURM_NODEID|PMI_RANK|OMPI_COMM_WORLD_RANK|PALS_RANKID|PALS_NODEID)\b"
    ranks = found is not None and re.search(early, found[1]) and not re.search(rb"[\"`]|\$\(", found[1])
    # with c10d nobody asks for the node's rank
    return bool(ranks) and b"c10d" not in script.text and script.several_nodes and outer(script)


def _named_script(script: Script) -> bool:
    return bool(TORCHRUN.search(script.launch)) and bool(SCRIPT_FILE.search(script.launch)) and b"-m " not in re.sub(
        TORCHRUN, b"", script.launch
    )  # fmt: skip


def _python_before(words: bytes) -> Change:
    def change(script: Script) -> Optional[bytes]:
        found = SCRIPT_FILE.search(script.text, script.line.start, script.line.end)
        return script.put(found.start(), found.start(), words) if found is not None else None

    return change


def _options_behind(script: Script) -> Optional[bytes]:
    """Move torchrun's own options behind the script."""
    text = script.launch
    first, file = TORCHRUN.search(text), SCRIPT_FILE.search(text)
    if first is None or file is None or file.start() < first.end():
        return None
    own = text[first.end() : file.start()]
    if not own.strip(b" \t\\\n") or not own.strip().startswith(b"--"):
        return None
    new = text[: first.end()] + b" " + text[file.start() : file.end()] + b" " + own.strip() + text[file.end() :]
    return script.put(script.line.start, script.line.end, new.rstrip(b"\\ \t\n"))


def _ends(script: Script) -> bool:
    """The launch line is the last thing that the script does."""
    return not script.text[script.line.end :].strip() and b"wait" not in script.text and b"trap" not in script.text


def _end(form: bytes) -> Change:
    return lambda script: script.put(script.line.start, script.line.end, form.replace(b"LINE", script.launch))


def _slurm_step(script: Script) -> bool:
    """srun with all the job has, and no step beside it."""
    plain = b"--overlap" not in script.text and b"-s " not in script.launch and b"--oversubscribe" not in script.text
    return by_srun(script) and plain and script.has_gpus and b"&" not in script.text[: script.line.start]


def _no_mpi_words(script: Script) -> bool:
    return by_srun(script) and not script.case.site.startswith("tacc")


def _misspelled(good: bytes, bad: bytes) -> Change:
    return on_line(rb"(?<=[ \t])" + good + rb"(?=[= \t])", bad)


def _quoted_command(script: Script) -> Optional[bytes]:
    line = script.launch
    rest = line.partition(b"srun ")[2]
    if any(sign in rest for sign in (b"'", b'"', b"\\", b"`", b"|", b">", b"<")) or not rest or rest.startswith(b"-"):
        return None
    return script.put(script.line.start, script.line.end, b'CMD="' + rest + b'"\nsrun "$CMD"')


def _plain_words(script: Script) -> bool:
    """srun's line has neither quotes nor words that another shell may know differently."""
    return by_srun(script) and not re.search(rb"['\"$`]", script.launch)


def _fewer_nodes_than_tasks(script: Script) -> bool:
    """srun takes no more nodes than tasks, with a warning; beyond the job's own nodes it refuses."""
    tasks = (script.tasks_per_node or 0) * (script.nodes or 0)
    return by_srun(script) and script.several_nodes and tasks > (script.nodes or 0)


def _more_nodes(words: bytes) -> Change:
    return lambda script: script.swap_launch(
        rb"\bsrun\b", b"srun " + words.replace(b"MORE", b"%d" % ((script.nodes or 0) + 1))
    )


def _watch(words: bytes) -> Change:
    return in_front(words + b"\n")


SLIPS = [
    Slip(
        "several tasks of torchrun on a node",
        ("MPL301",),
        _fans_out,
        {
            "directive": _tasks(rb"\g<1>4"),
            "with a blank": _tasks(rb"#SBATCH --ntasks-per-node 4"),
            "and a note": _tasks(rb"\g<1>4   # one for each GPU"),
            "as --ntasks": _tasks(rb"#SBATCH --ntasks=TOTAL"),
            "as -n": _tasks(rb"#SBATCH -n TOTAL"),
            "--tasks-per-node": _tasks(rb"#SBATCH --tasks-per-node=4"),
            "on the line": _line_tasks(rb"srun -n TOTAL"),
            "on the line, long": _line_tasks(rb"srun --ntasks=TOTAL --ntasks-per-node=4"),
            "on the line, counted": _line_tasks(rb"srun --ntasks=$((SLURM_NNODES * 4))"),
            "as a variable": lambda script: script.before(b"export SLURM_NTASKS=%d\n" % (4 * (script.nodes or 1))),
        },
        {
            **unread(b"srun -n 8 torchrun --nproc-per-node=4 train.py"),
            "said in a comment": swapped(_TASKS, rb"\g<0>\n##SBATCH --ntasks-per-node=4"),
        },
    ),
    Slip(
        "torchrun on the first node alone",
        ("MPL302",),
        _bare_torchrun,
        {
            "srun left out": _from_torchrun(b""),
            "with a variable": _from_torchrun(b"OMP_NUM_THREADS=8 "),
            "with env": _from_torchrun(b"env OMP_NUM_THREADS=8 "),
            "by numactl": _from_torchrun(b"numactl --interleave=all "),
            "nohup": _from_torchrun(b"nohup "),
            "stdbuf": _from_torchrun(b"stdbuf -oL "),
            "nice": _from_torchrun(b"nice -n 5 "),
            "by conda": _from_torchrun(b"conda run -n env "),
            "timeout": _from_torchrun(b"timeout 3h "),
            "one task": _from_torchrun(b"srun -N 1 -n 1 "),
            "one node": _from_torchrun(b"srun --nodes=1 --ntasks=1 "),
        },
    ),
    Slip("another number of nodes", ("MPL303",), _bare_torchrun, option(rb"--nnodes", b"7")),
    Slip("one node too few", ("MPL303", "MPL309"), _bare_torchrun, option(rb"--nnodes", b"1")),
    Slip(
        "a node rank that the batch shell writes",
        ("MPL304",),
        _c10d,
        {
            "$SLURM_NODEID": _static(b"$SLURM_NODEID"),
            "${SLURM_NODEID}": _static(b"${SLURM_NODEID}"),
            "in quotes": _static(b'"$SLURM_NODEID"'),
            "$SLURM_PROCID": _static(b"$SLURM_PROCID"),
            "with a default": _static(b"${SLURM_NODEID:-0}"),
            "0": _static(b"0"),
            "set above": _static(b"$NODE_RANK", b"NODE_RANK=$SLURM_NODEID\n"),
            "exported": _static(b"$NODE_RANK", b"export NODE_RANK=${SLURM_NODEID}\n"),
            "PROCID exported": _static(b"${NODE_RANK}", b"export NODE_RANK=$SLURM_PROCID\n"),
            "in a list": _static(b"$SLURM_NODEID", b"ARGS=(WORDS)\n", b'"${ARGS[@]}"'),
            "in a string": _static(b"$SLURM_NODEID", b'ARGS="WORDS"\n', b"$ARGS"),
            "lines of a string": _static(b"$SLURM_NODEID", b'ARGS=" \\\n    WORDS \\\n"\n', b"$ARGS"),
        },
    ),
    Slip(
        "rank words in double quotes",
        ("MPL304", "MPL305", "MPL405", "MPL404", "MPL408"),
        _loose_quotes,
        {
            "double quotes": on_line(rb"(\bsh -l?c )'([^']*)'", rb'\1"\2"'),
            "no quotes inside": lambda script: script.swap_launch(rb"(\bsh -l?c )'([^']*)'", rb'\1"set -e; \2"'),
        },
    ),
    Slip(
        "a launcher of another place",
        ("MPL307",),
        _no_mpi_words,
        {
            "ibrun": on_line(rb"\bsrun\b", b"ibrun"),
            "aprun": on_line(rb"\bsrun\b", b"aprun"),
            "jsrun": on_line(rb"\bsrun\b", b"jsrun"),
        },
    ),
    Slip(
        "each node a world of its own",
        ("MPL309",),
        _c10d,
        {
            "--standalone": lambda script: script.put(
                script.line.start,
                script.line.end,
                re.sub(
                    _TORCH,
                    rb"\g<0> --standalone",
                    re.sub(rb"[ \t]+--nnodes(?:=|[ \t]+)" + _WORD, b"", without_rendezvous(script)),
                    count=1,
                ),
            ),
            "nothing said": lambda script: script.put(
                script.line.start,
                script.line.end,
                re.sub(rb"[ \t]+--nnodes(?:=|[ \t]+)" + _WORD, b"", without_rendezvous(script)),
            ),
            "--nnodes=1": lambda script: script.put(
                script.line.start,
                script.line.end,
                re.sub(rb"(--nnodes(?:=|[ \t]+))" + _WORD, rb"\g<1>1", without_rendezvous(script)),
            ),
        },
    ),
    Slip(
        "more nodes than the job has",
        ("MPL310",),
        lambda script: _fewer_nodes_than_tasks(script) and not counts_tasks(script),
        {
            "--nodes=": _more_nodes(b"--nodes=MORE"),
            "-N": _more_nodes(b"-N MORE"),
            "-N64": _more_nodes(b"-NMORE"),
            "--nodes": _more_nodes(b"--nodes MORE"),
            "mpirun's -np": on_line(rb"\bsrun\b", b"srun -np 8"),
        },
    ),
    Slip(
        "python for the script",
        ("MPL313",),
        _named_script,
        {
            "python": _python_before(b"python "),
            "python3": _python_before(b"python3 "),
            "python -u": _python_before(b"python -u "),
            "its path": _python_before(b"/usr/bin/python3 "),
            "$(which python)": _python_before(b"$(which python) "),
            "set above": lambda script: (
                lambda text: text[: script.body] + b"\nPY=python\n" + text[script.body :] if text else None
            )(_python_before(b"$PY ")(script) if b"'" not in script.launch else None),
        },
    ),
    Slip(
        "a dash of a web page",
        ("MPL314", "MPL101"),
        lambda script: bool(TORCHRUN.search(script.launch)),
        {
            "en dash": on_line(rb"(?<=[ \t])--(?=nnodes|nproc)", "–".encode()),
            "em dash": on_line(rb"(?<=[ \t])--(?=nnodes|nproc)", "—".encode()),
            "one of several": on_line(rb"(?<=[ \t])--(?=rdzv|master)", "–".encode()),
            "one dash": on_line(rb"(?<=[ \t])--(?=nnodes|nproc)", b"-"),
        },
    ),
    Slip(
        "options behind the script",
        ("MPL315", "MPL319"),
        lambda script: _named_script(script) and many_workers(script),
        {
            "all of them": _options_behind,
        },
    ),
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
        "a number that is none",
        ("MPL320",),
        lambda script: torchrun_over_srun(script) and many_workers(script),
        {
            **{
                f"nproc {spelling}": change
                for spelling, change in option(rb"--nproc[-_]per[-_]node", b"$SLURM_TASKS_PER_NODE").items()
                if spelling in ("as it stands", "in quotes", "by a variable", "in a list")
            },
            **{
                f"nnodes {spelling}": change
                for spelling, change in option(rb"--nnodes", b"$SLURM_JOB_NODELIST").items()
                if spelling in ("as it stands", "in quotes", "by a variable", "in a list")
            },
            **{
                f"all {spelling}": change
                for spelling, change in option(rb"--nproc[-_]per[-_]node", b"all").items()
                if spelling in ("as it stands", "by a variable")
            },
            **{
                f"nccl {spelling}": change
                for spelling, change in option(rb"--rdzv[-_]backend", b"nccl").items()
                if spelling in ("as it stands", "in quotes", "by a variable", "in a list")
            },
        },
    ),
    Slip("a command in one word", ("MPL321",), lambda script: by_srun(script), {"srun": _quoted_command}),
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
            "a variable": lambda script: script.swap_launch(_TORCH, rb"OMP_NUM_THREADS=8 \g<0>"),
            "two variables": lambda script: script.swap_launch(_TORCH, rb"NCCL_DEBUG=INFO OMP_NUM_THREADS=8 \g<0>"),
        },
        {
            "env": lambda script: script.swap_launch(_TORCH, rb"env OMP_NUM_THREADS=8 \g<0>"),
            **unread(b"srun source venv/bin/activate"),
        },
    ),
    Slip(
        "no such option",
        ("MPL335",),
        lambda script: torchrun_over_srun(script),
        {
            "nproc_per_nodes": _misspelled(rb"--nproc[-_]per[-_]node", b"--nproc_per_nodes"),
            "npro_per_node": _misspelled(rb"--nproc[-_]per[-_]node", b"--npro_per_node"),
            "num_gpus": _misspelled(rb"--nproc[-_]per[-_]node", b"--num_gpus"),
            "nproc-per_nod.": _misspelled(rb"--nproc[-_]per[-_]node", b"--gpus_per_node"),
            "num_nodes": _misspelled(rb"--nnodes", b"--num_nodes"),
            "nodes": _misspelled(rb"--nnodes", b"--nodes"),
            "rdvz": _misspelled(rb"--rdzv[-_]endpoint", b"--rdvz_endpoint"),
            "rdzv_end": _misspelled(rb"--rdzv[-_]endpoint", b"--rdzv-endpoints"),
            "srun's": on_line(rb"\bsrun\b", b"srun --ntask-per-node=1"),
            "srun's cpus": on_line(rb"\bsrun\b", b"srun --cpu-per-task=8"),
            "srun's gpus": on_line(rb"\bsrun\b", b"srun --gpu-per-node=4"),
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
    Slip(
        "no word that says what",
        ("MPL337",),
        lambda script: bool(
            re.search(rb"accelerate launch|(?:apptainer|singularity)[ \t]+(?:exec|run)\b", script.launch)
        ),
        {
            "accelerate": on_line(rb"accelerate launch", b"accelerate"),
            "apptainer": on_line(rb"\b(apptainer|singularity)[ \t]+(?:exec|run)\b", rb"\1"),
        },
    ),
    Slip(
        "a sign of the shell",
        ("MPL338",),
        by_srun,
        {
            "-C a&b": on_line(rb"\bsrun\b", b"srun -C gpu&hbm80g"),
            "--constraint=a|b": on_line(rb"\bsrun\b", b"srun --constraint=a100|h100"),
            "--constraint=a&b": on_line(rb"\bsrun\b", b"srun --constraint=gpu&hbm80g"),
        },
        {"in quotes": lambda script: script.swap_launch(rb"\bsrun\b", b'srun -o "a&b.log"')},
    ),
]
