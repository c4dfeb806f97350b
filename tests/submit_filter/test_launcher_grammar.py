"""Launchers read their own words as argparse, getopt and the mpiexec programs do."""

from __future__ import annotations

import argparse
import contextlib
import getopt
import io
import random
from typing import List, Optional, Sequence, Tuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from maple_submit_filter.launchers import accelerate, deepspeed, torchrun
from maple_submit_filter.launchers.grammar import FLAG, GETOPT, ONE, Reading, Table, read, table
from maple_submit_filter.types.edits import Span
from maple_submit_filter.types.text import Piece, Text, host, join, plain, unknown

TORCHRUN = torchrun.TABLE
ACCELERATE = accelerate.TABLE
DEEPSPEED = deepspeed.TABLE


def words(line: str) -> Tuple[Text, ...]:
    """The words of a line, each at its place in it; the line is taken for the script."""
    out, at = [], 0
    for word in line.split(" "):
        out.append(Text((Piece(word.encode(), at),) if word else ()))
        at += len(word) + 1
    return tuple(out)


def reading(table: Table, line: str) -> Reading:
    return read(table, words(line), 1)


def values(found: Reading) -> List[Tuple[str, Optional[bytes]]]:
    return [(option.name, None if option.value is None else option.value.raw) for option in found.options]


@pytest.mark.parametrize(
    ("line", "expected", "program"),
    [
        ("torchrun --nnodes=2 --nproc_per_node 4 t.py --lr 1", [("nnodes", b"2"), ("nproc-per-node", b"4")], "t.py"),
        ("torchrun --nproc-per=4 t.py", [("nproc-per-node", b"4")], "t.py"),
        ("torchrun --nnode 2 --stand t.py", [("nnodes", b"2"), ("standalone", None)], "t.py"),
        ("torchrun -m pkg.train --nnodes 9", [("module", None)], "pkg.train"),
        ("torchrun -mr3 -t=2 pkg.train", [("module", None), ("redirects", b"3"), ("tee", b"2")], "pkg.train"),
        ("torchrun --nnodes=1 -- t.py --nnodes 4", [("nnodes", b"1")], "t.py"),
        ("torchrun --node-rank -1 t.py", [("node-rank", b"-1")], "t.py"),
        ("torchrun --rdzv_id= t.py", [("rdzv-id", b"")], "t.py"),
        ("torchrun --nnodes 1 --nnodes 2 t.py", [("nnodes", b"1"), ("nnodes", b"2")], "t.py"),
    ],
)
def test_torchrun_words_become_options_and_a_program(line, expected, program):
    found = reading(TORCHRUN, line)
    assert (expected, "", False) == (values(found), found.problem, found.open)
    assert program == line.split(" ")[found.program]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("torchrun --nproc 4 t.py", "ambiguous option --nproc (--nproc-per-node, --nproc_per_node)"),
        ("torchrun --node 0 t.py", "ambiguous option --node (--node-rank, --node_rank)"),
        ("torchrun --gpus 4 t.py", "unknown option --gpus"),
        ("torchrun -n 4 t.py", "unknown option -n"),
    ],
)
def test_words_a_launcher_would_refuse_leave_the_reading_open(line, says):
    found = reading(TORCHRUN, line)
    assert (says, True, False) == (found.problem, found.open, found.split_only)


@pytest.mark.parametrize(
    "line", ["torchrun --nnodes --standalone t.py", "torchrun --nnodes -- t.py", "torchrun t.py --nnodes"]
)
def test_a_missing_value_is_a_problem_only_before_the_program(line):
    expected = "" if line.startswith("torchrun t.py") else "option --nnodes wants a value"
    assert expected == reading(TORCHRUN, line).problem


def test_a_value_for_a_flag_is_a_problem():
    assert reading(TORCHRUN, "torchrun --standalone=1 t.py").problem == "option --standalone takes no value"


def test_accelerate_takes_dashes_and_underscores_but_nothing_shortened():
    found = reading(ACCELERATE, "launch --num-processes 4 --num_machines=2 --multi-gpu t.py")
    assert values(found) == [("num-processes", b"4"), ("num-machines", b"2"), ("multi-gpu", None)]
    assert reading(ACCELERATE, "launch --num_proc 4 t.py").problem == "unknown option --num_proc"


def test_deepspeed_takes_underscores_alone():
    assert values(reading(DEEPSPEED, "deepspeed --num_accelerators 4 t.py")) == [("num-gpus", b"4")]
    assert values(reading(DEEPSPEED, "deepspeed --num_g 4 t.py")) == [("num-gpus", b"4")]
    assert reading(DEEPSPEED, "deepspeed --num-gpus 4 t.py").problem == "unknown option --num-gpus"


def test_an_argument_of_the_program_may_be_ambiguous_to_the_launcher():
    """torchrun t.py --node 3 ends with exit code 2 before t.py is started."""
    found = reading(TORCHRUN, "torchrun --nnodes 2 t.py --node 3")
    assert (found.problem, found.late_problem) == ("", "ambiguous option --node (--node-rank, --node_rank)")
    assert reading(TORCHRUN, "torchrun --nnodes 2 t.py -- --node 3").late_problem == ""
    assert reading(TORCHRUN, "torchrun --nnodes 2 -- t.py --node 3").late_problem == ""
    assert reading(TORCHRUN, "torchrun t.py --node-rank 3 --lr 1").late_problem == ""


def test_every_option_knows_its_words_and_bytes():
    line = "torchrun --nnodes=2 --nproc_per_node 4 --standalone t.py"
    nnodes, nproc, alone = reading(TORCHRUN, line).options
    cut = [line[option.span.start : option.span.end] for option in (nnodes, nproc, alone)]
    assert cut == ["--nnodes=2", "--nproc_per_node 4", "--standalone"]
    assert [nnodes.words, nproc.words, alone.words] == [(1, 1), (2, 2), (4, 1)]
    assert [line[option.value_span.start : option.value_span.end] for option in (nnodes, nproc)] == ["2", "4"]
    assert (alone.value, alone.value_span) == (None, None)


def test_an_option_that_came_from_a_variable_has_no_span_but_its_value_may():
    argv = (plain(b"torchrun"), Text((Piece(b"--nnodes="), Piece(b"2", 40))), plain(b"t.py"))
    (option,) = read(TORCHRUN, argv, 1).options
    assert (None, Span(40, 41)) == (option.span, option.value_span)


@pytest.mark.parametrize("gap", [2, 5])
def test_a_quote_between_option_and_value_leaves_no_span_to_replace(gap):
    argv = (
        Text((Piece(b"torchrun", 0),)),
        Text((Piece(b"--nnodes", 9),)),
        Text((Piece(b"2", 17 + gap),)),
        plain(b"t.py"),
    )
    (option,) = read(TORCHRUN, argv, 1).options
    assert (None, Span(17 + gap, 18 + gap)) == (option.span, option.value_span)


def test_short_options_in_one_word_have_no_span_of_their_own():
    module, redirects = reading(TORCHRUN, "torchrun -mr 3 x").options
    assert (module.span, redirects.span, module.words, redirects.words) == (None, None, (1, 1), (1, 2))


OPEN = Text((Piece(b"\0same:X\0"),), True)
QUOTED = unknown(b"X")


@pytest.mark.parametrize(
    ("argv", "program", "is_open", "split_only"),
    [
        ((OPEN, plain(b"t.py")), 2, True, False),  # torchrun $ARGS t.py
        ((OPEN,), 1, True, False),  # torchrun $CMD
        ((QUOTED,), 1, False, False),  # torchrun "$SCRIPT"
        ((QUOTED, plain(b"--lr"), plain(b"3")), 1, False, False),  # were it an option, --lr would be refused
        ((QUOTED, plain(b"t.py")), 1, True, False),  # torchrun "$X" t.py: either
        ((plain(b"--nnodes"), OPEN, plain(b"t.py")), 3, True, True),  # --nnodes $N t.py
        ((plain(b"--nnodes"), QUOTED, plain(b"t.py")), 3, False, False),
        ((join((plain(b"--nnodes="), OPEN)), plain(b"t.py")), 2, True, True),
        ((join((plain(b"--nnodes="), QUOTED)), plain(b"t.py")), 2, False, False),
        ((join((OPEN, plain(b"/t.py"))), plain(b"--lr")), 1, True, True),  # $DIR/t.py
        ((join((QUOTED, plain(b"/t.py"))), plain(b"--lr")), 1, False, False),
        ((join((plain(b"--"), QUOTED)), plain(b"t.py")), 2, True, False),  # "--$X"
        ((plain(host(0)), plain(b"x")), 1, False, False),  # a host name is no option
        ((plain(b"t.py"), OPEN), 1, False, False),  # behind the program nothing matters
    ],
)
def test_unknown_words_before_the_program_open_the_reading(argv, program, is_open, split_only):
    found = read(TORCHRUN, (plain(b"torchrun"), *argv), 1)
    assert (program, is_open, split_only) == (found.program, found.open, found.split_only)


def test_many_unknown_words_are_read_in_linear_time():
    found = read(TORCHRUN, (plain(b"torchrun"),) + (OPEN,) * 2000 + (plain(b"t.py"),), 1)
    assert found.open


def _judge(of: Table) -> argparse.ArgumentParser:
    """A real argparse parser with the same options."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=of.abbreviates)
    for row in dict.fromkeys(of.rows.values()):
        dashed = [one.decode() for one in row.spellings]
        if row.values == FLAG:
            parser.add_argument(*dashed, dest=row.name, action="store_true", default=False)
        else:
            parser.add_argument(*dashed, dest=row.name)
    parser.add_argument("PROGRAM")
    parser.add_argument("REST", nargs=argparse.REMAINDER)
    return parser


def _judged(parser: argparse.ArgumentParser, argv: Sequence[str]) -> Optional[argparse.Namespace]:
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            return parser.parse_args(list(argv))
        except SystemExit:
            return None


JUDGES = [(TORCHRUN, _judge(TORCHRUN)), (ACCELERATE, _judge(ACCELERATE)), (DEEPSPEED, _judge(DEEPSPEED))]


def _mangled(spelling: str, rng: random.Random) -> str:
    shape = rng.random()
    if shape < 0.2:
        return spelling[: rng.randint(2, len(spelling))]
    if shape < 0.4:
        return spelling + "=" + rng.choice(["2", "", "a=b", "-1"])
    if shape < 0.5 and not spelling.startswith("--"):
        return spelling + rng.choice(["3", "r", "m", "=4"])
    return spelling


def _line(of: Table, rng: random.Random) -> List[str]:
    spellings = [one.decode() for one in of.rows]
    pool = ["2", "t.py", "-1", "-1.5", "--", "-", "", "a b", "-x y", "--nope", "-z", "localhost:1"]
    out = []
    for _ in range(rng.randint(1, 7)):
        out.append(_mangled(rng.choice(spellings), rng) if rng.random() < 0.6 else rng.choice(pool))
    return [*out, *rng.choice([["t.py", "--x"], ["t.py"], []])]


@pytest.mark.parametrize("judge", JUDGES, ids=[of.launcher for of, _ in JUDGES])
@given(st.integers(0, 2**32))
@settings(max_examples=400, deadline=None)
def test_any_words_are_read_as_argparse_reads_them(judge, seed):
    """Same verdict, same values, same program."""
    of, parser = judge
    line = _line(of, random.Random(seed))
    judged = _judged(parser, line)
    found = read(of, [plain(word.encode()) for word in ["launcher", *line]], 1)
    if judged is None:
        assert found.problem or found.late_problem or found.program == len(line) + 1, line
        return
    assert found.problem == "", line
    assert judged.PROGRAM.encode() == [b"launcher", *(word.encode() for word in line)][found.program], line
    ours = {option.name: option.value.raw.decode() if option.value is not None else True for option in found.options}
    theirs = {name: value for name, value in vars(judged).items() if value not in (None, False)}
    del theirs["PROGRAM"], theirs["REST"]
    assert theirs == ours, line


SHORT = table("tool", GETOPT, "-a --all 0\n-o --output 1\n-q --quiet 0\n--opening 1\n-W 1")


GETOPT_WORDS = [
    "-a",
    "-aq",
    "-o",
    "x",
    "-ofile",
    "-qo",
    "--output",
    "--out=3",
    "--op",
    "--opening=1",
    "--all",
    "--",
    "-",
]
GETOPT_WORDS += ["-z", "--nope", "-W"]


@given(st.lists(st.sampled_from(GETOPT_WORDS)))
@settings(max_examples=300, deadline=None)
def test_short_and_long_options_are_read_as_getopt_reads_them(line):
    try:
        pairs, rest = getopt.getopt(line, "ao:qW:", ["all", "output=", "quiet", "opening="])
    except getopt.GetoptError:
        found = read(SHORT, [plain(word.encode()) for word in line], 0)
        assert found.problem, line
        return
    found = read(SHORT, [plain(word.encode()) for word in line], 0)
    names = {"a": "all", "o": "output", "q": "quiet"}
    expected = [(names.get(name.lstrip("-"), name.lstrip("-")), value) for name, value in pairs]
    assert expected == [(one.name, one.value.raw.decode() if one.value is not None else "") for one in found.options]
    assert rest == line[found.program :]


@pytest.mark.parametrize("of", [TORCHRUN, ACCELERATE, DEEPSPEED], ids=lambda of: of.launcher)
@given(st.lists(st.binary(max_size=12), max_size=8), st.booleans())
@settings(max_examples=150, deadline=None)
def test_any_bytes_give_a_reading(of, raw, opened):
    argv = [Text((Piece(word, -1),), opened) for word in raw]
    found = read(of, argv, 0)
    assert 0 <= found.program <= len(argv)
    assert all(0 <= one.words[0] < one.words[0] + one.words[1] <= len(argv) for one in found.options)


def test_torchrun_takes_defaults_from_the_environment():
    assert torchrun.environment_name("nproc-per-node") == b"PET_NPROC_PER_NODE"
    assert torchrun.environment_name("logs-specs") is None


def test_a_later_row_replaces_one_of_the_same_spelling():
    from maple_submit_filter.launchers.grammar import extended

    more = extended(SHORT, "other", "-a --all 1")
    assert (SHORT.rows[b"-a"].values, more.rows[b"-a"].values) == (FLAG, ONE)
