#!/usr/bin/env python3
"""DeepSpeed's ZeRO stage 3: weights, gradients and what the optimizer keeps are all divided among the ranks."""

import os
import sys
from typing import Any, Callable

if not __package__:  # started as a file, from anywhere
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from maple_miniapps import phases, process_group


def body(run: phases.Run) -> None:
    if os.environ.get("MAPLE_MINIAPP_DEVICE"):
        os.environ["DS_ACCELERATOR"] = os.environ["MAPLE_MINIAPP_DEVICE"]
    world = process_group.join(run, "deepspeed", start=meet)
    import deepspeed  # type: ignore[import-not-found, unused-ignore]
    import torch  # type: ignore[import-not-found, unused-ignore]

    from maple_miniapps import collectives, model, training

    collectives.check(run, world)
    with run.phase("model"):
        net = model.gpt(world.device)
        optimizer = torch.optim.SGD(net.parameters(), lr=training.RATE)
        engine, *_ = deepspeed.initialize(model=net, optimizer=optimizer, config=config(model.SEQUENCES))
    training.train(run, world, step_of(engine), engine, world.rank, world.size)


def meet(device: Any, backend: str, limit: Any) -> None:
    """Let DeepSpeed meet by env://, as its own launcher and programs that ask MPI leave it."""
    import deepspeed

    if device.type == "cpu":  # would be compiled for 20 s now, and only inference uses it
        deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    deepspeed.init_distributed(dist_backend=backend, timeout=limit, auto_mpi_discovery=False, verbose=False)


def config(sequences: int) -> Any:
    """Return DeepSpeed's configuration; nothing in it is compiled at run time."""
    return {
        "train_micro_batch_size_per_gpu": sequences,
        "zero_optimization": {"stage": 3},
        "gradient_clipping": 0.0,  # 1.0 by default in 0.19, and then it is another training
        "zero_allow_untested_optimizer": True,
    }


def step_of(engine: Any) -> Callable[[Any], None]:
    """Return one step of training by the engine, which does what backward and the optimizer do."""

    def step(batch: Any) -> None:
        engine.backward(engine(batch))
        engine.step()

    return step


if __name__ == "__main__":
    phases.run("zero3", body)
