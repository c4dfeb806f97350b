"""A training program as it was measured: time of a step by placement, gradient statistics by epoch."""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from functools import lru_cache
from pathlib import Path
from typing import Callable, Dict, List, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray

Placement = Tuple[int, ...]
Floats = NDArray[np.float64]
FEW_NODES = 4  # as many nodes as placements were measured one by one
MOST_NODES = 16
LARGEST_LOCAL = {"yolov3": 8}  # the study ran it below what was measured


def rows(path: Path) -> List[Dict[str, float]]:
    """Return the rows of a CSV file of numbers, plain or gzip'ed."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(text.splitlines())]


def necklace(placement: Sequence[int]) -> Placement:
    """Return the smallest rotation of the GPUs by node, which is what was measured in place of all rotations."""
    used = tuple(gpus for gpus in placement if gpus)
    return min(used[at:] + used[:at] for at in range(len(used)))


class Application:
    """The measurements of one folder: `placements.csv`, `scalability.csv`, `validation-BATCH.csv`, plain or gzip'ed."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self._placements = self._by_placement(rows(next(folder.glob("placements.csv*"))))
        self._scalability = rows(next(folder.glob("scalability.csv*")))
        epochs = {int(path.name.split(".")[0].split("-")[1]): rows(path) for path in folder.glob("validation-*.csv*")}
        self._batches = sorted(epochs)
        self._epochs = {
            name: np.array([[row[name] for row in epochs[batch]] for batch in self._batches])
            for name in ("progress", "iteration", "grad_sqr", "grad_var")
        }
        self.epochs = self._epochs["progress"].shape[1]
        self.first_batch, self.largest_batch = self._batches[0], self._batches[-1]
        local = [value for sizes, _ in self._placements.values() for value in sizes]
        self.smallest_local = int(min(local))
        self.largest_local = LARGEST_LOCAL.get(self.name, int(max(local)))
        self._ends = [float(value) for value in self._epochs["progress"].min(axis=0)]
        self.times = lru_cache(None)(self._times)
        self.gradient = lru_cache(None)(self._gradient)

    def end(self, epoch: int) -> float:
        """Return the progress, in steps of the first batch size, at which *epoch* (from 0) is done."""
        return self._ends[epoch]

    def iterations(self, batch: int, epoch: int) -> float:
        """Return the steps that a run of total batch size *batch* had taken at the end of *epoch*."""
        return self._at("iteration", batch, epoch)

    def gain(self, batch: int, epoch: int) -> float:
        """Return how many steps of the first batch size one step of *batch* is worth."""
        square, variance = self.gradient(batch, epoch)
        return (variance + square) / (variance / (batch / self.first_batch) + square)

    def _gradient(self, batch: int, epoch: int) -> Tuple[float, float]:
        """Return square and variance of the gradient at total batch size *batch* in *epoch*."""
        return self._at("grad_sqr", batch, epoch), self._at("grad_var", batch, epoch)

    def _times(self, placement: Placement, local: int) -> Tuple[float, float]:
        """Return seconds of a step, and of its synchronisation, at *local* samples a GPU and pass.

        *placement*: GPUs by node, in the order of ranks. Raises `ValueError` outside of what was measured.
        """
        shape = necklace(placement)
        if len(shape) <= FEW_NODES:
            sizes, both = self._placements[shape]
            if not sizes[0] <= local <= sizes[-1]:
                raise ValueError(f"{self.name}: a local batch of {local} was never measured on {shape}")
            return float(np.interp(local, sizes, both[:, 0])), float(np.interp(local, sizes, both[:, 1]))
        step, sync = self._in_space(min(len(shape), MOST_NODES), sum(shape), local)
        if not step > 0:
            raise ValueError(f"{self.name}: nothing was measured near {local} on {shape}")
        return step, sync

    @staticmethod
    def _by_placement(measured: List[Dict[str, float]]) -> Dict[Placement, Tuple[Floats, Floats]]:
        rows: Dict[Placement, List[Tuple[float, float, float]]] = defaultdict(list)
        for row in measured:
            shape = tuple(int(digit) for digit in str(int(row["placement"])))
            rows[shape].append((row["local_bsz"], row["step_time"], row["sync_time"]))
        tables = {shape: np.array(sorted(points)) for shape, points in rows.items()}
        return {shape: (table[:, 0], table[:, 1:]) for shape, table in tables.items()}

    def _at(self, name: str, batch: int, epoch: int) -> float:
        table = self._epochs[name]
        high = next(at for at, measured in enumerate(self._batches) if measured >= batch)
        if self._batches[high] == batch:
            return float(table[high, epoch])
        below, above = self._batches[high - 1], self._batches[high]
        share = (batch - below) / (above - below)
        return float((1 - share) * table[high - 1, epoch] + share * table[high, epoch])

    def _in_space(self, nodes: int, gpus: int, local: int) -> Tuple[float, float]:
        if not hasattr(self, "_space"):
            self._space = self._interpolator()
        step, sync = self._space([[nodes, gpus, local]])[0]
        return float(step), float(sync)

    def _interpolator(self) -> Callable[[List[List[int]]], Floats]:
        """Return the linear interpolation over (nodes, GPUs, local batch).

        The points form a lattice, so that how they are triangulated matters: their order is part of the study.
        """
        from scipy.interpolate import LinearNDInterpolator  # type: ignore[import-untyped]

        same: Dict[Tuple[float, ...], List[Tuple[float, ...]]] = defaultdict(list)
        for shape, (sizes, both) in self._placements.items():
            for size, values in zip(sizes, both):
                same[(len(shape), sum(shape), size)].append(tuple(values))
        points = sorted(same)
        values = [np.mean(same[point], axis=0) for point in points]
        for row in self._scalability:
            points.append((row["num_nodes"], row["num_replicas"], row["local_bsz"]))
            values.append(np.array([row["step_time"], row["sync_time"]]))
        interpolation: Callable[[List[List[int]]], Floats] = LinearNDInterpolator(np.array(points), np.array(values))
        return interpolation


def read(folder: Path) -> Dict[str, Application]:
    """Return the applications of *folder*, which has one folder for each, by their names."""
    return {path.name: Application(path) for path in sorted(folder.iterdir()) if path.is_dir()}
