"""How long a step of a training job takes, fitted to what was seen of it, and which batch size trains fastest.

The model and its fit are those of Pollux (Qiao et al., OSDI '21): gradient, network and their overlap.
"""

from __future__ import annotations

from typing import Mapping, NamedTuple, Tuple

import numpy as np
from numpy.typing import NDArray

from maple_agents.scheduling.training.application import Application
from maple_agents.scheduling.training.simulation import EDGE, Split

Floats = NDArray[np.float64]
Seen = Tuple[int, int, int]  # nodes, GPUs, samples a GPU and pass
Profile = Mapping[Seen, Tuple[float, float]]  # seconds of a step, and of its synchronisation
LEAST = 1e-8
START = (0.1, 0.01, 0.1, 0.01, 0.1, 0.01, 1.001)
BOUNDS = ((LEAST, None),) * 6 + ((1.0, 10.0),)
CANDIDATES = 50  # total batch sizes that are tried


class StepTime(NamedTuple):
    """Seconds of a step: a constant and a slope each for the gradient, between nodes and inside one; *overlap* >= 1."""

    gradient: float
    sample: float
    between: float
    between_gpu: float
    inside: float
    inside_gpu: float
    overlap: float

    def pass_seconds(self, local: Floats) -> Floats:
        """Return the seconds of a pass over *local* samples a GPU that doesn't synchronise."""
        return self.gradient + self.sample * local

    def seconds(self, wide: Floats, gpus: Floats, local: Floats) -> Floats:
        """Return the seconds of a pass that synchronises; *wide* is 1 on more than one node, else 0."""
        more = np.maximum(gpus - 2, LEAST)
        network = np.where(
            wide > 0,
            self.between + self.between_gpu * more,
            np.where(gpus > 1, self.inside + self.inside_gpu * more, LEAST),
        )
        both: Floats = (self.pass_seconds(local) ** self.overlap + network**self.overlap) ** (1 / self.overlap)
        return both


class Goodput(NamedTuple):
    """Progress in samples a second that count, and the split of the batch that gives it, by number of GPUs."""

    value: Floats
    local: NDArray[np.int64]
    extra: NDArray[np.int64]

    def split(self, gpus: int, application: Application) -> Split:
        """Return the best split on *gpus*, within the largest batch of *application*."""
        local, extra = int(self.local[gpus]), int(self.extra[gpus])
        return Split(min(local, application.largest_batch // (gpus * (extra + 1))), extra)


def fit(profile: Profile) -> StepTime:
    """Return the model that fits *profile*, which must not be empty, best in the logarithm."""
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    keys = np.array(list(profile), dtype=float)
    steps, syncs = np.array(list(profile.values())).T
    start, free = _start(keys, steps - syncs)
    where = np.flatnonzero(free)

    def loss(values: Floats) -> Tuple[float, Floats]:
        point = start.copy()
        point[where] = values
        value, slope = _loss(point, keys, np.log(steps - syncs), np.log(steps))
        return value, slope[where]

    bounds = [BOUNDS[at] for at in where]
    point = start.copy()
    point[where] = minimize(loss, start[where], jac=True, method="L-BFGS-B", bounds=bounds).x
    if not (keys[:, 0] > 1).any():  # what crosses nodes is not faster than what stays inside one
        point[2:4] = np.maximum(point[2:4], 1.1 * point[4:6])
    return StepTime(*(float(value) for value in point))


def _start(keys: Floats, passes: Floats) -> Tuple[Floats, NDArray[np.bool_]]:
    """Return where the fit begins, and which of the seven it may move: the others were never seen to matter."""
    start, free = np.array(START), np.ones(7, dtype=bool)
    nodes, gpus, local = keys.T
    if len(set(local)) == 1:
        start[0], free[0] = passes.mean() / 2, False
    unseen = {2: not (nodes > 1).any(), 4: not ((nodes == 1) & (gpus > 1)).any()}
    for at, missing in unseen.items():
        if missing:
            start[at : at + 2], free[at : at + 2] = LEAST, False
    if not (gpus > 2).any():
        start[[3, 5]], free[[3, 5]] = LEAST, False
    return start, free


def _loss(point: Floats, keys: Floats, passes: Floats, steps: Floats) -> Tuple[float, Floats]:
    """Return the loss at *point* and its slope; *passes* and *steps* are logarithms of seconds."""
    nodes, gpus, local = keys.T
    overlap = point[6]
    more = np.maximum(gpus - 2, LEAST)
    wide, near = nodes > 1, (nodes == 1) & (gpus > 1)
    gradient = point[0] + point[1] * local
    network = np.where(wide, point[2] + point[3] * more, np.where(near, point[4] + point[5] * more, LEAST))
    of_gradient = np.stack([np.ones_like(local), local] + [np.zeros_like(local)] * 4)
    of_network = np.stack([np.zeros_like(local)] * 2 + [wide * 1.0, wide * more, near * 1.0, near * more])
    powers = gradient**overlap, network**overlap
    both = powers[0] + powers[1]
    slopes = np.zeros((2, 7, len(keys)))
    slopes[0, :6] = of_gradient / gradient
    slopes[1, :6] = (powers[0] / gradient * of_gradient + powers[1] / network * of_network) / both
    logs = powers[0] * np.log(gradient) + powers[1] * np.log(network)
    slopes[1, 6] = logs / both / overlap - np.log(both) / overlap**2
    errors = np.stack([np.log(gradient) - passes, np.log(both) / overlap - steps])
    sizes = np.sqrt((errors**2).mean(axis=1))
    slope = sum((slopes[at] * errors[at]).mean(axis=1) / max(sizes[at], 1e-12) for at in (0, 1))
    value = float(sizes.sum() + 1e-3 * (overlap - 1) ** 2)
    slope[6] += 2e-3 * (overlap - 1)
    for at in (2, 4):
        ratio = point[at + 1] / point[at]
        value += 1e-2 * ratio**2
        slope[at] -= 2e-2 * ratio**2 / point[at]
        slope[at + 1] += 2e-2 * ratio / point[at]
    return value, slope


def best(application: Application, model: StepTime, gradient: Tuple[float, float], wide: bool, most: int) -> Goodput:
    """Return the best goodput on 0 to *most* GPUs, of one node or (*wide*) of several.

    *gradient*: its square and variance as last seen.
    """
    gpus = np.arange(1, most + 1, dtype=float)[:, None]
    lowest = np.maximum(application.first_batch, application.smallest_local * gpus)
    shares = np.linspace(0, 1, CANDIDATES)[None, :]
    batches = lowest * (application.largest_batch / lowest) ** shares
    each = batches / gpus
    extra = np.ceil(each / application.largest_local - EDGE) - 1
    alone = (gpus == 1) & (each > application.first_batch + EDGE)
    extra = np.where(alone, np.maximum(extra, 1), extra)
    local = np.ceil(each / (extra + 1) - EDGE)
    total = gpus * local * (extra + 1)
    seconds = extra * model.pass_seconds(local) + model.seconds(np.full_like(gpus, wide), gpus, local)
    value = total / seconds * _efficiency(total / application.first_batch, *gradient)
    inside = (local >= application.smallest_local) & (local <= application.largest_local)
    value = np.where(inside & (lowest <= application.largest_batch), value, 0.0)
    chosen = value.argmax(axis=1)  # the first of equals
    rows = np.arange(most)

    def by_gpus(table: Floats) -> Floats:
        return np.concatenate([[0.0], table[rows, chosen]])

    return Goodput(by_gpus(value), by_gpus(local).astype(np.int64), by_gpus(extra).astype(np.int64))


def _efficiency(scale: Floats, square: float, variance: float) -> Floats:
    """Return what a sample is worth at *scale* times the first batch size."""
    below = variance / scale + square
    gain = np.where(below > 0, (variance + square) / np.where(below > 0, below, 1.0), 1.0)
    ratio: Floats = gain / scale
    return ratio
