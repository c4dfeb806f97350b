"""A job that writes to several files: bars to standard error, words to standard output, a file a rank."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from maple_agents.cli.how_far.page import page
from maple_agents.cli.how_far.table import listed
from maple_agents.progress.answers import whole
from maple_agents.progress.formats import formats
from maple_agents.progress.log_ends import progress
from maple_agents.progress.values import Progress, Run

from tests.agents.progress.made import START, Made, moment, seen

BARS = "".join("\r %d%%|#| %d/300 [00:%02d<04:00,  1.00s/it]" % (step // 3, step, step) for step in range(60))


def both(folder: Path, out: str, err: str) -> Progress:
    (folder / "out").write_text(out)
    (folder / "err").write_text(err)
    for name in ("out", "err"):
        os.utime(folder / name, (START, START))
    return progress([str(folder / "out"), str(folder / "err")], formats(), START, Run(state="running"))


def test_losses_on_one_stream_belong_to_steps_on_the_other(tmp_path: Path) -> None:
    """The Trainer prints dictionaries to standard output, and draws on standard error."""
    out = "".join(
        "{'loss': '%.2f', 'learning_rate': '1e-5', 'epoch': '%.2f'}\n" % (3 - at / 10, at / 10) for at in range(6)
    )
    found = both(tmp_path, out, "  Num Epochs = 3\n  Total optimization steps = 300\n" + BARS)
    assert found.course.step == 59 and found.course.total is not None and found.course.total.steps == 300
    assert [one[0] for one in found.course.losses] == pytest.approx([0, 10, 20, 30, 40, 50])


def test_an_epoch_on_one_stream_tells_what_the_bar_on_the_other_counts(tmp_path: Path) -> None:
    """No total is made up of a bar of an epoch; nor are steps of losses that nothing places."""
    found = both(tmp_path, "Epoch 1 train loss 0.5\n", BARS)
    assert found.course.last is not None and found.course.last.step == 59
    assert found.course.total is None
    assert whole(found)["loss"]["step"] is None


def test_a_file_a_rank_is_read_and_the_one_behind_is_told_of(tmp_path: Path) -> None:
    """The rank is that of the file."""
    names = []
    for rank in range(4):
        steps = 40 if rank == 3 else 200
        text = "".join("2026-06-01 10:%02d:%02d step %d/500 loss 0.5\n" % (s // 60, s % 60, s) for s in range(1, steps))
        (tmp_path / str(rank)).write_text(text)
        names.append(str(tmp_path / str(rank)))
    found = progress(names, formats(), START, Run(state="running"), ranks=range(4))
    assert found.course.step == 199
    assert [one.says for one in found.alarms if one.kind == "rank-behind"] == [
        "rank 3 is at step 39, the others are at 199"
    ]


def test_the_table_has_a_line_for_each_job(tmp_path: Path) -> None:
    """Bar, step, speed, time left, limit, checkpoint, and what is odd, in columns."""
    made = Made(save=(100, 10.0))
    run = Run(job="4711", name="train.sh", state="running", started=START, limit=700.0)
    late = seen(tmp_path, made, "megatron", moment(made, 0.5), run)
    well = seen(tmp_path, made, "megatron", moment(made, 0.5), replace(run, job="4712", limit=7200.0))
    head, first, second = listed([late, well])
    assert head.split()[:3] == ["job", "name", "step"]
    for part in ("4711", "train.sh", "/1,000", "/step", "old", "will be killed"):
        assert part in first, part
    assert "will be killed" not in second and "4712" in second
    assert "AFTER its limit" in "\n".join(page(late)) and "before its limit" in "\n".join(page(well))


def test_what_no_line_tells_is_said_in_the_table(tmp_path: Path) -> None:
    """A job that prints nothing of the kind."""
    (tmp_path / "log").write_text("hello\n")
    found = progress([str(tmp_path / "log")], formats(), START, Run(job="7", state="running"))
    assert "no line tells it" in listed([found])[1]
