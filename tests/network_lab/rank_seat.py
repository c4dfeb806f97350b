"""One seat of the lab that plays a rank of a real program: `python rank_seat.py NUMBER ADDRESS...`

It reads a line of JSON for each run: program, grid, its rank, and the seat of each rank. It answers with the seconds
that it took, and with its part of the result.
"""

from __future__ import annotations

import base64
import json
import os
import select
import sys
import time
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # eight ranks on few processors

import numpy

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.network_lab.rank_programs import PROGRAMS, Array, fields, inputs
from tests.network_lab.seat import PART, join


class Seats:
    """The other ranks, each on its seat."""

    def __init__(self, number: int, addresses: list[str]) -> None:
        self.sending, self.hearing = join(number, addresses)
        self.rank, self.seat_of = 0, [0]

    def move(self, out: dict[int, Array], into: dict[int, tuple[int, ...]]) -> dict[int, Array]:
        """Send arrays to ranks and hear arrays of these shapes from others, all at once."""
        heard = {rank: numpy.empty(shape) for rank, shape in into.items()}
        reading = {self.hearing[self.seat_of[rank]]: memoryview(array).cast("B") for rank, array in heard.items()}
        writing = {
            self.sending[self.seat_of[rank]]: memoryview(numpy.ascontiguousarray(array)).cast("B")
            for rank, array in out.items()
        }
        while reading or writing:
            readable, writable, _ = select.select(list(reading), list(writing), [])
            for one in readable:
                count = one.recv_into(reading[one], min(len(reading[one]), PART))
                reading[one] = reading[one][count:]
                if not reading[one]:
                    del reading[one]
            for one in writable:
                writing[one] = writing[one][one.send(writing[one][:PART]) :]
                if not writing[one]:
                    del writing[one]
        return heard


def run(seats: Seats, asked: dict[str, object]) -> str:
    """Return a line: the seconds of a run, where this rank's part is, and its bytes."""
    seats.rank, seats.seat_of = int(str(asked["rank"])), list(asked["seat_of"])  # type: ignore[call-overload]
    begun = time.monotonic()
    (rows, columns), part = PROGRAMS[str(asked["program"])](seats, tuple(asked["grid"]))  # type: ignore[arg-type]
    taken = time.monotonic() - begun
    place = [rows.start, rows.stop, columns.start, columns.stop]
    return json.dumps([taken, place, base64.b64encode(part.tobytes()).decode()])


if __name__ == "__main__":
    seats = Seats(int(sys.argv[1]), sys.argv[2:])
    inputs(), fields()  # are made before anything is timed
    print("ready", flush=True)
    for line in sys.stdin:
        print(run(seats, json.loads(line)), flush=True)
