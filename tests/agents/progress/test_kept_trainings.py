"""What is said of trainings that ran on a GPU, while their pace was steady."""

from __future__ import annotations

from pathlib import Path

import pytest
from maple_agents.progress.answers import fraction, progress

from tests.agents.progress.fragments import read
from tests.agents.progress.kept_trainings import Kept, kept, seen

WITHOUT_TOTAL = ("nano-like", "pyg")  # print none
SILENT = ("lit-steps", "lit-val")  # print nothing before their end where no terminal is


@pytest.fixture(scope="module", name="half")
def _half(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Kept]:
    folder = tmp_path_factory.mktemp("kept")
    return {one.kind: seen(one, said, 0.5) for one, said in kept(folder)}


def test_time_left_is_told_where_a_total_is_and_nowhere_else(half: dict[str, Kept]) -> None:
    """Of those that print a total, or whose script says the epochs; no total is made up for the others."""
    silent = {name for name, one in half.items() if one.told.estimate.left is None}
    assert silent == {*WITHOUT_TOTAL, *SILENT}
    assert all(half[name].told.course.total is None for name in silent)


def test_nobody_is_alarmed(half: dict[str, Kept]) -> None:
    """They were all well."""
    assert {name: one.told.alarms for name, one in half.items() if one.told.alarms} == {}


def test_shares_of_epochs_are_a_share_of_the_run(half: dict[str, Kept]) -> None:
    """The Trainer without a bar prints shares of epochs; with their number in the script that is how far it is."""
    one = half["hf-notqdm"].told
    assert one.course.step is None and fraction(one) == pytest.approx(0.137, abs=0.01)
    assert progress(one)["epoch"] == {"at": pytest.approx(0.2747), "of": 2, "first": 0, "step": None, "steps": None}
    assert "counted in epochs" in one.estimate.because


def test_epochs_without_a_number_are_told(half: dict[str, Kept]) -> None:
    """`Epoch: 024` is the epoch, and no share."""
    told = progress(half["pyg"].told)["epoch"]
    assert told is not None and (told["at"], told["of"]) == (24, None)


def test_a_line_behind_each_epoch_tells_their_number(half: dict[str, Kept]) -> None:
    """` * Epoch 3/12` behind lines that name no number of epochs."""
    total = half["imagenet-like"].told.course.total
    assert total is not None and (total.steps, total.because) == (276, "12 epochs of 23 steps")


def test_one_bar_under_several_names_is_one(half: dict[str, Kept]) -> None:
    """numpyro's bar begins without a name and goes on as `warmup` and `sample`."""
    course = half["numpyro"].told.course
    assert course.step and course.total is not None and course.total.steps == 1600


def test_the_time_of_a_step_is_not_that_of_an_epoch(tmp_path: Path) -> None:
    """A line of an epoch that prints steps a second tells nothing of the time of an epoch."""
    text = "Epoch 1/3 loss 0.9 6.8 it/s\nEpoch 2/3 loss 0.8 6.8 it/s\n"
    assert read(text, tmp_path).estimate.epoch_seconds is None
