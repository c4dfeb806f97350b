#!/usr/bin/env python3
"""Rendezvous, all-reduce and all-gather over TCP with the standard library only: in seconds where torch takes minutes.

It says who did not come, who came twice and who looks for the master elsewhere. It cannot see what torch, its backends
and the GPUs would say. Python 3.6 and later.
"""

import os
import socket
import sys
import time
from statistics import median
from typing import Any, Callable, Dict, List, Tuple

if not __package__:  # started as a file, from anywhere
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from maple_miniapps import links, meeting, phases, ring

SIZES = (1 << 14, 1 << 20)  # bytes that a rank holds
REPEATS = 3
MOST = 1 << 22  # bytes over one link


def body(run: phases.Run) -> None:
    """Meet, let both collectives run at two sizes and compare with arithmetic, then measure the link to the next."""
    with run.phase("rendezvous"):
        circle, rank, size = join(run)
    with run.phase("collectives"):
        run.facts["collectives"] = [
            measured(name, size, nbytes, call)
            for nbytes in SIZES
            for name, call in (
                ("all_reduce", lambda n=nbytes: check_all_reduce(circle, rank, size, n)),
                ("all_gather", lambda n=nbytes: check_all_gather(circle, rank, size, n)),
            )
        ]
    with run.phase("links"):
        if size > 1:
            place = links.Place(rank, size, run.facts["host"])
            run.facts["links"] = links.measured(place, *circle.wires(MOST), MOST, run.timeout)
        circle.all_gather(b"\0" * ring.LANE)  # nobody leaves before all are done


def join(run: phases.Run) -> Tuple[ring.Ring, int, int]:
    """Return the ring, this rank and the world size; raises `NoPlace` or `MeetingFailed`."""
    place = run.place.settled(alone=not run.env_only)
    assert place.rank is not None and place.world_size is not None
    run.facts["rendezvous"] = {}
    run.facts["backend"] = "tcp"
    with meeting.listener(0) as door:
        peers = [meeting.Peer(0, "", 0)]
        if place.world_size > 1 or (place.master_addr and place.master_port):
            if not place.master_addr or place.master_port is None:
                raise meeting.MeetingFailed("MASTER_ADDR and MASTER_PORT do not both say where rank 0 is")
            port = door.getsockname()[1]
            peers = meeting.meet(place, os.environ, port, run.timeout, run.facts["rendezvous"].__setitem__)
        circle = ring.Ring(peers, place.rank, door, place.master_addr or "", run.timeout)
    run.facts["group"] = {"rank": place.rank, "world_size": len(peers)}
    return circle, place.rank, len(peers)


def measured(name: str, size: int, nbytes: int, call: Callable[[], int]) -> Dict[str, Any]:
    """Return what a collective took: the first time, the median of the others, and the bytes a second on a link."""
    times: List[float] = []
    moved = 0
    for _ in range(1 + REPEATS):
        began = time.perf_counter()
        moved = call()
        times.append(time.perf_counter() - began)
    usual = median(times[1:])
    rate = round(moved / usual) if size > 1 else None
    return {
        "name": name, "bytes": nbytes, "first_seconds": round(times[0], 6), "seconds": round(usual, 6),
        "bytes_per_second": rate,
    }  # fmt: skip


def check_all_reduce(circle: ring.Ring, rank: int, size: int, nbytes: int) -> int:
    """Add rank + 1 times 1 ... 7 over the ranks; return the bytes that passed each link. Raises `CheckFailed`."""
    lanes = max(1, nbytes // ring.LANE // size) * size
    if circle.all_reduce(lanes_of(rank + 1, lanes)) != lanes_of(size * (size + 1) // 2, lanes):
        raise phases.CheckFailed("the all-reduce of %d bytes over %d ranks gave a wrong sum" % (nbytes, size))
    return 2 * (size - 1) * lanes * ring.LANE // size


def lanes_of(factor: int, lanes: int) -> bytes:
    """Return the vector factor, 2 factor, ... 7 factor, factor, ... with so many lanes."""
    period = b"".join((factor * n).to_bytes(ring.LANE, "big") for n in range(1, 8))
    return (period * (lanes // 7 + 1))[: lanes * ring.LANE]


def check_all_gather(circle: ring.Ring, rank: int, size: int, nbytes: int) -> int:
    """Gather a block that tells each rank from the others; return the bytes that passed each link."""
    length = max(1, nbytes // ring.LANE // size)
    blocks = circle.all_gather((rank + 1).to_bytes(ring.LANE, "big") * length)
    if blocks != [(other + 1).to_bytes(ring.LANE, "big") * length for other in range(size)]:
        raise phases.CheckFailed("the all-gather of %d bytes over %d ranks gave other blocks" % (nbytes, size))
    return (size - 1) * length * ring.LANE


if __name__ == "__main__":
    socket.setdefaulttimeout(None)
    phases.run("dry", body)
