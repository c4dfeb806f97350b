"""A process that reads what a submission is: `python3 -I reader.py SNAPSHOT FOLDER…`, questions on fd 0.

It opens no file of a user's and holds nobody's state. Text that took the parser too long, or what breaks it, costs this
process alone. Secrets are masked here, before anything is kept. A module of its own, for it is
started as a script, with no path of the service.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import struct
import sys
from typing import Any, Optional

MEMORY = 1024 << 20  # bytes of address space
SECONDS = 15.0  # of processor: with its low priority it may wait for that for a minute and more
MOST_QUESTION = 64 << 20
_HEAD = struct.Struct(">BI")  # as `worker` answers: a zero, bytes that follow


def main(snapshot: str) -> None:
    """Answer questions until there are no more."""
    from maple_submit_filter.host import configuration
    from maple_submit_filter.host.frames import receive, send

    from maple_daemon.remember import description
    from maple_daemon.remember.description import SIZES, Question

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):  # a service may be forbidden to, even for itself
        os.nice(5)
    site = configuration.site({"snapshot": snapshot} if snapshot else {})
    send(1, _HEAD.pack(0, 0))  # ready
    while True:
        sizes = SIZES.unpack(receive(0, SIZES.size))
        if sum(sizes) > MOST_QUESTION:
            return
        question = Question(receive(0, sizes[0]), receive(0, sizes[1]), _wanted(receive(0, sizes[2])))
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            made = json.dumps(description.answer(question, site)).encode()
        except Exception as error:  # nothing is known of this submission, and the next one counts
            os.write(2, ("maple: reader: %s: %s\n" % (type(error).__name__, error)).encode("utf-8", "replace"))
            made = b""
        signal.setitimer(signal.ITIMER_PROF, 0)
        send(1, _HEAD.pack(0, len(made)) + made)


def _wanted(text: bytes) -> Optional[tuple[str, ...]]:
    wanted: Any = json.loads(text)
    return None if wanted is None else tuple(wanted)


if __name__ == "__main__":
    sys.path[:0] = sys.argv[2:]
    try:
        main(sys.argv[1])
    except EOFError:
        os._exit(0)
