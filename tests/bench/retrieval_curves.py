"""Fits the curves of `maple_agents.retrieval` on one half of the requests, and judges them on the other.

    PYTHONPATH=submit_filter:agents:. build/heavy-venv/bin/python -m tests.bench.retrieval_curves

Prints the constants of `judging.py`, and how often they are right and how often they speak where nothing fits. Weights
are those of a softmax over the paradigms; bias, best and ahead those of a logistic curve over "the best is right", in
which requests that fit nothing weigh as much as the others.
"""

from __future__ import annotations

from typing import Any, Sequence, Tuple

import numpy as np
from maple_agents.retrieval import described
from maple_agents.retrieval.judging import RANKINGS, Judge
from maple_agents.retrieval.minilm import configured

from tests.bench.retrieval_cases import Request, load

Array = Any


def main() -> None:
    """Fit, judge, print."""
    cases = load()
    judge = Judge(described.load(), configured())
    for name, rankings, meaning in (("both", RANKINGS, True), ("words", RANKINGS[2:], False)):
        values = _values(judge, cases, rankings, meaning)
        print("\n%s %s" % (name, ", ".join(rankings)))
        _report(cases, values)
    if judge.note:
        raise SystemExit(judge.note)


def _values(judge: Judge, cases: Sequence[Request], rankings: Sequence[str], meaning: bool) -> Array:
    """Return the values by case, paradigm and ranking."""
    found = [judge.values(case.text, meaning=meaning) for case in cases]
    names = sorted(described.load())
    return np.array([[[one.get(name, {}).get(by, 0.0) for by in rankings] for name in names] for one in found])


def _report(cases: Sequence[Request], values: Array) -> None:
    names = sorted(described.load())
    truth = np.array([names.index(case.paradigm) if case.paradigm else -1 for case in cases])
    fitting = np.array([case.fitting for case in cases])
    said = truth >= 0
    weights = softmax(values[said & fitting], truth[said & fitting])
    evidence = values @ weights
    best, ahead = _best(evidence)
    right = evidence.argmax(1) == truth
    curve = logistic(np.stack([np.ones_like(best), best, ahead], 1)[fitting], right[fitting], said[fitting])
    score = 1 / (1 + np.exp(-np.stack([np.ones_like(best), best, ahead], 1) @ curve))
    print("  weights %s  bias, best, ahead %s" % (weights.round(3).tolist(), curve.round(3).tolist()))
    for half, of in (("fitted", fitting), ("held out", ~fitting)):
        print("  %-8s recall@1 %.3f" % (half, right[said & of].mean()))
        for least in (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99):
            spoke = score >= least
            print(
                "    score >= %.2f: right %.3f, wrong %.3f of what describes one; spoke where nothing fits: %s"
                % (
                    least,
                    (spoke & right)[said & of].mean(),
                    (spoke & ~right)[said & of].mean(),
                    _spoke(cases, spoke, of),
                )
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
        fitted -= 0.5 * (scaled.T @ (weight * (chance - right)) + ridge * fitted * np.array([0, 1, 1]))
    return np.concatenate([[fitted[0] - (fitted[1:] * mean / scale).sum()], fitted[1:] / scale])


if __name__ == "__main__":
    main()
