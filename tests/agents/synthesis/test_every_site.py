"""Complete slots give a right script on every site, for every paradigm, on one node and on several."""

from __future__ import annotations

import subprocess

import pytest
from maple_agents.base.slots import PARADIGMS, Refused
from maple_agents.write.composition import checked, compose

from tests.agents.synthesis.plans import SITES, complete


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("paradigm", PARADIGMS)
def test_what_would_start_is_what_the_layout_says(site, paradigm):
    """The rules find nothing, and nodes, ranks, world and master are known and as planned."""
    for nodes in (1,) if paradigm == "single" else (1, 2, 3):
        plan = complete(site, paradigm=paradigm, nodes=nodes)
        script = compose(plan)
        steps = checked(script, plan.cluster).plan.steps
        assert [(group.nodes, group.ranks_per_node, group.world_size) for step in steps for group in step.groups] == [
            (nodes, plan.layout.ranks_per_node, nodes * plan.layout.ranks_per_node)
        ]
        assert not any(step.unknown for step in steps)
        assert nodes == 1 or all(group.master for step in steps for group in step.groups)
        assert subprocess.run(["bash", "-n"], input=script, check=False).returncode == 0


def test_what_a_site_says_does_not_work_is_refused():
    """A file system of the other machine was asked for: the line says where it belongs."""
    plan = complete("alcf-aurora", nodes=2, filesystems="home:eagle")
    with pytest.raises(Refused, match="a file system of Polaris"):
        checked(compose(plan), plan.cluster)


@pytest.mark.parametrize("site", SITES)
def test_a_script_speaks_to_one_scheduler(site):
    """No directive of the other scheduler, none twice, and each before the first command."""
    lines = compose(complete(site, nodes=2)).splitlines()
    own, other = (b"#PBS", b"#SBATCH") if site.startswith("alcf") else (b"#SBATCH", b"#PBS")
    directives = [line for line in lines if line.startswith(own)]
    assert directives == lines[1 : 1 + len(directives)]
    assert len(set(directives)) == len(directives) > 3
    assert not any(other in line or b"<" in line for line in lines)


@pytest.mark.parametrize("site", SITES)
def test_one_rank_for_each_device(site):
    """Where a card counts as several devices, each has its rank."""
    plan = complete(site, nodes=2)
    assert plan.layout.ranks_per_node == plan.layout.gpus_per_node == (plan.kind or plan.kinds[0]).gpus


def test_comments_are_short_and_the_script_ends_with_a_newline():
    """Comments teach in lines of at most 100 columns."""
    for site in SITES:
        script = compose(complete(site, nodes=2, paradigm="zero3"))
        comments = [line for line in script.splitlines() if line.startswith(b"# ")]
        assert comments and max(map(len, comments)) <= 100
        assert script.endswith(b"\n") and not script.endswith(b"\n\n")
