"""Which names are slips of others, and which are names of their own."""

from __future__ import annotations

import pytest
from maple_submit_filter.rules.spelling import misspelt

SLIPS = (
    "regualr regular",
    "scater scatter",
    "ngpu ngpus",
    "gpuu gpu",
    "preempt premept",
    "bigmen bigmem",
    "batchh batch",
)
OWN = (
    "h100 a100", "v100 a100", "skx skl", "cpu gpu", "gpu-h100 gpu-a100", "a10 a100", "hbm40g hbm80g", "gh200 h200",
    "ib eb", "knl knm", "amd amx", "part1 part2",
)  # fmt: skip


@pytest.mark.parametrize("pair", SLIPS)
def test_a_slip_is_one_either_way(pair: str) -> None:
    name, other = pair.split()
    assert misspelt(name, other) and misspelt(other, name)


@pytest.mark.parametrize("pair", OWN)
def test_names_of_hardware_are_their_own(pair: str) -> None:
    name, other = pair.split()
    assert not misspelt(name, other) and not misspelt(other, name)
