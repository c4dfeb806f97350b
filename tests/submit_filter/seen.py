"""What is made of every script in the tree, as text: `tests/cases/seen/`, one block a script.

A rule's case says what must be found and what must be submitted. Here stands the rest of what users see: each launch
line's nodes, tasks, worlds and processes, each finding's sentence and place, what is offered. Nobody wrote it by hand;
whoever changes it sees in the diff for which scripts. `python -m tests.submit_filter.seen` writes it anew.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from maple_submit_filter.answer.decision import Decision, decide
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.launch_plan import Breach, Group, Process, Step

from tests.submit_filter import neighbours
from tests.submit_filter.test_worlds_kept_everywhere import Submitted, decisions

FOLDER = Path(__file__).resolve().parents[1] / "cases" / "seen"
SHOWN = 4  # processes of a group; of all of them there is a sum


def blocks() -> dict[str, str]:
    """Return the text of each file by its name: scripts of one kind, or of one rule's number in the hundreds."""
    files: dict[str, list[str]] = {}
    for (name, asked, _, _), decision in decisions():
        kind = name[:4].lower() + "xx" if name.startswith("MPL") else name.partition("/")[0]
        files.setdefault(f"{kind}.txt", []).append(block(name, decision, asked.script or b""))
    for name, asked, site, read in near():
        decision = decide(asked, site, read)
        files.setdefault(_near(name), []).append(block(name, decision, asked.script or b""))
    return {name: "\n".join(sorted(text)) + "\n" for name, text in files.items()}


def near() -> Iterator[Submitted]:
    """Yield the neighbours whose titles stand there."""
    return neighbours.chosen(path.read_text() for path in sorted(FOLDER.glob("near-*.txt")))


def _near(title: str) -> str:
    return f"near-{title[:4].lower()}xx.txt"


def block(name: str, decision: Decision, script: bytes) -> str:
    """Return what is made of one script."""
    return "\n".join([f"== {name}", *map(_plain, _lines(decision, script))])


def _plain(line: str) -> str:
    return "".join(one if one.isprintable() else f"\\x{ord(one):02x}" for one in line)


def _lines(decision: Decision, script: bytes) -> Iterator[str]:
    yield decision.verdict + (f": {decision.why}" if decision.why else "")
    for step in decision.plan.steps if decision.plan is not None else ():
        yield from _step(step)
    for finding in decision.findings:
        yield _finding(finding, script)
    for code, why in decision.held_back:
        yield f"  held back {code}: {why}"
    for name, made in (("repaired", decision.repaired), ("offered", decision.offered)):
        if made is not None:
            yield f"  {name}: {_sum((made.script or b'') + b' '.join(made.argv or ()))}"


def _step(step: Step) -> Iterator[str]:
    names = ">".join([*(link.name for link in step.links), b" ".join(step.program[:2]).decode("utf-8", "replace")])
    where = [word for word in ("maybe", "background") if getattr(step, word)]
    counts = (step.nodes, step.tasks, step.tasks_per_node, step.workers_per_task)
    yield f"  {step.line} {names}: {_numbers(*counts)} {' '.join(where)}".rstrip()
    for group in step.groups:
        yield f"    {_group(group)}"
    for breach in step.breaches:
        yield f"    ! {_breach(breach)}"
    for one in (*step.unknown, *(name.decode() + " is lacking" for name in step.lacks)):
        yield f"    ? {one}"


def _group(group: Group) -> str:
    where = b":".join(part for part in (group.master, group.port) if part is not None)
    counts = (group.nodes, group.ranks_per_node, group.world_size, group.declared)
    shown = "; ".join(_process(one) for one in group.processes[:SHOWN])
    whole = "" if group.complete else " sampled"
    every = _sum("\n".join(_process(one) for one in group.processes).encode())
    return f"{group.launcher} {_numbers(*counts)} {_text(where)}{whole} [{shown}] {len(group.processes)} {every}"


def _process(one: Process) -> str:
    gpus = "?" if one.gpus is None else b",".join(one.gpus).decode()
    who = _numbers(one.node, one.task, one.local_rank, one.rank, one.world_size)
    return f"{who} gpus {gpus} cpus {_numbers(one.cpus)}{' binds' if one.binds_gpu else ''}"


def _breach(breach: Breach) -> str:
    numbers = " ".join(f"{name}={_numbers(value)}" for name, value in sorted(breach.numbers.items()))
    texts = " ".join(f"{name}={_text(value.raw)}" for name, value in sorted(breach.texts.items()))
    return " ".join(filter(None, (breach.kind, numbers, texts, *(one.decode() for one in breach.names))))


def _finding(finding: Finding, script: bytes) -> str:
    at = finding.at
    where = "-" if at is None else "%d:%d" % (script.count(b"\n", 0, at.start) + 1, at.end - at.start)
    how = "proven" if finding.proven else "tell"
    fixes = "".join(f" | {one.safety}: {one.says}" for one in finding.fixes)
    asks = f" | asks for {finding.asks_for}" if finding.asks_for else ""
    return f"  {where} {finding.code} {how}: {finding.says} | {finding.help}{fixes}{asks}".rstrip(" |")


def _numbers(*values: int | None) -> str:
    return " ".join("?" if one is None else str(one) for one in values)


def _text(raw: bytes) -> str:
    return raw.replace(b"\0", b"^").replace(b"\n", b"\\n").decode("utf-8", "replace") or "-"


def _sum(data: bytes) -> str:
    return f"{zlib.crc32(data):08x}"


def write(titles: Iterable[str] | None = None) -> None:
    """Write all files anew; *titles*: of the neighbours, those that stand there where it is None."""
    if titles is not None:
        for path in FOLDER.glob("near-*.txt"):
            path.unlink()
        files: dict[str, list[str]] = {}
        for title in titles:
            files.setdefault(_near(title), []).append(f"== {title}\n")
        for name, lines in files.items():
            (FOLDER / name).write_text("".join(lines))
    for name, text in blocks().items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    write()
