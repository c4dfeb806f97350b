"""What is read in fragments that were labelled without sight of the code."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.agents.progress.fragments import Fragment, blind, judged

RIGHT = {"step": 71, "total": 68, "speed": 67, "loss": 73, "all": 61}  # of 73, at least
MULTIPLIED = ["p20-keras", "p30-yolov5", "p37-paddle"]  # steps of an epoch times epochs, both printed


def test_as_many_are_right_as_were(tmp_path: Path) -> None:
    """The counts of each value may grow and never fall."""
    right = Counter(key for one, _ in blind() for key, is_so in judged(one, tmp_path).items() if is_so)
    assert {key: right[key] for key in RIGHT if right[key] < RIGHT[key]} == {}


def test_no_total_is_told_that_is_not_there(tmp_path: Path) -> None:
    """But for epochs times the steps of one, which is told as such."""
    assert [one.name for one, _ in blind() if judged(one, tmp_path)["invented"]] == MULTIPLIED


def test_the_judge_sees_a_wrong_value(tmp_path: Path) -> None:
    """A step beside the label, a total that the label leaves out, and a speed of another unit."""
    text = "step 5/10 loss 1.0 2.0 it/s\nstep 6/10 loss 1.0 2.0 it/s\n"
    found = judged(Fragment("made", "blind", text, {"step": 7, "loss": 1.0, "speed": 2.0, "unit": "s/it"}), tmp_path)
    assert (found["step"], found["total"], found["speed"], found["invented"]) == (False, False, False, True)
