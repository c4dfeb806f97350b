"""Provoke failures by hand: `python -m tests.agents.debug.lab FOLDER [NAME…]`; FOLDER keeps scripts, logs, answers."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.agents.debug.lab import table
from tests.agents.debug.lab.cluster import FailingLab
from tests.agents.debug.lab.failing import failures


def main() -> int:
    folder, names = Path(sys.argv[1]).resolve(), sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    known = failures()
    chosen = [one for name, one in known.items() if not names or name in names or one.subject in names]
    seen = []
    print(table.HEAD, flush=True)
    with FailingLab() as lab:
        for one in table.outcomes(lab, [one for one in chosen if not one.needs or Path(one.needs).exists()], folder):
            seen.append(one)
            print(table.row(one), flush=True)
    print(table.totals(seen))
    return 0


if __name__ == "__main__":
    sys.exit(main())
