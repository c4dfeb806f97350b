"""A small training by a real framework, printing as that prints: `python small_training.py KIND PLAN`.

*PLAN* is JSON: steps, seconds of one, every how many an evaluation and a checkpoint come and how long these take, from
which share on a step takes twice as long, at which step it goes on. What it computes is tiny; the time is slept, so
that many run at once.
"""

import json
import os
import random
import sys
import time

KIND, PLAN = sys.argv[1], json.loads(sys.argv[2])
STEPS, SECONDS = PLAN["steps"], PLAN["seconds"]
EVALUATE, SAVE = PLAN.get("evaluate", [0, 0]), PLAN.get("save", [0, 0])
SLOWER, RESUMED = PLAN.get("slower", 1.0), PLAN.get("resumed", 0)
noise = random.Random(PLAN.get("seed", 0))


def spend(step: int) -> None:
    """Take the time of a step."""
    time.sleep(SECONDS * noise.uniform(0.85, 1.15) * (2 if step > SLOWER * STEPS else 1))


def plain() -> None:
    """A loop that prints."""
    for step in range(RESUMED + 1, STEPS + 1):
        spend(step)
        if step % 5 == 0:
            print("%s step %d/%d loss %.4f" % (time.strftime("%Y-%m-%d %H:%M:%S"), step, STEPS, 3 / step), flush=True)
        if EVALUATE[0] and step % EVALUATE[0] == 0:
            time.sleep(EVALUATE[1])
            print("validation loss 1.0", flush=True)
        if SAVE[0] and step % SAVE[0] == 0:
            time.sleep(SAVE[1])
            print("saved checkpoint at step %d" % step, flush=True)


def bar() -> None:
    """A loop that tqdm draws."""
    from tqdm import tqdm

    shown = tqdm(range(STEPS), initial=RESUMED, total=STEPS, desc="Training")
    for step in range(RESUMED + 1, STEPS + 1):
        spend(step)
        shown.update(1)
        shown.set_postfix(loss=3 / step)
        if EVALUATE[0] and step % EVALUATE[0] == 0:
            for _ in tqdm(range(10), desc="Evaluating", leave=False):
                time.sleep(EVALUATE[1] / 10)
        if SAVE[0] and step % SAVE[0] == 0:
            time.sleep(SAVE[1])
            print("\nsaved checkpoint at step %d" % step, flush=True)


def trainer() -> None:
    """The Trainer of transformers."""
    import torch
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def forward(self, x=None, labels=None):  # type: ignore[no-untyped-def]
            out = self.layer(x)
            if not self.training:
                time.sleep(EVALUATE[1] / 4)
            return {"loss": ((out - labels) ** 2).mean(), "logits": out}

    class Slow(TrainerCallback):
        def on_step_end(self, args, state, control, **more):  # type: ignore[no-untyped-def]
            spend(state.global_step)

        def on_save(self, args, state, control, **more):  # type: ignore[no-untyped-def]
            time.sleep(SAVE[1])

    rows = [{"x": torch.randn(4), "labels": torch.randn(1)} for _ in range(64)]
    every = {"eval_strategy": "steps", "eval_steps": EVALUATE[0]} if EVALUATE[0] else {}
    saved = {"save_strategy": "steps", "save_steps": SAVE[0]} if SAVE[0] else {"save_strategy": "no"}
    args = TrainingArguments(
        output_dir=os.environ["OUT"], max_steps=STEPS, per_device_train_batch_size=8, per_device_eval_batch_size=8,
        logging_steps=5, report_to=[], use_cpu=True, **every, **saved,
    )  # fmt: skip
    made = Trainer(model=Model(), args=args, train_dataset=rows, eval_dataset=rows[:32], callbacks=[Slow()])
    made.train()


def accelerate() -> None:
    """A loop on Accelerate, as diffusers' examples draw it."""
    import logging

    import torch
    from accelerate import Accelerator
    from accelerate.logging import get_logger
    from tqdm.auto import tqdm

    logging.basicConfig(
        format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", datefmt="%m/%d/%Y %H:%M:%S", level=20
    )
    told = Accelerator(cpu=True)
    logger = get_logger(__name__)
    model = torch.nn.Linear(4, 1)
    model, optimizer = told.prepare(model, torch.optim.SGD(model.parameters(), 0.01))
    logger.info("***** Running training *****")
    logger.info("  Total optimization steps = %d" % STEPS)
    shown = tqdm(range(STEPS), initial=RESUMED, desc="Steps")
    for step in range(RESUMED + 1, STEPS + 1):
        loss = (model(torch.randn(8, 4)) ** 2).mean()
        told.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        spend(step)
        shown.update(1)
        shown.set_postfix(step_loss=loss.item(), lr=0.01)
        if EVALUATE[0] and step % EVALUATE[0] == 0:
            logger.info("Running validation... ")
            time.sleep(EVALUATE[1])
        if SAVE[0] and step % SAVE[0] == 0:
            told.save_state(os.path.join(os.environ["OUT"], "checkpoint-%d" % step))
            time.sleep(SAVE[1])


def deepspeed() -> None:
    """DeepSpeed's engine, which knows no total; that stands in the bar that the loop draws, or nowhere."""
    import deepspeed as ds
    import torch

    os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=os.environ["PORT"])
    for one in (ds.utils.logger, *ds.utils.logger.handlers):  # newer releases keep quiet
        one.setLevel("INFO")
    model = torch.nn.Linear(4, 1)
    config = {
        "train_micro_batch_size_per_gpu": 8,
        "steps_per_print": 5,
        "optimizer": {"type": "SGD", "params": {"lr": 0.01}},
    }
    engine, *_ = ds.initialize(model=model, model_parameters=model.parameters(), config=config)
    print("  Total optimization steps = %d" % STEPS, flush=True)
    for step in range(RESUMED + 1, STEPS + 1):
        loss = (engine(torch.randn(8, 4)) ** 2).mean()
        engine.backward(loss)
        spend(step)
        engine.step()
        if EVALUATE[0] and step % EVALUATE[0] == 0:
            time.sleep(EVALUATE[1])
        if SAVE[0] and step % SAVE[0] == 0:
            time.sleep(SAVE[1])


def epoch_size() -> int:
    """Return the steps of an epoch, for those that count epochs: an evaluation ends each."""
    return int(EVALUATE[0] or 20)


def lightning() -> None:
    """Lightning, whose bar is that of one epoch."""
    import lightning as pl
    import torch
    from torch.utils.data import DataLoader

    class Model(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch, index):  # type: ignore[no-untyped-def]
            step = self.global_step + 1
            spend(step)
            if SAVE[0] and step % SAVE[0] == 0:
                time.sleep(SAVE[1])
            loss = (self.layer(batch) ** 2).mean()
            self.log("train_loss", loss, prog_bar=True)
            return loss

        def validation_step(self, batch, index):  # type: ignore[no-untyped-def]
            time.sleep(EVALUATE[1] / 4)

        def configure_optimizers(self):  # type: ignore[no-untyped-def]
            return torch.optim.SGD(self.parameters(), 0.01)

    made = pl.Trainer(
        max_epochs=STEPS // epoch_size(), accelerator="cpu", logger=False, enable_checkpointing=False,
        num_sanity_val_steps=0, enable_model_summary=False, default_root_dir=os.environ["OUT"],
        callbacks=[pl.pytorch.callbacks.TQDMProgressBar()],
    )  # fmt: skip
    rows = [DataLoader(torch.randn(8 * number, 4), batch_size=8) for number in (epoch_size(), 4)]
    made.fit(Model(), rows[0], rows[1] if EVALUATE[0] else None)


def keras() -> None:
    """Keras, whose bar is that of one epoch behind a line that names it."""
    os.environ["KERAS_BACKEND"] = "torch"
    import keras
    import numpy as np

    class Slow(keras.callbacks.Callback):
        step = 0

        def on_train_batch_end(self, batch, logs=None):  # type: ignore[no-untyped-def]
            self.step += 1
            spend(self.step)
            if SAVE[0] and self.step % SAVE[0] == 0:
                time.sleep(SAVE[1])

        def on_test_batch_end(self, batch, logs=None):  # type: ignore[no-untyped-def]
            time.sleep(EVALUATE[1] / 4)

    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x, y = np.random.rand(8 * epoch_size(), 4), np.random.rand(8 * epoch_size(), 1)
    tried = (x[:32], y[:32]) if EVALUATE[0] else None
    model.fit(x, y, batch_size=8, epochs=STEPS // epoch_size(), validation_data=tried, callbacks=[Slow()])


def jax() -> None:
    """A loop on JAX that logs with absl."""
    import jax as jax_
    import jax.numpy as jnp
    from absl import logging

    logging.set_verbosity(logging.INFO)
    logging.use_absl_handler()
    weights, rows = jnp.ones((4, 1)), jnp.ones((8, 4))
    slope = jax_.jit(jax_.value_and_grad(lambda w: ((rows @ w) ** 2).mean()))
    for step in range(RESUMED + 1, STEPS + 1):
        loss, down = slope(weights)
        weights = weights - 0.01 * down
        spend(step)
        if step % 5 == 0:
            logging.info("train step %d/%d loss: %.4f", step, STEPS, loss)
        if EVALUATE[0] and step % EVALUATE[0] == 0:
            time.sleep(EVALUATE[1])
            logging.info("eval at step %d: accuracy 0.5", step)
        if SAVE[0] and step % SAVE[0] == 0:
            time.sleep(SAVE[1])
            logging.info("Saved checkpoint %d", step)


PROGRAMS = {
    "plain": plain, "bar": bar, "trainer": trainer, "accelerate": accelerate, "deepspeed": deepspeed,
    "lightning": lightning, "keras": keras, "jax": jax,
}  # fmt: skip
PROGRAMS[KIND]()
with open(os.environ["OUT"] + ".done", "w"):  # that a framework takes long to be taken down is no training
    pass
