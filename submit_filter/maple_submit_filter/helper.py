"""Answers the front's frame when no daemon does: `python3 -IS helper.py front.conf`, one frame on fd 0, one on fd 1.

Whatever goes wrong here, nothing is written and the front submits as written.
"""

from __future__ import annotations

import gc
import os
import sys


def main() -> None:
    """Read one request, answer it, and end without the interpreter's farewell, which nobody waits for."""
    from maple_submit_filter import helper_image

    gc.disable()  # a life of milliseconds: looking for garbage costs a tenth of it
    helper_image.install(os.path.dirname(os.path.abspath(__file__)))
    from maple_submit_filter.answer import reply as answer
    from maple_submit_filter.host import configuration, frames

    head = frames.receive(0, 8)
    request = frames.unpack_request(head + frames.receive(0, frames.size_of(head, frames.REQUEST, frames.MAX_REQUEST)))
    conf = configuration.read_conf(sys.argv[1])
    gids = {os.getegid(), *os.getgroups()}
    reply = answer.answer(request, configuration.site(conf), configuration.policy(conf), gids)
    frames.send(1, frames.pack_reply(reply))


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    try:
        main()
    except Exception as error:
        os.write(2, ("maple: helper: %s: %s\n" % (type(error).__name__, error)).encode("utf-8", "replace"))
        os._exit(1)
    os._exit(0)
