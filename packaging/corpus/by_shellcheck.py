"""Answers of another tool, as an example and a measure: ShellCheck on scripts.jsonl. Python 3.9 and shellcheck on PATH.

usage: python3 by_shellcheck.py scripts.jsonl error|warning|info|style >answers.jsonl
A script is called broken where it says anything of this severity or a worse one. It changes nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict


def answer(row: Dict[str, Any], severity: str) -> Dict[str, Any]:
    """Return what it says of a script, which is handed over on standard input."""
    words = ["shellcheck", "--shell=bash", "--severity=" + severity, "--format=quiet", "-"]
    done = subprocess.run(words, input=row["script"].encode(), stdout=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 1):  # 1: it has something to say
        raise SystemExit("shellcheck ended with %d" % done.returncode)
    return {"id": row["id"], "broken": done.returncode == 1, "changed": None}


def main() -> int:
    """Print a line for each row."""
    if len(sys.argv) != 3 or sys.argv[2] not in ("error", "warning", "info", "style"):
        print(__doc__, file=sys.stderr)
        return 2
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for told in pool.map(lambda row: answer(row, sys.argv[2]), rows):
            print(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
