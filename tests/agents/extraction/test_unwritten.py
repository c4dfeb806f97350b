"""Names of a request that no line of the script has: told in one line, or asked for where a label names their slot."""

from __future__ import annotations

import pytest
from maple_agents.request.gate import unwritten

from .test_accounted import answered

REST = "2 nodes, 4 GPUs each, 2 hours, ddp, account bcqv-delta-gpu, gpuA100x4, train.py --lr 1"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("out logs/", "logs/"), ("config ds.json is used", "ds.json"), ("name: xpu-smoke", "xpu-smoke"),
        ("my data is in /projects/bcqv/tiles_v3", "/projects/bcqv/tiles_v3"), ("cfg=paper_v2", "paper_v2"),
        ("tell ana@lab.edu", "ana@lab.edu"), ("shards are packed_a-*.tar", "packed_a-*.tar"),
        ("the seeds come from seeds.txt", "seeds.txt"), ("results go to runs/exp_7/", "runs/exp_7/"),
        ("die Liste steht in liste_neu.csv", "liste_neu.csv"), ("with $MY_DATA as input", "$MY_DATA"),
        ("conf/base.yaml sert de base", "conf/base.yaml"), ("env: torch-nightly", "torch-nightly"),
        ("用 conf_b.yaml", "conf_b.yaml"), ("log: run-a.out", "run-a.out"),
    ],
)  # fmt: skip
def test_a_name_is_in_the_script_or_told(words, name, tmp_path):
    """Whatever the readings made of the words around it."""
    answer = answered("%s; %s" % (REST, words), str(tmp_path))
    told = [*(one["text"] for one in answer["unread"]), *answer["missing"], *answer["advice"]]
    assert name in " ".join([*told, str(answer["script"])])


@pytest.mark.parametrize(
    "words",
    [
        "a half-hour and/or less, multi-node", "ZeRO-3 of a follow-up on 4xA100", "see https://docs.x.org/a_b.html",
        "on 2/3 of the data, w/o tests, 24/7", "Gpu-A100x4 please", "train.py, e.g. the one of v1.2.",
    ],
)  # fmt: skip
def test_prose_is_no_name(words):
    """Hyphens, slashes and versions of prose."""
    script = "#SBATCH --partition=gpuA100x4\ntorchrun train.py\n"
    assert not list(unwritten.unwritten(words, [script, "zero3"], ()))


@pytest.mark.parametrize(("label", "slot"), [("name: ", "job_name"), ("mail: ", "mail"), ("output: ", "output")])
def test_a_label_asks_for_its_slot_while_that_is_open(label, slot):
    """Who writes it as a form means the slot; one that has a value is told."""
    word = "who@is.it" if slot == "mail" else "night/run_1"
    open_, had = (list(unwritten.unwritten(label + word, ["python x.py"], known)) for known in ((), (slot,)))
    assert [(one.slot, one.stops) for one in (*open_, *had)] == [(slot, True), ("", False)]


def test_a_name_is_no_part_of_another():
    """A script that has the letters of a name within a longer word has not the name."""
    assert [one.text for one in unwritten.unwritten("name: xpu", ["resnetxpu.py"], ["job_name"])] == ["xpu"]


def test_values_in_another_form_are_there():
    """File systems in another order, variables as export, a path from here."""
    script = "#PBS -l filesystems=eagle:home\nexport A_B=1\npython ./x_1.py --lr_b 1e-4\n"
    assert not list(unwritten.unwritten("home:eagle, A_B=1, x_1.py lr_b=1e-4", [script], ()))


@pytest.mark.parametrize(
    ("words", "values", "lost"),
    [
        ("2 nodes, 4 nodes first", {"nodes": 2}, ["4 nodes"]), ("over 33 files", {"nodes": 2}, ["33"]),
        ("1 day 6 hours on 2 nodes", {"nodes": 2}, []),
        ("2 nodes, 8 GPUs in all", {"nodes": 2, "gpus_per_node": 4}, []),
        ("8 GPU nodes, 2 nodes", {"nodes": 2, "gpus_per_node": 4}, []), ("train_2.py --lr 1e-4 at 0.5, v1.12", {}, []),
        ("#SBATCH -n 96\nas this", {}, []),
    ],
)  # fmt: skip
def test_a_number_is_in_the_script_or_told(words, values, lost):
    """Days are hours there and nodes times GPUs a total; what a pasted line says is another's."""
    held = ["#SBATCH --nodes=2 --gpus-per-node=4 --time=30:00:00\n", ""]
    assert [one.text for one in unwritten.uncounted(words, held, values, ())] == lost


def test_a_number_with_a_unit_stops_where_its_slot_was_assumed():
    """Nobody read it, so what was assumed is no guess to take."""
    lost = list(unwritten.uncounted("make it 3 nodes", ["--nodes=1", ""], {"nodes": 1}, ["nodes"]))
    assert [(one.slot, one.value, one.stops) for one in lost] == [("nodes", "3", True)]
