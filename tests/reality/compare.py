"""The plan beside what ran: every known value of every process, equal or not.

A process is compared by node, local rank, rank, world size, visible GPUs and, where the launch line decides them, by
master and port. With a rendezvous that hands out ranks by arrival the plan knows the set of ranks, not whose is whose:
there a rank is right when it lies in the world. What the plan calls unknown counts as unknown, never as wrong.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from typing import Iterable, NamedTuple, Optional, Sequence

from maple_submit_filter.types.launch_plan import Group, LaunchPlan, Process

from tests.reality.corpus import GENERIC_PBS
from tests.reality.field import Fact, Ran

TOKEN = re.compile(rb"\0([^\0]*)\0")
HELPERS = re.compile(r"prep|token|check")  # programs of the corpora that stand-ins take for no training
DYNAMIC = ("torchrun", "accelerate")  # agents that may choose master and port themselves


class Compared(NamedTuple):
    """*values* were there to know, *known* of them the plan knew, and *wrong* says which of those were not so."""

    name: str
    processes: int
    values: int
    known: int
    wrong: tuple[str, ...]


class _Planned(NamedTuple):
    process: Process
    group: Group
    program: str


def compare(plan: LaunchPlan, ran: Ran, *, whole: bool) -> Compared:
    """Return the comparison. *whole*: the run was right, so that nothing planned may be missing."""
    jobs: dict[str, list[Fact]] = defaultdict(list)
    for fact in ran.facts:
        jobs[_job(fact, ran)].append(fact)
    values = known = 0
    wrong: list[str] = []
    for facts in jobs.values():
        one = _Comparison(plan, facts, ran)
        one.run(whole)
        values, known = values + one.values, known + one.known
        wrong += one.wrong
    return Compared(ran.case.name, len(ran.facts), values, known, tuple(dict.fromkeys(wrong)))


class _Comparison:
    def __init__(self, plan: LaunchPlan, facts: Sequence[Fact], ran: Ran) -> None:
        self.plan, self.facts, self.addresses = plan, facts, ran.addresses
        self.values = self.known = 0
        self.wrong: list[str] = []
        self.nodes = list(ran.nodes) or hosts(facts[0]["env"].get("SLURM_JOB_NODELIST", ""))
        self.job = _job(facts[0], ran)
        self.open = ran.case.site == GENERIC_PBS  # PBS hides no devices, and nobody says what else there does

    def run(self, whole: bool) -> None:
        planned = [
            _Planned(process, group, _program(step.program))
            for step in self.plan.steps
            for group in step.groups
            for process in group.processes
        ]
        programs = {_named(fact) for fact in self.facts}
        for program in sorted(programs):
            self._program(program, [one for one in planned if one.program == program],
                          [fact for fact in self.facts if _named(fact) == program], whole)  # fmt: skip
        for program in sorted({one.program for one in planned} - programs):
            if whole and program.endswith(".py") and not HELPERS.search(program) and not self._doubtful(program):
                self.wrong.append(f"{program}: planned, but it never ran")

    def _doubtful(self, program: str) -> bool:
        """Return whether the plan itself says that it does not see everything, or that this may not run."""
        steps = [step for step in self.plan.steps if _program(step.program) == program]
        return bool(self.plan.unread) or any(step.maybe or step.unknown for step in steps) or not all(
            group.complete for step in steps for group in step.groups)  # fmt: skip

    def _program(self, program: str, planned: list[_Planned], facts: list[Fact], whole: bool) -> None:
        self._counts(program, planned, facts, whole)
        pairs = [(self._likeness(one, fact), -i, -j) for i, one in enumerate(planned) for j, fact in enumerate(facts)]
        left, free = set(range(len(facts))), set(range(len(planned)))
        for _, i, j in sorted(pairs, reverse=True):
            if -i in free and -j in left:
                free.discard(-i)
                left.discard(-j)
                self._values(program, planned[-i], facts[-j])
        for index in left:
            self.values += 4 if facts[index]["rank"] is not None else 2

    def _counts(self, program: str, planned: list[_Planned], facts: list[Fact], whole: bool) -> None:
        """The number of processes on each node, where the plan says that it lists them all."""
        sure = bool(planned) and not self._doubtful(program)
        foretold = Counter(one.process.node for one in planned)
        happened = Counter(self._node(fact) for fact in facts)
        for node in sorted(happened):
            self.values += 1
            if sure and None not in foretold:
                self.known += 1
                if happened[node] > foretold[node] or (whole and happened[node] < foretold[node]):
                    self.wrong.append(f"{program}: {happened[node]} processes on node {node}, planned {foretold[node]}")

    def _likeness(self, one: _Planned, fact: Fact) -> int:
        return sum(
            8 if name == "node" else 1 for name, said, did in self._pairs(one, fact) if said is not None and said == did
        )

    def _values(self, program: str, one: _Planned, fact: Fact) -> None:
        for name, said, did in self._pairs(one, fact):
            self.values += 1
            if said is None:
                continue
            self.known += 1
            if said != did:
                self.wrong.append(
                    f"{program}: {name} {did!r} on {fact['host']} (rank {fact['rank']}), planned {said!r}"
                )

    def _pairs(self, one: _Planned, fact: Fact) -> Iterable[tuple[str, object, object]]:
        """Yield (name, planned or None, real) for each value there is to know."""
        process = one.process
        yield "node", process.node, self._node(fact)
        if fact.get("gpus") is not None and not (self.open and process.gpus is None):
            seen = _of_the_job(fact)
            yield "gpus", None if process.gpus is None else _usable(process.gpus, seen, fact), seen
        if fact["rank"] is None:
            return  # it has no place in any world, or was told none
        if fact["local_rank"] is not None:
            yield "local rank", process.local_rank, fact["local_rank"]
        yield "world size", process.world_size, fact["world_size"]
        if process.rank is None and one.group.complete and process.world_size is not None:
            inside = 0 <= fact["rank"] < process.world_size
            yield "rank", fact["rank"] if inside else "in the world", fact["rank"]
        else:
            yield "rank", process.rank, fact["rank"]
        chosen = any(link.split("@")[0] in DYNAMIC for link in fact["chain"]) or fact["source"] != "torch"
        for name, said, did in (
            ("master", process.master, fact["master_addr"]),
            ("port", process.port, fact["master_port"]),
        ):
            told = self._told(said, did)
            if told is not None or not chosen:
                yield name, told, did

    def _told(self, said: Optional[bytes], did: str) -> Optional[str]:
        """Return the planned text with its tokens replaced by what they stood for; None when one is unknown."""
        if said is None:
            return None
        unknown = False

        def real(found: re.Match[bytes]) -> bytes:
            nonlocal unknown
            kind, _, value = found[1].partition(b":")
            if kind in (b"host", b"name", b"addr") and value.isdigit() and int(value) < len(self.nodes):
                name = self.nodes[int(value)]
                return (self.addresses.get(name, name) if kind == b"addr" else name).encode()
            if kind == b"job":
                return self.job.encode()
            unknown = True
            return b""

        text = TOKEN.sub(real, said).decode("utf-8", "replace")
        return None if unknown else text

    def _node(self, fact: Fact) -> int:
        return self.nodes.index(fact["host"]) if fact["host"] in self.nodes else -1


def _job(fact: Fact, ran: Ran) -> str:
    """Return the id of the job that a process belongs to. Behind ssh a process of PBS knows none: it has but one."""
    ids = [one["env"].get("SLURM_JOB_ID") or one["env"].get("PBS_JOBID") or "" for one in (fact, *ran.facts)]
    return ids[0] or next((one for one in ids if one), "")


def _of_the_job(fact: Fact) -> list[str]:
    """Return the devices the process saw, counted within its job as on a cluster that hides the others."""
    order = (fact["env"].get("SLURM_JOB_GPUS") or "").split(",")
    names = [str(gpu) for gpu in fact["gpus"]]
    return [str(order.index(name)) if name in order else name for name in names]


def _usable(gpus: Sequence[bytes], seen: Sequence[str], fact: Fact) -> list[str]:
    """Return the planned devices; CUDA drops what lies beyond the node's last one, and so does this."""
    planned = [gpu.decode() for gpu in gpus]
    given = fact["env"].get("SLURM_GPUS_ON_NODE") or str(fact.get("node_gpus", ""))
    return planned[: len(seen)] if given.isdigit() and int(given) == len(seen) < len(planned) else planned


def _program(words: Sequence[bytes]) -> str:
    """Return the program of a step as the facts name it: the file, or the module behind -m."""
    texts = [TOKEN.sub(b"?", word).decode("utf-8", "replace") for word in words]
    while texts and re.match(r"^(.*/)?(python[\d.]*|exec)$", texts[0]):
        texts = _behind_python(texts[1:])
    return _in_its_folder(texts[0]) if texts else ""


def _behind_python(words: Sequence[str]) -> list[str]:
    rest = list(words)
    while rest and rest[0].startswith("-"):
        if rest[0] in ("-m", "-W", "-X"):
            rest = rest[1:] if rest[0] == "-m" else rest[2:]
            if words[0] == "-m":
                return rest
            continue
        rest = rest[1:]
    return rest


def _named(fact: Fact) -> str:
    return _in_its_folder(str(fact["program"]))


def _in_its_folder(path: str) -> str:
    """Return a program's path; that of the folder a case was laid out in says nothing, for plan and run had two."""
    return os.path.normpath(re.sub(r"^/\S*/maple-(?:planned|pbs|reality)-\w+/(?:job|\d+)/", "", path))


def hosts(nodes: str) -> list[str]:
    """Return the hosts of a Slurm node list, in order."""
    found: list[str] = []
    for prefix, inside in re.findall(r"([^,\[]+)(?:\[([^\]]*)\])?", nodes):
        for part in inside.split(",") if inside else [""]:
            first, _, last = part.partition("-")
            if not part:
                found.append(prefix)
            else:
                found += [f"{prefix}{number:0{len(first)}d}" for number in range(int(first), int(last or first) + 1)]
    return found


def table(rows: Sequence[Compared]) -> str:
    """Return the rows as text, with the sums."""
    lines = [f"{'script':58}{'processes':>10}{'values':>8}{'known':>7}{'equal':>7}"]
    for row in sorted(rows):
        lines.append(f"{row.name:58}{row.processes:10}{row.values:8}{row.known:7}{row.known - len(row.wrong):7}")
    values, known = sum(row.values for row in rows), sum(row.known for row in rows)
    share = 100.0 * known / values if values else 0.0
    wrong = sum(len(row.wrong) for row in rows)
    lines.append(f"{len(rows)} scripts, {sum(row.processes for row in rows)} processes, {values} values")
    lines.append(f"{known} known ({share:.1f} %), {wrong} of them not so")
    lines += [f"  {row.name}: {one}" for row in sorted(rows) for one in row.wrong]
    return "\n".join(lines)
