"""Two readers of qsub's grammar, written apart from each other, agree on random command lines and scripts.

The other one is the double of qsub in C (tests/doubles/qsub). What they are asked holds only forms that were measured.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
from typing import NamedTuple

import pytest
from maple_submit_filter.request.pbs import submission as pbs
from maple_submit_filter.request.pbs.refusals import Refusal, refusals

from tests.doubles.stand import compiled

HOME = {b"HOME": b"/home/alice", b"LOGNAME": b"alice", b"PBS_JOBID": b"1.pbs01"}
OPTIONS = {
    "A": ["proj", "other", "has space"], "P": ["p"], "q": ["debug", "prod", "bad name!", "debug@pbs01"],
    "N": ["name", "-abc", "1num", "a.b_c+d", "has space"], "o": ["/x/out", "$HOME/o"], "e": ["err", ""],
    "j": ["oe", "eo", "n", "xx"], "k": ["oed", "doe", "n", "xx"], "m": ["abe", "n", "xx"], "M": ["a@b,c@d"],
    "p": ["5", "-1024", "5000", "high"], "r": ["y", "n", "maybe"], "R": ["oe"], "S": ["/bin/bash", "rel"],
    "a": ["202612312359", "1200.30", "soon"], "J": ["1-4", "1-4:2", "1-4:2%1", "4-1", "x"], "c": ["n", "s"],
    "v": ["A=1,B=two", "HOME"], "C": ["#XX"], "u": ["alice"],
    "l": [
        "walltime=1:00:00", "walltime=2:00", "walltime=abc", "walltime=", "walltime", "ncpus=4", "mem=4gb",
        "place=pack",
        "select=2:ncpus=8:ngpus=4", "select=1:ncpus=4+2:ncpus=8:mpiprocs=2", "select=4", "select=x", "select=1:ncpus",
        "select=0:ncpus=1", "select=1:ncpus=1:ncpus=2", "select=1:ncpus=a", "nodes=2:ppn=4", "nodes=2:ppn=4:gpus=1",
        "place=scatter:excl", "walltime=5,walltime=6", "ncpus=2,mem=1gb,walltime=7", "select=1:walltime=1",
    ],
    "W": ["umask=022", "block=true,umask=077", "depend=afterok:1,afterany:2,umask=022", "nosuch=1", "group_list=a",
          "run_count=2", "block"],
}  # fmt: skip
# Nobody measured what becomes of these in a directive, where the command line says another value.
NOT_IN_SCRIPTS = {"bad name!", "has space", "", "xx", "5000", "high", "rel", "4-1", "x"}
FLAGS = "hzVf"
BEFORE = ["", "  ", "# words", "#", ": label", "# PBS -N near", "##PBS -N off", "#pbs -N lower"]
COMMANDS = ["set -e", " : no label", "mpiexec ./a", "echo '#PBS'"]
ENDS = [" # comment", " extra", " \\\n -h", " \\\n#PBS -h", "  "]


class Call(NamedTuple):
    """One call of qsub: its words behind the command, and the script."""

    words: list[str]
    script: str
    environment: dict[bytes, bytes]


def option(draw: random.Random, in_script: bool = False) -> list[str]:
    """Return one option in one of its forms, now and then several letters in one word."""
    letter = draw.choice([*"lllllW", *OPTIONS])
    value = draw.choice([one for one in OPTIONS[letter] if letter == "A" or not in_script or one not in NOT_IN_SCRIPTS])
    flags = "".join(draw.sample(FLAGS, draw.choice([0, 0, 0, 1, 2])))
    if value and draw.random() < 0.3:
        return ["-%s%s%s" % (flags, letter, value)]
    return ["-%s%s" % (flags, letter), value]


def quoted(draw: random.Random, word: str) -> str:
    """Return a word as a directive can say it."""
    if not word:
        return draw.choice(["''", '""'])
    if draw.random() < 0.3:
        return draw.choice(["'%s'", '"%s"']) % word
    return re.sub(r"([ '\"\\])", r"\\\1", word)


def script(draw: random.Random) -> str:
    """Return a script, most of its directives before the first command."""
    prefix = draw.choice(["#PBS"] * 8 + ["#XX"])
    lines = ["#!/bin/bash"] if draw.random() < 0.8 else []
    for _ in range(draw.randrange(5)):
        words = " ".join(quoted(draw, word) for word in option(draw, True))
        end = draw.choice(ENDS) if draw.random() < 0.1 else ""
        lines.append(draw.choice(["", "", " ", "\t"]) + prefix + draw.choice([" ", " ", "", "\t"]) + words + end)
        if draw.random() < 0.3:
            lines.append(draw.choice(BEFORE))
        if draw.random() < 0.1:
            lines.append(draw.choice(COMMANDS))
    text = "\n".join(lines) + draw.choice(["\n", "\n", ""])
    return text.replace("\n", "\r\n") if draw.random() < 0.02 else text


def call(seed: int) -> Call:
    """Return the call of a seed."""
    draw = random.Random(seed)
    words = [word for _ in range(draw.choice([0, 0, 1, 2, 3])) for word in option(draw)]
    words += draw.choice(
        [["job.sh"]] * 12 + [["-"], [], ["job.sh", "-h"], ["--"], ["--", "/bin/true", "-N"], ["-Y", "job.sh"]]
    )
    around = {b"PBS_DPREFIX": b"#XX"} if draw.random() < 0.1 else {}
    return Call(words, script(draw), {**HOME, **around})


class Heard(NamedTuple):
    """What the double answers and writes down; *settings* is None where it did not come so far."""

    status: int
    complaints: list[str]
    settings: dict[str, bytes] | None
    name: bytes


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled("qsub", str(tmp_path_factory.mktemp("double")))


def heard(double: str, folder: str, one: Call) -> Heard:
    """Ask the double."""
    record = os.path.join(folder, "record")
    with open(os.path.join(folder, "job.sh"), "w", encoding="utf-8", newline="") as file:
        file.write(one.script)
    env = {**{name.decode(): value.decode() for name, value in one.environment.items()}, "RECORD": record}
    done = subprocess.run(
        ["qsub", *one.words], executable=double, cwd=folder, env=env, input=one.script.encode(),
        capture_output=True, timeout=60,
    )  # fmt: skip
    with open(record, "rb") as file:
        lines = behind_the_script(file.read()).split(b"\n")
    name = next((line[5:] for line in lines if line.startswith(b"name ")), None)
    settings = dict(line[4:].split(b" ", 1) for line in lines if line.startswith(b"set "))
    plain = {key.decode(): re.sub(rb"\\x(..)", _byte, value) for key, value in settings.items()}
    complaints = [line.rstrip() for line in done.stderr.decode().splitlines()]
    return Heard(done.returncode, complaints, plain if name is not None else None, name or b"")


def behind_the_script(record: bytes) -> bytes:
    """Return the part of a record that comes after the bytes of the script."""
    script = re.search(rb"^script (\d+):", record, re.MULTILINE)
    return record[script.end() + int(script.group(1)) :] if script else record


def _byte(match: re.Match[bytes]) -> bytes:
    return bytes([int(match.group(1), 16)])


def read(one: Call) -> tuple[dict[str, bytes], bytes, tuple[Refusal, ...]]:
    """Return the settings in force, the job's name and what is foretold, as we read the call."""
    argv = [b"qsub", *(word.encode() for word in one.words)]
    words = pbs.read_argv(argv)
    path = argv[words.script_index] if words.script_index is not None else b""
    prefix, shell = pbs.prefix_in_force(words, one.environment), pbs.shell_in_force(words, one.environment)
    job = pbs.read_script(one.script.encode(), prefix, shell) if words.executable is None else None
    said = pbs.settings(words, one.environment, job)
    found = refusals(words, one.environment, job, path)
    return {each.name: each.value for each in said}, pbs.job_name(said, path), found


OF_THE_SITE = ("Unknown resource", "Bad GID")


def differs(one: Call, theirs: Heard) -> str:
    """Return what the two readers do not agree on, "" if nothing."""
    settings, name, found = read(one)
    told = "\n".join(theirs.complaints)
    if theirs.status == 0 and found:
        return "refused by us: %s" % (found,)
    if theirs.settings is not None and (theirs.settings, theirs.name) != (settings, name):
        return "settings: %s %s" % (theirs.settings, settings)
    if theirs.status == 0 or any(text in told for text in OF_THE_SITE):
        return ""
    if not found:
        return "refused by the double: %s" % told
    usage = found[0].usage and theirs.status == found[0].exit_code
    wordless = any(not refusal.text for refusal in found)  # nobody wrote down what qsub says of it
    foretold = {refusal.text.rstrip() for refusal in found}
    return "" if usage or wordless or foretold & set(theirs.complaints) else "%s is not foretold: %s" % (told, foretold)


@pytest.mark.parametrize("part", range(4))
def test_two_readers_of_one_grammar_agree(part, double, tmp_path):
    disagreements, settled, refused = [], 0, 0
    for seed in range(part * 125, (part + 1) * 125):
        one = call(seed)
        theirs = heard(double, str(tmp_path), one)
        settled += theirs.status == 0
        refused += theirs.status != 0
        what = differs(one, theirs)
        if what:
            disagreements.append("%d %s: %s" % (seed, one, what))
    assert not disagreements, "\n\n".join(disagreements[:8])
    assert settled > 20 and refused > 20
