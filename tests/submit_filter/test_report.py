"""Findings as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from maple_submit_filter.edits import Fix, Safety, Span
from maple_submit_filter.findings import Finding
from maple_submit_filter.report import columns, excerpt, place, printable, report, safety, summary

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
job.sh:7: MPL203 8 ranks per node, but booster nodes have 4 GPUs
   7 | #SBATCH --ntasks-per-node=8
     |         ^^^^^^^^^^^^^^^^^^^
help: --ntasks-per-node=4, not applied: it changes the global batch size. More: maple explain MPL203"""


def test_a_finding_shows_its_line_and_ends_with_what_to_do():
    lines = report([EIGHT], SCRIPT, "job.sh", held_back=[("MPL203", "it changes the global batch size")])
    assert WANTED.split("\n") == list(lines)


def test_a_safe_fix_says_what_became_of_it():
    safe = EIGHT._replace(fixes=(Fix((), Safety.SAFE, "--ntasks-per-node=4"),))
    assert (
        report([safe], SCRIPT, "j", "applied")[-1] == "help: --ntasks-per-node=4, applied. More: maple explain MPL203"
    )


def test_a_fix_that_asks_is_never_said_to_be_applied():
    assert "not applied: it waits for your word" in report([EIGHT], SCRIPT, "j", "applied")[-1]


def test_what_only_the_user_knows_is_asked_for():
    missing = Finding("MPL210", "no account, and this site refuses that", asks_for="account")
    assert report([missing], SCRIPT, "job.sh") == (
        "job.sh: MPL210 no account, and this site refuses that",
        "help: only you know the account. More: maple explain MPL210",
    )


def test_findings_come_in_the_order_of_the_script_and_a_flood_is_cut():
    first = EIGHT._replace(at=Span(0, 3), code="MPL101")
    lines = report([EIGHT, first, EIGHT, EIGHT], SCRIPT, "job.sh", most=2)
    assert [line.split()[1] for line in lines if line.startswith("job.sh")] == ["MPL101", "MPL203"]
    assert lines[-1] == "and 2 more"


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


@pytest.mark.parametrize(
    ("verdict", "count", "says"),
    [
        ("clean", 0, "nothing found"),
        ("findings", 1, "1 finding"),
        ("repaired", 2, "2 findings, cured as shown"),
        ("unread", 0, "left alone: a heterogeneous job"),
    ],
)
def test_one_line_sums_up(verdict, count, says):
    assert says == summary(verdict, count, "a heterogeneous job")
