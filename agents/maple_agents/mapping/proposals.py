"""A language model as a further proposer: it writes statements of the mapping language, and hears what becomes of them.

What it hears is of three kinds: statements that cannot be read, mappings that no job can have, and the time of one that
can; and of three levels: what the system says, why that is so beside it, and what to do as well. Nothing that it writes
is run: the grammar reads statements, and a time is asked only of a mapping that gives each rank a place of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from ..ask.models.protocol import Limit, Message, Model, ModelError, Schema
from . import language, tuning
from .language import Mapping, Mistake, Unread

Level = Literal["system", "explain", "suggest"]
LEVELS: tuple[Level, ...] = ("system", "explain", "suggest")
MOST = 10  # iterations
_SHOWN = 4  # turns that it is told again; older ones tell it nothing new
SCHEMA: Schema = {
    "type": "object",
    "properties": {
        "why": {"type": "string", "maxLength": 300},
        "mapping": {"type": "string", "minLength": 1, "maxLength": 400},
    },
    "required": ["why", "mapping"],
    "additionalProperties": False,
}
_TASK = """You place the ranks of a parallel program on the GPUs of a cluster so that their exchanges take as little
time as can be. You write statements of a small language, several with ";" between them, and hear how long a step's
exchanges take, or what is wrong. Return JSON: "why", one sentence; "mapping", the statements. Write none but these:
"""


class Judgement(NamedTuple):
    """How long a mapping's exchanges take, why, and what may be better, as far as that is known ("")."""

    seconds: float
    why: str = ""
    better: str = ""


class Job(NamedTuple):
    """*fixed*: the statements that stand. *free*: those that may be written, each on a line with what it means.

    *judge* raises `Mistake` for a mapping that this job cannot have.
    """

    fixed: str
    free: str
    judge: Callable[[Mapping], Judgement]

    def read(self, written: str) -> Mapping:
        """Return the mapping that statements make of the job; raises `Mistake`."""
        parts = [part.strip() for part in re.split(r"[;\n]", written) if part.strip()]
        words = list(dict.fromkeys(line.split()[0] for line in self.free.splitlines()))
        fixed = [part.split()[0] for part in parts if part.split()[0] in language.STATEMENTS]
        for word in fixed:
            if word not in words:
                raise Mistake(f"{word} is not yours to say; write none but {', '.join(words)}")
        return language.read("\n".join((self.fixed.rstrip(), *parts)) + "\n")


class Turn(NamedTuple):
    """One proposal. *kind*: "compile", "execution", "metric", or "silent": no answer. *heard*: what is said of it."""

    mapping: str
    kind: str
    heard: str
    seconds: float | None = None


def proposed(job: Job, model: Model, level: Level, most: int = MOST, limit: Limit = Limit()) -> Iterator[Turn]:  # noqa: B008
    """Yield what the model writes, in order, with what it is told of each; a model without an answer ends it."""
    turns: list[Turn] = []
    for _ in range(most):
        try:
            answer: Any = model.answer(messages(job, turns), SCHEMA, limit)
        except ModelError as error:
            yield Turn("", "silent", str(error))
            return
        turns.append(heard(job, str(answer["mapping"]), level))
        yield turns[-1]


def messages(job: Job, turns: Sequence[Turn]) -> list[Message]:
    """Return the task, the job, and the last turns with the best one before them."""
    conversation = [Message("system", _TASK + job.free), Message("user", "The job:\n" + job.fixed)]
    best = min((turn for turn in turns if turn.seconds is not None), key=lambda turn: turn.seconds or 0.0, default=None)
    last = list(turns[-_SHOWN:])
    for turn in [best, *last] if best is not None and best not in last else last:
        conversation += [Message("assistant", turn.mapping), Message("user", turn.heard)]
    return conversation


def heard(job: Job, written: str, level: Level) -> Turn:
    """Return what is said of statements, at a level."""
    try:
        judged = job.judge(job.read(written))
    except Unread as mistake:
        return Turn(written, "compile", _said(level, *_parts(mistake, "")))
    except Mistake as mistake:
        return Turn(written, "execution", _said(level, *_parts(mistake, _NO_MAPPING)))
    sentence = f"A step's exchanges take {judged.seconds:.3f} s."
    return Turn(written, "metric", _said(level, sentence, judged.why, judged.better), judged.seconds)


_NO_MAPPING = "No rank was started: a mapping gives each rank one GPU, and each GPU one rank."


def _parts(mistake: Mistake, why: str) -> tuple[str, str, str]:
    """Return what is wrong, why that is, and what to do, which stands behind the semicolon of a mistake."""
    wrong, _, todo = re.sub(r"^line \d+: ", "", str(mistake)).partition("; ")
    return (
        wrong[:1].upper() + wrong[1:] + ".",
        why,
        (todo[:1].upper() + todo[1:] + ".").replace("?.", "?") if todo else "",
    )


def _said(level: Level, system: str, why: str, better: str) -> str:
    parts = (system, why if level != "system" else "", better if level == "suggest" else "")
    return " ".join(filter(None, parts))


_FREE = """order tp < dp < pp        (the axes, that whose ranks follow each other first)
map block                 (ranks fill one node after the other; or: map cyclic, in turn; or: map plane N, N at a time)
nodes list h2,h0,h1       (every host once, in the order in which they are taken; or: nodes as-given)
"""


def of_estimate(text: str, hosts: Sequence[str], leaves: Sequence[str]) -> Job:
    """Return a mapping file's job, judged by the estimate. *leaves*: of the hosts, () where nobody knows them."""
    leaf_of = dict(zip(hosts, leaves))
    named = ", ".join(f"{host} ({leaf_of[host]})" if leaf_of else host for host in hosts)
    fixed = f"{without_order(text)}\n# hosts{' with their switches' if leaf_of else ''}: {named}"

    def judge(mapping: Mapping) -> Judgement:
        nodes = mapping.hosts or tuple(hosts)
        if sorted(nodes) != sorted(hosts):
            raise Mistake("the hosts are not those of the job; list each of them once")
        if mapping.mesh is None or not mapping.flows:
            raise Mistake("nothing is said of axes or traffic; leave those statements in")
        if mapping.by == "leaf":
            nodes = tuple(sorted(nodes, key=lambda host: leaves.index(leaf_of[host]) if leaf_of else 0))
        there = [leaf_of[host] for host in nodes] if leaf_of else []
        return Judgement(tuning.as_written(mapping, there), *_reasons(mapping, there))

    return Job(fixed, _FREE, judge)


def _reasons(mapping: Mapping, leaves: Sequence[str]) -> tuple[str, str]:
    """Return which axes cross nodes and switches, and what most likely is better."""
    placed, mesh = mapping.placement(), mapping.mesh
    assert mesh is not None
    sentences, torn = [], []
    for axis in (axis for axis in mesh.axes if axis.size > 1):
        nodes = [{placed.node_of(rank) for rank in group} for group in mesh.groups(axis.name)]
        wide = sum(len(places) > 1 for places in nodes)
        over = sum(len({leaves[node] for node in places}) > 1 for places in nodes) if leaves else 0
        sentences.append(
            f"{axis.name}: {wide} of {len(nodes)} groups cross nodes" + (f", {over} switches" if over else "")
        )
        torn += [axis.name] if wide and axis.size <= mapping.each else []
    most = max(mapping.flows, key=lambda flow: flow.size * flow.rounds).axis
    if most in torn:
        better = f"Let {most} be first in the order, with map block: its groups fit on one node."
        return "; ".join(sentences) + ".", better
    taken = [leaf for at, leaf in enumerate(leaves) if at == 0 or leaf != leaves[at - 1]]
    if len(taken) > len(set(taken)):
        return "; ".join(sentences) + ".", "List the hosts of one switch one after the other."
    return "; ".join(sentences) + ".", "Let two hosts of unlike switches change places." if leaves else ""


def without_order(text: str) -> str:
    """Return a mapping's statements less those that a proposer writes, and less what is bound and emitted."""
    parts = [part.strip() for line in text.splitlines() for part in line.partition("#")[0].split(";")]
    return "\n".join(
        part for part in parts if part and part.split()[0] not in ("order", "map", "nodes", "emit", "bind")
    )
