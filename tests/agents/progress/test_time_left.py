"""Time left, and what is odd, in trainings whose end is known."""

from __future__ import annotations

import math
import os
import random
import statistics
from pathlib import Path

import pytest
from maple_agents.progress.formats import formats
from maple_agents.progress.log_ends import progress
from maple_agents.progress.values import Run

from tests.agents.progress.made import SHAPES, START, Made, log, loss_of, moment, seen

HEALTHY = [
    Made(seed=1), Made(evaluate=(100, 40.0), seed=2), Made(save=(250, 60.0), evaluate=(50, 10.0), seed=3),
    Made(total=20000, each=100, step=0.05, seed=4), Made(total=500, step=8, each=1, evaluate=(50, 120.0), seed=5),
    Made(resumed=400, seed=6), Made(total=300, step=30, each=1, seed=7),
    Made(total=4000, step=0.5, each=50, evaluate=(500, 100.0), save=(1000, 30.0), seed=8),
]  # fmt: skip
EACH = [pytest.param(made, shape, id="%s-%d" % (shape, made.seed)) for made in HEALTHY for shape in SHAPES]


@pytest.mark.parametrize(("made", "shape"), EACH)
def test_the_time_left_is_about_right_at_a_quarter(made: Made, shape: str, tmp_path: Path) -> None:
    """Within 30 %, with evaluations, checkpoints, after a resume, in each shape of line."""
    now = moment(made, 0.25)
    left = seen(tmp_path, made, shape, now).estimate.left
    assert left is not None
    assert left == pytest.approx(made.ends - now, rel=0.3)


def test_the_median_error_is_small(tmp_path: Path) -> None:
    """Of all of these."""
    off = []
    for made in HEALTHY:
        for shape in SHAPES:
            now = moment(made, 0.25)
            off.append(abs((seen(tmp_path, made, shape, now).estimate.left or 0) / (made.ends - now) - 1))
    assert statistics.median(off) < 0.1


@pytest.mark.parametrize(("made", "shape"), EACH)
@pytest.mark.parametrize("share", [0.1, 0.3, 0.55, 0.8, 0.97])
def test_a_healthy_run_is_left_in_peace(made: Made, shape: str, share: float, tmp_path: Path) -> None:
    """No alarm at any time."""
    assert seen(tmp_path, made, shape, moment(made, share)).alarms == ()


def longest_gap(made: Made, until: float) -> float:
    times = [at for at, kind, _ in made.events() if at <= until and kind == "step"]
    return max(two - one for one, two in zip(times, times[1:]))


@pytest.mark.parametrize(("made", "shape"), EACH)
def test_a_run_that_hangs_is_told_of(made: Made, shape: str, tmp_path: Path) -> None:
    """Within three times the longest gap of its healthy part, half a minute at least; not while it may be healthy."""
    hang = moment(made, 0.6)
    last = [at for at, _, _ in made.events() if at <= hang][-1]
    longest = longest_gap(made, hang)
    now = last + max(3 * longest, 31.0)
    kinds = [one.kind for one in seen(tmp_path, made, shape, now, hang=hang).alarms]
    assert "silent" in kinds
    early = seen(tmp_path, made, shape, last + 1.5 * longest, hang=hang).alarms
    assert [one.kind for one in early if one.kind == "silent"] == []


LIMITED = [(made, short) for made in (HEALTHY[0], HEALTHY[1], HEALTHY[4], HEALTHY[7])
           for short in (0.5, 0.8, 0.93, 1.07, 1.3, 2.0)]  # fmt: skip


def is_told_late(made: Made, short: float, folder: Path) -> bool:
    """Return whether it is told that a training ends after its limit, which is that share of what it takes."""
    run = Run(job="1", state="running", started=START, limit=(made.ends - START) * short)
    return "limit" in [one.kind for one in seen(folder, made, "megatron", moment(made, 0.45), run).alarms]


@pytest.mark.parametrize(("made", "short"), LIMITED, ids=lambda one: str(getattr(one, "seed", one)))
def test_an_end_after_the_limit_is_told_of(made: Made, short: float, tmp_path: Path) -> None:
    """And only that."""
    assert is_told_late(made, short, tmp_path) == (short < 1)


def test_the_age_of_the_last_checkpoint_at_the_limit_is_told(tmp_path: Path) -> None:
    """A checkpoint every 250 s and more; the job dies in between."""
    made = Made(save=(250, 20.0))
    run = Run(job="1", state="running", started=START, limit=900.0)
    found = seen(tmp_path, made, "megatron", moment(made, 0.6), run)
    assert any("the last checkpoint will be about" in one.says for one in found.alarms)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["nan", "explodes"])
def test_a_loss_that_is_lost_is_told_of(shape: str, kind: str, tmp_path: Path) -> None:
    """With the line that shows it."""
    bad = {"nan": lambda step: math.nan if step > 400 else loss_of(step),
           "explodes": lambda step: loss_of(step) * (1 if step < 400 else 30.0)}[kind]  # fmt: skip
    made = Made()
    found = seen(tmp_path, made, shape, moment(made, 0.5), loss=bad)
    alarm = {"nan": "loss-not-finite", "explodes": "loss-explodes"}[kind]
    assert [one.kind for one in found.alarms] == [alarm]
    assert found.alarms[0].at is not None


@pytest.mark.parametrize("seed", range(8))
def test_a_loss_that_is_noisy_is_no_loss_that_explodes(seed: int, tmp_path: Path) -> None:
    """It may jump to three times what it was, and come back."""
    noise = random.Random(seed)
    made = Made(seed=seed)
    found = seen(tmp_path, made, "megatron", moment(made, 0.9), loss=lambda step: loss_of(step) * noise.uniform(0.6, 3))
    assert found.alarms == ()


@pytest.mark.parametrize("shape", SHAPES)
def test_a_speed_that_halves_is_told_of(shape: str, tmp_path: Path) -> None:
    """And the time left follows it."""
    made = Made(total=2000, slower=0.5)
    now = moment(made, 0.6)
    found = seen(tmp_path, made, shape, now)
    assert [one.kind for one in found.alarms] == ["slower"]
    assert found.estimate.left == pytest.approx(made.ends - now, rel=0.1)


def test_a_rank_far_behind_is_told_of(tmp_path: Path) -> None:
    """Ranks print into one file, each with its label."""
    from maple_agents.progress.formats import formats
    from maple_agents.progress.log_ends import progress

    line = (
        "[rank%d]:[titan] 2026-06-16 22:%02d:%02d,000 - root - INFO - step: %d  loss:  6.1  memory:  1.41GiB(1.79%%)\n"
    )
    path = tmp_path / "log"
    with open(path, "w") as file:
        for step in range(1, 200):
            for rank in range(4):
                if rank != 2 or step < 120:
                    file.write(line % (rank, step // 60, step % 60, step))
    found = progress([str(path)], formats(), START, Run(state="running"))
    assert [(one.kind, one.says) for one in found.alarms if one.kind == "rank-behind"] == [
        ("rank-behind", "rank 2 is at step 119, the others are at 199")
    ]


def test_a_requeue_begins_a_new_clock_and_the_step_goes_on(tmp_path: Path) -> None:
    """The log is appended to; the job stood still for a day."""
    from maple_agents.progress.formats import formats
    from maple_agents.progress.log_ends import progress

    first, _ = log(Made(total=1000), "megatron", START + 500)
    made = Made(total=1000, resumed=300)
    then, _ = log(made, "megatron", START + 400)
    day = "".join(then)
    path = tmp_path / "log"
    path.write_text(first + "slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2026-06-01 DUE TO JOB REQUEUE ***\n" + day)
    found = progress([str(path)], formats(), START + 400, Run(state="running", restarts=1))
    assert found.course.starts == 2
    assert found.course.step == 640
    assert found.estimate.step_seconds == pytest.approx(1.0, rel=0.05)
    assert found.course.points[0].step == 310


def test_one_hiccup_is_no_end_after_the_limit(tmp_path: Path) -> None:
    """Neither while it lasts nor behind it; an evaluation that is told of is expected again."""
    made = Made(total=4000, each=10)
    run = Run(job="1", state="running", started=START, limit=(made.ends - START) * 1.02)
    text, _ = log(made, "megatron", START + 300)
    last = moment(made, 0.0) + 270
    for later in (0.0, 40.0):
        path = tmp_path / "hiccup.log"
        path.write_text(text)
        os.utime(path, (last, last))
        found = progress([str(path)], formats(), last + 29 + later, run)
        assert [one.kind for one in found.alarms if one.kind == "limit"] == []
    hang, told = 60.0, []
    for at, kind, step in made.events():
        if at > START + 900:
            break
        told.append(SHAPES["megatron"](at + (hang if step > 200 else 0.0), kind, step, made, 1.0))
    path.write_text("".join(told))
    found = progress([str(path)], formats(), START + 900 + hang, run)
    assert found.estimate.pauses == 1 and found.estimate.guessed > 0
    assert [one.kind for one in found.alarms if one.kind == "limit"] == []


def test_a_change_of_pace_is_followed_at_once(tmp_path: Path) -> None:
    """Three lines are enough, and none of them is a pause."""
    made = Made(total=1000, slower=0.5, each=10)
    now = next(at for at, kind, step in made.events() if step == 540)
    found = seen(tmp_path, made, "megatron", now + 1)
    assert found.estimate.pauses == 0
    assert found.estimate.left == pytest.approx(made.ends - now, rel=0.1)


def keras(epochs: int, of: int, pause: float) -> str:
    """What Keras prints: the mean time of a step since the epoch began; an evaluation of 1.5 s ends each epoch, and in
    the third a checkpoint takes *pause* seconds.
    """
    lines = []
    for epoch in range(1, epochs + 1):
        lines.append("Epoch %d/%d" % (epoch, of))
        spent = 0.0
        for step in range(1, 21):
            spent += 0.2 + (pause if (epoch, step) == (3, 10) else 0.0)
            lines.append("\r%2d/20 ━━━━━━━━━━ 1s %dms/step - loss: 0.5" % (step, 1000 * spent / step))
        lines.append("\r20/20 ━━━━━━━━━━ 6s %dms/step - loss: 0.5 - val_loss: 0.5" % (1000 * (spent + 1.5) / 20))
    return "\n".join(lines) + "\n"


def test_a_mean_since_the_epoch_began_is_no_time_of_a_step(tmp_path: Path) -> None:
    """A checkpoint within an epoch makes the mean of all steps behind it longer: nothing became slower."""
    path = tmp_path / "keras.log"
    path.write_text(keras(3, 10, 5.0))
    os.utime(path, (START, START))
    found = progress([str(path)], formats(), START, Run(job="1", state="running"))
    assert found.course.total is not None and found.course.total.steps == 200
    assert [one.kind for one in found.alarms] == []
    assert found.estimate.step_seconds == pytest.approx(0.2, rel=0.03)
    path.write_text(keras(4, 10, 0.0))
    os.utime(path, (START, START))
    left = progress([str(path)], formats(), START, Run(job="1", state="running")).estimate.left
    assert left == pytest.approx(6 * (20 * 0.2 + 1.5), rel=0.1)


def test_a_job_that_is_over_has_no_time_left(tmp_path: Path) -> None:
    """Its step, speed and last checkpoint are told still."""
    made = Made(save=(100, 10.0))
    run = Run(job="1", state="timeout", started=START, ended=START + 500, limit=500.0)
    found = seen(tmp_path, made, "megatron", START + 500, run)
    assert (found.estimate.left, found.estimate.because, found.alarms) == (None, "the job is over", ())
    assert found.estimate.step_seconds == pytest.approx(1.0, rel=0.05) and found.course.step == 400
