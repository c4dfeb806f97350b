"""What readings would not notice: parts of words, totals, names, masks, makers of images, units of time."""

from __future__ import annotations

import contextlib
import io
import json
import os
from typing import Any
from unittest import mock

import pytest
from maple_agents.cli.main import run

REST = "2 nodes, 4 GPUs each, %s, account bcqv-delta-gpu, gpuA100x4, train.py --lr 1"


def answered(words: str, home: str, site: str = "ncsa-delta") -> dict[str, Any]:
    """Return the JSON of `maple new`."""
    out = io.StringIO()
    environ = {**os.environ, "MAPLE_EMBEDDER": "off", "HOME": home, "XDG_STATE_HOME": home}
    with mock.patch.dict(os.environ, environ), contextlib.redirect_stdout(out):
        run(["new", "--json", "--site", site, words])
    answer: dict[str, Any] = json.loads(out.getvalue() or '{"script": null, "slots": {}}')  # refused in one line
    return answer


def _told(answer: dict[str, Any]) -> str:
    return " ".join([*(one["text"] for one in answer["unread"]), *answer["missing"], *answer["advice"]])


@pytest.mark.parametrize(
    "words",
    [
        "it's 16 in total", "so 16 GPUs altogether", "total of 16 GPUs", "16 ranks in total", "insgesamt 16 GPUs",
        "en total 16 GPUs", "16 GPUs overall", "16 cards in all", "łącznie 16 GPUs", "в сумме... 16 GPUs всего",
    ],
)  # fmt: skip
def test_a_total_that_is_none_is_asked_about(words, tmp_path):
    """Two nodes of four are eight, and a script that says either would be wrong for somebody."""
    answer = answered(REST % ("2 hours; " + words), str(tmp_path))
    assert answer["script"] is None


@pytest.mark.parametrize(
    "words", ["8 in total", "8 GPUs altogether", "total of 8 GPUs", "8 ranks in all", "16 files in total"]
)
def test_a_total_that_agrees_or_counts_something_else_stops_nothing(words, tmp_path):
    """Eight are two times four."""
    answer = answered(REST % ("2 hours; " + words), str(tmp_path))
    assert answer["script"]


@pytest.mark.parametrize(
    "words",
    [
        "my environment is made with conda and it is named zwiebel", "there is an env called zwiebel",
        "die Umgebung heißt zwiebel", "l'environnement s'appelle zwiebel", "el entorno se llama zwiebel",
        "l'ambiente si chiama zwiebel", "o ambiente se chama zwiebel", 'the thing is named "zwiebel"',
        "it goes by zwiebel", "the name is zwiebel",
    ],
)  # fmt: skip
def test_a_name_that_is_given_is_used_or_told(words, tmp_path):
    """Whatever has the name: nobody who gives one means nothing."""
    answer = answered(REST % ("2 hours; " + words), str(tmp_path))
    assert "zwiebel" in _told(answer) + str(answer["script"])


@pytest.mark.parametrize(
    ("words", "array"),
    [
        ("array 0-11%3", "0-11%3"), ("arr 0-11%3", "0-11%3"), ("array=1-20%4", "1-20%4"), ("array of 0-7%2", "0-7%2"),
        ("--array=0-11%3", "0-11%3"), ("indices 0-11%3 of an array", "0-11%3"),
    ],
)  # fmt: skip
def test_what_bounds_an_array_is_a_part_of_it(words, array, tmp_path):
    """So many at a time: read, or asked for, and never cut off."""
    words = "1 GPU, %s, 2 hours, account bcqv-delta-gpu, gpuA100x4, cv.py --fold $SLURM_ARRAY_TASK_ID" % words
    answer = answered(words, str(tmp_path))
    assert answer["script"] is None or "--array=" + array in answer["script"]


@pytest.mark.parametrize(
    "words",
    [
        "the time is half of hour", "time: half of an hour", "두 시간", "for hours", "some hours", "ein paar Stunden",
        "a matter of minutes", "many hours please", "for several hours", "more hours than last time",
    ],
)  # fmt: skip
def test_a_time_that_nobody_reads_is_asked_for(words, tmp_path):
    """A unit of time stands there and no time was read: the place's own would be another."""
    answer = answered(REST % words, str(tmp_path))
    assert answer["script"] is None or "--time" in answer["script"]
    assert "walltime" in answer["slots"] or answer["script"] is None


@pytest.mark.parametrize(
    ("words", "memory"),
    [
        ("memory hundred gigabyte", "100G"), ("a hundred gb of memory", "100G"), ("sixty four gigs of ram", "64G"),
        ("one hundred and twenty gigabytes of memory", "120G"), ("mem: ninety-six GB", "96G"),
        ("100 GB of RAM", "100G"),
    ],
)  # fmt: skip
def test_memory_in_words(words, memory, tmp_path):
    """Amounts are counted in words, too."""
    assert answered(REST % ("2 hours, " + words), str(tmp_path))["slots"]["memory"] == memory


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ('sbatch -N 2 --wrap "torchrun --nproc_per_node=4 sup.py --init a.pt"', "sup.py --init a.pt"),
        ("sbatch --wrap='srun python sup.py --init a.pt'", "python sup.py --init a.pt"),
        ('srun --ntasks-per-node=4 \\\n  bash -c "python sup.py --init a.pt"', "python sup.py --init a.pt"),
        ('srun sh -c "python sup.py --init a.pt"', "python sup.py --init a.pt"),
        ('bash -lc "python sup.py --init a.pt"', "python sup.py --init a.pt"),
    ],
)
def test_a_command_in_a_command_is_the_program(command, program, tmp_path):
    """What wraps it is none of its arguments, and no value has the sign of what was read before."""
    words = "we had\n%s\nnow 2 nodes, 4 GPUs each, 2 hours, bcqv-delta-gpu, gpuA100x4" % command
    answer = answered(words, str(tmp_path))
    assert answer["slots"]["program"] == program


@pytest.mark.parametrize(
    ("site", "image", "asks"),
    [
        ("olcf-frontier", "nvcr.io/nvidia/pytorch:25.01-py3", True),
        ("olcf-frontier", "docker://rocm/pytorch:latest", False),
        ("olcf-frontier", "/proj/imgs/torch_cu124.sif", True),
        ("olcf-frontier", "/proj/imgs/mine.sif", False),
        ("alcf-aurora", "docker://nvidia/cuda:12.4.0", True),
        ("ncsa-delta", "docker://rocm/pytorch:latest", True),
        ("ncsa-delta", "nvcr.io/nvidia/pytorch:25.01-py3", False),
    ],
)
def test_an_image_for_other_makers_is_asked_about(site, image, asks, tmp_path):
    """CUDA does not run on AMD's GPUs, nor ROCm on NVIDIA's."""
    words = "2 nodes, 2 hours, account abc123, in the container %s, python train.py" % image
    assert ("container" in answered(words, str(tmp_path), site)["missing"]) == asks


@pytest.mark.parametrize(
    ("arguments", "paradigm"),
    [
        ("--tensor-model-parallel-size 4 --pipeline-model-parallel-size 2", "3d"), ("--tp_size=4 --pp_size=2", "3d"),
        ("--tensor-model-parallel-size 1 --pipeline-model-parallel-size 1", "ddp"), ("--strategy fsdp", "fsdp"),
        ("--strategy=ddp", "ddp"), ("--deepspeed conf/zero2.json", "zero2"), ("--deepspeed ds_z3.json", "zero3"),
        ("--strategy deepspeed_stage_3", "zero3"), ("--fsdp full_shard", "fsdp"), ("--lr 1", "ddp"),
    ],
)  # fmt: skip
def test_the_programs_own_arguments_say_the_paradigm(arguments, paradigm, tmp_path):
    """What a program is told itself beats what is usual, and is told as assumed."""
    words = "2 nodes, 4 GPUs each, 2 hours, bcqv-delta-gpu, gpuA100x4, torchrun train.py %s" % arguments
    answer = answered(words, str(tmp_path))
    final = {**{one["slot"]: one["value"] for one in answer["assumed"]}, **answer["slots"]}
    assert final["paradigm"] == paradigm


@pytest.mark.parametrize("behind", ["name meg8b", "cpus 16", "job named meg8b", "J meg8b", "cores: 16"])
def test_what_stands_before_an_item_that_was_read_is_read(behind, tmp_path):
    """The sign in place of an item never joins the word before it: the hours are hours."""
    assert answered(REST % ("48 hours, " + behind), str(tmp_path))["slots"].get("walltime") == "48:00:00"


@pytest.mark.parametrize(("names", "asked"), [("home:flaer", True), ("home:flare", False)])
def test_a_file_system_that_is_none_there_is_asked_about(names, asked, tmp_path):
    """A slip of the fingers, or the next words of the line."""
    words = "debug queue, 1 node, 15 min, project AccelTwin, filesystems %s, DDP with mpiexec, train.py" % names
    assert ("filesystems" in answered(words, str(tmp_path), "alcf-aurora")["missing"]) == asked


def test_of_two_names_the_account_is_the_one_of_this_site(tmp_path):
    """ "allocation approved" names none."""
    words = "Delta allocation approved. The account is bgkt-delta-gpu. 2 nodes, gpuA100x4, 2 hours, DDP, train.py"
    assert answered(words, str(tmp_path))["slots"]["account"] == "bgkt-delta-gpu"
