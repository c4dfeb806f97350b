"""What is read in fragments that were labelled without sight of the code."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.agents.progress.fragments import Fragment, blind, judged, read, told, wrong

RIGHT = {"step": 108, "total": 107, "speed": 106, "loss": 105, "all": 105, "strictly": 83}  # of 108, at least


def test_as_many_are_right_as_were(tmp_path: Path) -> None:
    """The counts of each value may grow and never fall."""
    right = Counter(key for one, _ in blind() for key, is_so in judged(one, tmp_path).items() if is_so)
    assert {key: right[key] for key in RIGHT if right[key] < RIGHT[key]} == {}


def test_no_total_is_told_that_is_not_there(tmp_path: Path) -> None:
    """Neither a number of something else nor a product of which one factor is not printed."""
    assert [one.name for one, _ in blind() if judged(one, tmp_path)["invented"]] == []


def test_both_judges_take_a_product_for_a_reading(tmp_path: Path) -> None:
    """Epochs times the steps of one, where both are printed, whether the label calls it the total or leaves it out."""
    text = (
        "Epoch 5/50\n 311/1563 [===>....] - ETA: 1:11 - loss: 1.2520\n 312/1563 [===>....] - ETA: 1:11 - loss: 1.2518\n"
    )
    label = {"step": 312, "epoch": 5, "loss": 1.2518}
    for total in ({}, {"total": 78150}):
        one = Fragment("made", "blind", text, {**label, **total})
        assert "total" not in wrong(one, tmp_path) and not judged(one, tmp_path)["invented"]
    other = Fragment("made", "blind", text, {**label, "total": 1563})
    assert "total" in wrong(other, tmp_path) and judged(other, tmp_path)["invented"]
    unprinted = Fragment("made", "blind", text.replace("/50", ""), label)
    assert "product" not in told(read(unprinted.text, tmp_path))


def test_of_two_speeds_on_a_line_both_are_told(tmp_path: Path) -> None:
    """The time of a step as the speed, samples a second as the throughput: labels have the one or the other."""
    text = (
        " samples/sec: 51.2 | iteration %d/ 143000 | elapsed time per iteration (ms): 19996.1 | lm_loss: 2.79E+00 |\n"
    )
    for speed, unit in ((19996.1, "ms/it"), (51.2, "samples/s")):
        label = {"step": 3400, "total": 143000, "loss": 2.79, "speed": speed, "unit": unit}
        assert judged(Fragment("made", "blind", text % 3390 + text % 3400, label), tmp_path)["all"]
    off = {"step": 3400, "total": 143000, "loss": 2.79, "speed": 51.2, "unit": "tokens/s"}
    assert not judged(Fragment("made", "blind", text % 3390 + text % 3400, off), tmp_path)["speed"]


def test_the_judge_sees_a_wrong_value(tmp_path: Path) -> None:
    """A step beside the label, a total that the label leaves out, and a speed of another unit."""
    text = "step 5/10 loss 1.0 2.0 it/s\nstep 6/10 loss 1.0 2.0 it/s\n"
    found = judged(Fragment("made", "blind", text, {"step": 7, "loss": 1.0, "speed": 2.0, "unit": "s/it"}), tmp_path)
    assert (found["step"], found["total"], found["speed"], found["invented"]) == (False, False, False, True)
