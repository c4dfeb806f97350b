"""Where a request could land is a set: a contradiction must hold for each kind of node in it."""

from __future__ import annotations

import pytest
from maple_agents.ask import sites
from maple_submit_filter.site.facts import GENERIC_SLURM, NodeKind, Partition, Site, kinds_with

SITE = Site(
    "here",
    "1",
    "slurm",
    kinds=(
        NodeKind("small", gpus=2, features=("gpu", "old")),
        NodeKind("big", gpus=8, features=("gpu", "new")),
        NodeKind("cpu", gpus=0, features=("cpu",)),
    ),
    partitions=(
        Partition("a", "partition", ("small",)),
        Partition("b", "partition", ("big", "small")),
        Partition("c", "partition", ("cpu",)),
        Partition("said", "partition", ("big",), sure=False),
        Partition("blank", "partition"),
        Partition("fast", "qos", ("big", "cpu")),
        Partition("a", "qos", ("cpu",)),
        Partition("new-only", "qos", ("big",), constraint="new"),
    ),
    default_partition="b",
)
EVERYWHERE = "small big cpu elsewhere"


def names(site: Site, *request: str) -> str:
    return " ".join(kind.name for kind in site.node_kinds(*request))


@pytest.mark.parametrize(
    ("partition", "qos", "constraint", "kinds"),
    [
        ("", "", "", "small big"),  # the default partition
        ("a", "", "", "small"),
        ("a,c", "", "", "small cpu"),
        ("a, c", "", "", "small cpu"),
        ("nope", "", "", EVERYWHERE),
        ("a,nope", "", "", EVERYWHERE),
        ("said", "", "", EVERYWHERE),
        ("blank", "", "", EVERYWHERE),
        ("b", "fast", "", "big"),
        ("b", "nope", "", "small big"),
        ("nope", "fast", "", "big cpu"),
        ("c", "a", "", "cpu"),  # the QOS of that name, not the partition
        ("a", "fast", "", ""),  # contradicts itself
        ("b", "", "old", "small"),
        ("nope", "", "gpu", "small big"),
        ("nope", "", "gpu&new", "big"),
        ("nope", "", "new|cpu", "big cpu"),
        ("nope", "", "[new|cpu]", "big cpu"),
        ("nope", "", "(old|new)&gpu", "small big"),
        ("nope", "", "gpu&scratch", "small big"),  # nobody lists scratch: it limits nothing
        ("nope", "", "new|scratch", EVERYWHERE),
        ("b", "", "old*2", "small big"),  # the others of the job may be of any kind
        ("b", "", "[old*1&new*1]", "small big"),
        ("nope", "", "gpu&old|new", EVERYWHERE),  # which binds first?
        ("nope", "", "gpu&", EVERYWHERE),
        ("nope", "", "(gpu", EVERYWHERE),
        ("nope", "", "gpu)", EVERYWHERE),
        ("nope", "", "$KIND", EVERYWHERE),
        ("nope", "new-only", "new", "big"),
        ("nope", "new-only", "cpu", "cpu"),  # the entry speaks of other jobs
        ("nope", "new-only", "", EVERYWHERE),
    ],
)
def test_a_request_may_land_on(partition: str, qos: str, constraint: str, kinds: str) -> None:
    """Every kind that it may, and no other."""
    assert names(SITE, partition, qos, constraint) == kinds


def test_elsewhere_is_left_out_where_the_file_knows_every_kind() -> None:
    """Then an unknown partition is one of the known kinds."""
    assert names(SITE._replace(kinds_complete=True), "nope") == "small big cpu"


def test_nothing_is_known_about_a_generic_site() -> None:
    """Whatever the request."""
    assert GENERIC_SLURM.node_kinds("gpu", "debug", "a100") == ()


def test_nothing_is_known_about_elsewhere() -> None:
    """So nothing can be proven of a request that may land there."""
    assert SITE.node_kinds("nope")[-1]._replace(name="") == NodeKind("")


def test_a_kind_without_listed_features_may_have_any() -> None:
    """No list is not an empty list."""
    assert kinds_with("x", {"listed": ("x",), "other": ("y",), "unlisted": ()}) == frozenset({"listed", "unlisted"})


def test_perlmutter_lands_where_its_constraint_says() -> None:
    """There the QOS says how, and the constraint says where."""
    site = sites.load("nersc-perlmutter")
    assert names(site, "", "regular", "gpu") == "gpu-a100-40 gpu-a100-80"
    assert names(site, "", "regular", "gpu&hbm80g") == "gpu-a100-80"
    assert names(site, "", "regular", "cpu") == "cpu"
    assert names(site, "", "", "gpu") == "gpu-a100-40 gpu-a100-80"
    assert "elsewhere" in names(site, "", "regular", "")


def test_a_partition_that_delta_has_since_added_proves_nothing() -> None:
    """It may have nodes of a kind that the file does not describe."""
    assert sites.load("ncsa-delta").node_kinds("gpuB300x16")[-1].gpus is None
