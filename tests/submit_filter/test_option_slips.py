"""Every option of every launcher: misspelt, without its value, or with one of another kind, it is noticed."""

from __future__ import annotations

import random
import subprocess
from typing import Iterator, NamedTuple

import pytest
from maple_submit_filter.launchers.grammar import FLAG, ONE, Row, Table, read
from maple_submit_filter.launchers.mpi.options import TABLES
from maple_submit_filter.launchers.registry import LAUNCHERS
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.text import plain

from tests.reality.asked import ask
from tests.reality.corpus import Case

LINES = {
    "torchrun": "srun torchrun HERE --nnodes=2 --nproc-per-node=4 --rdzv-endpoint=$M --rdzv-backend=c10d train.py",
    "accelerate": "accelerate launch HERE --num_processes=4 train.py",
    "deepspeed": "deepspeed HERE --num_gpus=4 train.py",
    "horovodrun": "horovodrun HERE -np 4 python train.py",
    "srun": "srun HERE python train.py",
    "mpiexec": "mpiexec HERE -n 8 python train.py",
}
SCRIPT = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=1 --gpus-per-node=4\nM=$(hostname)\n%s\n"
CODES = {"MPL310", "MPL314", "MPL320", "MPL335"}
LAUNCHED = list(LINES)


class Slip(NamedTuple):
    """Words on a launcher's line, and what is wrong with them."""

    launcher: str
    words: str
    why: str


def tables(launcher: str) -> list[Table]:
    """Return the options of a launcher, of every maker's mpiexec."""
    own = LAUNCHERS[launcher].table
    return [own] if own is not None else list(TABLES.values())


def rows(launcher: str) -> list[tuple[str, Row]]:
    """Return each option by its first long spelling."""
    own = {row.name: row for table in tables(launcher) for row in table.rows.values() if not row.only}
    spelled = ((next((s for s in row.spellings if s[:2] == b"--"), b""), row) for row in own.values())
    return [(spelling.decode(), row) for spelling, row in spelled if len(spelling) > 6]


def misspelt(name: str, chance: random.Random) -> dict[str, str]:
    """Return a long option as people misspell it."""
    body, at = name[2:], chance.randrange(1, len(name) - 3)
    return {
        "a letter less": "--" + body[:at] + body[at + 1 :],
        "a letter twice": "--" + body[:at] + body[at] + body[at:],
        "two exchanged": "--" + body[:at] + body[at + 1] + body[at] + body[at + 2 :],
        "one dash": name[1:],
        "joined": "--" + body.replace("-", "").replace("_", ""),
    }


def refused(launcher: str, words: str) -> bool:
    """Return whether every table of the launcher refuses the words, as far as these say."""
    return all(read(table, [plain(words.encode()), plain(b"x")], 0).problem for table in tables(launcher))


def slips(launcher: str) -> Iterator[Slip]:
    chance = random.Random(launcher)
    for name, row in rows(launcher):
        value = "" if row.values == FLAG else "=1"
        for why, wrong in misspelt(name, chance).items():
            if refused(launcher, wrong + value):
                yield Slip(launcher, wrong + value, why)
        if row.values == ONE and launcher not in ("srun", "mpiexec"):
            yield Slip(launcher, name, "no value")
        if row.values == FLAG and launcher != "mpiexec":
            yield Slip(launcher, name + "=1", "a value too many")
        if row.kind and row.values == ONE:
            yield Slip(launcher, name + ("=" if launcher != "mpiexec" else " ") + "x1y", "another kind")


def said(words: str, launcher: str, tmp_path: object) -> list[Finding]:
    """Return what is found in a script with the words on the launcher's line."""
    script = SCRIPT % LINES[launcher].replace("HERE", words)
    case = Case("broken/option", "generic-slurm", script.encode(), ("{}",), False, (), False)
    return list(ask(case, str(tmp_path)).decision.findings)


def noticed(slip: Slip, tmp_path: object) -> bool:
    return any(finding.code in CODES for finding in said(slip.words, slip.launcher, tmp_path))


@pytest.mark.parametrize("launcher", LAUNCHED)
def test_a_slip_in_any_option_is_noticed(launcher: str, tmp_path: object) -> None:
    """Nineteen of twenty: where one letter makes another option or a shortened one of it, nobody can tell."""
    every = list(slips(launcher))
    chosen = random.Random(3).sample(every, min(len(every), 150))
    missed = [slip for slip in chosen if not noticed(slip, tmp_path)]
    assert len(chosen) > 50
    assert len(missed) <= len(chosen) // 20, missed


@pytest.mark.parametrize("launcher", LAUNCHED)
def test_no_option_as_it_is_spelled_is_called_wrong(launcher: str, tmp_path: object) -> None:
    """With a value that fits, no option of the tables is told to be none, or to want another value."""
    for name, row in random.Random(5).sample(rows(launcher), min(40, len(rows(launcher)))):
        value = "" if row.values != ONE else "=" + fitting(row.kind)
        told = [finding.says for finding in said(name + value, launcher, tmp_path) if finding.code == "MPL335"]
        assert not any(wrong in says for says in told for wrong in ("no option", "wants", "takes no")), (name, told)


def fitting(kind: str) -> str:
    return kind.split("|")[0] if "|" in kind else "true" if kind == "bool" else "1"


def test_hydra_has_the_options_of_its_table_and_no_others() -> None:
    """Each option is asked of the installed mpiexec of MPICH: it knows those of the table, and no misspelt one."""
    chance = random.Random(1)
    for name, _ in chance.sample(rows("mpiexec"), 20):
        row = TABLES["hydra"].rows.get(name.encode())
        done = subprocess.run(["mpiexec.hydra", name, "1"], capture_output=True, text=True, timeout=20, check=False,
                              stdin=subprocess.DEVNULL)  # fmt: skip
        known = "unrecognized argument" not in done.stdout + done.stderr
        assert known == (row is not None), name
