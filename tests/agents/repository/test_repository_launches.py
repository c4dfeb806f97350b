"""Every way to start a paradigm on a site is right there: nothing is found wrong, and each rank is known before."""

from __future__ import annotations

from functools import cache

import pytest
from maple_agents.ask.sites import launch_templates as templates
from maple_agents.ask.sites.launch_templates import LaunchFile
from maple_agents.templates import catalogue, paradigms
from maple_agents.templates.environments import Described, described
from maple_agents.templates.model_facts import fact
from maple_submit_filter.types.launch_plan import Group

from tests.agents.repository.of_sites import SITES, decided, job

FIRST_NODE = (b"\0host:0\0", b"\0name:0\0")  # as Slurm and as PBS_NODEFILE name it
ADVISED_AGAINST = "MPL308"  # a launcher that works, and that the site would rather not see


@cache
def site(site_id: str) -> Described:
    """Return a site as its files describe it, read once."""
    return described(site_id)


@cache
def launches(site_id: str, *names: str) -> dict[str, LaunchFile]:
    """Return every launch template that starts any of the paradigms there, all of them by default."""
    one = site(site_id)
    known = [paradigms.load(name) for name in names or paradigms.names()]
    return {made.name: made for paradigm in known for made in catalogue.fitting(paradigm, one.site, one.file)}


WAYS = [(site_id, name) for site_id in SITES for name in launches(site_id) if not name.startswith("plain")]


@cache
def world(site_id: str, name: str, nodes: int) -> Group:
    """Return the one world that the template makes there; nothing but its advice may be said against it."""
    one = site(site_id)
    decision = decided(job(launches(site_id)[name], one, SITES[site_id], nodes), one)
    told = {finding.code: finding.says for finding in decision.findings}
    disliked = "discouraged" in (one.site.launcher(word) for word in name.split("-over-"))
    assert set(told) <= ({ADVISED_AGAINST} if disliked else set()), told
    assert decision.plan is not None and not decision.plan.unread
    (step,) = decision.plan.steps
    assert not step.unknown and step.program[-1] == b"train.py"
    (group,) = step.groups
    return group


@pytest.mark.parametrize(("site_id", "name"), WAYS, ids=str)
def test_every_rank_is_known_before_it_starts(site_id: str, name: str) -> None:
    each = SITES[site_id].gpus
    group = world(site_id, name, 2)
    assert (group.nodes, group.ranks_per_node, group.world_size, group.complete) == (2, each, 2 * each, True)
    assert group.declared in (None, 2 * each) and group.master in FIRST_NODE
    ranks = [process.rank for process in group.processes]
    whose = [(process.node, process.local_rank) for process in group.processes]
    assert sorted(whose) == [(node, local) for node in (0, 1) for local in range(each)]
    agreed = name.startswith("torchrun")  # its agents agree only at run time which node gets which ranks
    assert ranks == [None] * 2 * each if agreed else sorted(ranks) == list(range(2 * each))


@pytest.mark.parametrize(("site_id", "name"), [way for way in WAYS if way[0] != "generic-pbs"], ids=str)
def test_every_rank_sees_the_devices_of_its_node(site_id: str, name: str) -> None:
    """So that the device of its local rank is there. Of a PBS cluster that nobody described nothing is known."""
    for process in world(site_id, name, 2).processes:
        assert process.gpus is not None and process.local_rank is not None
        assert process.local_rank < len(process.gpus)


@pytest.mark.parametrize("site_id", SITES)
def test_one_node_is_a_world_of_its_own(site_id: str) -> None:
    each = SITES[site_id].gpus
    for name, one in launches(site_id).items():
        if catalogue.suits(one, each) and (site_id, name) in WAYS:
            group = world(site_id, name, 1)
            assert (name, group.world_size, len(group.processes)) == (name, each, each)


@pytest.mark.parametrize("site_id", SITES)
def test_one_process_needs_no_launcher(site_id: str) -> None:
    """The batch shell starts it as it was said, once; several nodes are never started so."""
    one = site(site_id)
    first = catalogue.fitting(paradigms.load("single"), one.site, one.file)[0]
    group = world(site_id, first.name, 1)
    assert first.when.over in ("sbatch", "qsub") and (len(group.processes), group.declared) == (1, 1)
    assert not any(made.when.over == first.when.over for made in launches(site_id, "jax", "ddp").values())


def test_a_single_rank_is_no_case_for_accelerate_launch() -> None:
    """It refuses --multi_gpu with one process; on Vista a node has one GPU."""
    one = site("tacc-vista")
    found = catalogue.fitting(paradigms.load("accelerate-ddp"), one.site, one.file, ranks=1)
    assert {made.when.launcher for made in found} == {"python", "torchrun"}


USUAL = ("torchrun-over-srun", "torchrun-over-srun", "accelerate-over-srun")  # of Slurm, where srun is preferred
FIRST = {
    "alcf-aurora": ("python-over-pals", "python-over-pals", "python-over-pals"),
    "alcf-polaris": ("python-over-pals", "python-over-pals", "python-over-pals"),
    "olcf-frontier": ("python-over-srun", "python-over-srun", "python-over-srun"),
    "surf-snellius": ("python-over-srun", "python-over-srun", "accelerate-over-srun"),
    "tacc-lonestar6": ("torchrun-over-ibrun", "torchrun-over-ibrun", "accelerate-over-ibrun"),
    "tacc-stampede3": ("torchrun-over-ibrun", "torchrun-over-ibrun", "accelerate-over-ibrun"),
    "tacc-vista": ("torchrun-over-ibrun", "torchrun-over-ibrun", "accelerate-over-mpirun"),
    "aist-abci3": ("torchrun-over-openmpi", "torchrun-over-openmpi", "accelerate-over-openmpi"),
    "generic-pbs": ("torchrun-over-hydra", "torchrun-over-hydra", "torchrun-over-hydra"),
}


@pytest.mark.parametrize("site_id", SITES)
def test_what_the_site_shows_comes_first(site_id: str) -> None:
    """Aurora, Polaris, Frontier and Snellius start rank by rank; Open MPI's ranks on Vista have no PMI_RANK."""
    first = [next(iter(launches(site_id, name))) for name in ("ddp", "zero3", "accelerate-ddp")]
    assert tuple(first) == FIRST.get(site_id, USUAL)


@pytest.mark.parametrize("site_id", SITES)
@pytest.mark.parametrize("name", paradigms.names())
def test_every_paradigm_starts_everywhere(site_id: str, name: str) -> None:
    assert launches(site_id, name)


@pytest.mark.parametrize("site_id", SITES)
def test_nothing_starts_by_a_launcher_that_is_absent(site_id: str) -> None:
    absent = {one.name for one in site(site_id).site.launchers if one.state == "absent"}
    assert not absent.intersection(made.when.over for made in launches(site_id).values())


def test_the_cores_of_an_aurora_node_go_to_twelve_ranks() -> None:
    """By the list of the centre; for a number that no list is for, PALS is told to bind nothing."""
    one = site("alcf-aurora")
    made = launches("alcf-aurora")["python-over-pals"]
    assert catalogue.launch_words(made, one.environment, 12)[0].endswith(" --cpu-bind list:1-8:9-16:17-24:25-32:"
        "33-40:41-48:53-60:61-68:69-76:77-84:85-92:93-100")  # fmt: skip
    assert catalogue.launch_words(made, one.environment, 8)[0].endswith(" --cpu-bind none")
    agent = launches("alcf-aurora")["torchrun-over-pals"]
    assert catalogue.launch_words(agent, one.environment, 12)[0].count("--cpu-bind") == 1


def test_oneccl_is_told_who_starts_the_ranks_of_aurora() -> None:
    """Those of an agent are unknown to PMIx, and joining it would fail."""
    one = site("alcf-aurora")
    assert one.environment is not None and one.environment.variables_of_agents is not None
    for paths, launcher in ((one.environment.variables, "pmix"), (one.environment.variables_of_agents, "torchrun")):
        told = {variable.name: variable.value for variable in (fact(one.file, path) for path in paths)}
        assert told["CCL_PROCESS_LAUNCHER"] == launcher


def test_slots_are_filled_and_other_braces_stay() -> None:
    slots = {"job.nodes": 2}
    assert templates.filled("-N {job.nodes} ${x} {job.nodes}", slots) == "-N 2 ${x} 2"
