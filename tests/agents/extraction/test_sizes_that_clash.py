"""Sizes of which two cannot both be, and values that one word decides: each with neighbours that nobody had read."""

from __future__ import annotations

import pytest
from maple_agents.cli.new.request import heard, wanted

from tests.agents.extraction.test_accounted import answered

SLOTS = "2 hours, account bcqv-delta-gpu, gpuA100x4, torchrun train.py"


def said(words: str, site: str = "ncsa-delta") -> dict[str, int | str]:
    """Return the slots of a request, once both readers were heard."""
    return heard(wanted(words, (), site, "")).slots.as_json()


@pytest.mark.parametrize(
    "pasted",
    [
        "#SBATCH --nodes=1\n#SBATCH --gpus-per-node=2", "#SBATCH -N 1\n#SBATCH --gres=gpu:2",
        "srun -N 1 --gpus-per-node=2 python train.py",
        "$ salloc -N 1 --gpus-per-node=2", "torchrun --standalone --nproc_per_node=2 train.py",
    ],
)  # fmt: skip
def test_a_pasted_size_goes_where_the_own_words_have_another(pasted, tmp_path):
    """Eight GPUs on two nodes were asked for, whatever the old lines had."""
    words = "the old one:\n%s\n\nNow 2 nodes, 8 GPUs in total, %s" % (pasted, SLOTS)
    answer = answered(words, str(tmp_path))
    assert "--nodes=2" in answer["script"] and "--gpus-per-node=4" in answer["script"]


@pytest.mark.parametrize(
    "taken_back", ["hmm no, so", "no wait,", "sorry, I mean", "actually", "scratch that:", "correction,"]
)
def test_a_size_that_is_taken_back_goes(taken_back):
    """What clashes with a later size stood before the word that takes it back."""
    slots = said("I want 4 GPUs... %s 2 nodes with 4 GPUs each, %s" % (taken_back, SLOTS))
    assert (slots["nodes"], slots["gpus_per_node"]) == (2, 4)


@pytest.mark.parametrize(
    "fact", ["each gpu has 2 tiles", "every GPU has 2 tiles", "a gpu is 2 tiles", "each card has 2 tiles"]
)  # fmt: skip
def test_what_a_gpu_is_made_of_is_no_size(fact):
    """It is a fact of the machine."""
    words = (
        "2 nodes in the debug queue, 30 minutes, I read that %s so 12 ranks per node, account abc, flare, v.py" % fact
    )
    slots = said(words, "alcf-aurora")
    assert slots["ranks_per_node"] == 12 and "gpus_per_node" not in slots


@pytest.mark.parametrize("words", ["both A100s", "both GPUs", "both of the GPUs", "both the GPUs", "both cards"])
def test_both_are_two(words):
    """As a number word."""
    assert said("1 node, %s, %s" % (words, SLOTS))["gpus_total"] == 2


@pytest.mark.parametrize(
    "words", ["move from the V100s to the newer l40s-48 gpus", "from V100 to l40s-48", "from our V100 cards to l40s-48"]
)  # fmt: skip
def test_what_is_left_behind_is_none(words):
    """From one kind to the other: the other."""
    slots = said("%s on bridges2, partition GPU, 8 gpus, 1 node, 1 day, x.py, bio240031p" % words, "psc-bridges2")
    assert str(slots.get("gpu", "l40s-48")).startswith("l40s")


@pytest.mark.parametrize(
    ("words", "time"),
    [
        ("half day", "12:00:00"), ("half of hour", "00:30:00"), ("half of an hour", "00:30:00"),
        ("a half day", "12:00:00"),
        ("2 and a half hours", "02:30:00"), ("half a day", "12:00:00"), ("a quarter of an hour", "00:15:00"),
        ("the queue allows up to a week. So 60 hours", "60:00:00"),
        ("which gives at most 2 days, I take 5 hours", "05:00:00"),
        ("한 시간", "01:00:00"), ("두 시간", "02:00:00"), ("열두 시간", "12:00:00"),
        ("二時間", "02:00:00"), ("半日", "12:00:00"),
    ],
)  # fmt: skip
def test_times_in_words(words, time):
    """Shares without an article, what a queue gives and the job does not want, numbers glued to what they count."""
    korean = "account bcqv-delta-gpu gpuA100x4 torchrun train.py 2노드 실행" if words[0] > "\uac00" else ""
    eastern = (
        "account bcqv-delta-gpu gpuA100x4 torchrun train.py 2ノードで実行してください"
        if "\u3000" < words[0] < "\uac00"
        else ""
    )
    rest = korean or eastern or "account bcqv-delta-gpu, gpuA100x4, 2 nodes, torchrun train.py"
    assert said("%s, %s" % (words, rest))["walltime"] == time


@pytest.mark.parametrize(
    ("words", "environment"),
    [
        ("$SCRATCH/venvs/ds", "source $SCRATCH/venvs/ds/bin/activate"),
        ("~/venvs/ds", "source ~/venvs/ds/bin/activate"),
        ("/work/x/.venv/ds", "source /work/x/.venv/ds/bin/activate"),
        ("conda, /work/x/envs/ds", "conda activate /work/x/envs/ds"),
        ("miniconda; ~/envs/ds", "conda activate ~/envs/ds"),
    ],
)  # fmt: skip
def test_a_path_tells_an_environment(words, environment):
    """Its folder is called so; of "envs" another word says which kind."""
    assert said("2 nodes, %s, %s" % (SLOTS, words))["environment"] == environment


@pytest.mark.parametrize(
    ("words", "slot", "value"),
    [
        ("dep afterany 2291177", "dependency", "afterany:2291177"),
        ("afterok 2291177", "dependency", "afterok:2291177"),
        ("train2.py --cfg a.yaml -J 8b-cpt", "job_name", "8b-cpt"),
        ("x.py --cfg a.yaml -o %x.%j.log", "output", "%x.%j.log"),
        ("x.py --cfg a.yaml --output=logs/%j.out", "output", "logs/%j.out"),
    ],
)  # fmt: skip
def test_options_of_the_job_end_those_of_the_program(words, slot, value):
    """No program has a job's number in its log file, nor `-J`."""
    slots = said("2 nodes, 2 hours, bcqv-delta-gpu, gpuA100x4, torchrun %s" % words)
    assert slots[slot] == value and value not in str(slots.get("program"))


@pytest.mark.parametrize("words", ["ghx4 partition'da", "ghx4 partition’ında", "partition'ı ghx4 olsun, DeltaAI'de"])
def test_turkish_endings_are_no_names(words):
    """What an apostrophe parts from a word is none of its name."""
    slots = said(words + ", 1 node 2 GPU, 7 saat çalışacak bir iş lazım. hesap bdkt-dtai-gh, egitim.py", "ncsa-deltaai")
    assert slots["partition"] == "ghx4"


@pytest.mark.parametrize("words", ["qos用regular", "qos是regular", "regular队列", "队列 regular", "用 regular qos"])
def test_names_beside_eastern_signs_are_the_sites(words):
    """Nothing parts them, and they are words all the same."""
    slots = said("Perlmutter 上2个节点，%s，3小时，project是m4388，train.py" % words, "nersc-perlmutter")
    assert slots["qos"] == "regular"


@pytest.mark.parametrize(
    "words",
    [
        "(by someone on Jean Zay) adapt to Vista",
        "we had it at Summit; now for Vista",
        "a Jean Zay gist, move it to Vista",
    ],
)
def test_a_cluster_that_nobody_described_is_where_it_comes_from(words):
    """Where another is named as the target, it refuses nothing."""
    assert said("%s: 8 gh nodes, 2 hours, TRA24006, torchrun train.py" % words, "tacc-vista")["nodes"] == 8
