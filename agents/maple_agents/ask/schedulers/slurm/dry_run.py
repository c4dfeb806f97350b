"""What sbatch says of a submission without making it: by --test-only it asks the controller alone.

Of several components it could be read otherwise, so nobody is asked of those.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from typing import Optional

from maple_submit_filter.request.slurm import options

from ..commands import run

SECONDS = 15.0  # a busy controller answers late, and a user waits
_SEVERAL = re.compile(rb"^#SBATCH[ \t]+(?:hetjob|packjob)\b", re.MULTILINE)


def complaint(argv: Sequence[bytes], script: bytes, cwd: str, environ: Mapping[str, str] = os.environ) -> Optional[str]:
    """Return what sbatch says against *script* with the words *argv*, the command first; "" where it would take it.

    None where that cannot be asked. Nothing is submitted. Raises `SchedulerError` where sbatch is not here or late.
    """
    read = options.read(argv)
    if read is None or b":" in argv or _SEVERAL.search(script):
        return None
    with tempfile.TemporaryDirectory(prefix="maple-") as folder:
        words = [os.fsdecode(word) for word in argv[1:]]
        if read.came != "wrap":
            path = os.path.join(folder, os.path.basename(words[read.word - 1]) if read.came == "file" else "sbatch")
            with open(path, "wb") as file:
                file.write(script)
            words = [*words[: read.word - 1], path, *words[read.word :]] if read.came == "file" else [*words, path]
        answer = run(
            ["sbatch", "--test-only", *words],
            timeout=SECONDS,
            env={**environ, "MAPLE": "off", "LC_ALL": "C"},
            cwd=cwd if os.path.isdir(cwd) else None,
        )
    return answer.err.strip() if answer.code else ""
