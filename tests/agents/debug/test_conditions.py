"""Conditions of the knowledge base: what they mean, and what they may not say."""

from __future__ import annotations

import pytest
from maple_agents.templates.knowledge.entries import checked, holds, literals
from maple_agents.templates.knowledge.entries_in_force import compiled

FACTS = {
    "job.state": "timeout",
    "plan.nodes": 4,
    "job.memory_share": 0.97,
    "findings": ("MPL301", "MPL501"),
    "log.silent": True,
    "script.text": "srun python train.py\n",
    "job.signal": None,
}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"job.state": "timeout"}, True),
        ({"job.state": ["failed", "timeout"]}, True),
        ({"job.state": "failed"}, False),
        ({"job.state": "!=failed"}, True),
        ({"plan.nodes": ">1"}, True),
        ({"plan.nodes": "<=3"}, False),
        ({"plan.nodes": 4}, True),
        ({"job.memory_share": ">0.9"}, True),
        ({"findings": "MPL501"}, True),
        ({"findings": ["MPL203", "MPL301"]}, True),
        ({"findings": "!=MPL301"}, False),
        ({"findings": "!=MPL999"}, True),
        ({"log.silent": True}, True),
        ({"log.silent": False}, False),
        ({"script.text": "~srun +python"}, True),
        ({"script.text": "~torchrun"}, False),
        ({"job.signal": 9}, None),
        ({"job.exit_code": 1}, None),
        ({"job.state": "timeout", "job.signal": 9}, None),
        ({"job.state": "failed", "job.signal": 9}, False),
        ({}, True),
    ],
    ids=str,
)
def test_a_condition_is_true_false_or_open(condition, expected):
    """All keys must hold; one that says no makes it false, and one that is not known leaves it open."""
    assert holds(condition, FACTS) is expected


@pytest.mark.parametrize("wrong", [{"job.colour": "red"}, {"script.text": "~("}, {"job.state": ["~["]}], ids=str)
def test_a_condition_that_can_never_be_meant_is_refused(wrong):
    """A fact that there is not, and an expression that is none, are mistakes of the file."""
    with pytest.raises(ValueError):
        checked(wrong)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"address already in use|EADDRINUSE", "bind: EADDRINUSE"),
        (r"No module named '(?P<module>[\w.]+)'", "ModuleNotFoundError: No module named 'torch'"),
        (r"(?:Out of memory|oom-kill): (?P<pid>\d+)", "oom-kill: 12"),
        (r"port: (?P<port>\d+), useIpv6", "port: 29500, useIpv6: false"),
        (r"(?:abc)?defgh", "defgh"),
        (r"\d+ \w+", "12 words"),
        (r"x{3}timeout", "xxxtimeout"),
    ],
)
def test_what_a_pattern_matches_holds_one_of_its_literals(pattern, text):
    """The fast search finds every line that a signature matches; a pattern without a literal promises none."""
    found = literals(pattern)
    assert compiled(pattern).search(text)
    assert not found or any(one in text for one in found)


def test_an_optional_piece_is_no_literal():
    """What may be missing cannot be searched for."""
    assert literals(r"(?:never )?seen again|gone") == {"seen again", "gone"}
