"""What the words take out: file systems that are not needed, and training that is not distributed."""

from __future__ import annotations

import pytest
from maple_agents.request.gate import denied

from .test_accounted import answered


@pytest.mark.parametrize(
    "words",
    [
        "moved to flare, home is not needed any more", "flare, home is no longer needed", "home isn't needed: flare",
        "flare, no need for home", "flare without home", "flare, kein home", "flare, home wird nicht mehr gebraucht",
        "flare, pas besoin de home", "flare, home n'est plus nécessaire", "flare, we do not need the home",
        "flare; the home file system is not used", "flare, drop home",
    ],
)  # fmt: skip
def test_a_denied_file_system_is_none(words):
    """Said of each mention, in any of the ways."""
    assert denied.systems(words, ("home", "flare")) == {"home"}


@pytest.mark.parametrize(
    "words", ["flare and home", "home is needed, flare too", "home, not much of it; flare", "no home? yes, home:flare"]
)
def test_one_that_is_wanted_stays(words):
    """A denial of something else, or of one mention alone, takes nothing out."""
    assert not denied.systems(words, ("home", "flare"))


@pytest.mark.parametrize("words", ["flare, home is not needed any more", "filesystems: flare; home not needed"])
def test_the_script_names_no_denied_file_system(words, tmp_path):
    """Whatever the readings took."""
    words = "2 nodes, 3 hours, capacity queue, project CosmoSim-DL, ddp, train.py, %s" % words
    assert answered(words, str(tmp_path), "alcf-aurora")["slots"]["filesystems"] == "flare"


@pytest.mark.parametrize(
    "words",
    [
        "no distributed stuff", "it is not distributed", "nothing distributed", "without any distributed things",
        "just one process", "a single python process", "nicht verteilt", "rien de distribué", "no ddp",
    ],
)  # fmt: skip
def test_training_that_is_not_distributed_is_one_process(words, tmp_path):
    """No guess over the words and no default makes it one of several."""
    words = "1 node, 1 gpu, 2 hours, account bcqv-delta-gpu, gpuA100x4, grid.py reads sweep.csv, %s" % words
    answer = answered(words, str(tmp_path))
    assumed = {one["slot"]: one["value"] for one in answer["assumed"]}
    assert {**assumed, **answer["slots"]}["paradigm"] == "single"


@pytest.mark.parametrize(
    "words", ["one process per GPU", "one process for each gpu", "distributed training", "no problem"]
)
def test_other_words_deny_no_distribution(words):
    """A process for each GPU is a distribution."""
    assert not denied.distribution(words)
