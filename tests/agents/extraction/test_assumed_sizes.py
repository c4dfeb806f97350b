"""Sizes that the words leave open: which are taken and told, which are asked for; and words that answer a question."""

from __future__ import annotations

import pytest
from maple_agents.request.words import read

from tests.agents.extraction.test_accounted import answered

UNKNOWN = "ddp train.py --lr 1, %s, 2 hours, partition gpu"


@pytest.mark.parametrize(
    "words",
    ["2 nodes with 4 GPUs", "2 nodes, 4 gpus", "2 Knoten mit 4 GPUs", "2 nodos con 4 GPUs", "2 nodes met 4 GPU's",
     "2 nœuds avec 4 GPU", "2n x 4g"],
)  # fmt: skip
def test_gpus_beside_nodes_are_each_nodes_where_nobody_knows_the_nodes(words, tmp_path):
    """People mean each node's; that it might be all is told."""
    answer = answered(UNKNOWN % words, str(tmp_path), "generic-slurm")
    assert answer["slots"]["gpus_per_node"] == 4
    assert answer["slots"]["nodes"] == 2
    assert any("gpus_per_node=2" in line for line in answer["advice"])


def test_what_each_has_need_not_be_named_again(tmp_path):
    """GPUs, where nothing else was counted; tasks where they were."""
    assert answered(UNKNOWN % "2 nodes with 4 each", str(tmp_path), "generic-slurm")["slots"]["gpus_per_node"] == 4
    slots = answered(UNKNOWN % "2 nodes with 4 tasks each", str(tmp_path), "generic-slurm")["slots"]
    assert slots["ranks_per_node"] == 4
    assert "gpus_per_node" not in slots


def test_gpus_that_no_node_has_are_the_jobs(tmp_path):
    """Thirty-two are no node's; four of eight nodes are half a GPU each, so each node's, and nothing else can be."""
    assert "gpus_per_node" not in answered(UNKNOWN % "4 nodes, 32 gpus", str(tmp_path), "generic-slurm")["slots"]
    answer = answered(UNKNOWN % "8 nodes, 4 gpus", str(tmp_path), "generic-slurm")
    assert answer["slots"]["gpus_per_node"] == 4
    assert not any("gpus_per_node=" in line for line in answer["advice"])


def test_what_a_node_has_decides_where_it_is_known(tmp_path):
    """Nodes of four: eight beside two nodes are all, four are each node's."""
    words = "ddp train.py --lr 1, %s, 2 hours, account bcqv-delta-gpu, gpuA100x4"
    for said in ("2 nodes, 8 gpus", "2 nodes, 4 gpus"):
        answer = answered(words % said, str(tmp_path))
        assert "--gpus-per-node=4" in answer["script"]
        assert not any("gpus_per_node=" in line for line in answer["advice"])


@pytest.mark.parametrize("words", ["all three gpus of a node", "3 GPUs per node", "with 3 gpus on each node"])
def test_a_site_that_demands_the_nodes_is_told_one(words, tmp_path):
    """The script says the nodes whatever the site demands: one, where GPUs of a node are all that was said."""
    answer = answered("ddp train.py --lr 1, %s, 2 hours" % words, str(tmp_path), "tacc-lonestar6")
    assert "nodes" not in answer["missing"]


@pytest.mark.parametrize(
    "words", ["We trained with 16 A100-80GB then. Same number of GPUs", "Last year it ran on 6 nodes. As then"]
)
def test_a_size_of_another_job_is_no_reason_for_one_node(words, tmp_path):
    """A number of GPUs or nodes is written: one node would not be what somebody means."""
    said = "%s please, our nodes have 8 GPUs each, deepspeed train.py --deepspeed z3.json, 2 hours, partition dgx"
    answer = answered(said % words, str(tmp_path), "generic-slurm")
    assert answer["script"] is None
    assert "nodes" in answer["missing"]


@pytest.mark.parametrize(("words", "kind"), [("the 32GB ones", "v100-32"), ("the 32 GB model", "v100-32")])
def test_words_that_single_out_a_choice_answer_its_question(words, kind, tmp_path):
    """Two kinds of V100 fit; what was said beside it is true of one."""
    said = "ddp train.py, 4 V100s (%s), GPU-shared, account cis250044p, 4 hours" % words
    answer = answered(said, str(tmp_path), "psc-bridges2")
    assert answer["slots"]["gpu"] == kind
    assert "gpu" not in answer["missing"]


def test_words_that_are_true_of_both_choices_answer_nothing(tmp_path):
    """Both are V100."""
    answer = answered("ddp train.py, 4 V100s, GPU-shared, account cis250044p, 4 hours", str(tmp_path), "psc-bridges2")
    assert "gpu" in answer["missing"]


@pytest.mark.parametrize("sign", [",", "\t", ";"])
def test_a_table_without_bars_is_read_by_its_lines(sign, tmp_path):
    """As a sheet is pasted: what stands before the first sign is the key."""
    rows = [("Name", "Value"), ("project", "csc602"), ("nodes", "100"), ("ranks per node", "8"), ("launcher", "srun"),
            ("walltime", "04:00:00"), ("script", "train_3d.py"), ("partition", "batch")]  # fmt: skip
    slots = answered("\n".join(map(sign.join, rows)), str(tmp_path), "olcf-frontier")["slots"]
    wanted = {"account": "csc602", "nodes": 100, "ranks_per_node": 8, "walltime": "04:00:00", "partition": "batch"}
    assert {name: slots.get(name) for name in wanted} == wanted
    assert "job_name" not in slots


@pytest.mark.parametrize("option", ["-A <project>", "--account=<your_project>", "-A <PROJ>"])
def test_an_option_that_a_document_leaves_open_says_nothing(option, tmp_path):
    """The account stands below it."""
    said = "qsub %s -q debug -l select=2 -l walltime=00:50:00 -l filesystems=eagle\nddp train.py\nproject: PolyFM"
    assert answered(said % option, str(tmp_path), "alcf-polaris")["slots"]["account"] == "PolyFM"


@pytest.mark.parametrize(
    ("words", "name"),
    [("account abc mail to joe@uni.edu", "abc"), ("using account chem while the old one is full", "chem"),
     ("qos gold whenever that works", "gold")],
)  # fmt: skip
def test_a_word_behind_a_key_is_never_lost(words, name, tmp_path):
    """It may be prose; where the slot is open it is asked about."""
    answer = answered("ddp train.py, 1 node, 4 GPUs, 2 h, partition gpu, %s" % words, str(tmp_path), "generic-slurm")
    assert name in [*map(str, answer["slots"].values()), *(each["text"] for each in answer["unread"])]
    assert answer["script"] is None or name in answer["script"]


@pytest.mark.parametrize("prose", ["the queue moves fast", "the account is fine", "on a busy partition that is long"])
def test_prose_behind_a_key_stops_nothing(prose, tmp_path):
    """No name is there."""
    said = "ddp train.py, 1 node, 4 GPUs, 2 h, partition gpu, account abc1; %s" % prose
    assert answered(said, str(tmp_path), "generic-slurm")["script"]


@pytest.mark.parametrize("words", ["account abc@a100", "Account: abc@v100.", "-A abc@h100"])
def test_an_account_names_the_kind_of_hours(words, tmp_path):
    """IDRIS, http://www.idris.fr/eng/jean-zay/cpu/jean-zay-cpu-doc_account-eng.html: project@v100."""
    answer = answered("ddp train.py, 1 node, 4 GPUs, 2 h, %s" % words, str(tmp_path), "generic-slurm")
    assert answer["slots"]["account"].startswith("abc@")


@pytest.mark.parametrize(
    ("words", "slot", "name"),
    [('the partition with gpus is called "rtx"', "partition", "rtx"),
     ("the qos for students is named teach", "qos", "teach"),
     ("the account of my group is called phys7", "account", "phys7")],
)  # fmt: skip
def test_a_name_stands_behind_what_tells_the_thing_apart(words, slot, name, tmp_path):
    """ "with gpus" belongs to the partition, not to its name."""
    answer = answered("ddp train.py, 1 node, 4 GPUs, 2 h, %s" % words, str(tmp_path), "generic-slurm")
    assert answer["slots"][slot] == name


@pytest.mark.parametrize(
    ("site", "more", "line"),
    [("generic-slurm", "", "#SBATCH --output=runs/%x-%j.out"),
     ("generic-slurm", ", array 1-10", "#SBATCH --output=runs/%x-%A_%a.out"), ("generic-pbs", "", "#PBS -o runs/")],
)  # fmt: skip
def test_logs_go_to_a_folder(site, more, line, tmp_path):
    """sbatch(1) takes the name of a file, qsub(1) a folder too; Slurm makes no folder, which is told."""
    for words in ("logs go to runs/", "output in runs/ please"):
        answer = answered("ddp train.py, 1 node, 4 GPUs, 2 h, %s%s" % (words, more), str(tmp_path), site)
        assert line in answer["script"].splitlines()
        assert any("mkdir -p runs" in each for each in answer["advice"]) == (site == "generic-slurm")


@pytest.mark.parametrize(
    ("site", "words", "account"),
    [
        ("olcf-frontier", "extended, 16 nodes, 24h, srun, -J proto3, chem101, nequip.py", "chem101"),
        ("sdsc-expanse", "4 v100 one node, gpu, 24h, TG-BIO230077, 300G, unet.py", "TG-BIO230077"),
        ("purdue-anvil", "gpu-debug partition, 2 gpus, 20 minutes, nairr250012-gpu. check_ddp.py", "nairr250012-gpu"),
        ("sdsc-expanse", "nairr-gpu 2N --gpus=h100:8 24h nairr250102 torchrun fsdp train_llm.py", "nairr250102"),
    ],
)  # fmt: skip
def test_the_only_code_that_is_left_is_the_account(site, words, account, tmp_path):
    """The site demands one, and nothing else of the list is open."""
    answer = answered(words, str(tmp_path), site)
    assert answer["slots"]["account"] == account
    assert all(each["text"] not in account for each in answer["unread"])


@pytest.mark.parametrize(
    "words", ["unet.py on wikitext103, 4 v100, one node, gpu, 24h", "resnet152.py, 4 v100, one node, gpu, 24h",
              "chem101, phys102, unet.py, 4 v100, one node, gpu, 24h"],
)  # fmt: skip
def test_a_code_in_a_sentence_and_one_of_two_is_no_account(words, tmp_path):
    """Data, a program, one of two: the account is asked for."""
    assert "account" in answered(words, str(tmp_path), "sdsc-expanse")["missing"]


def test_lines_of_an_error_ask_for_nothing(tmp_path):
    """Who reports is no launcher: the program is started as the request says below."""
    said = "srun: error: g07: task 1: Exited with exit code 1\nRuntimeError: CUDA out of memory\n%s"
    words = "so 2 nodes with 4 GPUs each please, accelerate launch finetune.py, 2 h, partition gpu"
    answer = answered(said % words, str(tmp_path), "generic-slurm")
    assert answer["slots"]["launcher"] == "accelerate"


@pytest.mark.parametrize(
    "again", ["Everything else as before", "The rest like last time", "All as usual", "The same as before"]
)
def test_what_stands_behind_as_before_is_wanted(again, tmp_path):
    """A colon, and what it was then: it is what it shall be now."""
    said = "It was 1 node with 4, now 2 nodes with 4 each. %s: -p gpu -t 12:00:00, accelerate launch finetune.py"
    slots = answered(said % again, str(tmp_path), "generic-slurm")["slots"]
    wanted = {"nodes": 2, "partition": "gpu", "walltime": "12:00:00", "launcher": "accelerate"}
    assert {name: slots.get(name) for name in wanted} == wanted


@pytest.mark.parametrize("name", ["narval", "Jean Zay", "Great Lakes", "LUMI", "the Hyak cluster"])
def test_who_says_the_site_may_name_another_cluster(name, tmp_path):
    """--site generic-slurm is for a cluster that no file describes: its name is told, and no reason to refuse."""
    said = "on %s, ddp train.py, 1 node with 4 GPUs, 2 h, partition gpu" % name
    answer = answered(said, str(tmp_path), "generic-slurm")
    assert answer["script"]
    assert answer["site"] == "generic-slurm"
    assert any(each["text"].lower() in name.lower() for each in answer["unread"])


def test_two_described_clusters_are_a_contradiction(tmp_path):
    """Perlmutter's job is none of Delta's."""
    assert answered("on perlmutter train.py with ddp, 2 nodes, 2 h", str(tmp_path))["script"] is None


@pytest.mark.parametrize("words", ["один час пятьдесят минут", "1 час 50 минут", "one hour and fifty minutes"])
def test_no_part_of_a_time_is_lost(words, tmp_path):
    """A number that is not known stands before "minutes": half of the time would be cut off."""
    said = "Frontier: проект chm210, 16 узлов, раздел batch, %s, по 8 процессов на узел, srun python a.py --n 6"
    answer = answered(said % words, str(tmp_path), "olcf-frontier")
    assert answer["script"] is None or "--time=01:50:00" in answer["script"]


def test_what_squeue_prints_names_no_partition(tmp_path):
    """The word behind PARTITION is the head of the next column."""
    table = "PARTITION TIMELIMIT NODES GRES\nhopper 2-00:00:00 4 gpu:h100:8\n\n"
    said = table + "1 node with 8 GPUs for 20 hours in partition hopper, ddp train.py"
    assert answered(said, str(tmp_path), "generic-slurm")["slots"]["partition"] == "hopper"


def test_what_is_done_is_not_asked_for(tmp_path):
    """A list of what is to do: its ticked lines are told, and stop nothing."""
    said = "- [x] copy data to /work/hdd/shards\n- [ ] 1 node, 4 gpus, gpuA100x4, ddp train.py, bcqv-delta-gpu, 2 h"
    answer = answered(said, str(tmp_path))
    assert answer["script"]
    assert "/work/hdd" not in answer["script"]


@pytest.mark.parametrize(("words", "shown"), [("ddp train.py --lr 1", "ddp"), ("with FSDP, train.py", "FSDP")])
def test_a_name_is_shown_without_what_stands_behind_it(words, shown):
    """What is read back to people are their words."""
    assert read("%s, 2 nodes, 2 h" % words).slots["paradigm"].origin.where == shown


@pytest.mark.parametrize(
    "words",
    ["Preciso rodar treina.py com ddp, fila pvc, um único nó, 5 horas, projeto EAR24008",
     "necesito treina.py con ddp, cola pvc, un único nodo, 5 horas, proyecto EAR24008",
     "treina.py mit ddp, Queue pvc, ein einziger Knoten, 5 Stunden, Projekt EAR24008"],
)  # fmt: skip
def test_a_single_node_is_one_in_every_language(words, tmp_path):
    """An adjective, and no numeral."""
    assert answered(words, str(tmp_path), "tacc-stampede3")["slots"]["nodes"] == 1
