"""Times `maple new` in one process: `python -m tests.bench.new_in_process ROUNDS [FOLDER]`; prints one JSON object.

With FOLDER a model of transformers reads along: {"load"} is what its weights took, alone. Times are milliseconds, on
the wall and on the processor; the first request is counted by itself.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import time

from tests.bench.new_requests import Request, requests

Took = tuple[float, float]


def timed(request: Request) -> Took:
    """Return what one request took. Raises where no script came."""
    from maple_agents.cli.main import run

    out, begun = io.StringIO(), _clocks()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = run(["new", "--json", "--site", request.site, request.text])
    took = _since(begun)
    if code != 0:
        raise AssertionError(f"{request}: exit code {code}: {out.getvalue()[:300]}")
    return took


def _clocks() -> Took:
    return time.perf_counter(), time.process_time()


def _since(begun: Took) -> Took:
    wall, cpu = _clocks()
    return (wall - begun[0]) * 1e3, (cpu - begun[1]) * 1e3


def loaded(folder: str) -> Took:
    """Load a model, keep it for every request that follows, and return what that took."""
    from maple_agents.ask.models import choice
    from maple_agents.ask.models.local import LocalModel
    from maple_agents.ask.models.protocol import Limit

    begun = _clocks()
    model = LocalModel(folder)
    model.load()
    took = _since(begun)
    kept = choice.Choice(model, Limit(60, 2000))
    choice.choose = lambda named="", environ=os.environ: kept
    return took


def main(rounds: str, folder: str = "") -> None:
    load = loaded(folder) if folder else None
    every = list(requests())
    first = timed(every[0])
    print(json.dumps({"load": load, "first": first, "each": [timed(one) for _ in range(int(rounds)) for one in every]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
