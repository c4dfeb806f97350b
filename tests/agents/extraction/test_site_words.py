"""The site's own words are read wherever they stand; everyday ones only where they stand apart."""

from __future__ import annotations

import re

import pytest
from maple_agents.ask import sites
from maple_agents.cli.new.request import wanted
from maple_agents.request import site_names


@pytest.mark.parametrize(
    ("site", "words", "slot", "value"),
    [
        ("nersc-perlmutter", "16xA100 torchrun pretrain.py 2h m4231", "account", "m4231"),
        ("nersc-perlmutter", "2 nodes, 90 min, regular. python t.py, m1759_g", "account", "m1759_g"),
        ("nersc-perlmutter", "2 nodes, 90 min, regular. python t.py", "qos", "regular"),
        ("ncsa-delta", "one node with 2 GPUs, 4 hours, bbkc-delta-gpu, train.py", "account", "bbkc-delta-gpu"),
        ("purdue-anvil", "gpu-debug, 2 gpus, 0:15:00, cis230456-gpu, train.py", "partition", "gpu-debug"),
        ("tacc-vista", "quick test on gh-dev, 2 nodes, 20 min, ddp_check.py", "partition", "gh-dev"),
        ("alcf-polaris", "32 nodes, prod, 5h30, 4 ranks per node, train.py", "queue", "prod"),
        ("psc-bridges2", "16 h100-80 gpus, 2 nodes, cis250021p, dpo.py, 1 hour", "account", "cis250021p"),
    ],
)
def test_a_word_of_the_site_fills_its_slot(site: str, words: str, slot: str, value: str) -> None:
    """And nothing stops the script for it."""
    asked = wanted(words, (), site, "")
    assert asked.slots.text(slot) == value  # type: ignore[arg-type]
    assert value not in [one.text for one in asked.unread if one.stops]


@pytest.mark.parametrize(
    ("site", "words", "slot"),
    [
        ("nersc-perlmutter", "1 node, train.py, 1 hour, not m1234", "account"),  # denied
        ("nersc-perlmutter", "1 node, train.py, 1 hour, m1234 or m4321", "account"),  # two of them
        ("purdue-anvil", "train.py on 1 gpu for an hour", "partition"),  # an everyday word
    ],
)
def test_what_may_mean_something_else_is_left(site: str, words: str, slot: str) -> None:
    """Somebody is asked, or it is told."""
    assert slot not in wanted(words, (), site, "").slots


def test_what_was_said_wins(site: str = "nersc-perlmutter") -> None:
    """A word that looks like an account is none where another is named."""
    asked = wanted("train.py, 1 node, 1 hour, account m1111, m2222", (), site, "")
    assert asked.slots.text("account") == "m1111"


@pytest.mark.parametrize("one", site_names.of_files(), ids=lambda one: one.id)
def test_no_account_looks_like_a_place(one: site_names.SiteNames) -> None:
    """Else a partition of the site could be taken for an account."""
    for shape in one.account_shapes:
        assert not [row.name for row in sites.load(one.id).partitions if re.fullmatch(shape, row.name, re.IGNORECASE)]


@pytest.mark.parametrize("word", ["requeue", "logs/x-%j.out"])
def test_a_wish_and_a_file_that_no_slot_takes_are_told(word: str) -> None:
    """A file is a log only beside a word that says so."""
    asked = wanted("train.py, 2 nodes, 1 hour, regular, m1759 and %s" % word, (), "nersc-perlmutter", "")
    assert word in [one.text for one in asked.unread]
