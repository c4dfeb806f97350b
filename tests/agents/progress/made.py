"""Logs of trainings that never ran: their steps, pauses and ends are known, so that what is said can be judged."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Optional

from maple_agents.progress.formats import formats
from maple_agents.progress.log_ends import progress
from maple_agents.progress.values import Progress, Run

START = 1_780_000_000.0


class Made(NamedTuple):
    """A training. *step*: seconds of one; *evaluate*, *save*: every how many steps, and for how many seconds.

    *slower*: from which share of its steps on each takes twice as long, 1 never. *resumed*: first step. *each*: steps
    from one line to the next.
    """

    total: int = 1000
    step: float = 1.0
    evaluate: tuple[int, float] = (0, 0.0)
    save: tuple[int, float] = (0, 0.0)
    slower: float = 1.0
    resumed: int = 0
    each: int = 10
    seed: int = 0

    def events(self) -> Iterator[tuple[float, str, int]]:
        """Yield time, kind and step of all that happens, in order."""
        noise = random.Random(self.seed)
        at = START + 30.0
        for step in range(self.resumed + 1, self.total + 1):
            took = self.step * noise.uniform(0.9, 1.1) * (2.0 if step > self.slower * self.total else 1.0)
            at += took + (20 * self.step if step == self.resumed + 1 else 0.0)
            if (step - self.resumed) % self.each == 0 or step == self.total:
                yield at, "step", step
            for (every, seconds), kind in ((self.evaluate, "evaluation"), (self.save, "checkpoint")):
                if every and step % every == 0:
                    at += seconds * noise.uniform(0.95, 1.05)
                    yield at, kind, step

    @property
    def ends(self) -> float:
        """When the last line is printed."""
        return list(self.events())[-1][0]


def loss_of(step: int) -> float:
    """Return a loss that falls."""
    return 4.0 / (1 + step / 200) + 0.5


def megatron(at: float, kind: str, step: int, made: Made, loss: float) -> str:
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
    if kind == "evaluation":
        return " validation loss at iteration %d | lm loss value: 2.0E+00 | \n" % step
    if kind == "checkpoint":
        return "  successfully saved checkpoint from iteration %7d to /ckpt [ t 1/8, p 1/4 ]\n" % step
    said = " [%s] iteration %8d/%8d | consumed samples: 1 | elapsed time per iteration (ms): %.1f | lm loss: %.6E |\n"
    return said % (stamp, step, made.total, 1000 * made.step, loss)


def bar(at: float, kind: str, step: int, made: Made, loss: float) -> str:
    if kind == "evaluation":
        return "\n{'eval_loss': 1.5, 'eval_runtime': 3.1, 'epoch': 1.0}\n"
    if kind == "checkpoint":
        return "\nSaving model checkpoint to out/checkpoint-%d\n" % step
    spent = int(at - START - 30)
    clock = "%02d:%02d" % divmod(spent, 60) if spent < 3600 else "%d:%02d:%02d" % (
        spent // 3600, spent // 60 % 60, spent % 60)  # fmt: skip
    return "\rTraining: %3d%%|####      | %d/%d [%s<10:00, %.2fs/it, loss=%.4f]" % (
        100 * step // made.total, step, made.total, clock, made.step, loss)  # fmt: skip


def titan(at: float, kind: str, step: int, made: Made, loss: float) -> str:
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) + ",%03d" % (at % 1 * 1000)
    head = "[rank0]:[titan] %s - root - INFO - " % stamp
    if kind == "checkpoint":
        return head + "Finished saving the checkpoint in 2.00 seconds (staging).\n"
    if kind == "evaluation":
        return head + "validate step: %d  loss:  2.0\n" % step
    return head + "step: %2d  loss: %8.4f  memory:  1.41GiB(1.79%%)  tps: 10,000  tflops: 18.36  mfu: 1.86%%\n" % (
        step,
        loss,
    )


Shape = Callable[[float, str, int, Made, float], str]
SHAPES: dict[str, Shape] = {"megatron": megatron, "bar": bar, "titan": titan}
HEADS = {
    "titan": "[titan] 2026-01-01 00:00:00,000 - root - INFO - Trainer is initialized with local batch size 8, "
    "global batch size 64, gradient accumulation steps 1, sequence length 2048, total steps %d (warmup 2)\n"
}


def log(made: Made, shape: str, until: float, loss: Callable[[int], float] = loss_of) -> tuple[str, float]:
    """Return what is printed until that time, and when the last of it was."""
    text, last = (HEADS[shape] % made.total if shape in HEADS else "starting\n"), START
    for at, kind, step in made.events():
        if at > until:
            break
        text, last = text + SHAPES[shape](at, kind, step, made, loss(step)), at
    return text, last


def seen(
    folder: Path, made: Made, shape: str, at: float, run: Optional[Run] = None, hang: Optional[float] = None,
    loss: Callable[[int], float] = loss_of,
) -> Progress:  # fmt: skip
    """Return what is said of a training at a moment; one that hangs prints nothing behind *hang*."""
    text, last = log(made, shape, min(at, hang if hang is not None else at), loss)
    path = folder / "made.log"
    path.write_text(text)
    os.utime(path, (last, last))
    return progress([str(path)], formats(), at, run or Run(job="1", state="running", started=START, limit=1e9))


def moment(made: Made, share: float) -> float:
    """Return when that share of the run's time is over."""
    return START + 30 + (made.ends - START - 30) * share
