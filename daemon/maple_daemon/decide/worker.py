"""A process that decides, one submission after the other: `python3 -IS worker.py SNAPSHOT`, requests on fd 0.

It holds nobody's state, opens no file of a user's, and ends when its parent does. A decision that takes a file is none:
what would have been read is not here to be read.
"""

from __future__ import annotations

import os
import resource
import signal
import struct
import sys
from typing import Optional

MEMORY = 768 << 20  # bytes of address space; deciding about the longest script takes a tenth
SECONDS = 10.0  # of processor, then its own alarm ends it; the longest script that is read takes three
_HEAD = struct.Struct(">BI")  # whether a file was wanted, bytes that follow


def main(snapshot: str) -> None:
    """Answer requests until there are no more."""
    from maple_submit_filter.answer import decision, packing, reply
    from maple_submit_filter.host import configuration, frames
    from maple_submit_filter.rules import rules

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    site = configuration.site({"snapshot": snapshot} if snapshot else {})
    wanted = []

    def read(path: bytes) -> Optional[bytes]:
        wanted.append(path)
        return None

    rules()  # now, of the files that are there now: an update may exchange them later
    frames.send(1, _HEAD.pack(0, 0))  # ready: what goes wrong from here on is a submission's doing
    while True:
        head = frames.receive(0, 8)
        frame = head + frames.receive(0, frames.size_of(head, frames.REQUEST, frames.MAX_REQUEST))
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # a machine that is busy makes no script long
        wanted.clear()
        try:
            request = frames.unpack_request(frame)
            made = packing.pack(decision.decide(reply.whole(request.submission), site, read))
        except Exception as error:  # a bug in a rule: nothing is known of this submission, and the next one counts
            os.write(2, ("maple: worker: %s: %s\n" % (type(error).__name__, error)).encode("utf-8", "replace"))
            made = b""
        signal.setitimer(signal.ITIMER_PROF, 0)
        frames.send(1, _HEAD.pack(1 if wanted else 0, len(made)) + made)


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[2])
    try:
        main(sys.argv[1])
    except EOFError:
        os._exit(0)
