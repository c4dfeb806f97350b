"""Of cures that are proven and leave all as it was meant, the plainest is taken."""

from __future__ import annotations

import pytest
from maple_submit_filter.repair.cost import WIDEST, cost, plainest_first
from maple_submit_filter.types.edits import Edit, Fix, Safety, Span

SOURCE = b"#!/bin/bash\nGPUS=4\nsrun torchrun --nproc-per-node=2 --master-addr=$HEAD train.py\n"
ASSIGNED = {b"GPUS": (Span(SOURCE.index(b"GPUS"), SOURCE.index(b"GPUS=4") + 6),)}
COUNT = Span(SOURCE.index(b"=2") + 1, SOURCE.index(b"=2") + 2)
LAUNCHER = Span(SOURCE.index(b"torchrun"), SOURCE.index(b"torchrun") + 8)


def fix(span: Span, new: bytes, says: str, safety: str = Safety.SAFE) -> Fix:
    """Return a fix of one edit."""
    return Fix((Edit(span, new, "MPL000"),), safety, says)


def test_a_shell_around_a_command_is_dearer_than_as_many_characters() -> None:
    """Quotes in quotes are read slowest of all."""
    wrapped, plain = fix(LAUNCHER, b"bash -c 'exec torchrun'", "a"), fix(LAUNCHER, b"torchrun --some-option=1", "b")
    assert cost(wrapped, SOURCE, ASSIGNED) > cost(plain, SOURCE, ASSIGNED)


def test_a_number_that_a_variable_holds_is_dearer_than_another() -> None:
    """GPUS is 4: what says 4 again must be changed twice next time."""
    assert cost(fix(COUNT, b"4", "a"), SOURCE, ASSIGNED) > cost(fix(COUNT, b"3", "b"), SOURCE, ASSIGNED)


def test_a_line_that_grows_too_wide_is_dearer_by_more_than_what_it_grows() -> None:
    """One character more than fits costs more than one character."""
    room = 120 - len(SOURCE.split(b"\n")[2])
    fits, wide = fix(LAUNCHER, b"torchrun" + b"x" * room, "a"), fix(LAUNCHER, b"torchrun" + b"x" * (room + 1), "b")
    assert cost(wide, SOURCE, ASSIGNED) - cost(fits, SOURCE, ASSIGNED) > 1


def test_what_is_done_unasked_is_ordered_and_offers_are_not() -> None:
    """Ways that say the same stay together, as their rule has them; which offer is meant is another question."""
    dear, cheap = fix(LAUNCHER, b"bash -c 'exec torchrun'", "dear"), fix(COUNT, b"3", "cheap")
    again = fix(COUNT, b"33", "dear")
    assert plainest_first((dear, again, cheap), SOURCE, ASSIGNED) == [cheap, dear, again]
    offers = tuple(one._replace(safety=Safety.ASK) for one in (dear, cheap))
    assert plainest_first(offers, SOURCE, ASSIGNED) == list(offers)


def test_of_two_without_a_shell_the_shorter_comes_first() -> None:
    """And a shell in between comes behind any number of characters."""
    short, long = fix(COUNT, b"3", "short"), fix(LAUNCHER, b"torchrun " + b"--a=1 " * 15, "long")
    wrapped = fix(LAUNCHER, b"sh -c 'torchrun'", "wrapped")
    assert plainest_first((wrapped, long, short), SOURCE, ASSIGNED) == [short, long, wrapped]


@pytest.mark.parametrize(
    ("before", "grows", "dear"),
    [
        (WIDEST - 8, 8, False),  # as wide as may be
        (WIDEST - 8, 9, True),
        (WIDEST, 1, True),  # it was not too wide before
        (WIDEST + 1, 1, False),  # it was
        (WIDEST + 1, -9, False),
    ],
)
def test_a_line_is_too_wide_beyond_its_bound_alone(before: int, grows: int, dear: bool) -> None:
    """What was too wide already is nobody's fault; the bound itself still reads at one glance."""
    words = b"x" * 20
    line = b"srun " + words + b" " + b"y" * (before - 26)
    source = b"#!/bin/bash\n" + line + b"\n"
    edit = fix(Span(17, 37), words + b"z" * grows if grows >= 0 else words[:grows], "a")
    narrow = b"#!/bin/bash\nsrun " + words + b"\n"
    extra = cost(edit, source, {}) - cost(edit, narrow, {})
    assert (extra > 0) == dear
