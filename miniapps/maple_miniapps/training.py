# mypy: disable-error-code="import-not-found"
"""A few steps of training that must come out as if one process had trained on everybody's batches.

That holds for every strategy here: all of them average gradients over the ranks that see different data. So a rank
whose gradients did not reach the others, or a piece of the model that is not the one it should be, shows as a wrong
loss.
"""

from __future__ import annotations

import math
from typing import Any, Callable, List, Union

import torch
import torch.distributed as dist

from maple_miniapps import model
from maple_miniapps.phases import CheckFailed, Run
from maple_miniapps.process_group import World

STEPS = 3
RATE = 0.5
CLOSE = {"cpu": 5e-4}  # relative: the order of sums differs
CLOSE_ON_GPU = 5e-3  # and some GPUs are told to multiply with shorter numbers (NVIDIA_TF32_OVERRIDE)
COMMON = 1 << 30  # the number of the batch on which all ranks measure


def train(run: Run, world: World, step: Callable[[Any], None], loss: Callable[[Any], Any], shard: int, of: int) -> None:
    """Train by *step* on batch *shard* of *of*, measure by *loss* after each step, and compare.

    *shard* and *of* count the ranks that see different data. Raises `CheckFailed`.
    """
    with run.phase("steps"):
        expected = alone(of, world.device)
        common = model.batch(COMMON, world.device)
        losses: List[float] = []
        for number in range(STEPS):
            step(model.batch(number * of + shard, world.device))
            with torch.no_grad():
                losses.append(float(loss(common)))
        everyone = _gathered(losses[-1], world)
        limit = CLOSE.get(world.device.type, CLOSE_ON_GPU)
        agree = all(_close(other, losses[-1], limit) for other in everyone)
        run.facts["training"] = {
            "steps": STEPS, "losses": _plain(losses), "expected": _plain(expected), "agree": agree,
        }  # fmt: skip
        if not all(math.isfinite(value) for value in losses):
            raise CheckFailed("the loss is not finite: %s" % losses)
        if not agree:
            raise CheckFailed("ranks end with different losses: %s" % sorted(set(everyone)))
        if not all(_close(value, other, limit) for value, other in zip(losses, expected)):
            raise CheckFailed("the losses are %s, but one process alone gets %s" % (losses, expected))


def alone(of: int, device: Any) -> List[float]:
    """Return the losses that one process gets that has all the data."""
    net = model.gpt(device)
    optimizer = Descent(net)
    common = model.batch(COMMON, device)
    losses: List[float] = []
    for number in range(STEPS):
        optimizer.zero_grad()
        net(torch.cat([model.batch(number * of + shard, device) for shard in range(of)])).backward()
        optimizer.step()
        with torch.no_grad():
            losses.append(float(net(common)))
    return losses


class Descent:
    """Plain gradient descent. torch.optim would do, but loads torch's compiler first: 1.3 s on every rank."""

    def __init__(self, net: Any) -> None:
        self._weights = list(net.parameters())

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for weight in self._weights:
            weight.grad = None

    def step(self) -> None:
        """Go down."""
        with torch.no_grad():
            for weight in self._weights:
                if weight.grad is not None:  # FSDP1: the weight lies on another rank
                    weight.sub_(weight.grad, alpha=RATE)


def plain_step(net: Any) -> Callable[[Any], None]:
    """Return one step of training as every tutorial writes it."""
    descent = Descent(net)

    def step(batch: Any) -> None:
        descent.zero_grad()
        net(batch).backward()
        descent.step()

    return step


def _plain(losses: List[float]) -> List[Union[float, str]]:
    """JSON has no word for what is not finite."""
    return [value if math.isfinite(value) else repr(value) for value in losses]


def _close(number: float, other: float, limit: float) -> bool:
    return abs(number - other) <= limit * max(1.0, abs(other))


def _gathered(value: float, world: World) -> List[float]:
    if not dist.is_initialized():
        return [value]
    mine = torch.tensor([value], device=world.device)
    parts = [torch.empty_like(mine) for _ in range(world.size)]
    dist.all_gather(parts, mine)
    return [float(part) for part in parts]
