"""Findings as people read them."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from maple_submit_filter.answer.report import (
    FIXED,
    columns,
    excerpt,
    folded,
    place,
    printable,
    report,
    safety,
    summary,
)
from maple_submit_filter.answer.terminal import _typed
from maple_submit_filter.types.edits import Fix, Safety, Span
from maple_submit_filter.types.findings import Finding, sentence

SCRIPT = b"#!/bin/bash\n#SBATCH -N 2\n\n\n\n\n#SBATCH --ntasks-per-node=8\n"
AT = SCRIPT.index(b"--ntasks")
EIGHT = Finding(
    "MPL203",
    "8 ranks per node, but booster nodes have 4 GPUs",
    Span(AT, AT + len("--ntasks-per-node=8")),
    True,
    fixes=(Fix((), Safety.ASK, "--ntasks-per-node=4"),),
)
WANTED = """\
job.sh:7: error MPL203 8 ranks per node, but booster nodes have 4 GPUs
   7 | #SBATCH --ntasks-per-node=8
     |         ^^^^^^^^^^^^^^^^^^^
help: not applied: it changes the global batch size. More: maple explain MPL203"""


def test_a_finding_shows_its_line_and_ends_with_what_to_do():
    assert WANTED.split("\n") == list(
        report([EIGHT], SCRIPT, "job.sh", lambda one: "not applied: it changes the global batch size")
    )


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("gpuA40x4-preempt takes it", "gpuA40x4-preempt takes it"),
        ("--time=00:30:00 is within it", "--time=00:30:00 is within it"),
        ("stay within the limit, or choose another QOS", "Stay within the limit, or choose another QOS"),
        ("", ""),
    ],
)
def test_a_sentence_begins_with_a_capital_unless_a_name_or_option_does(text, made):
    assert sentence(text) == made


def test_what_becomes_of_a_fix_takes_the_place_of_its_words():
    assert report([EIGHT], SCRIPT, "j")[-1] == "help: --ntasks-per-node=4. More: maple explain MPL203"
    fixed = report([EIGHT._replace(help="do this")], SCRIPT, "j", lambda one: FIXED + ": four ranks")
    assert fixed[-1] == "help: fixed automatically: four ranks. More: maple explain MPL203"


def test_what_only_the_user_knows_is_asked_for():
    missing = Finding("MPL210", "no account, and this site refuses that", asks_for="account")
    assert report([missing], SCRIPT, "job.sh") == (
        "job.sh: advice MPL210 no account, and this site refuses that",
        "help: only you know the account. More: maple explain MPL210",
    )


def test_findings_come_in_the_order_of_the_script_and_a_flood_is_cut():
    first = EIGHT._replace(at=Span(0, 3), code="MPL101")
    lines = report([EIGHT, first, EIGHT, EIGHT], SCRIPT, "job.sh", most=2)
    assert [line.split()[2] for line in lines if line.startswith("job.sh")] == ["MPL101", "MPL203"]
    assert lines[-1] == "and 2 more"


def test_errors_come_before_advice_and_each_has_its_word():
    hint = EIGHT._replace(at=Span(0, 3), code="MPL101", proven=False)
    heads = [line.split()[1:3] for line in report([hint, EIGHT], SCRIPT, "job.sh") if line.startswith("job.sh")]
    assert heads == [["error", "MPL203"], ["advice", "MPL101"]]


@given(st.text("ab é日", min_size=1, max_size=120), st.integers(20, 80))
def test_folding_breaks_at_blanks_only_and_keeps_every_word(text, width):
    lines = folded(text, width)
    assert " ".join(lines).split() == text.split()
    assert all(columns(line) <= width or len(line.split()) == 1 for line in lines)


def test_the_best_fix_says_how_safe_a_finding_is():
    assert [safety(EIGHT), safety(EIGHT._replace(fixes=()))] == ["ask", "tell"]


@pytest.mark.parametrize("name", [b"sbatch", b"qsub", b"sbatch: error", "srun"])
def test_no_line_begins_as_the_scheduler_s_own(name):
    assert place(name).startswith("./")


def test_carets_stand_below_wide_characters_and_tabs():
    source = "日本\t--nodes=2".encode()
    line, carets = excerpt(source, 7, 14)
    assert columns(line[: line.index("--nodes")]) == carets.index("^") == 7 + 4 + 4
    assert carets.strip("| ") == "^" * 7


def test_a_span_over_several_lines_is_marked_on_the_first():
    assert excerpt(b"srun \\\n  python x.py\n", 0, 15) == ("   1 | srun \\", "     | ^^^^^^")


def test_a_very_long_line_is_cut_around_the_place():
    source = b"x" * 3_000_000 + b"--nodes" + b"y" * 3_000_000
    line, carets = excerpt(source, 3_000_000, 3_000_007, 80)
    assert columns(line) <= 80
    assert line[carets.index("^") : carets.rindex("^") + 1] == "--nodes"


def test_what_a_terminal_would_obey_is_written_out():
    assert printable(b"\x1b[31mred\xe2\x80\xae\x07\xff") == r"\x1b[31mred\u202e\x07\xff"


@given(st.binary(max_size=300), st.integers(0, 300), st.integers(0, 300), st.integers(30, 120))
def test_any_bytes_give_two_printable_lines_within_the_width(source, start, size, width):
    start = min(start, len(source))
    line, carets = excerpt(source, start, min(start + size, len(source)), width)
    assert line.isprintable() and carets.isprintable()
    assert columns(line) <= width + 1 and "^" in carets


def test_the_sum_names_what_remains():
    """So that nobody takes four findings for cured of which two were only said."""
    said = summary("repaired", 2, 2, "", 1, ["MPL505 (line 9)"])
    assert (
        said == "2 errors, fixed as shown; 2 pieces of advice; 1 with a change on offer; left to you: MPL505 (line 9)"
    )
    assert summary("findings", 9, 0, "", 0, ["MPL301"] * 9).endswith("MPL301, and 3 more")


@pytest.mark.parametrize(
    ("verdict", "errors", "hints", "says"),
    [
        ("clean", 0, 0, "nothing found"),
        ("findings", 1, 0, "1 error"),
        ("findings", 0, 2, "2 pieces of advice"),
        ("repaired", 2, 1, "2 errors, fixed as shown; 1 piece of advice"),
        ("unread", 0, 0, "left alone: a heterogeneous job"),
    ],
)
def test_one_line_sums_up(verdict, errors, hints, says):
    assert says == summary(verdict, errors, hints, "a heterogeneous job")


@pytest.mark.parametrize(
    ("text", "wide"),
    [("", 0), ("train.py", 8), ("Zoë", 3), ("Zoe\u0308", 3), ("\u0308", 0), ("日本", 4), ("ａ", 2), ("日e\u0301", 3)],
)
def test_a_column_is_what_a_terminal_moves_on(text, wide):
    """A letter is one, whether its accent is a sign of its own or not; one of East Asia is two."""
    assert columns(text) == wide


@pytest.mark.parametrize("width", [40, 41, 60, 100])
@pytest.mark.parametrize("letter", [b"a", "日".encode()])
def test_an_excerpt_fills_its_width_and_no_more(width, letter):
    """Of a line that is too long as much is shown as fits, whatever part of it is marked."""
    line = letter * 400
    for start, end in (
        (0, len(letter)),
        (len(line) - len(letter), len(line)),
        (len(line) // 2, len(line) // 2 + len(letter)),
        (0, len(line)),
    ):
        shown = columns(excerpt(line, start, end, width)[0])
        assert width - columns(letter.decode()) < shown <= width, (start, end)


@pytest.mark.parametrize("width", [10, 26, 27])
def test_even_a_narrow_line_shows_twenty_columns(width: int) -> None:
    """Less says nothing of the line."""
    source = b"x" * 40 + b"HERE" + b"y" * 40
    line, carets = excerpt(source, 40, 44, width)
    shown = line[7:]
    assert len(shown) == 20
    assert shown[carets.index("^") - 7 : carets.rindex("^") - 6] == "HERE"


@pytest.mark.parametrize(
    "word", ["a b", "it's", "''", "$HOME", "a;b", "job*.sh", "-N", "plain/job_1.sh", "--x=a,b:c", "(x)"]
)
def test_words_are_typed_as_a_shell_reads_them(word: str) -> None:
    """What one copies from the terminal is what was submitted; a word that needs no quotes has none."""
    typed = _typed([word.encode(), b"-N"])
    assert shlex.split(typed) == [word, "-N"]
    assert ("'" in typed) == (shlex.quote(word) != word)
