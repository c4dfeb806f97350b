"""Sets of logs that were blind once: what is right there stays right, and no good run is accused anew."""

from __future__ import annotations

from collections import Counter

from tests.agents.debug import blind_logs

# Right of 80, accused of 20; the first runs had 67 and 2, 67 and 0, 64 and 1, 64 and 2.
LEAST = {
    "2026-11-24": (79, 0),
    "2026-11-24-second": (79, 0),
    "2026-11-24-third": (77, 0),
    "2026-11-24-fourth": (75, 0),
    "2026-11-25": (43, 0),  # of 45 and 15
    "2026-11-27": (50, 0),  # of 50 and 15
    "2026-11-27-second": (41, 0),  # of 50 and 15
    "2026-11-27-third": (49, 0),  # of 50 and 15
    "2026-11-27-fourth": (30, 0),  # of 31 and 15; 27 and 1 at its first run
    "2026-11-27-fifth": (32, 0),  # of 34 and 10; 27 at its first run
    "2026-11-27-sixth": (83, 0),  # of 84 and 19; 74 at its first run
    "2026-11-27-seventh": (57, 0),  # of 58 and 22; 54 and 4 at its first run
    "2026-11-27-eighth": (55, 0),  # of 60 and 20, at its first run
    "2026-11-27-gpu": (63, 0),  # of 64 and 10; 57 at its first run
    "2026-11-27-gpu-second": (50, 0),  # of 54 and 5; 44 at its first run
}


def test_the_sets_do_no_worse_than_they_did() -> None:
    """The figures of their first runs stand in the changelog."""
    for path in blind_logs.sets():
        total = sum((one.counts for one in blind_logs.judged(path)), Counter[str]())
        right, accused = LEAST[path.stem]
        assert total["right"] >= right and total["accused"] <= accused, blind_logs.table(blind_logs.judged(path))
