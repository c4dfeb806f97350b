"""A double of the package's `answer.reply`, for the entry: the folder its package lies in says how it answers."""

import os
import signal
import time

from ..host import frames

HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def tell(request):
    """Write what was asked into the file that the file `to` names."""
    one = request.submission
    words = [one.scheduler.encode(), one.came.encode(), one.path, b"%d" % request.word]
    words += [name + b"=" + value for name, value in one.environment.items()]
    with open(os.path.join(os.path.dirname(HERE), "to")) as file, open(file.read(), "wb") as told:
        told.write(b"\0".join(words))


def answer(request, site, policy, gids):
    """Answer as `answerer.py` of the same name does."""
    kind = os.path.basename(HERE)
    unchanged = frames.Reply(request.nonce, request.hash)
    audit = b'{"who":"double"}'
    change = frames.Change((request.submission.script or b"") + b"# fixed\n", None, audit)
    if kind == "keeps":
        return unchanged._replace(audit=audit)
    if kind == "finds nothing":
        return unchanged
    if kind == "tells":
        tell(request)
    if kind == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "hangs":
        time.sleep(60)
    if kind == "raises":
        raise ValueError("a bug in a rule")
    if kind == "liar":
        return unchanged._replace(nonce=bytes(16), change=change)
    if kind == "otherword":
        change = change._replace(argv=(request.submission.argv[0], b"/etc/passwd"))
    return unchanged._replace(change=change)
