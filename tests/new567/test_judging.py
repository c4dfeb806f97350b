"""The judge finds what is wrong: each fact of a right run is spoilt once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.new567.answering import Made
from tests.new567.asked import request
from tests.new567.jobs import Case
from tests.new567.judging import device, reasons, world

NODES, EACH = 2, 3


def facts() -> list[dict[str, Any]]:
    """Return what the ranks of a right run on two nodes of three GPUs say."""
    return [
        {
            "ok": True, "error": None, "rank": rank, "local_rank": rank % EACH, "host": f"n{rank // EACH}",
            "world_size": NODES * EACH, "group": {"rank": rank, "world_size": NODES * EACH}, "master_addr": "n0",
            "master_port": 29500, "visible": [0, 1, 2],
        }
        for rank in range(NODES * EACH)
    ]  # fmt: skip


SPOILT: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "a rank is missing": lambda found: found.pop(),
    "a rank is there twice": lambda found: found[1].update(rank=0),
    "a rank has none": lambda found: found[1].update(rank=None),
    "a rank is on another node": lambda found: found[0].update(host="n1"),
    "a world is smaller than it says": lambda found: found[2].update(group={"world_size": 3}),
    "a rank was told another world": lambda found: found[2].update(world_size=3),
    "a rank looks for the master elsewhere": lambda found: found[5].update(master_addr="n1"),
    "two ranks share a GPU": lambda found: found[1].update(local_rank=0),
    "a rank sees no GPU": lambda found: found[1].update(visible=[]),
    "a rank was not content": lambda found: found[4].update(ok=False, error={"class": "CheckFailed"}),
}


def test_a_right_run_is_right() -> None:
    assert list(world(facts(), NODES, EACH)) == []


@pytest.mark.parametrize("name", SPOILT)
def test_the_judge_sees_that(name: str) -> None:
    found = facts()
    SPOILT[name](found)
    assert list(world(found, NODES, EACH)) != []


def test_a_mask_of_one_gpu_is_that_gpu_whatever_the_local_rank() -> None:
    assert device({"visible": [2], "local_rank": 0}) == device({"visible": [2], "local_rank": 2}) == 2


def test_no_script_is_wrong_unless_something_has_to_be_missing() -> None:
    here = request(Case("strategy", "ddp", "ncsa-delta"), "complete", 567)
    assert reasons(here, Made(3, None, {"missing": ["account"]}, "", 0), None) != []
    refused = request(Case("model", "llama-3.1-8b", "ncsa-delta"), "terse", 567)
    assert refused.lacks == "paradigm"
    assert reasons(refused, Made(3, None, {"missing": ["paradigm"]}, "", 0), None) == []
    assert reasons(refused, Made(3, None, {"missing": ["paradigm", "account"]}, "", 0), None) != []
    assert reasons(refused, Made(0, b"#!/bin/bash\n", {}, "", 0), None) != []


def test_a_model_that_does_not_fit_has_to_be_sharded() -> None:
    here = request(Case("model", "llama-3.1-8b", "ncsa-delta"), "complete", 567)
    for value, wrong in (("ddp", True), ("fsdp", False), ("zero3", False)):
        made = Made(0, b"#!/bin/bash\n", {"assumed": [{"slot": "paradigm", "value": value}]}, "", 0)
        assert any("the paradigm is" in reason for reason in reasons(here, made, None)) is wrong


@pytest.mark.parametrize("slot", ("nodes", "walltime", "account", "program"))
def test_a_wrong_value_in_a_slot_is_worse_than_none(slot: str) -> None:
    here = request(Case("strategy", "ddp", "ncsa-delta"), "complete", 567)
    made = Made(0, b"#!/bin/bash\n", {"slots": {slot: "other"}}, "", 0)
    assert any(reason.startswith(f"slots: {slot} is 'other'") for reason in reasons(here, made, None))
