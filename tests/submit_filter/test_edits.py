"""A change names a span of bytes and leaves every other byte alone; two changes never share a byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from maple_submit_filter.types.edits import ArgvEdit, Conflict, Edit, Span, apply, apply_argv, written

SOURCE = b"0123456789"


def edit(start: int, end: int, new: bytes, because: str = "MPL301") -> Edit:
    return Edit(Span(start, end), new, because)


@pytest.mark.parametrize(
    "edits",
    [
        (edit(2, 5, b"x"), edit(4, 6, b"y")),
        (edit(2, 8, b"x"), edit(3, 4, b"y")),
        (edit(2, 5, b"x"), edit(2, 5, b"y")),
        (edit(2, 5, b"x"), edit(3, 3, b"y")),  # an insertion into what is replaced
        (edit(9, 11, b"x"),),
        (edit(11, 11, b"x"),),
        (edit(5, 4, b"x"),),
        (edit(-1, 1, b"x"),),
    ],
    ids=str,
)
def test_what_overlaps_or_lies_outside_is_refused(edits: tuple[Edit, ...]) -> None:
    """In whichever order it comes: a script that two fixes wrote into each other is nobody's."""
    for order in (edits, edits[::-1]):
        with pytest.raises(Conflict):
            apply(SOURCE, order)


@pytest.mark.parametrize(
    ("edits", "made"),
    [
        ((edit(2, 5, b"x"), edit(2, 5, b"x", "MPL302")), b"01x56789"),  # two rules that propose the same
        ((edit(2, 5, b"x"), edit(5, 6, b"y")), b"01xy6789"),  # beside each other
        ((edit(5, 6, b"y"), edit(2, 5, b"x")), b"01xy6789"),
        ((edit(2, 2, b"a"), edit(2, 2, b"b")), b"01ab23456789"),
        ((edit(2, 2, b"b"), edit(2, 2, b"a")), b"01ba23456789"),
        ((edit(2, 2, b"a"), edit(2, 3, b"")), b"01a3456789"),
        ((edit(0, 10, b""),), b""),
        ((edit(10, 10, b"!"),), b"0123456789!"),
        ((), SOURCE),
    ],
    ids=str,
)
def test_what_goes_together_is_made(edits: tuple[Edit, ...], made: bytes) -> None:
    """The same edit twice is one; insertions at one place come in the order given."""
    assert apply(SOURCE, edits) == made


@pytest.mark.parametrize("end", [b"", b"\n", b" \n", b"\t", b"\r\n", b"\n\n\n", b"\0", b"\xff"])
@pytest.mark.parametrize("begin", [b"", b"\n", b"\xef\xbb\xbf", b" \t", b"\r\n"])
def test_blanks_and_line_ends_at_either_end_stay(begin: bytes, end: bytes) -> None:
    """Also a missing last newline, and bytes that are no text."""
    source = begin + b"old" + end
    assert apply(source, (edit(len(begin), len(begin) + 3, b"new"),)) == begin + b"new" + end


@given(st.data())
def test_every_other_byte_stays(data: st.DataObject) -> None:
    """And what was written stands where `written` says."""
    source = data.draw(st.binary(max_size=60))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(source)), max_size=8).filter(lambda one: len(one) % 2 == 0)))
    pairs = list(dict.fromkeys(zip(cuts[::2], cuts[1::2])))
    edits = [edit(start, end, data.draw(st.binary(max_size=5))) for start, end in pairs]
    made = apply(source, data.draw(st.permutations(edits)))
    spans = written(edits)
    assert [made[span.start : span.end] for span in spans] == [one.new for one in edits]
    kept_of_made = _without(made, spans)
    assert kept_of_made == _without(source, [one.span for one in edits])


def _without(text: bytes, spans: list[Span]) -> bytes:
    for span in reversed(spans):
        text = text[: span.start] + text[span.end :]
    return text


def test_words_of_a_command_line_are_replaced_or_two_are_at_odds() -> None:
    """One word may become several or none."""
    argv = (b"sbatch", b"-N4", b"job.sh")
    assert apply_argv(argv, [ArgvEdit(1, (b"-N", b"2"), "MPL303")] * 2) == (b"sbatch", b"-N", b"2", b"job.sh")
    assert apply_argv(argv, [ArgvEdit(1, (), "MPL303")]) == (b"sbatch", b"job.sh")
    with pytest.raises(Conflict):
        apply_argv(argv, [ArgvEdit(1, (b"-N2",), "MPL303"), ArgvEdit(1, (), "MPL303")])
