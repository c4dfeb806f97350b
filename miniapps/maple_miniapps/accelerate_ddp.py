#!/usr/bin/env python3
"""Data parallel by Accelerate, which decides itself whether it is alone: nothing but its own variables count.

`accelerate launch` without --multi_gpu starts one process that trains alone and ends well: `group` is null then.
"""

import os
import sys
from typing import Any, Callable, List

if not __package__:  # started as a file, from anywhere
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from maple_miniapps import phases, process_group


def body(run: phases.Run) -> None:
    made: List[Any] = []
    world = process_group.join(run, "accelerate", start=meet_for(made), derive=False)
    from maple_miniapps import collectives, model, training

    collectives.check(run, world)
    accelerator = made[0]
    with run.phase("model"):
        net = accelerator.prepare(model.gpt(accelerator.device))
    step = step_of(accelerator, net, training.Descent(net))
    training.train(run, world, step, net, world.rank, world.size)


def meet_for(made: List[Any]) -> process_group.Start:
    """Return how Accelerate meets; the accelerator is put into *made*. It must be told that it is to use CPUs."""

    def meet(device: Any, backend: str, limit: Any) -> Any:
        from accelerate import Accelerator, InitProcessGroupKwargs  # type: ignore[import-not-found, unused-ignore]

        waits = InitProcessGroupKwargs(timeout=limit)
        made.append(Accelerator(cpu=device.type == "cpu", mixed_precision="no", kwargs_handlers=[waits]))
        return made[0].device

    return meet


def step_of(accelerator: Any, net: Any, descent: Any) -> Callable[[Any], None]:
    """Return one step of training with Accelerate's backward."""

    def step(batch: Any) -> None:
        descent.zero_grad()
        accelerator.backward(net(batch))
        descent.step()

    return step


if __name__ == "__main__":
    phases.run("accelerate_ddp", body)
