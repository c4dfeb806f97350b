"""Seeded changes to right scripts of PBS that may break them: those of all scripts, and those of its mpiexecs.

As in `operators.py`: whether a mutant is broken is decided by reality, not here. `pbs_keeping.py` has harmless ones.
"""

from __future__ import annotations

import random
import re
from typing import Callable, Optional, Sequence

from tests.reality import operators as shared
from tests.reality.operators import Operator
from tests.reality.places import body_start, directives, launch_lines, options

BREAKING_EVERYWHERE = (
    "other-nnodes", "other-nproc", "other-num-processes", "wrong-world-size", "no-node-rank", "no-rendezvous",
    "no-master", "no-nnodes", "no-nproc", "no-multi-gpu", "no-ssh-flag", "no-standalone", "no-export",
    "no-master-variable",
    "no-directive", "double-quotes", "no-bash-c", "unquoted-heredoc", "torchrun-to-python", "python-to-torchrun",
    "master-is-localhost", "master-by-task", "fixed-node-rank", "one-visible-device",
    "visible-devices-for-eight",
)  # fmt: skip
PBS_MEANT_TO_BREAK: dict[str, Operator] = {name: shared.MEANT_TO_BREAK[name] for name in BREAKING_EVERYWHERE}

MPI = (b"mpiexec", b"mpirun")
RANKS = rb"-n|-np|--np|--n"
PPN = rb"-ppn|--ppn"
HOSTFILE = rb"-f|-hostfile|--hostfile"
RANK_NAMES = (
    b"PMI_RANK", b"PMI_LOCAL_RANK", b"PALS_RANKID", b"PALS_LOCAL_RANKID", b"PALS_NODEID", b"MPI_LOCALRANKID",
    b"OMPI_COMM_WORLD_RANK", b"OMPI_COMM_WORLD_LOCAL_RANK",
)  # fmt: skip


def registering(table: dict[str, Operator]) -> Callable[[Operator], Operator]:
    """Return a decorator that enters an operator into *table* under its name."""

    def register(function: Operator) -> Operator:
        table[function.__name__.replace("_", "-")] = function
        return function

    return register


breaking = registering(PBS_MEANT_TO_BREAK)


def put(script: bytes, start: int, end: int, new: bytes) -> bytes:
    """Return the script with other bytes in place of a span."""
    return script[:start] + new + script[end:]


def _other(old: bytes, chance: random.Random, choices: Sequence[int]) -> bytes:
    return str(chance.choice([one for one in choices if str(one).encode() != old])).encode()


def _in_directive(script: bytes, chance: random.Random, pattern: bytes, choices: Sequence[int]) -> Optional[bytes]:
    """Give the number that *pattern* captures in a directive another value."""
    found = [one for a, b in directives(script) for one in re.compile(pattern).finditer(script, a, b)]
    if not found:
        return None
    one = chance.choice(found)
    return put(script, *one.span(1), _other(one[1], chance, choices))


def words(script: bytes, names: bytes) -> list[re.Match[bytes]]:
    """Return these options of the mpiexec lines."""
    lines = [(line.start, line.end) for line in launch_lines(script) if line.launcher in MPI]
    return [one for one in options(script, names) if any(a <= one.start() < b for a, b in lines)]


def _value(script: bytes, chance: random.Random, names: bytes, choices: Sequence[int]) -> Optional[bytes]:
    found = words(script, names)
    if not found:
        return None
    one = chance.choice(found)
    return put(script, *one.span("value"), _other(one["value"].strip(b'"'), chance, choices))


def _without(script: bytes, chance: random.Random, names: bytes) -> Optional[bytes]:
    found = words(script, names)
    return put(script, *chance.choice(found).span("whole"), b"") if found else None


def with_word(script: bytes, chance: random.Random, word: bytes) -> Optional[bytes]:
    """Put an option behind the name of an mpiexec."""
    lines = [line for line in launch_lines(script) if line.launcher in MPI]
    if not lines:
        return None
    at = chance.choice(lines).name_end
    return put(script, at, at, b" " + word)


# ---- the request


@breaking
def other_select(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _in_directive(script, chance, rb"(?:select|nodes)=(\d+)", (1, 2, 3, 4))


@breaking
def other_mpiprocs(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _in_directive(script, chance, rb"(?:mpiprocs|ppn)=(\d+)", (1, 2, 4, 8))


@breaking
def other_ngpus(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _in_directive(script, chance, rb"ngpus=(\d+)", (1, 2, 4, 8))


@breaking
def no_mpiprocs(script: bytes, chance: random.Random) -> Optional[bytes]:
    spans = [one.span() for a, b in directives(script) for one in re.compile(rb":mpiprocs=\d+").finditer(script, a, b)]
    return put(script, *chance.choice(spans), b"") if spans else None


@breaking
def packed(script: bytes, chance: random.Random) -> Optional[bytes]:
    """The chunks may come to lie on one node."""
    new = re.sub(rb"(?m)(?<=place=)scatter(?::\w+)?", b"pack", script, count=1)
    return new if new != script else None


@breaking
def early_command(script: bytes, chance: random.Random) -> Optional[bytes]:
    """A command in front of the directives, which qsub then does not read."""
    spans = directives(script)
    return put(script, spans[0][0], spans[0][0], b"set -e\n") if spans else None


@breaking
def other_queue(script: bytes, chance: random.Random) -> Optional[bytes]:
    found = [one for a, b in directives(script) for one in re.compile(rb"-q (\S+)").finditer(script, a, b)]
    names = [name for name in (b"debug", b"prod", b"small", b"gpuX") if not found or name != found[0][1]]
    return put(script, *found[0].span(1), chance.choice(names)) if found else None


@breaking
def directive_with_comment(script: bytes, chance: random.Random) -> Optional[bytes]:
    spans = directives(script)
    return put(script, spans[-1][1] - 1, spans[-1][1] - 1, b"   # as last time") if spans else None


# ---- mpiexec


@breaking
def other_ranks(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _value(script, chance, RANKS, (1, 2, 3, 4, 8, 12))


@breaking
def other_ranks_per_node(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _value(script, chance, PPN, (1, 2, 3, 4, 8))


@breaking
def no_ranks(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _without(script, chance, RANKS)


@breaking
def no_ranks_per_node(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _without(script, chance, PPN)


@breaking
def no_hostfile(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _without(script, chance, HOSTFILE)


@breaking
def hostfile_of_the_first_node(script: bytes, chance: random.Random) -> Optional[bytes]:
    found = [one for one in words(script, HOSTFILE)]
    lines = [line for line in launch_lines(script) if line.launcher in MPI and line.alone]
    if not found or not lines or b"<(" in script:
        return None
    new = put(script, *found[0].span("value"), b"first_host")
    return put(new, lines[0].start, lines[0].start, b"head -n 1 $PBS_NODEFILE > first_host\n")


@breaking
def no_envall(script: bytes, chance: random.Random) -> Optional[bytes]:
    new = re.sub(rb"(?<=\s)-?-envall\s", b"", script, count=1)
    return new if new != script else None


@breaking
def envnone(script: bytes, chance: random.Random) -> Optional[bytes]:
    return with_word(script, chance, b"--envnone")


@breaking
def option_of_pals(script: bytes, chance: random.Random) -> Optional[bytes]:
    return with_word(script, chance, b"--cpu-bind depth")


@breaking
def option_of_hydra(script: bytes, chance: random.Random) -> Optional[bytes]:
    return with_word(script, chance, b"-bind-to none")


@breaking
def option_of_open_mpi(script: bytes, chance: random.Random) -> Optional[bytes]:
    return with_word(script, chance, b"-x MASTER_ADDR")


@breaking
def mpiexec_to_srun(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _swapped(script, chance, b"srun")


@breaking
def mpiexec_to_mpirun(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _swapped(script, chance, b"mpirun")


def _swapped(script: bytes, chance: random.Random, new: bytes) -> Optional[bytes]:
    lines = [line for line in launch_lines(script) if line.launcher in MPI and line.launcher != new]
    if not lines:
        return None
    line = chance.choice(lines)
    return put(script, line.name_start, line.name_end, new)


@breaking
def no_mpiexec(script: bytes, chance: random.Random) -> Optional[bytes]:
    """Only the program of an mpiexec line is left: it starts once."""
    pattern = rb"\bmpiexec\s(?:[^\n'\"|]|\\\n)*?(?=\s(?:torchrun|bash|sh|python3?|accelerate|deepspeed|\./)[\s\w])"
    found = re.search(pattern, script)
    return put(script, found.start(), found.end() + 1, b"") if found else None


# ---- the job's own surroundings


@breaking
def no_cd(script: bytes, chance: random.Random) -> Optional[bytes]:
    new = re.sub(rb"(?m)^\s*cd \"?\$\{?PBS_O_WORKDIR\b.*\n", b"", script, count=1)
    return new if new != script else None


@breaking
def lines_for_nodes(script: bytes, chance: random.Random) -> Optional[bytes]:
    """Nodes counted by the lines of the node file, of which a node may have several."""
    new = re.sub(
        rb"(?:sort -u|uniq) \"?\$\{?PBS_NODEFILE\}?\"? \| wc -l", b"cat $PBS_NODEFILE | wc -l", script, count=1
    )
    return new if new != script else None


@breaking
def counts_of_slurm(script: bytes, chance: random.Random) -> Optional[bytes]:
    pattern = rb"\$\((?:wc -l < \"?\$\{?PBS_NODEFILE\}?\"?|sort -u \"?\$\{?PBS_NODEFILE\}?\"? \| wc -l)\)"
    found = list(re.finditer(pattern, script))
    return put(script, *chance.choice(found).span(), b"$SLURM_NNODES") if found else None


@breaking
def node_file_of_slurm(script: bytes, chance: random.Random) -> Optional[bytes]:
    new = re.sub(rb"\$\{?PBS_NODEFILE\}?", b"$SLURM_JOB_NODELIST", script, count=1)
    return new if new != script else None


@breaking
def other_rank_name(script: bytes, chance: random.Random) -> Optional[bytes]:
    """The rank by another mpiexec's name, or the local one for the global one."""
    found = list(re.finditer(rb"(?<=[${])(?:" + rb"|".join(RANK_NAMES) + rb")\b", script))
    if not found:
        return None
    one = chance.choice(found)
    return put(script, *one.span(), chance.choice([name for name in RANK_NAMES if name != one[0]]))


@breaking
def early_rank_name(script: bytes, chance: random.Random) -> Optional[bytes]:
    """The rank is exported in the batch shell, where there is none yet."""
    inside = re.search(rb"(?:export )?\bRANK=\$\{?((?:PMI|PALS)_RANK\w*)\}?;? ?", script)
    lines = launch_lines(script)
    if not inside or not lines or inside.start() < lines[0].start:
        return None
    new = put(script, *inside.span(), b"")
    return put(new, lines[0].start, lines[0].start, b"export RANK=$" + inside[1] + b"\n")


@breaking
def no_backslash_before_rank(script: bytes, chance: random.Random) -> Optional[bytes]:
    new = re.sub(rb"\\\$(?=P(?:MI|ALS|BS)_)", b"$", script, count=1)
    return new if new != script else None


@breaking
def node_rank_of_the_job(script: bytes, chance: random.Random) -> Optional[bytes]:
    """PBS_NODENUM is 0 in the script and in all that mpiexec starts."""
    found = options(script, rb"--node[-_]rank|--machine[-_]rank")
    return put(script, *chance.choice(found).span("value"), b"$PBS_NODENUM") if found else None


@breaking
def other_visible_tile(script: bytes, chance: random.Random) -> Optional[bytes]:
    at = body_start(script)
    return put(script, at, at, b"export ZE_AFFINITY_MASK=0\n")
