"""Variables of the old scheduler that kept lines use: set from the new one's, so that the lines mean the same."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from maple_submit_filter.types.job import line_of
from maple_submit_filter.types.launch_plan import Allocation

from ...base.tables import Part, Table, paths, read
from ...request.script.walk import context, texts
from ..values import Plan

_USE = rb"\$\{?(?:%s)\b"
_USED = re.compile(rb"\$\{?[#!]?((?:SLURM|SLURMD|PBS)_\w+|NCPUS)\b|(?<=[(\s*+/%-])((?:SLURM|PBS)_\w+)(?=[\s*+/%)-])")
_GIVEN = re.compile(rb"(?:^|[\s;])(?:export[ \t]+)?((?:SLURM|PBS)_\w+)=", re.MULTILINE)
_TASK = re.compile(rb"SLURM_(?:PROCID|LOCALID|NODEID)|PBS_(?:NODENUM|TASKNUM)")
NODE_FILE = b"PBS_NODEFILE"


class Variable(Table):
    """One variable. *pbs*, *slurm*: the shell word of the same value; *layout*: a number of the new job instead."""

    name: str
    pbs: str = ""
    slurm: str = ""
    layout: str = ""
    says: str = ""


class Variables(Part):
    """The variables of one scheduler."""

    variable: list[Variable]


class Shims(NamedTuple):
    """*lines* that set the variables, and what has no counterpart."""

    lines: tuple[bytes, ...]
    advice: tuple[str, ...]


@lru_cache(maxsize=4)
def _table(scheduler: str) -> dict[bytes, Variable]:
    made = read(Variables, paths("variables")[scheduler])
    return {variable.name.encode(): variable for variable in made.variable}


def shims(script: bytes, request: tuple[bytes, ...], old: str, plan: Plan, lines_a_node: int) -> Shims:
    """Return the lines that give the variables of *old* that *script* uses, in the order they are first used.

    *request*: the directives that it gets. *lines_a_node*: how many lines of the node file each node had. A variable
    that a shell of the tasks reads is exported, others are not: a program that finds Slurm's variables takes its job
    for one of Slurm's.
    """
    new = plan.cluster.site.scheduler
    lines: list[bytes] = []
    advice: list[str] = []
    for name, (line, exported) in _uses(script).items():
        if name == NODE_FILE and new == "slurm":
            lines += _node_file(lines_a_node)
            continue
        variable = _table("pbs" if name.startswith(b"PBS_") or name == b"NCPUS" else "slurm").get(name)
        value = _value(variable, name, old, new, plan, request)
        if value:
            lines.append((b"export " if exported else b"") + name + b"=" + value)
        elif value is None:
            why = variable.says if variable is not None and variable.says else "%s has no such variable" % _title(new)
            advice.append("line %d: $%s: %s" % (line, name.decode(), why))
    return Shims(tuple(lines), tuple(advice))


def uncrossed(script: bytes, scheduler: str, given: Allocation) -> bytes:
    """Return a script with variables of the scheduler that it is not for as what its own says in their place."""
    other = "slurm" if scheduler == "pbs" else "pbs"
    numbers = {"nodes": given.nodes, "tasks": given.tasks, "gpus_per_node": given.gpus_per_node}
    for name in _uses(script):
        variable = _table(other).get(name)
        if variable is None or not name.startswith(b"SLURM" if other == "slurm" else b"PBS_"):
            continue
        number = numbers.get(variable.layout)
        word = "%d" % number if number else variable.pbs if scheduler == "pbs" else variable.slurm
        if word:
            script = re.sub(rb"\$(?:%s\b|\{%s\})" % (name, name), lambda _, new=word: new.encode(), script)  # type: ignore[misc]
    return script


def _title(scheduler: str) -> str:
    return "PBS" if scheduler == "pbs" else "Slurm"


def _value(
    variable: Variable | None, name: bytes, old: str, new: str, plan: Plan, request: tuple[bytes, ...]
) -> bytes | None:
    """Return the word for a variable, b"" where it is there anyway, None where there is none."""
    own = name.startswith(b"PBS_" if new == "pbs" else b"SLURM")
    if own:
        return _unsaid(variable, request, plan) if variable is not None and new == old == "slurm" else b""
    if old == new and name == b"NCPUS":
        return b""
    if variable is None:
        return None
    number = _number(variable.layout, plan)
    word = variable.pbs if new == "pbs" else variable.slurm
    return number or (_quoted(word) if word else None)


def _quoted(word: str) -> bytes:
    return (
        word.encode()
        if word.isdigit() or word.startswith("$(") or not word.startswith("$")
        else b'"%s"' % word.encode()
    )


def _number(name: str, plan: Plan) -> bytes:
    layout = plan.layout
    numbers = {
        "nodes": layout.nodes,
        "tasks": layout.nodes * layout.tasks_per_node,
        "tasks_per_node": layout.tasks_per_node,
        "gpus_per_node": layout.gpus_per_node,
        "gpus": layout.nodes * layout.gpus_per_node,
        "ranks": layout.ranks,
        "ranks_per_node": layout.ranks_per_node,
        "cpus_per_task": layout.cpus_per_task or 1,
    }
    return b"%d" % numbers[name] if name in numbers else b""


# Which directive makes Slurm set the variable; without it the variable is not there.
_SAID_BY = {
    b"SLURM_GPUS_PER_NODE": b"--gpus-per-node",
    b"SLURM_NTASKS_PER_NODE": b"--ntasks-per-node",
    b"SLURM_NTASKS": b"--ntasks",
    b"SLURM_NPROCS": b"--ntasks",
    b"SLURM_CPUS_PER_TASK": b"--cpus-per-task",
    b"SLURM_GPUS": b"--gpus=",
}


def _unsaid(variable: Variable, request: tuple[bytes, ...], plan: Plan) -> bytes:
    """Return the number of a variable that Slurm sets only where a directive says it, b"" where one does."""
    option = _SAID_BY.get(variable.name.encode())
    if option is None or any(re.match(rb"#SBATCH %s\b" % re.escape(option), line) for line in request):
        return b""
    return _number(variable.layout, plan)


def _uses(script: bytes) -> dict[bytes, tuple[int, bool]]:
    """Return the variables of schedulers that the script reads and does not set, with the first line of each.

    The second says whether it is read by a shell of the tasks.
    """
    others = texts(script)
    set_here = {match[1] for match in _GIVEN.finditer(script)}
    out: dict[bytes, tuple[int, bool]] = {}
    for match in _USED.finditer(script):
        name = match[1] or match[2]
        begin = script.rfind(b"\n", 0, match.start()) + 1
        text = context(others, match.start())
        if name in set_here or _TASK.fullmatch(name):
            continue
        if script[begin : match.start()].lstrip().startswith(b"#"):
            continue
        escaped = script[match.start() - 1 : match.start()] == b"\\"
        later = text is not None and (text.quote in (b"'", b"<'") or escaped)
        line, before = out.get(name, (line_of(script, match.start()), False))
        out[name] = (line, before or later)
    return out


def _node_file(lines_a_node: int) -> list[bytes]:
    """Return the lines that write a node file like that of PBS."""
    repeated = b" | sed '%s'" % b";".join([b"p"] * (lines_a_node - 1)) if lines_a_node > 1 else b""
    return [
        b"export PBS_NODEFILE=$PWD/nodefile.$SLURM_JOB_ID",
        b'scontrol show hostnames "$SLURM_JOB_NODELIST"%s > "$PBS_NODEFILE"' % repeated,
    ]
