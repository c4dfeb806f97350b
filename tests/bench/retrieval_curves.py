"""Fits the curves of `maple_agents.templates.retrieval` on one half of the requests, and judges them on the other.

    PYTHONPATH=submit_filter:agents:. build/heavy-venv/bin/python -m tests.bench.retrieval_curves

Prints the constants of `judging.py`, and how often they are right and how often they speak where nothing fits. Weights
are those of a softmax over the paradigms; bias, best and ahead those of a logistic curve over "the best is right", in
which requests that fit nothing weigh as much as the others.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any, Mapping, Sequence, Tuple

import numpy as np
from maple_agents.templates.retrieval import choose
from maple_agents.templates.retrieval.choose import AGAINST, RANKINGS, Judge
from maple_agents.templates.retrieval.minilm import configured
from maple_agents.templates.retrieval.vectors import Kept

from tests.bench.retrieval_cases import Request, load

Array = Any


def main() -> None:
    """Fit, judge, print."""
    cases = load()
    with tempfile.TemporaryDirectory() as folder:
        embedder = Kept(configured(), os.path.join(folder, "vectors.sqlite"))
        embedder.vectors([case.text for case in cases])  # all at once is faster
        judge = Judge(choose.load(), embedder)
        for name, rankings, others in (("both", RANKINGS, AGAINST), ("words", RANKINGS[2:], AGAINST[1:])):
            found = [judge.values(case.text, meaning=name == "both") for case in cases]
            print("\n%s: %s; %s" % (name, ", ".join(rankings), ", ".join(others)))
            _report(cases, _table(found, sorted(choose.load()), rankings), _table(found, [""], others)[:, 0])
    if judge.note:
        raise SystemExit(judge.note)


def _table(found: Sequence[Mapping[str, Mapping[str, float]]], names: Sequence[str], rankings: Sequence[str]) -> Array:
    """Return the values by case, paradigm and ranking."""
    return np.array([[[one.get(name, {}).get(by, 0.0) for by in rankings] for name in names] for one in found])


def _report(cases: Sequence[Request], values: Array, others: Array) -> None:
    names = sorted(choose.load())
    truth = np.array([names.index(case.paradigm) if case.paradigm else -1 for case in cases])
    fitting = np.array([case.fitting for case in cases])
    said = truth >= 0
    weights = softmax(values[said & fitting], truth[said & fitting])
    evidence = values @ weights
    best, ahead = _best(evidence)
    right = evidence.argmax(1) == truth
    speaking = np.concatenate([np.stack([np.ones_like(best), best, ahead], 1), -others], 1)
    curve = logistic(speaking[fitting], right[fitting], said[fitting])
    score = 1 / (1 + np.exp(-speaking @ curve))
    print("  weights %s" % weights.round(3).tolist())
    print("  bias, best, ahead, against %s" % curve.round(3).tolist())
    for half, of in (("fitted", fitting), ("held out", ~fitting)):
        print("  %-8s recall@1 %.3f" % (half, right[said & of].mean()))
        for least in (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.98, 0.99):
            spoke = score >= least
            of_said = ((spoke & right)[said & of].mean(), (spoke & ~right)[said & of].mean())
            print(
                "    score >= %.2f: right %.3f, wrong %.3f of what describes one; spoke where nothing fits: %s"
                % (least, *of_said, _spoke(cases, spoke, of))
            )


def _spoke(cases: Sequence[Request], spoke: Array, of: Array) -> str:
    parts = []
    for family in ("nothing", "unsaid"):
        among = np.array([case.family == family for case in cases]) & of
        parts.append("%s %d of %d" % (family, spoke[among].sum(), among.sum()))
    return ", ".join(parts)


def _best(evidence: Array) -> Tuple[Array, Array]:
    order = np.sort(evidence, 1)
    return order[:, -1], order[:, -1] - order[:, -2]


def softmax(values: Array, truth: Array, rounds: int = 6000, ridge: float = 1e-3) -> Array:
    """Return the weights that make the sum of the right paradigm the largest, by descent."""
    scale = values.std((0, 1))
    values, weights = values / scale, np.zeros(values.shape[-1])
    wanted = np.eye(values.shape[1])[truth]
    for _ in range(rounds):
        sums = values @ weights
        chance = np.exp(sums - sums.max(1, keepdims=True))
        chance /= chance.sum(1, keepdims=True)
        weights -= 0.3 * ((values * (chance - wanted)[..., None]).sum((0, 1)) / len(truth) + ridge * weights)
    return weights / scale


def logistic(values: Array, right: Array, said: Array, rounds: int = 20000, ridge: float = 1e-3) -> Array:
    """Return bias and weights of the chance of *right*, with both kinds of request weighing alike."""
    weight = np.where(said, 0.5 / said.sum(), 0.5 / (~said).sum())
    mean, scale = values[:, 1:].mean(0), values[:, 1:].std(0)
    scaled = np.concatenate([values[:, :1], (values[:, 1:] - mean) / scale], 1)
    fitted = np.zeros(scaled.shape[1])
    for _ in range(rounds):
        chance = 1 / (1 + np.exp(-scaled @ fitted))
        fitted -= 0.5 * (
            scaled.T @ (weight * (chance - right)) + ridge * fitted * np.array([0] + [1] * (len(fitted) - 1))
        )
    return np.concatenate([[fitted[0] - (fitted[1:] * mean / scale).sum()], fitted[1:] / scale])


if __name__ == "__main__":
    main()
