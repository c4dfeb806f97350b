"""Lists of values without a verb: in any order and with any sign between them, every value is read, and no other."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from maple_agents.base.slots import RANK_A_GPU
from maple_agents.request.words import read

SITES = {
    "vista": "tacc-vista",
    "aurora": "alcf-aurora",
    "anvil": "purdue-anvil",
    "delta": "ncsa-delta",
    "frontier": "olcf-frontier",
    "expanse": "sdsc-expanse",
}
OTHERS: dict[str, dict[str, int | str]] = {
    "paradigm": {"ddp": "ddp", "FSDP": "fsdp", "ZeRO-3": "zero3"},
    "model": {"gpt2-xl": "GPT-2 XL", "llama-3.1-8b": "Llama-3.1-8B"},
    "nodes": {"4n": 4, "2 nodes": 2, "8nodes": 8, "nodes 6": 6, "1 node": 1},
    "walltime": {"2h": "02:00:00", "time 00:30:00": "00:30:00", "-t 4:00:00": "04:00:00", "walltime 3h": "03:00:00"},
    "account": {"acct abc123": "abc123", "-A bxyz-delta-gpu": "bxyz-delta-gpu", "account=TG-ABC12": "TG-ABC12"},
    "partition": {"partition gh": "gh", "-p gpu-a100": "gpu-a100", "partition=ai": "ai"},
}
SIGNS = (" ", ", ", "; ", "\n", " / ", " | ", ",", " - ")


@st.composite
def lists(draw: st.DrawFn) -> tuple[str, dict[str, int | str]]:
    """Return a request that is a list, and what it says."""
    names = draw(st.lists(st.sampled_from(list(OTHERS)), min_size=2, unique=True))
    site = draw(st.sampled_from(list(SITES)))
    items: list[tuple[str, str, int | str]] = [("site", site, SITES[site])]
    for name in names:
        words = draw(st.sampled_from(list(OTHERS[name])))
        items.append((name, words, OTHERS[name][words]))
    items = draw(st.permutations(items))
    program = draw(st.sampled_from(("", "train.py", "python train.py --lr 1e-4")))
    items += [("program", program, program)] if program else []
    return draw(st.sampled_from(SIGNS)).join(item[1] for item in items), {item[0]: item[2] for item in items}


@settings(max_examples=250, deadline=None)
@given(lists())
def test_a_list_says_what_its_items_say(made: tuple[str, dict[str, int | str]]) -> None:
    """No value is lost and none is made up, whatever stands beside it.

    Where only blanks part the items ("acct abc123 2h nodes 6") a time may be left out; a wrong one is never read.
    """
    request, slots = made
    asked = read(request)
    assert not asked.contradictions
    found = asked.slots.as_json()
    parted = any(sign.strip() and sign in request for sign in SIGNS) or "\n" in request
    lost = set() if parted else {"walltime"} - set(found)
    assert found == {name: value for name, value in slots.items() if name not in lost}


@pytest.mark.parametrize(
    ("request_text", "slots"),
    [
        ("vista,-p gpu-a100,account=TG-ABC12", {"partition": "gpu-a100", "account": "TG-ABC12", "site": "tacc-vista"}),
        ("ddp,-p gpu-a100,vista", {"partition": "gpu-a100", "paradigm": "ddp", "site": "tacc-vista"}),
        ("-p gh,gh-dev,2h,account=X1", {"partition": "gh,gh-dev", "walltime": "02:00:00", "account": "X1"}),
        ("--filesystems=home:eagle,account=ABC,2n", {"filesystems": "eagle:home", "account": "ABC", "nodes": 2}),
        ("--gres=gpu:4,account=abcd,ddp", {"gpus_per_node": 4, "account": "abcd", "paradigm": "ddp"}),
        ("-C v100,2n,-A abcd", {"gpu": "v100", "nodes": 2, "account": "abcd"}),
        ("--array=0-9,12, 2n", {"array": "0-9,12", "nodes": 2}),
    ],
)
def test_an_option_that_takes_several_values_ends_where_the_next_item_begins(
    request_text: str, slots: dict[str, int | str]
) -> None:
    """The whole option was lost where one of them did not fit its shape."""
    assert read(request_text).slots.as_json() == slots


@pytest.mark.parametrize(
    ("words", "wished"),
    [
        ("jax train.py, 2 nodes, one process per gpu, 4 GPUs per node, 2h", True),
        ("2 nodes with 4 GPUs each, JAX, 1 rank for each GPU, train.py", True),
        ("jax train.py, 2 nodes, 4 GPUs per node, 2h", False),
        ("ddp train.py, 2 nodes, one process per gpu, 4 GPUs per node, 2h", True),
    ],
)
def test_a_process_for_each_gpu_is_a_wish_and_no_number(words, wished):
    """The paradigm decides what comes of it: JAX has one process on a node that takes all GPUs, unless this is said."""
    request = read(words)
    assert (RANK_A_GPU in request.wishes) == wished
    assert request.slots.number("ranks_per_node") is None and request.slots.number("gpus_per_node") == 4
