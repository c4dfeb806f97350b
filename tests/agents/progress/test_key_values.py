"""Lines of keys and values of programs that no format knows."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from maple_agents.progress.key_values import observations
from maple_agents.progress.tails import Piece
from maple_agents.progress.values import Observation

from tests.agents.progress.fragments import Fragment, blind, read, told, traps


def _read(text: str) -> list[Observation]:
    pieces = [Piece(line.encode(), at, at, True) for at, line in enumerate(text.replace("\r", "\n").split("\n"), 1)]
    return observations(pieces, "log", 1.79e9)


@pytest.mark.parametrize("one", [*traps(), *(one for one, is_trap in blind() if is_trap)], ids=str)
def test_alone_it_tells_no_total_of_a_trap(one: Fragment) -> None:
    """Without any format before it, what only looks like a total stays none."""
    assert {line.steps for line in _read(one.text)} <= {None, one.wanted.get("total")}


@pytest.mark.parametrize(
    ("text", "step", "total"),
    [
        ("Update 100 of 900 | cost 2.1\nUpdate 200 of 900 | cost 2.0\nUpdate 300 of 900 | cost 1.9", 300, 900),
        ("Schritt 1.100 von 9.000 – Verlust 0,41\nSchritt 1.200 von 9.000 – Verlust 0,40", 1200, 9000),
        ('{"update": 7, "loss": 1.5}\n{"update": 8, "loss": 1.4}', 8, None),
        ("Update 1,200 of 9,000: cost 2.0\nUpdate 1,300 of 9,000: cost 1.9", 1300, 9000),
        ("update 3/8 cost 2\nupdate 4/8 cost 2\nupdate 1/8 cost 2\nupdate 2/8 cost 2", 2, None),
        ("Epoch 2\nupdate 3/8 cost 2\nupdate 4/8 cost 2", 4, None),
        ("batch 3/8 cost 2\nbatch 4/8 cost 2", 4, None),
        ("update 3/8 cost 2\nupdate 4/9 cost 2", 4, None),
        ("update 9/8 cost 2\nupdate 10/8 cost 2", 10, None),
    ],
)
def test_a_counter_beside_a_loss(text: str, step: int, total: int | None) -> None:
    """The total is told where it can be no epoch's, and does not change."""
    found = _read(text)[-1]
    assert (found.step, found.steps) == (step, total)


@pytest.mark.parametrize(
    "text",
    [
        "step 4/10 cost 2.0",
        "step 4/10 cost 2.0\nstep 4/10 cost 2.0",
        "Step 4/10 : RUN make\nStep 5/10 : RUN make install",
        "[valid] update 4/10 cost 2.0\n[valid] update 5/10 cost 2.0",
        "micro step 4/8 cost 2.0\nmicro step 5/8 cost 2.0",
        "step 4/10.5 cost 2.0\nstep 5.5 cost 2.0",
    ],
)
def test_what_is_not_believed(text: str) -> None:
    """One line, a counter that stands still, one without a loss, another's, and a number with a fraction."""
    assert {line.step for line in _read(text)} <= {None}


@pytest.mark.parametrize(
    ("text", "step", "total", "loss"),
    [
        ("Steps:100/900 [11.1%]\n[100] training_loss = 2.5\nSteps:150/900 [16.7%]", 150, 900, 2.5),
        (
            "STEP: 7/80 -- GLOBAL_STEP: 2007\n  | > loss_mel: 2.0\nSTEP: 9/80 -- GLOBAL_STEP: 2009",
            2009,
            None,
            None,
        ),
        ("lr 0.1\nat 7 iter, 2 epochs\n  0.7 iters/sec. Estimated time to finish: 2:00:00", 7, None, None),
        ("[110]\tloss: 2.0\n[120]\tloss: 1.9\n[130]\tloss: 1.8", 130, None, 1.8),
        ("110 | loss 2.0\n120 | loss 1.9\n130 | loss 1.8", 130, None, 1.8),
        ("Batch 3/100 loss 2\nBatch 3/200 loss 2\nBatch 3/300 loss 1.5", 300, None, 1.5),
        ('{"iter": "20/90", "loss": "2.5"}\n{"iter": "40/90", "loss": "2.25"}', 40, 90, 2.25),
        ("| epoch 3 | 200/ 2983 batches | loss 5\n| epoch 3 | 400/ 2983 batches | loss 4", 400, None, 4.0),
        ("| epoch 1 step     20 | 20 batches | loss 5\n| epoch 1 step     40 | 40 batches | loss 4", 40, None, 4.0),
        ("| total_timesteps | 20 |\n| loss | 5 |\n| total_timesteps | 40 |\n| loss | 4 |", 40, None, 4.0),
        ('{"key": "train_loss", "value": 3.5}\n{"key": "train_loss", "value": 3.25}', None, None, 3.25),
    ],
)
def test_a_counter_with_another_witness(text: str, step: int | None, total: int | None, loss: float | None) -> None:
    """Its share, another counter that rises with it, a speed and an end, even steps by a loss; or the loss alone."""
    found = _read(text)[-1]
    assert (found.step, found.steps, found.loss) == (step, total, loss)


@pytest.mark.parametrize(
    "text",
    [
        "Step 4/10 : RUN make\nStep 5/10 : RUN make install\nStep 6/10 : RUN make check",
        "Step 4/10 (40%)\nStep 5/10 (50%)",
        "[10] cost 2.0\n[20] cost 1.9\n[25] cost 1.8\n[29] cost 1.8",
        "[10]\tnothing\n[20]\tnothing\n[30]\tnothing",
        "global_step 7\nglobal_step 8",
        "[0] loss 2.0\n[1] loss 1.9\n[2] loss 1.8",
        "0: loss 2.0\n4: loss 1.9\n8: loss 1.8",
        "lr 0.1\nprocessing step 3/10 [30%]\nprocessing step 4/10 [40%]",
    ],
)
def test_one_witness_is_none(text: str) -> None:
    """A share or a sure name without a word of training, a bare number that is uneven or stands alone."""
    assert {line.step for line in _read(text)} <= {None}


def test_a_loop_over_something_else_is_no_step(tmp_path: Path) -> None:
    """Words in front of a step say so, also where a format reads the line."""
    log = "step 100 loss 2.0\nEvaluating step 10/50 (20%) loss 2.2\nEvaluating step 20/50 (40%) loss 2.2\n"
    found = told(read(log, tmp_path))
    assert (found.get("step"), found.get("total"), found.get("loss")) == (100, None, 2.0)


@pytest.mark.parametrize("line", ["1" * 4000, "1,234" * 800, "loss step " * 400, " " * 4000])
def test_a_long_line_costs_little(line: str) -> None:
    """Digits, blanks and words without an end are searched once."""
    began = time.process_time()
    _read("\n".join([line] * 10))
    assert time.process_time() - began < 1
