"""Seeded changes to right scripts of PBS that are meant to keep the meaning; reality checks that, too."""

from __future__ import annotations

import random
import re
from typing import Optional

from tests.reality import operators as shared
from tests.reality.operators import Operator
from tests.reality.pbs_operators import PPN, put, registering, with_word, words
from tests.reality.places import directives, launch_lines

KEEPING_EVERYWHERE = (
    "in-a-variable", "in-a-function", "in-the-background", "through-tee", "exec-in-front", "env-in-front",
    "continued-lines", "equals-or-blank", "dashes-or-underscores", "comments-and-echoes", "blank-lines",
    "counts-in-variables", "default-value",
)  # fmt: skip
PBS_KEEPING: dict[str, Operator] = {name: shared.KEEPING[name] for name in KEEPING_EVERYWHERE}
keeping = registering(PBS_KEEPING)


@keeping
def in_an_array(script: bytes, chance: random.Random) -> Optional[bytes]:
    """Only bash has arrays."""
    return None if script.startswith(b"#!/bin/sh") else shared.KEEPING["in-an-array"](script, chance)


@keeping
def renamed_variable(script: bytes, chance: random.Random) -> Optional[bytes]:
    """As for every script, but none with a variable that arithmetic names without a dollar."""
    bare = re.search(rb"\(\((?:[^()]*[\s(+*/%-])?[a-z_]\w*[^()]*\)\)", re.sub(rb"\$\{?\w+\}?", b"0", script), re.I)
    return None if bare else shared.KEEPING["renamed-variable"](script, chance)


@keeping
def in_a_heredoc(script: bytes, chance: random.Random) -> Optional[bytes]:
    """The launch line is written to a file, which is then run in a shell of its own."""
    lines = [line for line in launch_lines(script) if line.alone]
    if not lines:
        return None
    line = chance.choice(lines)
    text = script[line.start : line.end]
    names = set(re.findall(rb"\$\{?(\w+)", text))
    outside = {name for name in names if not name.startswith((b"PBS_", b"PMI_", b"PALS_", b"MPI_", b"OMPI_"))}
    if b"<<" in text or b"[@]" in text or b"{#" in text or not all(_exported(script, name) for name in outside):
        return None
    return put(script, line.start, line.end, b"cat > step.sh <<'STEP'\n" + text + b"\nSTEP\nbash step.sh")


def _exported(script: bytes, name: bytes) -> bool:
    return re.search(rb"(?m)^[ \t]*export (?:\w+=\S+ )*" + name + rb"=", script) is not None


@keeping
def in_a_block(script: bytes, chance: random.Random) -> Optional[bytes]:
    lines = [line for line in launch_lines(script) if line.alone and b"<<" not in script[line.start : line.end]]
    if not lines:
        return None
    line = chance.choice(lines)
    pairs = [
        (b"{ ", b"; }"),
        (b"( ", b" )"),
        (b"if true; then\n  ", b"\nfi"),
        (b'if [ -n "$PBS_JOBID" ]; then ', b"; fi"),
    ]
    before, after = chance.choice(pairs)
    return put(script, line.start, line.end, before + script[line.start : line.end] + after)


@keeping
def directives_shuffled(script: bytes, chance: random.Random) -> Optional[bytes]:
    spans = directives(script)
    lines = [script[a:b] for a, b in spans]
    together = all(b == a for (_, b), (a, _) in zip(spans, spans[1:]))
    said = [name for line in lines for name in re.findall(rb"(?<=[ ,])(?:-[a-zA-Z]\b|\w+(?==))", line) if name != b"-l"]
    if len(lines) < 2 or not together or len(set(said)) < len(said):
        return None
    chance.shuffle(lines)
    return put(script, spans[0][0], spans[-1][1], b"".join(lines))


@keeping
def resources_in_one_directive(script: bytes, chance: random.Random) -> Optional[bytes]:
    """Two -l of a script become one, with a comma."""
    spans = [(a, b) for a, b in directives(script) if re.match(rb"#PBS -l \S+\n", script[a:b])]
    pairs = [(one, two) for one, two in zip(spans, spans[1:]) if one[1] == two[0]]
    if not pairs:
        return None
    (start, middle), (_, end) = chance.choice(pairs)
    return put(script, start, end, script[start : middle - 1] + b"," + script[middle + len(b"#PBS -l ") : end])


@keeping
def glued_directive(script: bytes, chance: random.Random) -> Optional[bytes]:
    """`#PBS -l x=y` and `#PBS -lx=y` are one, and blanks may stand in front."""
    spans = [(a, b) for a, b in directives(script) if re.match(rb"#PBS -[lNqA] \S+\n", script[a:b])]
    if not spans:
        return None
    start, end = chance.choice(spans)
    return put(script, start, end, re.sub(rb"#PBS (-\w) ", rb"#PBS  \1", script[start:end]))


@keeping
def mpiexec_spelled_otherwise(script: bytes, chance: random.Random) -> Optional[bytes]:
    """One dash or two before ppn, -n or -np: what every mpiexec but Open MPI's takes."""
    found = words(script, PPN + rb"|-n|-np")
    if not found or b"OMPI" in script:
        return None
    one = chance.choice(found)
    ways = {b"-ppn": b"--ppn", b"--ppn": b"-ppn", b"-n": b"-np", b"-np": b"-n"}
    return put(script, *one.span("name"), ways[one["name"]])


@keeping
def envall_said(script: bytes, chance: random.Random) -> Optional[bytes]:
    """What PALS and Hydra do anyway."""
    return None if b"OMPI" in script or b"env" in script else with_word(script, chance, b"--envall")


@keeping
def braces(script: bytes, chance: random.Random) -> Optional[bytes]:
    new = re.sub(rb"(?<!\\)\$(PBS_(?:NODEFILE|O_WORKDIR|JOBID))\b", rb"${\1}", script)
    return new if new != script else None


@keeping
def lines_by_cat(script: bytes, chance: random.Random) -> Optional[bytes]:
    new = re.sub(rb"wc -l < (\"?\$\{?PBS_NODEFILE\}?\"?)", rb"cat \1 | wc -l", script, count=1)
    return new if new != script else None


@keeping
def first_line_by_sed(script: bytes, chance: random.Random) -> Optional[bytes]:
    new = re.sub(rb"head -n ?1 (\"?\$\{?PBS_NODEFILE\}?\"?)", rb"sed -n 1p \1", script, count=1)
    return new if new != script else None
