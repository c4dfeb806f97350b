"""How much memory a model needs, by the formula of the ZeRO paper."""

from __future__ import annotations

import pytest
from maple_agents.write.clusters import cluster
from maple_agents.write.decide import choice

HERE = cluster("ncsa-delta")


@pytest.mark.parametrize(
    ("billions", "paradigm", "ranks", "gigabytes"),
    [(8, "ddp", 8, 128), (8, "ddp", 1, 128), (8, "fsdp", 8, 16), (8, "zero3", 16, 8), (1.5, "accelerate-ddp", 4, 24)],
)
def test_sixteen_bytes_for_each_parameter_divided_as_the_paradigm_does(billions, paradigm, ranks, gigabytes):
    """Weights and gradients in 16 bits, and twelve bytes for Adam; activations come on top."""
    assert choice.gigabytes(int(billions * 10**9), HERE.paradigms[paradigm], ranks) == pytest.approx(gigabytes)


def test_the_fewest_ranks_are_those_on_which_it_fits():
    """One less does not fit; what divides nothing fits on one or on none."""
    fsdp, ddp = HERE.paradigms["fsdp"], HERE.paradigms["ddp"]
    fewest = choice.fewest_ranks(70 * 10**9, fsdp, 42.0)
    assert fewest == 27
    assert choice.gigabytes(70 * 10**9, fsdp, fewest) <= 42.0 < choice.gigabytes(70 * 10**9, fsdp, fewest - 1)
    assert choice.fewest_ranks(70 * 10**9, ddp, 42.0) is None and choice.fewest_ranks(10**9, ddp, 42.0) == 1


@pytest.mark.parametrize(
    ("name", "count"),
    [("a 7B model", 7e9), ("mymodel-1.5b", 1.5e9), ("foo_350M", 350e6), ("Mixtral-8x7B-like", None), ("model-3", None)],
)
def test_a_size_in_a_name(name, count):
    """A number with B or M behind it; experts are not counted by it."""
    assert choice.parameters(name, None) == count


@pytest.mark.parametrize("name", ["Llama-3.1-8B", "llama 3.1 8b", "meta-llama/Llama-3.1-8B"])
def test_a_model_by_any_of_its_names(name):
    """Its count is that of its facts."""
    found = choice.known(name, HERE)
    assert found is not None and choice.parameters(name, found) == 8_030_261_248


@pytest.mark.parametrize(
    ("site", "kind", "gigabytes"),
    [("ncsa-delta", "A100x4", 42.9), ("alcf-aurora", "gpu", 68.7), ("olcf-frontier", "gpu", 68.7)],
)
def test_a_device_has_its_part_of_the_card(site, kind, gigabytes):
    """Two tiles or dies share the memory of a card."""
    there = cluster(site)
    node = there.site.kind(kind)
    assert node is not None and choice.of_device(there, (node,)) == pytest.approx(gigabytes, abs=0.1)
