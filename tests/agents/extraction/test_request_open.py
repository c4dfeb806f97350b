"""What a request leaves open, or says twice, is asked about; what speaks of something else decides nothing."""

from __future__ import annotations

import pytest
from maple_agents.base.slots import Refused
from maple_agents.request.unread import unread
from maple_agents.request.words import read
from maple_agents.write.clusters import cluster
from maple_agents.write.decide.decision import decide_plan

from tests.agents.synthesis.plans import slots

AGAIN = [
    "train.py on 3 nodes for 2 days. wait no it only needs 30 hours",
    "train.py on 2 nodes, 12 hours. It must have the full 24 hours, else it does not finish",
    "train.py, 2 nodes, 10 hours, actually 20 hours is what it needs",
]


@pytest.mark.parametrize("text", AGAIN)
def test_a_second_time_that_somebody_insists_on_is_no_silent_loss(text):
    """It is asked which holds, or the later one does."""
    asked = read(text)
    later = str(asked.slots["walltime"].value) if "walltime" in asked.slots else ""
    assert "walltime" in {one.slot for one in asked.doubts} or later in ("30:00:00", "24:00:00", "20:00:00")


@pytest.mark.parametrize(
    "text",
    [
        "train.py on 2 nodes for 4 hours, an epoch needs 20 minutes",
        "train.py on 2 nodes for 4 hours, checkpoint every 30 minutes",
        "train.py on 2 nodes for 4 hours; each step takes about 2 seconds",
    ],
)
def test_how_long_a_part_takes_is_no_time_of_the_job(text):
    """Of an epoch, a step or a checkpoint."""
    asked = read(text)
    assert asked.slots["walltime"].value == "04:00:00" and not asked.doubts


@pytest.mark.parametrize(
    "text",
    [
        "my labmate ran with 2 nodes and it was too slow so I want double that, train.py, 1 day",
        "last week 4 nodes were not enough, take twice as many for train.py, 2 hours",
    ],
)
def test_a_multiple_of_another_number_is_asked_about(text):
    """Nobody has said of which job the other number is."""
    assert "nodes" in {one.slot for one in read(text).doubts}


def test_two_numbers_that_are_left_open_stop_the_script():
    """ "like 4? or 8?" counts something, and nobody knows which holds."""
    asked = read("i need gpus. like 4? or 8? whatever is faster. train.py, bdte-delta-gpu, 12 hours")
    left = unread(asked.left, asked.slots, cluster("ncsa-delta").site)
    assert {one.text for one in left if one.stops} >= {"like 4", "or 8"}


def test_a_place_that_is_named_by_a_part_of_its_name_is_not_made_up():
    """The dev queue is that of this cluster: the line says which."""
    with pytest.raises(Refused, match="did you mean gpu-a100-dev"):
        decide_plan(
            slots(nodes=1, program="a.py", walltime="01:00:00", partition="dev"), cluster("tacc-lonestar6"), frozenset()
        )


def test_debug_is_the_queue_of_that_name_where_there_is_one():
    """Two queues are for tries there, and neither may be lost to the default route."""
    said = slots(nodes=2, program="a.py", walltime="00:30:00", account="p", filesystems="flare")
    plan = decide_plan(said, cluster("alcf-aurora"), frozenset({"debug"}))
    assert plan.place.name == "debug"


@pytest.mark.parametrize("text", ["1, perhaps 3 nodes", "3 nodes, maybe 5", "2 or even 4 nodes", "6 GPUs, possibly 8"])
def test_a_number_that_is_hedged_by_another_is_none(text):
    """Neither is taken."""
    asked = read("train.py on %s, 2 hours" % text)
    assert asked.contradictions and not {"nodes", "gpus_total", "gpus_per_node"} & {*asked.slots}


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("4 ranks/node 3 h", "ranks_per_node", 4), ("8 procs/node, 2h", "ranks_per_node", 8),
        ("7 core by process", "cpus_per_task", 7), ("4 gpus by node", "gpus_per_node", 4),
        ("conda env at /work/x/env", "environment", "conda activate /work/x/env"),
        ("ds.json goes in with --config", "program", "train.py --config ds.json"),
        ("pass conf/a.yaml via --cfg", "program", "train.py --cfg conf/a.yaml"),
        ("2N*4 V100", "gpus_per_node", 4), ("select: 2", "nodes", 2), ('job name could be "fog"', "job_name", "fog"),
        ("filesystems: home:flare, module: frameworks", "filesystems", "flare:home"),
        ("my PI gave me the account abc123 for a first test", "account", "abc123"),
        ("PDE_Found is the project", "account", "PDE_Found"),
    ],
)  # fmt: skip
def test_the_words_around_a_value_say_whose_it_is(text, name, value):
    """A unit before it and one behind it, "by" for "per", a path for a name, a file before its option."""
    assert read("train.py, 2 nodes, %s" % text).slots[name].value == value


def test_a_request_in_one_line_that_begins_with_a_launcher_is_no_older_than_itself():
    """Its arguments said apart are the program's."""
    asked = read("torchrun train.py, with --seed 3, on 2 nodes for 2 hours")
    assert asked.slots["program"].value == "train.py --seed 3" and not asked.rest


def test_what_a_command_of_a_pasted_line_prints_is_told_and_no_value():
    """It is no plain word, and the script has its own."""
    asked = read("export MASTER_ADDR=$(hostname)\nexport N=$((2 * $M))\ntrain.py on 2 nodes")
    assert "variables" not in asked.slots and "MASTER_ADDR=$(hostname)" in " ".join(each.text for each in asked.left)


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("DeltaAIで1GPUだけのジョブ", "gpus_total", 1), ("h100-80 要4张，账号 bcs240044p", "gpus_total", 4),
        ("Deltaで2ノード使って12時間学習を回したい", "walltime", "12:00:00"),
    ],
)  # fmt: skip
def test_a_name_or_number_ends_where_signs_without_blanks_begin(text, name, value):
    """Whether a lexicon knows them or not."""
    assert read(text).slots[name].value == value
