"""What people paste: a command with its options, directives of an old script, JSON and its kin."""

from __future__ import annotations

from tests.tagger.marked import ASIDE, Marked, Part, joined
from tests.tagger.teller import CORRECTED, Teller
from tests.tagger.values import KINDS


def _option(teller: Teller, slot: str, table: dict[str, list[str]]) -> Marked:
    """Return a slot as an option of a command."""
    chance = teller.chance
    if slot == "walltime":
        value = teller.values.clock() if chance.random() < 0.85 else chance.choice(["30", "120", "60", "1440"])
    else:
        value = chance.choice(KINDS["exactly"][slot]) if slot in KINDS["exactly"] else teller.values.of(slot)
    before, behind = chance.choice(table[slot]).split("{v}")
    return joined([before, (Part(value, slot),), behind])


def _options(teller: Teller, table: dict[str, list[str]]) -> list[Marked]:
    slots = [slot for slot in teller.keyed() if slot in table]
    return [_option(teller, slot, table) for slot in slots]


def command(teller: Teller) -> Marked:
    """Return a line that submits or starts, with what was said before and behind it."""
    chance = teller.chance
    pbs = chance.random() < 0.25
    command = chance.choice(
        ["qsub", "qsub -I"] if pbs else ["sbatch", "sbatch", "srun", "salloc", "srun --pty", "interact"]
    )
    options: list[Marked | str] = []
    for option in _options(teller, KINDS["qsub"] if pbs else KINDS["sbatch"]):
        options += [" ", option]
    tail: list[Marked | str] = (
        [" ", (Part(teller.values.of("program"), "program"),)]
        if chance.random() < 0.7
        else [chance.choice([" job.sh", "", " run.sbatch", " --wrap"])]
    )
    line = joined([command, *options, *tail])
    if chance.random() < 0.2:
        line = joined(["`", line, "`"])
    more = [
        slot
        for slot in teller.slots
        if slot not in (KINDS["qsub"] if pbs else KINDS["sbatch"]) and slot not in ("program", "arguments", "shape")
    ]
    before: list[Marked | str] = [
        chance.choice(
            [
                "",
                "",
                "",
                "I usually do ",
                "this is what I run: ",
                "$ ",
                "make a script out of this: ",
                "as a script: ",
                "turn into batch job: ",
                "I have: ",
                "convert: ",
                "my command is ",
            ]
        )
    ]
    behind: list[Marked | str] = []
    for slot in more:
        behind += [
            chance.choice([", ", "; ", "\n", " and ", ". "]),
            teller.fragment(chance.choice(["terse", "clause"]), slot),
        ]
    if chance.random() < 0.25:
        changed = chance.choice([slot for slot in CORRECTED if slot in teller.keyed()] or ["nodes"])
        line = _aside(line, changed)
        behind += [
            chance.choice(
                [" but with ", ", only with ", "; now ", " - change to ", ". This time ", ", except ", " but "]
            ),
            teller.fragment("terse", changed),
        ]
    return joined([*before, line, *behind])


def _aside(line: Marked, slot: str) -> Marked:
    """Return *line* with the value of a slot taken back."""
    return tuple(part._replace(label=ASIDE) if part.label == slot else part for part in line)


def directives(teller: Teller) -> Marked:
    """Return the head of a script, at times with what follows it, and what is to be another."""
    chance = teller.chance
    pbs = chance.random() < 0.25
    mark = chance.choice(["#PBS "] if pbs else ["#SBATCH ", "#SBATCH ", "# SBATCH ", "SBATCH ", "", "> #SBATCH "])
    lines = [joined([mark, option]) for option in _options(teller, KINDS["qsub"] if pbs else KINDS["sbatch"])]
    other = [slot for slot in teller.slots if slot in ("modules", "environment", "variables", "program")]
    shell: list[Marked | str] = []
    for slot in sorted(other, key=["modules", "environment", "variables", "program"].index):
        value = (
            Part(teller.values.of(slot if slot != "environment" else chance.choice(["environment", "venv"])), slot),
        )
        start = {
            "modules": "module load ",
            "environment": "source ",
            "variables": "export ",
            "program": chance.choice(["", "srun ", ""]),
        }[slot]
        if slot == "environment" and not value[0].text.endswith("activate"):
            start = "conda activate "
        shell += ["\n", start, value]
    body: list[Marked | str] = ["#!/bin/bash\n"] if chance.random() < 0.5 else []
    for line in lines:
        body += [line, "\n"]
    told: list[Marked | str] = [
        chance.choice(
            [
                "",
                "",
                "here is my script:\n",
                "I have this header\n",
                "from an old script:\n",
                "like this:\n",
                "I need something like\n",
            ]
        )
    ]
    behind: list[Marked | str] = []
    if chance.random() < 0.4:
        slot = chance.choice([*CORRECTED])
        body = [_aside(one, slot) if not isinstance(one, str) else one for one in body]
        behind = [
            "\n",
            chance.choice(["but ", "now I need ", "make it ", "but now with ", "change: ", "please use "]),
            teller.fragment("terse", slot),
        ]
    return joined([*told, *body, *shell, *behind])


def structured(teller: Teller) -> Marked:
    """Return JSON, YAML, keyword arguments or shell variables, pasted."""
    chance = teller.chance
    head, lead, sign, behind, joint, tail = chance.choice(
        [
            ("{", '"', '": ', "", ", ", "}"),
            ("{\n", '  "', '": "', '"', ",\n", "\n}"),
            ("", "", ": ", "", "\n", ""),
            ("submit(", "", "=", "", ", ", ")"),
            ("job = dict(", "", "='", "'", ", ", ")"),
            ("", "", "=", "", "\n", ""),
            ("", "", "=", "", " ", ""),
            ("[job]\n", "", " = ", "", "\n", ""),
            ("job:\n", "  ", ": ", "", "\n", ""),
            ("| ", "", " | ", "", " |\n| ", " |"),
            ("", "", ",", "", "\n", ""),
            ("", "", "? ", "", ". ", "."),
            ("<", "", ">", "", "; ", ""),
            ("", "export ", "=", "", "\n", ""),
        ]
    )
    found: list[Marked | str] = [teller.sometimes(0.25, "start", "\n"), head]
    for slot in teller.keyed():
        found += [
            lead + chance.choice(KINDS["brief"][slot]) + sign,
            (Part(teller.values.of(slot), slot),),
            behind,
            joint,
        ]
    found[-1] = tail
    return joined([*found, teller.sometimes(0.15, "chat", "\n")])
