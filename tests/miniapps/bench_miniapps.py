"""What each mini-app takes at two ranks on this host, and where the time goes. `make bench-miniapps` prints it."""

from __future__ import annotations

import time
from statistics import median

from tests.miniapps.started import APPS, LONGEST, Bench, Ended, frameworks, free_port, world

PHASES = ("import", "rendezvous", "collectives", "model", "steps", "total")


def measured(ranks: Bench, app: str, launcher: str) -> tuple[list[Ended], float]:
    """Run an app in two ranks; return what they said, and the seconds from the first start to the last end."""
    began = time.perf_counter()
    if launcher:
        argv = [frameworks() / launcher, "--nproc_per_node=2", f"--master_port={free_port()}", APPS / f"{app}.py"]
        started = [ranks.start(argv)]
    else:
        started = [ranks.app(app, env) for env in world(2, free_port())]
    ended = [ranks.wait(number, LONGEST) for number in started]
    return ended, time.perf_counter() - began


def test_miniapps_at_two_ranks(ranks):
    print(f"\n{'2 ranks, seconds':24}" + "".join(f"{name:>13}" for name in (*PHASES, "launcher too")))
    table = [("dry", ""), ("dry", "torchrun"), *((app, "torchrun") for app in ("ddp", "fsdp", "zero3"))]
    for app, launcher in [*table, ("accelerate_ddp", "torchrun"), ("three_d", "torchrun")]:
        ended, wall = measured(ranks, app, launcher)
        said = [facts for one in ended for facts in one.lines]
        assert [facts["ok"] for facts in said] == [True, True], ended[0].err
        spent = [median(facts["seconds"].get(phase, 0.0) for facts in said) for phase in PHASES]
        name = f"{app}, {launcher or 'python'}"
        print(f"{name:24}" + "".join(f"{seconds:13.2f}" for seconds in (*spent, wall)))
