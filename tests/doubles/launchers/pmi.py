"""What ranks that a real Hydra started say to each other over PMI-1: one value of rank 0's, read by all.

It is what MPI_Init and a broadcast would need, so a world that MPI could not form does not form here, either.
"""

import os
import socket

import store


def meeting_point(rank):
    """Return (host, port) that rank 0 chose. Raises `StoreError` when the ranks do not all come."""
    with socket.socket(fileno=os.dup(int(os.environ["PMI_FD"]))) as line:
        line.settimeout(store.DEADLINE)
        try:
            return _agreed(line.makefile("rw"), rank)
        except (OSError, ValueError) as error:
            raise store.StoreError("MPIError", "not every rank of the launch came to MPI_Init: %s" % error) from None


def _agreed(stream, rank):
    _ask(stream, "cmd=init pmi_version=1 pmi_subversion=1")
    name = _ask(stream, "cmd=get_my_kvsname")["kvsname"]
    if rank == 0:
        with socket.socket() as probe:
            probe.bind(("", 0))
            place = "%s:%d" % (socket.gethostname(), probe.getsockname()[1])
        _ask(stream, "cmd=put kvsname=%s key=place value=%s" % (name, place))
    _ask(stream, "cmd=barrier_in")
    host, _, port = _ask(stream, "cmd=get kvsname=%s key=place" % name)["value"].rpartition(":")
    _ask(stream, "cmd=finalize")
    return host, port


def _ask(stream, words):
    stream.write(words + "\n")
    stream.flush()
    answer = stream.readline()
    if not answer:
        raise ValueError("the launcher hung up")
    return dict(word.partition("=")[::2] for word in answer.split())
