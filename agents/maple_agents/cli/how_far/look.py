"""One look at all of a user's running jobs, by a small process of his own that is started behind a command of his.

What is odd and was not before is kept to be said, starts what `[notify]` asks for, and is handed to the service, so
that the next submission on a terminal says it. `python -I -m maple_agents.cli.how_far.look` is silent and bounded.
"""

from __future__ import annotations

import os
import resource
import signal

from .command import running
from .notify import Notice, looked

SECONDS = 90  # that a look nobody waits for may take
PROCESSOR = 30  # seconds of it


def main() -> None:
    """Look once, as somebody for whom nobody waits."""
    signal.alarm(SECONDS)
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR, PROCESSOR))
    os.nice(10)
    looked(running(), Notice())


if __name__ == "__main__":
    try:
        main()
    except Exception:  # there is nobody to tell
        os._exit(1)
