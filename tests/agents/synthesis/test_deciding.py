"""What is said, assumed, missing and refused."""

from __future__ import annotations

import pytest
from maple_agents.base.slots import Assumed, Lacking, Origin, Refused, Slot
from maple_agents.write.clusters import cluster
from maple_agents.write.decide.decision import decide_plan
from maple_agents.write.values import Plan

from tests.agents.synthesis.plans import SITES, complete, decided, missing, slots


def assumed(plan: Plan) -> dict[str, object]:
    return {one.slot: one.value for one in plan.assumed}


@pytest.mark.parametrize(
    ("site", "wanted"),
    [
        ("tacc-vista", ["nodes", "walltime"]),
        ("tacc-stampede3", ["nodes", "partition", "walltime"]),
        ("nersc-perlmutter", []),
        ("alcf-aurora", ["nodes", "account", "filesystems", "walltime"]),
        ("ncsa-delta", ["account"]),
        ("ncsa-deltaai", ["account"]),
        ("purdue-anvil", ["account", "partition"]),
        ("psc-bridges2", ["gpu"]),
        ("olcf-frontier", ["nodes", "account", "walltime"]),
        ("sdsc-expanse", ["account", "walltime"]),
    ],
)
def test_what_a_site_demands_is_missing_and_nothing_else(site, wanted):
    """Of a request that says nothing but the program, all that is missing is named at once."""
    found = decided(site, program="train.py")
    assert isinstance(found, Plan) == (not wanted)
    if isinstance(found, Lacking):
        assert [one.slot for one in found.missing] == wanted
        assert all(one.says for one in found.missing)


def test_nothing_that_was_said_is_assumed_as_well():
    """A slot stands in what was said, or in what was assumed, never in both."""
    for site in SITES:
        plan = complete(site, nodes=2)
        assert not set(assumed(plan)) & set(plan.slots)
        assert all(one.because for one in plan.assumed)


def test_a_place_is_derived_only_where_one_fits():
    """The default of the site, else the only ordinary one; a development queue only for those who ask for it."""
    assert assumed(complete("ncsa-delta"))["partition"] == "gpuA100x4"
    assert assumed(complete("ncsa-delta", gpu="H200x8"))["partition"] == "gpuH200x8"
    assert assumed(complete("tacc-vista", nodes=2))["partition"] == "gh"
    assert assumed(complete("alcf-polaris", nodes=2))["queue"] == "capacity"
    assert assumed(complete("alcf-polaris", nodes=10))["queue"] == "prod"
    assert assumed(complete("nersc-perlmutter", walltime="12:00:00"))["qos"] == "regular"
    assert assumed(complete("olcf-frontier", nodes=2, walltime="12:00:00"))["partition"] == "extended"
    assert "partition" not in assumed(complete("olcf-frontier", nodes=2, walltime="01:00:00"))
    assert missing("tacc-lonestar6", nodes=1, walltime="01:00:00") == ["partition"]
    debug = decided("ncsa-deltaai", frozenset({"interactive"}), account="a", program="train.py")
    assert isinstance(debug, Plan) and assumed(debug)["partition"] == "ghx4-interactive"


def test_a_part_of_a_node_goes_where_parts_are_given():
    """And gets its part of CPUs and memory; a whole node goes where whole nodes are."""
    part = complete("psc-bridges2", partition="", gpus_per_node=2, nodes=1)
    assert part.place is not None and part.place.name == "GPU-shared"
    assert complete("ncsa-delta", gpus_total=1).layout[:5] == (1, 1, 1, 1, 16)
    assert assumed(complete("sdsc-expanse", gpus_total=3))["partition"] == "gpu-shared"
    assert assumed(complete("sdsc-expanse", gpus_total=4))["partition"] == "gpu"


@pytest.mark.parametrize(
    ("said", "nodes", "each"),
    [
        ({"gpus_total": 8}, 2, 4),
        ({"gpus_total": 6}, 2, 3),
        ({"gpus_total": 2, "nodes": 2}, 2, 1),
        ({"gpus_per_node": 2, "gpus_total": 6}, 3, 2),
        ({"nodes": 3}, 3, 4),
        ({}, 1, 4),
        ({"ranks_per_node": 2, "nodes": 2}, 2, 2),
    ],
)
def test_numbers_that_follow_from_others(said, nodes, each):
    """On nodes with four GPUs that can be shared."""
    layout = complete("ncsa-delta", **said).layout
    assert (layout.nodes, layout.gpus_per_node, layout.ranks_per_node) == (nodes, each, each)


def test_ranks_of_the_whole_job():
    """They are spread over the nodes that were said, or over as few as hold them."""
    two = decide_plan(slots(account="a", nodes=2, program="train.py"), cluster("ncsa-delta"), ranks=4)
    assert isinstance(two, Plan) and two.layout.ranks_per_node == 2
    four = decide_plan(slots(account="a", program="train.py"), cluster("ncsa-delta"), ranks=16)
    assert isinstance(four, Plan) and (four.layout.nodes, four.layout.ranks_per_node) == (4, 4)


def test_cards_that_are_several_devices():
    """All cards of a node are all its devices, whichever way they are counted."""
    assert complete("alcf-aurora", nodes=2, gpus_per_node=6).layout.ranks_per_node == 12
    assert complete("alcf-aurora", nodes=2, gpus_per_node=12).layout.ranks_per_node == 12
    assert complete("olcf-frontier", nodes=1, gpus_per_node=4).layout.ranks_per_node == 8


@pytest.mark.parametrize(
    ("site", "said", "words"),
    [
        ("ncsa-delta", {"nodes": 2, "gpus_per_node": 3, "gpus_total": 16}, "2 nodes with 3 GPUs each are 6 GPUs, not"),
        ("ncsa-delta", {"nodes": 2, "gpus_per_node": 2, "ranks_per_node": 16}, "16 ranks a node are more than 2 GPUs"),
        ("ncsa-deltaai", {"gpus_total": 5}, "cannot be spread evenly"),
        ("ncsa-delta", {"nodes": 0}, "at least one"),
        ("ncsa-delta", {"walltime": "72:00:00"}, "at most 48:00:00"),
        ("ncsa-delta", {"walltime": "soon"}, "is no time"),
        ("ncsa-delta", {"gpu": "B200x8"}, "no kind of node B200x8"),
        ("ncsa-delta", {"partition": "gpuH200x9"}, "did you mean gpuH200x8"),
        ("ncsa-delta", {"paradigm": "horovod"}, "no template trains by horovod; there are 3d"),
        ("ncsa-delta", {"partition": "gpuA100x4-interactive", "nodes": 8}, "at most 4"),
        ("ncsa-delta", {"launcher": "ibrun"}, "ibrun is no launcher of ncsa-delta"),
        ("alcf-aurora", {"launcher": "srun", "nodes": 2}, "srun belongs to Slurm"),
        ("alcf-polaris", {"queue": "small", "nodes": 10}, "through prod only"),
        ("tacc-vista", {"gpus_per_node": 4, "nodes": 2}, "gh nodes have 1"),
        ("nersc-perlmutter", {"gpus_per_node": 3, "nodes": 2}, "whole nodes only"),
        ("ncsa-delta", {"gpu": "MI100x8", "nodes": 2}, "there are 1 MI100x8 nodes"),
        ("ncsa-delta", {"partition": "gpuA100x4", "queue": "gpuA40x4"}, "two places are named"),
        ("olcf-frontier", {"nodes": 1, "qos": "debug", "walltime": "04:00:00"}, "at most 02:00:00"),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_refused_in_one_line(site, said, words):
    """The line says what is wrong."""
    with pytest.raises(Refused) as caught:
        complete(site, **said)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_a_paradigm_that_was_said_and_cannot_fit_wants_another_word():
    """It is missing, with the reason and what would fit; the word of a prompt or an option settles it."""
    said = slots(account="a", nodes=2, program="train.py", model="Llama-3.1-8B", paradigm="ddp")
    found = decide_plan(said, cluster("ncsa-delta"))
    assert isinstance(found, Lacking)
    (one,) = found.missing
    assert (one.slot, one.choices[:2]) == ("paradigm", ("fsdp", "zero3"))
    assert (
        "8.03B parameters" in one.says
        and "128 GB" in one.says
        and "40 GB" in one.says
        and "16 GB on 8 GPUs" in one.says
    )
    for by in ("prompt", "option"):
        again = decide_plan(
            slots(account="a", nodes=2, program="train.py", model="Llama-3.1-8B").with_more(
                [Slot("paradigm", "ddp", Origin(by))]  # type: ignore[arg-type]
            ),
            cluster("ncsa-delta"),
        )
        assert isinstance(again, Plan) and any("128 GB" in line for line in again.advice)


@pytest.mark.parametrize("wish", ["lora", "QLoRA", "8-bit", "frozen", "inference"])
def test_words_by_which_less_memory_is_needed(wish):
    """They lift what the formula says."""
    said = slots(account="a", nodes=2, program="train.py", model="Llama-3.1-8B", paradigm="ddp")
    assert isinstance(decide_plan(said, cluster("ncsa-delta"), frozenset({wish})), Plan)


@pytest.mark.parametrize("more", [{"nodes": 1, "paradigm": "ddp"}, {"nodes": 1}, {}])
def test_lora_is_an_answer_where_it_is_named(more):
    """It is named where nothing divides the model enough and its weights alone fit; said as a paradigm, it is heard."""
    said = {"account": "a", "program": "train.py", "model": "Llama-2-13B", **more}
    found = decide_plan(slots(**said), cluster("ncsa-delta"))
    assert isinstance(found, Lacking)
    (one,) = found.missing
    assert "about 26 GB (paradigm lora)" in one.says and ("lora" in one.choices) == (one.slot == "paradigm")
    for word in ("lora", "LoRA"):
        heard = decide_plan(slots(**{**said, "nodes": 1, "paradigm": word}), cluster("ncsa-delta"))
        assert isinstance(heard, Plan) and heard.paradigm.title == "data parallel (DDP)"


def test_lora_is_not_named_where_the_weights_alone_are_too_much():
    """Of 70 billion parameters in 40 GB."""
    said = slots(account="a", nodes=1, program="train.py", model="Llama-3.1-70B")
    found = decide_plan(said, cluster("ncsa-delta"))
    assert isinstance(found, Lacking) and "lora" not in found.missing[0].says.lower()


@pytest.mark.parametrize(
    ("model", "paradigm"),
    [("GPT-2 XL", "ddp"), ("Llama-3.1-8B", "fsdp"), ("BERT-base", "ddp"), ("ViT-base", "ddp"), ("ResNet-18", "ddp"),
     ("something-7B", "fsdp"), ("something", "ddp")],
)  # fmt: skip
def test_a_paradigm_that_nobody_said_is_chosen_by_memory(model, paradigm):
    """DDP where the model fits a GPU of 40 GB, else FSDP; by the size in its name where nobody knows it."""
    plan = complete("ncsa-delta", nodes=2, model=model)
    assert assumed(plan)["paradigm"] == paradigm


def test_too_few_gpus_for_any_paradigm():
    """Where nodes were not said, it is asked for them; else for the paradigm, and the fewest GPUs are named."""
    assert missing("ncsa-delta", account="a", model="Llama-3.1-70B", program="train.py") == ["nodes"]
    assert missing("ncsa-delta", account="a", nodes=2, model="Llama-3.1-70B", program="train.py") == ["paradigm"]
    assert isinstance(decided("ncsa-delta", account="a", nodes=8, model="Llama-3.1-70B", program="train.py"), Plan)


def test_a_hint_decides_where_nobody_said_a_paradigm():
    """What retrieval found is assumed, with its reason."""
    hint = (Assumed("paradigm", "zero3", "it looks like it"),)
    plan = decide_plan(slots(account="a", program="train.py"), cluster("ncsa-delta"), hints=hint)
    assert isinstance(plan, Plan) and Assumed("paradigm", "zero3", "it looks like it") in plan.assumed


def test_earlier_values_are_defaults_of_questions_only():
    """They are never taken unasked."""
    found = decide_plan(slots(program="train.py"), cluster("ncsa-delta"), earlier={"account": "old-delta-gpu"})
    assert isinstance(found, Lacking) and found.missing[0].default == "old-delta-gpu"
    assert "account" not in {one.slot for one in found.assumed}


def test_a_cluster_that_nobody_has_described():
    """Its GPUs a node are the user's to say."""
    assert missing("generic-slurm", program="train.py") == ["gpus_per_node"]
    assert missing("generic-slurm", program="train.py", gpus_total=16) == ["gpus_per_node"]
    few = decided("generic-slurm", program="train.py", gpus_total=8)
    assert isinstance(few, Plan) and few.layout[:2] == (1, 8)
    plan = decided("generic-slurm", program="train.py", gpus_per_node=4, nodes=2)
    assert isinstance(plan, Plan) and plan.layout.ranks == 8


def test_what_has_no_effect_is_told():
    """Nothing that was said is left out silently."""
    assert any("filesystems home:eagle" in line for line in complete("ncsa-delta", filesystems="home:eagle").advice)
    assert any("qos fast" in line for line in complete("alcf-aurora", nodes=2, qos="fast").advice)
    assert not any("qos" in line for line in complete("olcf-frontier", nodes=1, qos="debug").advice)


def _of_wishes(site: str, *wishes: str, **said: object) -> Plan | Lacking:
    usual = {"program": "python t.py", "nodes": 2, "walltime": "01:00:00", "account": "abc-delta-gpu"}
    return decide_plan(slots(**{**usual, **said}), cluster(site), frozenset(wishes))


def test_a_rank_for_each_gpu_counts_where_a_program_has_one_process_on_a_node():
    """JAX has one there, unless somebody says otherwise."""
    plan = _of_wishes("ncsa-delta", paradigm="jax")
    assert isinstance(plan, Plan) and plan.layout.ranks_per_node == 1
    plan = _of_wishes("ncsa-delta", "rank-a-gpu", paradigm="jax")
    assert isinstance(plan, Plan) and plan.layout.ranks_per_node == plan.layout.gpus_per_node == 4


@pytest.mark.parametrize(("place", "asked"), [("pvc", True), ("h100", False)])
def test_nccl_on_intel_gpus_is_asked_about(place: str, asked: bool):
    """The nodes that have others are the choices."""
    found = _of_wishes("tacc-stampede3", "nccl", partition=place, nodes=1)
    assert isinstance(found, Lacking) == asked
    if isinstance(found, Lacking):
        assert found.missing[0].slot == "gpu" and "h100" in found.missing[0].choices
