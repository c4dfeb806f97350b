"""A double of the helper. The name it is installed under chooses how it answers: `fixes.py`, `hangs.py`, `huge.py` …"""

import os
import signal
import sys
import time

with open(os.path.join(os.path.dirname(__file__), "lib")) as file:
    sys.path.insert(0, file.read())

from maple_submit_filter.host import frames


def receive(size):
    text = b""
    while len(text) < size:
        text += os.read(0, size - len(text))
    return text


def send(frame):
    while frame:
        frame = frame[os.write(1, frame) :]


def fix(request):
    """What a repair would answer: one line more at the end of the script."""
    one = request.submission
    if one.came == "wrap":
        argv = list(one.argv)
        argv[request.word] += b" # fixed"
        change = frames.Change(None, tuple(argv), b'{"who":"double"}')
    else:
        change = frames.Change((one.script or b"") + b"# fixed\n", None, b'{"who":"double"}')
    return frames.Reply(request.nonce, request.hash, change, b"maple: fixed\n")


def tell(request):
    """Write what was asked into the file that the file `to` names."""
    one = request.submission
    words = [one.scheduler.encode(), one.came.encode(), one.path, b"%d" % request.word]
    words += [name + b"=" + value for name, value in one.environment.items()]
    with open(os.path.join(os.path.dirname(__file__), "to")) as file, open(file.read(), "wb") as told:
        told.write(b"\0".join(words))


def main():
    kind = os.path.basename(sys.argv[0])[:-3]
    if kind == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    head = receive(8)
    request = frames.unpack_request(head + receive(frames.size_of(head, frames.REQUEST, frames.MAX_REQUEST)))
    reply = fix(request)
    if kind == "hangs":
        time.sleep(60)
    if kind == "is late":
        time.sleep(1)
    if kind == "forks":  # a grandchild holds the socket open
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        return
    if kind == "garbage":
        return send(b"not a frame at all, just words" * 100)
    if kind == "huge":
        return send(b"MPR1\x06\x40\x00\x00" + b"x" * (100 << 20))
    if kind == "liar":
        reply = reply._replace(nonce=bytes(16))
    if kind == "otherhash":
        reply = reply._replace(hash=bytes(32))
    if kind == "otherword":
        argv = (request.submission.argv[0], b"/etc/passwd")
        reply = reply._replace(change=frames.Change(b"#!/bin/sh\n", argv))
    if kind == "short":
        return send(frames.pack_reply(reply)[:-3])
    if kind == "tells":
        tell(request)
    if kind == "drives":
        reply = reply._replace(say=b"maple: \x1b[2J \xc2\x9b2J \xe2\x80\x93 \xc3\xa9\n")
    if kind == "says much":
        reply = reply._replace(say=b"maple: a line\n" * 4000)
    if kind == "keeps":
        reply = reply._replace(change=None, say=b"", audit=b'{"who":"double"}')
    if kind == "finds nothing":
        reply = reply._replace(change=None, say=b"", audit=b"")
    if kind == "asks the helper":
        reply = reply._replace(change=None, ask_helper=True)
    if kind == "offers":
        question = b"maple: one line more\n"
        reply = reply._replace(change=None, offer=reply.change, question=question)
    if kind == "argv":
        word = b"--nodes=2" if request.submission.scheduler == "slurm" else b"-lselect=2"
        argv = (request.submission.argv[0], word, *request.submission.argv[1:])
        reply = reply._replace(change=reply.change._replace(argv=argv))
    if kind == "two lines":
        reply = reply._replace(change=reply.change._replace(audit=b'{"who":\n"double"}'))
    if kind == "cut word":
        argv = (request.submission.argv[0], b"-N2\0x", *request.submission.argv[1:])
        reply = reply._replace(change=reply.change._replace(argv=argv))
    frame = frames.pack_reply(reply)
    if kind == "no verdict":
        frame = frame.replace(frames._field(frames._VERDICT, b"\1"), b"")
        frame = frame[:4] + (len(frame) - 8).to_bytes(4, "big") + frame[8:]
    if kind == "is too long":  # by a field that nobody knows, which alone would be skipped
        more = (99).to_bytes(4, "big") + (frames.MAX_REPLY).to_bytes(4, "big") + bytes(frames.MAX_REPLY)
        frame = frame[:4] + (len(frame) - 8 + len(more)).to_bytes(4, "big") + frame[8:] + more
    send(frame)


main()
