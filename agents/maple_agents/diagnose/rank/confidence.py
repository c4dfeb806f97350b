"""How likely a cause is right, from how it was found: measured on the corpus, not believed."""

from __future__ import annotations

from bisect import bisect_right

# Least score and least lead over the next cause, and how many of such answers were right: of cases whose words no
# entry was made from; on the corpus, which entries were mended by, all do better.
STEPS = ((0.0, 0.15), (2.0, 0.35), (3.0, 0.6), (4.0, 0.65), (5.0, 0.75), (6.0, 0.85), (8.0, 0.93))


def confidence(score: float, lead: float) -> float:
    """Return the share of answers of this kind that were right; *lead*: how far the next cause's score is behind."""
    value = score + min(lead, 2.0) / 2
    return STEPS[max(0, bisect_right([least for least, _ in STEPS], value) - 1)][1]
