"""Of right claims about jobs whose script is known, how many speak of this job: `python -m tests.agents.debug.answers`.

It counts answers that name a value, a line of the script (as evidence or beside it) and a change of the script, apart
for those whose entry says that the cure stands in the script. `--all` prints each with its diff, to be judged by eye.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import tomllib
from maple_agents.diagnose.fix.script_places import script_places
from maple_agents.diagnose.fix.treatment import cures
from maple_agents.diagnose.tell.next_steps import changed, difference
from maple_agents.diagnose.values import Diagnosis
from maple_agents.templates.knowledge import entries

from tests.agents.debug import corpus

FOLDERS = ("diagnosis", "diagnosis-lab")


def answered() -> Iterator[tuple[str, Diagnosis]]:
    """Yield each right claim about a job with a script, and the name of its case."""
    for folder in FOLDERS:
        corpus.FOLDER = Path(__file__).parents[2] / "cases" / folder
        for known in corpus.known_cases():
            if known.script is None or known.kind not in ("failed", "hang"):
                continue
            accepted = tomllib.loads((known.folder / "expected.toml").read_text("utf-8")).get("accepts", [])
            diagnosis = whole(known)
            if diagnosis.causes[0].cause in (known.cause, *accepted) and diagnosis.causes[0].cause != "unknown":
                yield "%s/%s" % (folder, known.name), diagnosis


def whole(known: corpus.Known) -> Diagnosis:
    """Return what is said of a case, with its cures and the lines of its script."""
    _, digest, decision = corpus.material(known)
    diagnosis = corpus.diagnosed(known, entries())
    diagnosis = replace(diagnosis, cures=cures(diagnosis, digest, decision, entries()))
    return replace(diagnosis, script=script_places(diagnosis))


def row(diagnosis: Diagnosis) -> Counter[str]:
    """Return what an answer has, as a row of the table."""
    first, asked = diagnosis.causes[0], diagnosis.case.asked
    names = {Path(line.file).name for line in first.evidence} if asked is not None else set()
    in_script = bool(diagnosis.script) or any(
        name.startswith("job.") and name.endswith(("sh", "pbs")) for name in names
    )
    return Counter({
        "answers": 1, "a value": int(bool(first.named or first.values)), "a line of the script": int(in_script),
        "a change": int(changed(diagnosis)),
    })  # fmt: skip


def in_script(diagnosis: Diagnosis) -> bool:
    """Return whether one of the cures is of the script, by what its entry says."""
    return any(cure.kind.startswith("script_") for cure in diagnosis.cures)


def main(words: list[str]) -> None:
    """Print the table; *words*: of the command line."""
    every, of_script = Counter[str](), Counter[str]()
    for name, diagnosis in answered():
        every += row(diagnosis)
        of_script += row(diagnosis) if in_script(diagnosis) else Counter()
        if "--all" in words:
            print("%s: %s %s" % (name, diagnosis.causes[0].cause, diagnosis.causes[0].says))
            print(*(difference(cure, diagnosis) for cure in diagnosis.cures), sep="")
    for title, count in (("right claims with a script", every), ("of them, cured in the script", of_script)):
        print("%-30s %s" % (title, "  ".join("%s %d" % part for part in count.items())))


if __name__ == "__main__":
    main(sys.argv[1:])
