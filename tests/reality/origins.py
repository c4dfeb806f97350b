"""A wrong count is written elsewhere than where it is used: what is found, cured, and cured where it is written.

From the right scripts of every site: a count that stands as a number on a launch line is made another number, and then
moved to where people write such things. `python -m tests.reality.origins` prints the table.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from maple_submit_filter.answer.decision import Decision, decide

from tests.reality.asked import site, submission
from tests.reality.corpus import Case, cases
from tests.reality.operators import NNODES, NPROC
from tests.reality.places import body_start, launch_lines, options

COUNTS = NNODES + b"|" + NPROC + rb"|--num_processes|--num_machines|--ntasks|--ntasks-per-node|-np?"
SETTINGS = "counts.sh"  # beside the script


class Mutant(NamedTuple):
    """A script with a wrong count in it. *marks*: what the line holds where the count is written."""

    script: bytes
    marks: bytes
    files: tuple[tuple[str, bytes], ...] = ()


Origin = Callable[[bytes, tuple[int, int], bytes, int], Mutant]


def _with(script: bytes, place: tuple[int, int], use: bytes, at: int, lines: bytes) -> bytes:
    changed = script[: place[0]] + use + script[place[1] :]
    return changed[:at] + lines + changed[at:]


def on_the_line(script: bytes, place: tuple[int, int], count: bytes, at: int) -> Mutant:
    """Where it is used: what the others are held against."""
    return Mutant(_with(script, place, count, at, b""), b"")


def in_a_variable(script: bytes, place: tuple[int, int], count: bytes, at: int) -> Mutant:
    return Mutant(_with(script, place, b"$MY_COUNT", at, b"MY_COUNT=" + count + b"\n"), b"MY_COUNT=")


def exported_in_a_function(script: bytes, place: tuple[int, int], count: bytes, at: int) -> Mutant:
    lines = b"set_counts() {\n    export MY_COUNT=" + count + b"\n}\nset_counts\n"
    return Mutant(_with(script, place, b'"${MY_COUNT}"', at, lines), b"export MY_COUNT=")


def default_of_an_expansion(script: bytes, place: tuple[int, int], count: bytes, at: int) -> Mutant:
    return Mutant(_with(script, place, b"${MY_COUNT:-" + count + b"}", at, b""), b"${MY_COUNT:-")


def default_in_a_variable(script: bytes, place: tuple[int, int], count: bytes, at: int) -> Mutant:
    lines = b"MY_COUNT=${MY_OWN:-" + count + b"}\n"
    return Mutant(_with(script, place, b"${MY_COUNT}", at, lines), b"MY_COUNT=${MY_OWN:-")


def built_from_others(script: bytes, place: tuple[int, int], count: bytes, at: int) -> Mutant:
    lines = b"MY_PARTS=" + count + b"\nMY_COUNT=$((MY_PARTS * 1))\n"
    return Mutant(_with(script, place, b"$MY_COUNT", at, lines), b"MY_COUNT=")


def in_a_here_document(script: bytes, place: tuple[int, int], count: bytes, at: int) -> Mutant:
    lines = b"cat > my_counts.sh <<'END'\nMY_COUNT=" + count + b"\nEND\nsource ./my_counts.sh\n"
    return Mutant(_with(script, place, b"$MY_COUNT", at, lines), b"MY_COUNT=")


def in_a_sourced_file(script: bytes, place: tuple[int, int], count: bytes, at: int) -> Mutant:
    lines = b"source ./" + SETTINGS.encode() + b"\n"
    files = ((SETTINGS, b"MY_COUNT=" + count + b"\n"),)
    return Mutant(_with(script, place, b"$MY_COUNT", at, lines), b"MY_COUNT", files)


ORIGINS: tuple[Origin, ...] = (
    on_the_line, in_a_variable, exported_in_a_function, default_of_an_expansion, default_in_a_variable,
    built_from_others, in_a_here_document, in_a_sourced_file,
)  # fmt: skip


class Verdict(NamedTuple):
    """What became of a mutant. *there*: the change is where the count is written, or says why it is not."""

    found: bool
    cured: bool
    there: bool


def verdict(case: Case, mutant: Mutant) -> Verdict:
    """Return what Maple makes of the mutant."""
    asked = submission(case.with_script(mutant.script, case.words, case.name), "/work")
    files = {b"/work/" + name.encode(): content for name, content in mutant.files}
    decision = decide(asked, site(case.site), files.get)
    proven = any(finding.proven for finding in decision.findings)
    return Verdict(proven, decision.offered is not None, _there(decision, mutant))


def _there(decision: Decision, mutant: Mutant) -> bool:
    """Return whether the lines that changed are the one that holds the count, or a file's name is told."""
    made = decision.offered
    if made is None:
        return False
    if mutant.files:
        return any(name in says for says in made.says for name, _ in mutant.files)
    pairs = zip(mutant.script.split(b"\n"), (made.script or mutant.script).split(b"\n"))
    changed = [old for old, new in pairs if old != new]
    return bool(changed) and any(mutant.marks in old for old in changed)


def mutants(seed: int = 17) -> Iterator[tuple[Case, dict[str, Mutant]]]:
    """Yield every right script with one count of a launch line made wrong, written in each of the places."""
    chance = random.Random(seed)
    for case in cases("right"):
        script = case.script or b""
        spans = [(line.start, line.end) for line in launch_lines(script) if not line.nested]
        for one in options(script, COUNTS):
            inside = any(start <= one.start() < end for start, end in spans)
            if inside and one["value"].isdigit():
                wrong = b"%d" % chance.choice([count for count in (1, 2, 3, 4, 8, 16) if count != int(one["value"])])
                at = body_start(script)
                yield case, {origin.__name__: origin(script, one.span("value"), wrong, at) for origin in ORIGINS}


def measured() -> dict[str, Counter[str]]:
    """Return the sums by origin: of what is found on the line itself, what is found, cured, and cured there."""
    sums: dict[str, Counter[str]] = {origin.__name__: Counter() for origin in ORIGINS}
    for case, written in mutants():
        plain = verdict(case, written["on_the_line"])
        for name, mutant in written.items():
            here = plain if name == "on_the_line" else verdict(case, mutant)
            sums[name].update(
                mutants=1, found=here.found, cured=here.cured, there=here.there,
                lost=plain.found and not here.found, uncured=plain.cured and not here.cured,
            )  # fmt: skip
    return sums


def table(sums: dict[str, Counter[str]]) -> str:
    """Return the sums for people."""
    heads = ("mutants", "found", "cured", "there", "lost", "uncured")
    lines = ["%-26s" % "" + "".join("%9s" % head for head in heads)]
    return "\n".join(
        lines + ["%-26s" % name + "".join("%9d" % of[head] for head in heads) for name, of in sums.items()]
    )


if __name__ == "__main__":
    print(table(measured()))
