"""Where tracebacks go: a log in the user's own state folder, kept small."""

from __future__ import annotations

import os
import time
import traceback
from pathlib import Path
from typing import Mapping, Optional

from maple_submit_filter.host import own_folders

MOST = 256 * 1024  # bytes; a log that has grown larger is begun anew


def written(error: BaseException, environ: Mapping[str, str] = os.environ) -> Optional[Path]:
    """Return the log that the traceback of *error* was added to, secrets masked; None where none can be written."""
    from .secrets.masking import masked  # what failed may have had a script or a log in its hands

    try:
        folder = own_folders.state(environ)
        if folder is None:
            return None
        log = Path(folder) / "failures.log"
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = "w" if log.exists() and log.stat().st_size > MOST else "a"
        with log.open(mode, encoding="utf-8", errors="backslashreplace") as file:
            file.write(time.strftime("%Y-%m-%dT%H:%M:%S%z\n"))
            file.write(masked("".join(traceback.format_exception(error))))
        return log
    except OSError:
        return None
