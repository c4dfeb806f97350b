"""What a model finds in a request counts only as this site has it; what its words or the site's say comes first."""

from __future__ import annotations

import pytest
from maple_agents.ask.models import choice
from maple_agents.ask.models.protocol import Limit
from maple_agents.cli.new.request import wanted

from tests.agents.extraction.test_by_model import Told

WORDS = "train.py with DDP on 2 nodes for 1 hour, the partition we got is named %s, our project is called %s"

# Answers as models give them that read more than there is: of a place that another site has, of a person, of a guess.
INVENTED = [
    ("ncsa-delta", ("partition", "bigmem2", "the partition we got is named bigmem2"), ("bigmem2", "mine")),
    ("ncsa-delta", ("partition", "gpuA100x4", "the partition we got is named"), ("big", "mine")),
    ("ncsa-delta", ("account", "m1234", "our project is called m1234"), ("big", "m1234")),
    ("ncsa-delta", ("account", "abcd-delta-gpu", "our project is called mine"), ("big", "mine")),
    ("nersc-perlmutter", ("qos", "big", "the partition we got is named big"), ("big", "mine")),
    ("nersc-perlmutter", ("account", "xy-17", "our project is called xy-17"), ("big", "xy-17")),
    ("alcf-aurora", ("queue", "batch", "the partition we got is named batch"), ("batch", "mine")),
    ("alcf-aurora", ("filesystems", "eagle", "the partition we got is named eagle"), ("eagle", "mine")),
    ("alcf-aurora", ("gpus_total", 64, "on 2 nodes for 1 hour"), ("big", "mine")),
    ("alcf-aurora", ("mail", "me@example.org", "our project is called mine"), ("big", "mine")),
]


@pytest.fixture
def model(monkeypatch):
    def told(item):
        chosen = choice.Choice(Told(item), Limit())
        monkeypatch.setattr(choice, "choose", lambda named: chosen)

    return told


@pytest.mark.parametrize(("site", "item", "names"), INVENTED, ids=[f"{row[0]} {row[1][0]}" for row in INVENTED])
def test_nothing_invented_is_accepted(model, site, item, names):
    model(item)
    slots = wanted(WORDS % names, (), site, "told").slots
    assert [slot for slot in slots.values() if slot.origin.by == "model"] == []


def test_what_the_site_knows_is_accepted(model):
    """An account in a sentence that the grammar does not read, in the form of the site's accounts."""
    words = (
        "train.py with DDP on 2 nodes for 1 hour; the money of the group sits under the name abcd-delta-gpu as budget"
    )
    model(("account", "abcd-delta-gpu", "the name abcd-delta-gpu as budget"))
    assert wanted(words, (), "ncsa-delta", "told").slots.text("account") == "abcd-delta-gpu"
