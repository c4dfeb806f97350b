"""What is asked of a job's mapping: its script's plan, and the machine it would run on, from all that tells of one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple, Optional

from ..admission.user_files import content
from ..ask.schedulers.slurm.jobs import expand
from ..ask.sites import path
from ..ask.sites.files import parse
from ..ask.submission import GENERIC, Answer
from ..base.complaint import Complaint
from . import offers, topology
from .check import Judged, judged
from .crossings import Finding
from .offers import Offer
from .size_files import Reads
from .topology import Hardware, Machine, Network


class MachineFiles(NamedTuple):
    """What the command line tells beside the site file: names of files, and the job's hosts in order."""

    topology: str = ""
    hosts: str = ""
    lstopo: str = ""


NOTHING = MachineFiles()


def machine(asked: Answer, files: MachineFiles = NOTHING) -> Machine:
    """Return what the job would run on; raises `Complaint` where a file that is named says nothing of it."""
    hardware = _measured(files.lstopo) if files.lstopo else _described(asked)
    return Machine(hardware, _network(files) if files.topology else Network())


def _described(asked: Answer) -> Hardware:
    """Return the node of the site file: nothing where the site is not described, or the job may get any."""
    plan = asked.decision.plan
    if plan is None or asked.site.id in GENERIC:
        return Hardware()
    try:
        name = path(asked.site.id)
        with open(name, "rb") as file:
            facts = parse(file.read(), name)
    except (OSError, ValueError):  # an installation may know a site of which no file is kept
        return Hardware()
    return topology.hardware_of(facts, [kind.name for kind in plan.allocation.node_kinds])


def _measured(name: str) -> Hardware:
    try:
        return topology.of_lstopo(_text(name))
    except ValueError as error:
        raise Complaint(f"{name}: {error}", "write it on a node of the job: lstopo --of xml node.xml") from error


def _network(files: MachineFiles) -> Network:
    try:
        if not files.hosts:
            topology.leaves_of(_text(files.topology))
            return Network()
        return topology.network_of(_text(files.topology), hosts(files.hosts))
    except ValueError as error:
        raise Complaint(f"{files.topology}: {error}", "take what scontrol show topology prints") from error


def hosts(text: str) -> tuple[str, ...]:
    """Return the hosts of a short list, or of a file with one a line; raises `Complaint` where it is neither."""
    try:
        with open(text) as file:
            return tuple(dict.fromkeys(line.split()[0] for line in file if line.strip()))
    except OSError:
        pass
    try:
        return expand(text)
    except ValueError as error:
        raise Complaint(str(error), "say them as Slurm does: nid[001-004], or name a file") from error


def _text(name: str) -> str:
    try:
        with open(name, errors="replace") as file:
            return file.read()
    except OSError as error:
        raise Complaint(f"{name}: {error.strerror}", "name a file that can be read") from error


def answer(asked: Answer, files: MachineFiles = NOTHING) -> tuple[Judged, ...]:
    """Return what is to be said of each launch line."""
    from maple_submit_filter.answer.decision import likely_plan

    plan, source = asked.decision.plan, asked.submission.script or b""
    if plan is None:
        return ()
    likely = likely_plan(asked.submission, asked.site) if plan.presumable else None
    return judged(plan, source, machine(asked, files), likely, beside(asked.submission.cwd))


def beside(folder: bytes) -> Reads:
    """Return what reads a small file by its name, relative to a folder."""

    def read(name: bytes) -> bytes | None:
        return content(os.path.join(os.fsdecode(folder), os.fsdecode(name)))

    return read


def offered(asked: Answer, lines: Sequence[Judged], files: MachineFiles = NOTHING) -> dict[Finding, Offer]:
    """Return, for each finding that one edit cures, the line as it would be."""
    plan, source = asked.decision.plan, asked.submission.script or b""
    if plan is None or not any(line.findings for line in lines):
        return {}

    def again(new: bytes) -> tuple[Judged, ...]:
        return _again(asked, new, asked.submission.argv, files)

    return offers.offers(lines, plan, source, machine(asked, files).hardware, again)


def beside_rules(asked: Answer) -> list[Finding]:
    """Return what `maple check` adds to its findings: what no rule has said of the same line, and no repair cures."""
    codes = {finding.code for finding in asked.decision.findings}
    findings = [finding for line in answer(asked) for finding in line.findings]
    findings = [finding for finding in findings if not _COVERED.get(finding.kind, frozenset()) & codes]
    repaired = asked.decision.repaired
    if not findings or repaired is None:
        return findings
    script = asked.submission.script if repaired.script is None else repaired.script
    still = {(finding.kind, finding.line) for line in _again(asked, script, repaired.argv) for finding in line.findings}
    return [finding for finding in findings if (finding.kind, finding.line) in still]


def _again(
    asked: Answer, script: bytes | None, argv: Sequence[bytes], files: MachineFiles = NOTHING
) -> tuple[Judged, ...]:
    """Return what is to be said of the launch lines of another script, or of other words for it."""
    from maple_submit_filter.answer.decision import decide

    other = asked.submission._replace(script=script, argv=tuple(argv))
    return answer(asked._replace(submission=other, decision=decide(other, asked.site)), files)


_COVERED = {"groups": frozenset(("MPL331",)), "cores": frozenset(("MPL312",)), "network": frozenset(("MPL511",))}


def sentences(findings: Sequence[Finding], name: str) -> list[str]:
    """Return each finding in one line with its place."""
    return [f"{name}:{finding.line}: {finding.sentence}" for finding in findings]


def note(line: Judged) -> Optional[str]:
    """Return why nothing is known of a launch line, None where something is."""
    return f"line {line.line} is not judged: {line.note}" if line.note else None
