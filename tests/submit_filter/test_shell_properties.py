"""What the shell reader promises for any bytes at all."""

from __future__ import annotations

import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from maple_submit_filter.bash import nodes, rereading
from maple_submit_filter.bash.parser import parse

from tests.submit_filter.shell_trees import broken, uncovered

PIECES = [
    b"if",
    b"then",
    b"else",
    b"elif",
    b"fi",
    b"for x in",
    b"while",
    b"until",
    b"do",
    b"done",
    b"case x in",
    b"esac",
    b";;",
    b"(",
    b")",
    b"{",
    b"}",
    b"[[",
    b"]]",
    b"((",
    b"))",
    b"$(",
    b"${",
    b"$((",
    b"`",
    b"'",
    b'"',
    b"\\",
    b"\n",
    b" ",
    b"\t",
    b";",
    b"&",
    b"|",
    b"&&",
    b"||",
    b"<",
    b">",
    b">>",
    b"<<E\n",
    b"<<-'E'\n",
    b"\nE\n",
    b"<<<",
    b"2>&1",
    b"<(",
    b"#",
    b"=",
    b"a=",
    b"a=(",
    b"a[1]=",
    b"b+=",
    b"f()",
    b"function g",
    b"!",
    b"time",
    b"coproc",
    b"x",
    b"srun",
    b"-n",
    b"4",
    b"$x",
    b"${x:-",
    b"${x//",
    b"$'",
    b'$"',
    b"$[",
    b"@(",
    b"*",
    b"\\\n",
    b"\xff",
    b"\0",
    b"\r",
    b"select y in",
    b"=~",
    b":",
    b"/",
]
SHELLISH = st.lists(st.sampled_from(PIECES), max_size=60).map(b"".join)
SPACED = st.lists(st.sampled_from(PIECES), max_size=60).map(b" ".join)
SLOW = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@SLOW
@given(st.one_of(st.binary(max_size=200), SHELLISH, SPACED))
def test_any_bytes_give_a_tree_whose_spans_are_nested_ordered_and_in_bounds(source):
    assert broken(source) == ""


@SLOW
@given(st.one_of(SHELLISH, SPACED))
def test_what_no_word_covers_is_blanks_comments_operators_and_reserved_words(source):
    if b"coproc" not in source:  # it is not followed, nor are its here-documents, which lie behind it
        assert uncovered(source) == []


@SLOW
@given(SPACED, st.integers(0, 40), st.integers(0, 40))
def test_a_part_of_a_source_is_read_as_if_it_stood_alone(source, before, behind):
    whole = parse(b"x" * before + source + b"\n" * behind, before, before + len(source))
    alone = parse(source)
    assert [len(one.span) for one in whole.items and nodes.unread(whole)] == [
        len(one.span) for one in nodes.unread(alone)
    ]
    assert len(whole.items) == len(alone.items)
    assert whole.span == (before, before + len(source))


@pytest.mark.parametrize(
    "opening",
    [
        b"(",
        b"$(",
        b"{ ",
        b"if ",
        b"${a:-",
        b'"$(',
        b"((",
        b"$((",
        b"a=(",
        b"`",
        b"while ",
        b"[[ (",
        b"case x in a) ",
        b"f() { ",
        b"<(",
        b"@(",
        b"${a[",
        b"! ",
        b"$((a",
        b"coproc ",
        b"cat <<E\n",
        b"$[",
        b"a && ",
        b"a | ",
    ],
    ids=repr,
)
def test_no_depth_of_nesting_is_too_much(opening):
    assert broken(opening * 3000) == ""
    assert broken(opening * 30 + b"x") == ""


def test_a_caller_close_to_the_recursion_limit_gets_unread_and_no_exception():
    def deep(levels: int) -> nodes.Program:
        return deep(levels - 1) if levels else parse(b"$(" * 50 + b"x" + b")" * 50)

    frame, used = sys._getframe(), 0
    while frame is not None:
        frame, used = frame.f_back, used + 1
    program = deep(sys.getrecursionlimit() - used - 60)
    assert nodes.unread(program)


def steps(source: bytes) -> int:
    """Return how many calls reading takes where nothing was read before, which each line would be compared with."""
    count = 0
    rereading._recent.clear()

    def one_more(frame, event, argument):
        nonlocal count
        count += event == "call" or event == "c_call"

    sys.setprofile(one_more)
    try:
        parse(source)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "line",
    [
        b"srun -n 4 python a.py\n",
        b'x="a $(b "c") d"\n',
        b"a[\n",
        b"cat <<E\nx\nE\n",
        b"$((a)\n",
        b"((",
        b"( \n",
        b"fi\n",
        b"f(x\n",
        b"${a[b]c}\n",
        b"$(( (a) b); c)\n",
        b"x=(a b\n",
        b"'\n",
        b"`\n",
        b"case a in\n",
        b"<<E <<F\n",
        b"if x; then\n",
    ],
    ids=repr,
)
def test_twice_the_script_takes_about_twice_the_steps(line):
    once, twice = steps(line * 200), steps(line * 400)
    assert twice <= 2.2 * once + 200
