"""Our tables against the real launchers: same options, and any line read alike.

Wants a Python with torch, accelerate and deepspeed in MAPLE_HEAVY_PYTHON.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from typing import Any, Dict, List

import pytest
from maple_submit_filter.launchers import accelerate, deepspeed, torchrun
from maple_submit_filter.launchers.grammar import FLAG, ONE, Table, read
from maple_submit_filter.types.text import plain

if "MAPLE_HEAVY_PYTHON" not in os.environ:
    pytest.skip("MAPLE_HEAVY_PYTHON names no Python", allow_module_level=True)

pytestmark = pytest.mark.heavy

# Runs in the other Python: the parser's options, and what it makes of each line.
PROBE = r"""
import argparse, contextlib, io, json, sys
which, lines = json.load(sys.stdin)
made = []
real = argparse.ArgumentParser.parse_args
def keep(self, *args, **more):
    made.append(self)
    return real(self, *args, **more)
argparse.ArgumentParser.parse_args = keep
def parse(argv):
    if which == "torchrun":
        from torch.distributed.run import parse_args
    elif which == "torch.distributed.launch":
        from torch.distributed.launch import parse_args
    elif which == "accelerate":
        from accelerate.commands.launch import launch_command_parser
        return launch_command_parser().parse_args(argv)
    else:
        from deepspeed.launcher.runner import parse_args
    return parse_args(argv)
def outcome(argv):
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            found = vars(parse(argv))
        except SystemExit as end:
            return {"exit": end.code}
    return {name: value for name, value in found.items() if isinstance(value, (str, int, float, bool, list))}
outcomes = [outcome(argv) for argv in lines]
kinds = {"int": "int", "float": "float", "str_to_bool": "bool"}
def kind(a):
    return "|".join(map(str, a.choices)) if a.choices else kinds.get(getattr(a.type, "__name__", ""), "")
options = [(a.option_strings, a.nargs, a.dest, kind(a)) for a in made[0]._actions if a.option_strings]
print("RESULT" + json.dumps([options, made[0].allow_abbrev, outcomes]))
"""

PROGRAMS = {"deepspeed": ("user_script", "user_args")}
TABLES = [torchrun.TABLE, torchrun.LAUNCH_TABLE, accelerate.TABLE, deepspeed.TABLE]
EACH_TABLE = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.launcher)


def ask(table: Table, lines: List[List[str]]) -> Any:
    done = subprocess.run(
        [os.environ["MAPLE_HEAVY_PYTHON"], "-c", PROBE],
        input=json.dumps([table.launcher, lines]),
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert "RESULT" in done.stdout, done.stderr[-2000:]
    return json.loads(done.stdout.split("RESULT")[1])


@EACH_TABLE
def test_the_table_has_the_real_options_and_no_others(table):
    options, abbreviates, _ = ask(table, [["t.py"]])
    real = {spelling: FLAG if nargs == 0 else ONE for spellings, nargs, _, _ in options for spelling in spellings}
    ours = {spelling.decode(): row.values for spelling, row in table.rows.items() if not row.only}
    assert ours == real
    assert table.abbreviates == abbreviates


@EACH_TABLE
def test_every_option_takes_the_values_that_the_real_parser_takes(table):
    """Whole numbers, numbers, words: those in the table are the parser's own, and no other option has any."""
    options, _, _ = ask(table, [["t.py"]])
    real = {spelling: kind for spellings, nargs, _, kind in options for spelling in spellings if nargs != 0}
    ours = {spelling.decode(): row.kind for spelling, row in table.rows.items() if not row.only and row.values != FLAG}
    assert ours == real


def shaped(spelling: str, flag: bool, rng: random.Random) -> List[str]:
    """An option as people write it, or nearly."""
    shape = rng.random()
    if shape < 0.25:
        spelling = spelling[: rng.randint(2, len(spelling))]
    value = rng.choice(["1", "2", "-1", "a b", "--standalone", ""])
    if flag:
        return [spelling + "=1"] if shape > 0.95 else [spelling]
    return [spelling + "=" + value] if shape > 0.6 else [spelling, value]


def made_up(table: Table, rng: random.Random) -> List[str]:
    rows = [(spelling.decode(), row) for spelling, row in table.rows.items() if not row.only and row.name != "help"]
    line: List[str] = []
    for _ in range(rng.randint(0, 4)):
        spelling, row = rng.choice(rows)
        line += shaped(spelling, row.values == FLAG, rng)
    line += rng.choice([[], ["--"], ["--nope"], ["-mr"], []])
    return [*line, *rng.choice([["t.py", "--node", "3"], ["t.py", "a", "--", "b"], ["t.py"], []])]


def known_as(table: Table, options: List[Any]) -> Dict[str, str]:
    """Our name of each of the real parser's destinations that has but one option."""
    names = {dest: table.rows[spellings[0].encode()].name for spellings, _, dest, _ in options}
    return {dest: name for dest, name in names.items() if [one for _, _, one, _ in options].count(dest) == 1}


def same(value: Any, text: str) -> bool:
    """Whether the parser's value, typed as it likes, is what we read."""
    if isinstance(value, list):
        return same(value[-1], text)
    if isinstance(value, bool):
        return True  # a flag, or a word that the launcher finds true
    return float(text) == value if type(value) in (int, float) else str(value) == text


@EACH_TABLE
def test_any_line_is_read_as_the_real_launcher_reads_it(table):
    """Refused lines have a problem; of the others program and values are the same."""
    rng = random.Random(20261121)
    lines = [made_up(table, rng) for _ in range(800)]
    options, _, outcomes = ask(table, [["t.py"], *lines])
    names = known_as(table, options)
    defaults, taken = outcomes[0], 0
    for line, outcome in zip(lines, outcomes[1:]):
        found = read(table, [plain(word.encode()) for word in line], 0)
        if "exit" in outcome:
            continue  # a value of the wrong type or choice is no matter of grammar
        taken += 1
        script, rest = PROGRAMS.get(table.launcher, ("training_script", "training_script_args"))
        assert (found.problem, line[found.program]) == ("", outcome[script]), line
        ours = {one.name: one.value.raw.decode() if one.value is not None else "True" for one in found.options}
        changed = {
            names[dest]: value for dest, value in outcome.items() if dest in names and value != defaults.get(dest)
        }
        for name, value in changed.items():
            assert name in ours, (line, name)
            assert same(value, ours[name]), (line, name)
    print("%s: %d lines, %d taken by both" % (table.launcher, len(lines), taken))
    assert taken > 100


@EACH_TABLE
def test_no_line_that_we_refuse_is_taken_by_the_real_launcher(table):
    rng = random.Random(7)
    lines = [line for line in (made_up(table, rng) for _ in range(3000))]
    refused = [line for line in lines if read(table, [plain(word.encode()) for word in line], 0).problem][:300]
    _, _, outcomes = ask(table, [["t.py"], *refused])
    assert len(refused) > 50
    for line, outcome in zip(refused, outcomes[1:]):
        assert "exit" in outcome, line
