"""`python -m tests.new567 [PART OF A NAME | NUMBER]`: ask, run and judge; a table, and "N of 567" as the last line."""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Sequence

from tests.new567.asked import SEED, Asked, everything
from tests.new567.table import keep, results, table

KEPT = "build/567.json"


def chosen(only: str, seed: int = SEED) -> list[Asked]:
    """Return all requests, a sample of so many, or those whose name has that in it."""
    asked = everything(seed)
    if only.isdigit():
        return random.Random(seed).sample(asked, min(int(only), len(asked)))
    return [one for one in asked if only in one.name]


def main(argv: Sequence[str]) -> int:
    """Print the table; MAPLE_SEED chooses other requests. Exit 1 where a result was wrong."""
    asked = chosen(argv[0] if argv else os.environ.get("MAPLE_567", ""), int(os.environ.get("MAPLE_SEED", SEED)))
    with tempfile.TemporaryDirectory(prefix="maple-cache-") as cache:
        found = results(asked, cache)
    keep(found, KEPT)
    print(f"each request, its script and what is wrong: {KEPT}\n\n{table(found)}")
    return 1 if any(one.wrong for one in found) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
