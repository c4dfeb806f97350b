"""The requests themselves: what is drawn, and that nothing but the seed decides it."""

from __future__ import annotations

import subprocess
from collections import Counter

import pytest

from tests.new567.asked import SEED, WAYS, everything, request, sample
from tests.new567.judging import expected
from tests.new567.places import WHERE

ALL = everything()


def test_there_are_81_cases_in_seven_ways_and_no_two_requests_are_equal() -> None:
    assert len(ALL) == 567
    assert len({(one.words, one.script) for one in ALL}) == 567
    assert Counter(one.way for one in ALL) == dict.fromkeys(WAYS, 81)
    assert Counter(one.case.site for one in ALL) == {where.site: 63 for where in WHERE}


def test_the_sample_has_every_case_once_and_every_way() -> None:
    chosen = sample()
    assert Counter(one.case for one in chosen) == {one.case: 1 for one in ALL}
    assert min(Counter(one.way for one in chosen)[way] for way in WAYS) >= 11


def test_requests_depend_on_nothing_but_the_seed() -> None:
    assert everything() == ALL
    assert [one.words for one in everything(1)] != [one.words for one in ALL]


@pytest.mark.parametrize("way", ("complete", "terse", "wordy"))
def test_what_is_expected_was_said(way: str) -> None:
    """A value that is expected and stands nowhere in the request would measure luck."""
    for one in (one for one in ALL if one.way == way):
        words = one.words[0]
        for name in ("program", "account", "queue", "partition", "qos", "filesystems"):
            value = expected(one).get(name)
            assert value is None or str(value) in words, (one.name, name)


def test_what_was_left_out_stands_nowhere() -> None:
    """A request with something missing does not say it by accident, and every site has something that it asks for."""
    asked = [one for one in ALL if one.way == "asked"]
    silent = [one.name for one in asked if one.job.account in one.words[0] and "account" in one.left]
    silent += [one.name for one in asked if one.job.walltime in one.words[0] and "walltime" in one.left]
    assert silent == []
    assert all(one.left for one in asked)


@pytest.mark.parametrize("way", ("same", "across", "broken"))
def test_scripts_to_carry_are_bash_and_hold_the_program(way: str) -> None:
    for one in (one for one in ALL if one.way == way):
        assert one.script is not None
        done = subprocess.run(["bash", "-n"], input=one.script, capture_output=True, timeout=10, check=False)
        assert (done.returncode, done.stderr) == (0, b""), one.name
        arguments = one.job.program[one.job.program.index("train.py") :]
        assert arguments.encode() in one.script, one.name
        assert all(line.encode() in one.script for line in (*one.stays, *one.goes)), one.name


def test_a_broken_script_has_one_mistake() -> None:
    """It is not the right script, and comes from the cluster that it is for."""
    for one in (one for one in ALL if one.way == "broken"):
        assert one.came_from == one.case.site
        assert request(one.case, one.way, SEED).script == one.script
