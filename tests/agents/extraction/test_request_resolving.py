"""What was said of GPUs, queues and clusters comes out in the site's own names, or as a contradiction."""

from __future__ import annotations

import os
from functools import cache

import pytest
from maple_agents.ask.sites.facts import site_of
from maple_agents.ask.sites.files import parse
from maple_agents.request.unread import Asked
from maple_agents.request.words import read, resolve
from maple_agents.templates.cluster import Cluster
from maple_submit_filter.host import places


@cache
def cluster(site_id: str) -> Cluster:
    """Return the cluster of a site file in the checkout."""
    path = places.find("site_configs", "%s.toml" % site_id)
    assert path is not None
    with open(path, "rb") as file:
        described = parse(file.read(), os.path.basename(path))
    return Cluster(site_of(described), described)


def asked(site_id: str, text: str) -> Asked:
    return resolve(read(text), cluster(site_id))


GPUS = [
    ("nersc-perlmutter", "80GB A100s, 2 nodes", "gpu-a100-80"),
    ("nersc-perlmutter", "2 nodes with A100 (40 GB)", "gpu-a100-40"),
    ("nersc-perlmutter", "--constraint=gpu&hbm80g --nodes=2", "gpu-a100-80"),
    ("nersc-perlmutter", "2 gpu-a100-80 nodes", "gpu-a100-80"),
    ("ncsa-delta", "2 A40 nodes", "A40x4"),
    ("ncsa-delta", "2 nodes with 8 A100s each", "A100x8"),
    ("ncsa-delta", "2 H200 nodes", "H200x8"),
    ("ncsa-delta", "2 A100 nodes in partition gpuA100x4", "A100x4"),
    ("ncsa-deltaai", "2 GH200 nodes", "GH200x4"),
    ("ncsa-deltaai", "2 grace hopper nodes", "GH200x4"),
    ("psc-bridges2", "1 node with V100-32s", None),
    ("psc-bridges2", "8 H100s", "h100-80"),
    ("psc-bridges2", "8 L40S GPUs", "l40s-48"),
    ("olcf-frontier", "2 nodes of MI250X", "gpu"),
    ("alcf-aurora", "2 nodes of PVC", "gpu"),
    ("tacc-lonestar6", "2 H100 nodes", "gpu-h100"),
    ("tacc-stampede3", "2 nodes with Max 1550", "pvc"),
    ("tacc-vista", "2 gh200 nodes", "gh"),
    ("sdsc-expanse", "4 V100s", "v100"),
    ("purdue-anvil", "h100 gpus, 2 nodes", "h100"),
]


@pytest.mark.parametrize(("site_id", "text", "kind"), GPUS)
def test_a_gpu_becomes_the_kind_of_node_that_has_it(site_id: str, text: str, kind: str | None) -> None:
    """Exactly one kind that fits is the slot; of several none is, but they are told."""
    found = asked(site_id, text)
    assert found.contradictions == ()
    assert found.slots.text("gpu") == (kind or "")
    assert (len(found.gpu_kinds) > 1) == (kind is None)


@pytest.mark.parametrize(
    ("site_id", "text"), [("alcf-polaris", "2 H100 nodes"), ("ncsa-delta", "8 V100s"), ("tacc-vista", "4 MI300A GPUs")]
)
def test_a_gpu_that_is_not_there_is_a_contradiction(site_id: str, text: str) -> None:
    """One line names the GPU and what the site has instead."""
    found = asked(site_id, text)
    assert "gpu" not in found.slots
    assert len(found.contradictions) == 1
    assert site_id in found.contradictions[0]


PLACES = [
    ("nersc-perlmutter", "regular queue", ("qos", "regular")),
    ("nersc-perlmutter", "in the premium QOS", ("qos", "premium")),
    ("ncsa-delta", "queue GPUA100X4", ("partition", "gpuA100x4")),
    ("ncsa-delta", "2 nodes on gpuA40x4", ("partition", "gpuA40x4")),
    ("alcf-polaris", "partition debug-scaling", ("queue", "debug-scaling")),
    ("psc-bridges2", "the GPU queue", ("partition", "GPU")),
    ("sdsc-expanse", "gpu-shared partition", ("partition", "gpu-shared")),
    ("tacc-vista", "queue gh-dev", ("partition", "gh-dev")),
    ("ncsa-delta", "the gpu partition", None),
    ("olcf-frontier", "debug qos", ("qos", "debug")),
]


@pytest.mark.parametrize(("site_id", "text", "place"), PLACES)
def test_a_queue_is_what_the_site_calls_it(site_id: str, text: str, place: tuple[str, str] | None) -> None:
    """The selector and the spelling are the site's; a word that only describes is none."""
    slots = asked(site_id, "2 nodes, " + text).slots
    said = {name: slots[name].value for name in ("partition", "queue", "qos") if name in slots}
    assert said == (dict([place]) if place else {})


OPEN_GPUS = [
    ("ncsa-delta", "2 nodes, 4 GPUs", {"nodes": 2, "gpus_per_node": 4}),
    ("nersc-perlmutter", "2 nodes, 8 GPUs", {"nodes": 2, "gpus_total": 8}),
    ("nersc-perlmutter", "4 nodes, 4 GPUs", {"nodes": 4, "gpus_per_node": 4}),
    ("tacc-vista", "4 nodes, 4 GPUs", {"nodes": 4, "gpus_total": 4}),
    ("psc-bridges2", "2 nodes with 16 GPUs in total", {"nodes": 2, "gpus_total": 16}),
    ("generic-slurm", "4 nodes, 4 GPUs", {"nodes": 4, "gpus_per_node": 4}),
]


@pytest.mark.parametrize(("site_id", "text", "slots"), OPEN_GPUS)
def test_a_bare_number_of_gpus_fills_whole_nodes(site_id: str, text: str, slots: dict[str, int]) -> None:
    """Beside a number of nodes it is each node's, or the job's, as the site's nodes have them."""
    assert asked(site_id, text).slots.as_json() == slots


def test_what_other_options_said_is_left_alone() -> None:
    """Slots that were not read from the request keep their value."""
    from maple_agents.base.slots import Origin, Slot, Slots

    given = Asked(Slots([Slot("gpu", "A100x4", Origin("option")), Slot("partition", "nowhere", Origin("option"))]))
    assert resolve(given, cluster("ncsa-delta")).slots.as_json() == given.slots.as_json()
