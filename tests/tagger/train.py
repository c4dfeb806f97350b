"""Trains the tagger by requests made up by a seed, and writes its weights: `make tagger` (minutes, on one core).

A linear model over hashed features and the chain of labels, trained by large margins (one best wrong labelling at a
time, each piece that is wrong counts one), averaged over all steps, then quantised to a byte a weight.
"""

from __future__ import annotations

import argparse
import json
import random
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from maple_agents.request.tagger.model import FILE, ZERO
from maple_agents.request.tagger.pieces import ROWS, features, pieces

from tests.tagger.requests import LABELS, labels, requests

SEED, COUNT, ROUNDS = 18, 20_000, 3
_SIZE = len(LABELS)
_MOST_STEP = 0.02
Array = Any  # numpy.ndarray: numpy is in the dev extra


class Example(NamedTuple):
    """*rows*: of all pieces, one behind the other; *begins*: where those of each piece begin; *truth*: its labels."""

    rows: Array
    begins: Array
    truth: Array


def examples(count: int, seed: int) -> Iterator[Example]:
    """Yield what the trainer sees of *count* requests."""
    number = {label: at for at, label in enumerate(LABELS)}
    for one in requests(count, seed):
        found = pieces(one.text)
        if 0 < len(found) <= 400:
            rows = features(found)
            truth = labels(one.text, one.spans, [(piece.start, piece.end) for piece in found])
            begins = np.cumsum([0, *(len(each) for each in rows[:-1])])
            yield Example(
                np.array([row for each in rows for row in each], np.uint16),
                begins,
                np.array([number[one] for one in truth]),
            )


class Trainer:
    """Weights in training: *rows* and *chain* now, and the sums of what they were, for the average."""

    def __init__(self) -> None:
        self.rows = np.zeros((ROWS, _SIZE), np.float32)
        self.chain = np.zeros((_SIZE, _SIZE), np.float32)
        self._rows_late, self._chain_late = np.zeros_like(self.rows), np.zeros_like(self.chain)
        self.steps = 0

    def learn(self, one: Example) -> int:
        """Take one step away from the best wrong labelling; return how many pieces it has wrong."""
        self.steps += 1
        scores = np.add.reduceat(self.rows[one.rows], one.begins, axis=0)
        scores += 1.0
        scores[np.arange(len(one.truth)), one.truth] -= 1.0
        guess = best(scores, self.chain)
        wrong = np.flatnonzero(guess != one.truth)
        if not len(wrong):
            return 0
        self._step(one, guess, wrong, scores)
        return len(wrong)

    def _step(self, one: Example, guess: Array, wrong: Array, scores: Array) -> None:
        at = np.arange(len(one.truth))
        lost = float(scores[at, guess].sum() - scores[at, one.truth].sum())
        lost += float(self.chain[guess[:-1], guess[1:]].sum() - self.chain[one.truth[:-1], one.truth[1:]].sum())
        sizes = np.diff([*one.begins, len(one.rows)])
        step = min(_MOST_STEP, max(lost, 0.0) / (2.0 * float(sizes[wrong].sum()) + 2.0 * len(wrong)))
        for piece in wrong:
            rows = one.rows[one.begins[piece] : one.begins[piece] + sizes[piece]]
            for label, change in ((one.truth[piece], step), (guess[piece], -step)):
                np.add.at(self.rows, (rows, label), change)
                np.add.at(self._rows_late, (rows, label), change * self.steps)
        for labels_, change in ((one.truth, step), (guess, -step)):
            np.add.at(self.chain, (labels_[:-1], labels_[1:]), change)
            np.add.at(self._chain_late, (labels_[:-1], labels_[1:]), change * self.steps)

    def averaged(self) -> tuple[Array, Array]:
        """Return the weights, averaged over all steps."""
        return self.rows - self._rows_late / self.steps, self.chain - self._chain_late / self.steps


def best(scores: Array, chain: Array) -> Array:
    """Return the labelling that is worth most."""
    worth, trail = scores[0], []
    for own in scores[1:]:
        ways = worth[:, None] + chain
        trail.append(ways.argmax(axis=0))
        worth = ways.max(axis=0) + own
    found = [int(worth.argmax())]
    for back in reversed(trail):
        found.append(int(back[found[-1]]))
    return np.array(found[::-1])


def packed(rows: Array, chain: Array) -> bytes:
    """Return the file of weights: a line that says what is in it, then the bytes."""
    most = float(np.quantile(np.abs(rows[rows != 0]), 0.9999))
    scale = max(most, float(np.abs(chain).max())) / 127
    whole = [np.clip(np.rint(each / scale), -127, 127).astype(int) + ZERO for each in (rows, chain)]
    head = json.dumps({"labels": LABELS, "scale": round(scale, 6)}).encode()
    return head + b"\n" + zlib.compress(whole[0].astype(np.uint8).tobytes() + whole[1].astype(np.uint8).tobytes(), 9)


def trained(count: int, rounds: int, seed: int) -> bytes:
    """Return the weights that *count* requests give, each seen *rounds* times."""
    begun = time.monotonic()
    every = list(examples(count, seed))
    print(
        "%d requests, %d pieces, made in %.0f s"
        % (len(every), sum(len(one.truth) for one in every), time.monotonic() - begun),
        flush=True,
    )
    trainer, chance = Trainer(), random.Random(seed)
    for at in range(rounds):
        chance.shuffle(every)
        wrong = sum(map(trainer.learn, every))
        print(
            "round %d: %d pieces within the margin or wrong, %.0f s" % (at + 1, wrong, time.monotonic() - begun),
            flush=True,
        )
    return packed(*trainer.averaged())


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Trains the tagger of requests.")
    parser.add_argument("--requests", type=int, default=COUNT)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--to", type=Path, default=FILE)
    asked = parser.parse_args(argv)
    data = trained(asked.requests, asked.rounds, asked.seed)
    asked.to.write_bytes(data)
    print("%s: %d bytes" % (asked.to.name, len(data)))


if __name__ == "__main__":
    main()
