"""How soon `maple check` answers: `make bench-commands`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.bench.installed import MAPLE
from tests.bench.measure import Call, Row, interleaved, table
from tests.bench.scripts import script

PASS = "python -c pass"


def test_maple_check_and_plan(tmp_path: Path) -> None:
    """The aim is a quarter of a second for `maple check`, whatever the script."""
    env = {**os.environ, "HOME": str(tmp_path)}
    (tmp_path / "short.sh").write_bytes(script(30))
    (tmp_path / "long.sh").write_bytes(script(200))
    words = {
        "maple check, 30 lines": ["check", "--site", "ncsa-delta", str(tmp_path / "short.sh")],
        "maple check, 200 lines": ["check", "--site", "ncsa-delta", str(tmp_path / "long.sh")],
        "maple plan, 200 lines": ["plan", "--site", "ncsa-delta", str(tmp_path / "long.sh")],
        "maple --help": ["--help"],
    }
    calls = [Call(PASS, [sys.executable, "-c", "pass"], env)]
    calls += [Call(name, [MAPLE, *line], env) for name, line in words.items()]
    rows = [Row(PASS), *(Row(name, PASS) for name in words)]
    print(table("Commands (aim: 250 ms wall for maple check)", interleaved(calls, 15), PASS, rows))
