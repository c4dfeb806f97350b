"""Which member of how many a process says that it is: `rank 3/8`, `RANK=3 WORLD_SIZE=8`, `GLOBAL_RANK: 3, MEMBER: 4/8`.

Where two processes say that they are the same one, another member never exists, and all wait for it. Two are told
apart by the label before the line or the node that it names; who starts anew after a complaint is no second one. And
where a step has fewer tasks than there are members, and nothing else starts processes, some never start.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from .templates import template
from .units.prefixes import HOST
from .units.voices import Line

MOST = 4  # lines that are shown
LONGEST = 400  # characters of a line that are looked at
_RANK = re.compile(
    r"(?<!local[ _-])\b(?:(?:global|world|node|machine)[_ -]?)?rank\b[\"']?(?:\W{1,4}| has | is )(?P<rank>\d{1,6})\b"
    r"(?: ?/ ?(?P<whole>\d{1,6})\b|,? (?:out )?of (?P<of>\d{1,6})\b)?"
    r"|\b(?:SLURM_PROCID|PMI_RANK|PMIX_RANK|OMPI_COMM_WORLD_RANK|PALS_RANKID)\W{1,3}(?P<given>\d{1,6})\b",
    re.I,
)
_WORLD = re.compile(
    r"\b(?:world(?:[_ ]?size)?|nranks|nprocs|num_processes|size)\b[\"']?\W{1,4}(?P<world>\d{1,6})\b"
    r"|\bMEMBER\W{1,3}\d{1,6}/(?P<members>\d{1,6})\b",
    re.I,
)
# What says who it is without saying of how many: `Node n3 has rank 0`, `RANK=0`.
_ALONE = re.compile(r"\b(?:has|got) (?:node |machine )?rank\b|\b(?:NODE_|MACHINE_)?RANK=|(?:PROCID|RANKID|WORLD_RANK)=")
_NAMED = re.compile(rf"\b(?:on|node|host(?:name)?)\b[ :=]{{1,3}}(?P<host>{HOST})|^\W?(?P<first>{HOST})[\]:]", re.I)
_HOST = re.compile(HOST)
_TASKS = re.compile(
    r"\b(?:SLURM_N(?:TASKS|PROCS)\W{1,3}|#SBATCH +(?:--ntasks[= ]|-n ?)|ntasks ?[:=] ?)(?P<tasks>\d{1,6})\b"
)
_STARTS = re.compile(
    r"\btorchrun\b|distributed[./](?:run|launch)\b|\baccelerate launch\b|\bdeepspeed |\bmpi(?:run|exec)\b|\bray\b"
)


class Member(NamedTuple):
    """A line that says who its process is. *world*: 0 where it doesn't say of how many; *kind*: its words without
    names and numbers; *label*, *node*: of the process, None and "" where none is told.
    """

    line: Line
    rank: int
    world: int
    kind: str
    label: int | None
    node: str

    def is_other(self, member: Member) -> bool:
        """Return whether another process said this: another label, or another node under the same one or none."""
        if None not in (self.label, member.label) and self.label != member.label:
            return True
        return bool(self.node and member.node) and self.node != member.node


def doubled(lines: Iterable[Line], wrong: Sequence[int]) -> list[Line]:
    """Return the lines in which processes say that they are one and the same member of a group that is not complete.

    *wrong*: numbers of the lines that complain, in order: who speaks behind one may have been started anew.
    """
    kinds: dict[tuple[str, int, int], list[Member]] = {}
    for member in _members(lines):
        kinds.setdefault((member.kind, member.world, bisect_right(wrong, member.line.number)), []).append(member)
    return next(filter(None, map(_same, kinds.values())), [])


def _same(members: Sequence[Member]) -> list[Line]:
    ranks = {member.rank for member in members}
    if len(ranks) > 1 and len(ranks) >= members[0].world:  # each is there, of two groups perhaps
        return []
    for rank in sorted(ranks):
        mine = [member for member in members if member.rank == rank]
        others = [member for member in mine[1:] if member.is_other(mine[0])]
        if others:
            return [mine[0].line, *(member.line for member in others)][:MOST]
    return []


def absent(lines: Sequence[Line]) -> list[Line]:
    """Return the line that says how many tasks there are and one that says that there are more members; [] for none.

    Where a launcher that starts processes itself is named, tasks are not members.
    """
    named = (
        (line, match)
        for line in lines
        if ("NTASKS" in line.words or "ntasks" in line.words or "NPROCS" in line.words)
        and (match := _TASKS.search(line.words))
    )
    tasks_line, match = next(named, (None, None))
    if tasks_line is None or match is None:
        return []
    members = list(_members(lines))
    tasks, world = int(match["tasks"]), max((member.world for member in members), default=0)
    seen = {member.rank for member in members if member.world == world}
    if not tasks < world or len(seen) > tasks or any(_STARTS.search(line.words) for line in lines):
        return []
    return [tasks_line, next(member.line for member in members if member.world == world)]


def _members(lines: Iterable[Line]) -> Iterator[Member]:
    for line in lines:
        words = line.words[:LONGEST]
        if ("ank" in words or "RANK" in words or "PROCID" in words) and (member := _member(line, words)) is not None:
            yield member


def _member(line: Line, words: str) -> Member | None:
    rank = _RANK.search(words)
    if rank is None or "NCCL INFO" in words:  # which tells of every communicator, of some ranks or all
        return None
    size = _WORLD.search(words)
    world = int(rank["whole"] or rank["of"] or (size and (size["world"] or size["members"])) or 0)
    number = int(rank["rank"] or rank["given"])
    if world == 1 or world and number >= world or not world and _ALONE.search(words) is None:
        return None
    named = _NAMED.search(words)
    node = line.prefix.node or (named["host"] or named["first"] if named else "")
    return Member(line, number, world, template(_HOST.sub("*", words)), line.prefix.rank, node)


# A rank that the batch shell had put in before the tasks were: `+ srun … bash -c 'torchrun --node_rank 0 …'` under
# `set -x`, or the same node rank in what several tasks say that they run.

_NODE_RANK = re.compile(
    r"(?:--?(?:node|machine)[-_]rank|--machine_rank|\b(?:NODE|MACHINE)_RANK)[= ]['\"]?(?P<rank>\d{1,5})\b"
)
_NODES = re.compile(
    r"(?:--?(?:nnodes|num[-_]machines|num[-_]nodes|nodes)|\bNNODES|\b(?:NUM_)?NODES|\s-N|\s-n|--ntasks)"
    r"[= ]?['\"]?(?P<nodes>\d{1,5})\b"
)
# The same said by each node: `I am node 0 of 2 on n3`.
_NODE_OF = re.compile(r"\b(?:node|machine)(?: rank)?[ :#=]{1,2}(?P<rank>\d{1,5}) ?(?:of|/) ?(?P<nodes>\d{1,5})\b", re.I)
_TRACED = re.compile(r"^\++ ")
_TO_NODES = re.compile(r"\b(?:srun|mpirun|mpiexec|ibrun|pdsh|clush|aprun|pbsdsh|prun|jsrun)\b")


def frozen(lines: Sequence[Line]) -> list[Line]:
    """Return the lines by which one node rank went to several nodes; [] for none."""
    ranked = [(line, match) for line in lines if "ank" in line.words or "RANK" in line.words
              if (match := _NODE_RANK.search(line.words[:LONGEST])) and _STARTS.search(line.words)]  # fmt: skip
    sent = next((line for line, _ in ranked if _sends_one(line.words)), None)
    return [sent] if sent is not None else _same_rank(ranked) or _same_number(lines)


def _sends_one(words: str) -> bool:
    """Return whether a command that bash shows as it runs it starts on several nodes what has its rank already."""
    if not _TRACED.match(words) or not _TO_NODES.search(words):
        return False
    return max((int(match["nodes"]) for match in _NODES.finditer(words[:LONGEST])), default=0) > 1


def _same_rank(ranked: Sequence[tuple[Line, re.Match[str]]]) -> list[Line]:
    """Return the lines in which different tasks run the same launch with the same node rank, of several nodes."""
    for line, match in ranked:
        nodes = max((int(marks["nodes"]) for marks in _NODES.finditer(line.words[:LONGEST])), default=0)
        same = [other for other, marks in ranked if marks["rank"] == match["rank"] and _speaks_apart(line, other)]
        if nodes > 1 and same and len({marks["rank"] for _, marks in ranked}) == 1:
            return [line, *same][:MOST]
    return []


def _same_number(lines: Sequence[Line]) -> list[Line]:
    """Return the lines in which each node that says which of several it is names the same number."""
    namings = [(line, match, line.prefix.node or (named["host"] or named["first"] if named else ""))
            for line in lines if "ode" in line.words or "achine" in line.words
            if (match := _NODE_OF.search(line.words[:LONGEST]))
            for named in (_NAMED.search(line.words[match.end() : LONGEST]) or _NAMED.match(line.words),)]  # fmt: skip
    numbers = {(match["rank"], match["nodes"]) for _, match, _ in namings}
    first = {node: line for line, _, node in reversed(namings) if node}
    alone = len(numbers) == 1 and int(next(iter(numbers))[1]) > 1
    return sorted(first.values(), key=lambda line: line.number)[:MOST] if alone and len(first) > 1 else []


def _speaks_apart(line: Line, other: Line) -> bool:
    if None not in (line.prefix.rank, other.prefix.rank):
        return line.prefix.rank != other.prefix.rank
    return bool(line.prefix.node and other.prefix.node) and line.prefix.node != other.prefix.node
