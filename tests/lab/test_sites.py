"""A lab takes the shape of a site: its kinds of nodes, its partitions, and the refusals that are facts."""

from __future__ import annotations

import pytest
from maple_submit_filter.site.facts import Demand, LauncherFact, NodeKind, Partition, Site

from tests.lab import GPU4, Lab
from tests.lab.reality import observe
from tests.lab.sites import shape_of, shape_of_site, slurm_sites, traits, unlike_sites

SITE = Site(
    "a-site",
    "1",
    "slurm",
    kinds=(
        NodeKind("Big_A100", gpus=4, gpu_type="a100", cores=32, threads_per_core=2, memory_gib=64, features=("gpu",)),
        NodeKind("other", gpus=8),
        NodeKind("cpu", gpus=0),
        NodeKind("lost", gpus=1),
    ),
    partitions=(
        Partition("gpu", "partition", ("Big_A100",), max_nodes=3, max_walltime=3600, shared=False),
        Partition("rest", "partition", ("other", "cpu")),
        Partition("unknown", "partition"),
    ),
    default_partition="gpu",
)


def group(shape, name):
    return next(one for one in shape.groups if one.name == name)


def test_kinds_of_nodes_become_hosts():
    shape = shape_of(SITE, nodes=3, others=2)
    big = group(shape, "big-a100")
    assert big.hosts() == ["big-a100-1", "big-a100-2", "big-a100-3"]
    assert (big.gpus, big.gpu_type, big.cores, big.threads_per_core, big.memory_gib) == (4, "a100", 32, 2, 64)
    assert (len(group(shape, "other").hosts()), len(group(shape, "cpu").hosts())) == (2, 1)


def test_a_kind_in_no_partition_and_a_partition_of_nothing_are_left_out():
    shape = shape_of(SITE)
    assert [one.name for one in shape.groups] == ["big-a100", "other", "cpu"]
    assert [one.name for one in shape.partitions] == ["gpu", "rest"]


def test_limits_and_whole_nodes_go_with_the_partition():
    gpu = shape_of(SITE).partitions[0]
    assert (gpu.max_nodes, gpu.max_time, gpu.exclusive, gpu.default) == (3, 3600, True, True)


def test_only_what_the_site_is_known_to_refuse_is_refused():
    demands = (
        Demand(("account",), "refused", "name it", text="sbatch: error: No account."),
        Demand(("mem",), "unknown", "say it"),
    )
    shape = shape_of(SITE._replace(demands=demands))
    assert [(one.options, one.when, one.says) for one in shape.refusals] == [(("account",), "missing", "No account.")]


def test_without_gres_the_gpus_are_there_but_not_slurms():
    shape = shape_of(SITE._replace(refusals=(Demand(("gres",), "refused", "no"),)))
    assert not group(shape, "big-a100").gres
    assert shape.refusals[0].when == "present"


def test_an_absent_launcher_is_not_there_and_ibrun_only_where_it_is_said():
    absent = shape_of(SITE._replace(launchers=(LauncherFact("torchrun", "absent"),)))
    assert absent.launchers_absent == ("torchrun", "ibrun")
    present = shape_of(SITE._replace(launchers=(LauncherFact("ibrun", "preferred"),)))
    assert (present.launchers_absent, present.mpi) == ((), "hydra")


def test_a_site_nobody_described_is_a_plain_cluster():
    assert shape_of(Site("generic-slurm", "0", "slurm")).groups == GPU4.groups


def test_a_site_without_slurm_is_refused():
    with pytest.raises(ValueError, match="runs pbs"):
        shape_of_site("alcf-polaris")


@pytest.mark.parametrize("site_id", unlike_sites())
def test_the_lab_of_a_site_trains_on_two_whole_nodes(site_id):
    shape = shape_of_site(site_id, nodes=2, others=1)
    main = max(shape.groups, key=lambda one: (len(one.hosts()), one.gpus))
    words = ["--nodes=2", "--ntasks=2", "--ntasks-per-node=1", "--time=5", "--account=any"]
    if main.gres and main.gpus:
        words.append("--gpus-per-node=" + (f"{main.gpu_type}:" if main.gpu_type else "") + str(main.gpus))
    route = next((one for one in shape.routes if one.constraint in main.features), None)
    partition = next(one for one in shape.partitions if main.name in one.groups and (one.max_nodes or 2) > 1)
    words += [f"--constraint={route.constraint}", f"--qos={route.qos}"] if route else [f"--partition={partition.name}"]
    script = (
        "#!/bin/bash\nsrun torchrun --nnodes=2 --nproc-per-node=gpu --rdzv-backend=c10d"
        " --rdzv-endpoint=$(scontrol show hostnames | head -n1) train.py\n"
    )
    with Lab(shape) as lab:
        found = observe(lab, script.encode(), words)
    assert (found.verdict, found.reasons) == ("right", ())
    assert [world.size for world in found.worlds] == [2 * main.gpus]


def test_the_sites_of_a_lab_have_all_that_any_site_has():
    """A site that is unlike all others gets a lab; one more of a kind does not."""
    every = {trait for site_id in slurm_sites() for trait in traits(shape_of_site(site_id))}
    assert {trait for site_id in unlike_sites() for trait in traits(shape_of_site(site_id))} == every
