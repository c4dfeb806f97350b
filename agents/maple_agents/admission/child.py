"""The user's own process that reads his files for the daemon: `python3 -BIS child.py FRONT.CONF RECORD`.

The front starts it, detached and bounded in time and memory (front/detach.c); the daemon says which submission it is
about, and is told what was read. It holds a lock as long as it runs, so that a user has one; whatever waits meanwhile
is read by that one. It writes nothing but the lock's empty file in the user's runtime folder, and ends without a word.
"""

from __future__ import annotations

import os
import sys

MOST_JOBS = 64  # that one process reads; the front bounds its time as well
# What holds our packages: this very release. Nothing else says where they lie, neither a file nor the user.
_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main(conf: str, record: str) -> None:
    """Read for the submission of that record, then for those that wait."""
    from maple_submit_filter.host import configuration

    from maple_agents.admission import messages

    settings = configuration.read_conf(conf)
    lock = messages.alone(os.getuid(), settings.get("socket", ""))
    service = messages.Service(settings.get("socket", ""), settings.get("service_uid", ""))
    if lock is None:  # the one that reads now goes on with this
        service.ask({"ask": "reading later", "record": record})
        return
    site = configuration.site(settings)
    for _ in range(MOST_JOBS):
        question = service.ask({"ask": "reading", "record": record})
        if not isinstance(question, dict):
            return
        service.tell(messages.read(question, site))
        record = ""
    del lock


if __name__ == "__main__":
    os.environ.clear()
    sys.path[:0] = [_FOLDER]
    try:
        main(sys.argv[1], sys.argv[2])
    except Exception:  # there is nobody to tell: what was not read is asked for again
        os._exit(1)
    os._exit(0)
