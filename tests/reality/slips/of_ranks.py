"""Slips of launch/: how many ranks start on which nodes, and who each of them is."""

from __future__ import annotations

import re
from typing import Optional

from tests.reality.slips.forms import on_line, option, swapped, unread
from tests.reality.slips.lines import (
    TORCHRUN,
    by_srun,
    counts_tasks,
    many_workers,
    meets_by_c10d,
    outer,
    torchrun_over_srun,
    without_rendezvous,
)
from tests.reality.slips.script import Script
from tests.reality.slips.slip import Change, Slip

_WORD = rb"(?:\"[^\"\n]*\"|\$\([^()\n]*\)|[^\s'\"]+)"
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
        options = form.replace(b"WORDS", words)
        new = TORCHRUN.sub(lambda match: match[0] + b" " + options, without_rendezvous(script), count=1)
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


def _fewer_nodes_than_tasks(script: Script) -> bool:
    """srun takes no more nodes than tasks, with a warning; beyond the job's own nodes it refuses."""
    tasks = (script.tasks_per_node or 0) * (script.nodes or 0)
    return by_srun(script) and script.several_nodes and tasks > (script.nodes or 0)


def _more_nodes(words: bytes) -> Change:
    return lambda script: script.swap_launch(
        rb"\bsrun\b", b"srun " + words.replace(b"MORE", b"%d" % ((script.nodes or 0) + 1))
    )


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
        "each node a world of its own",
        ("MPL309",),
        _c10d,
        {
            "--standalone": lambda script: script.put(
                script.line.start,
                script.line.end,
                re.sub(
                    TORCHRUN.pattern,
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
]
