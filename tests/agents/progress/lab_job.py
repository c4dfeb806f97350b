"""A job on a lab that prints as a training does, then stops, waits for itself, or loses its loss: `lab_job.py JSON`.

*shape*: how it prints; *line*: seconds from one line to the next; *pause*: every how many lines an evaluation comes,
and for how many seconds; *lines*: that it prints at all, or after which *ends* happens: "stopped", "locks", "pipe",
"nan" or "explodes"; "" for a run that is well.
"""

import json
import os
import random
import signal
import sys
import threading
import time

PLAN = json.loads(sys.argv[1])
LINE, LINES, ENDS = PLAN["line"], PLAN["lines"], PLAN.get("ends", "")
EVERY, PAUSE = PLAN.get("pause", [0, 0.0])
TOTAL, EACH, NOISE = 5000, 10, random.Random(PLAN.get("seed", 0))
BEGAN = time.time()


def say(line: int, loss: float) -> None:
    """Print a line of progress."""
    step, stamp = PLAN.get("resumed", 0) + line * EACH, time.strftime("%Y-%m-%d %H:%M:%S")
    spent = int(time.time() - BEGAN)
    told = {
        "plain": "%s step %d/%d loss %.4f\n" % (stamp, step, TOTAL, loss),
        "megatron": " [%s] iteration %8d/%8d | elapsed time per iteration (ms): %.1f | lm loss: %.6E |\n"
        % (stamp, step, TOTAL, 1000 * LINE / EACH, loss),
        "bar": "\rTraining: %3d%%|##   | %d/%d [%02d:%02d<10:00, %.2fs/it, loss=%.4f]"
        % (100 * step // TOTAL, step, TOTAL, spent // 60, spent % 60, LINE / EACH, loss),
    }
    sys.stdout.write(told[PLAN["shape"]])
    sys.stdout.flush()


def locks() -> None:
    """Two threads that each hold what the other wants."""
    first, second = threading.Lock(), threading.Lock()

    def other() -> None:
        with second:
            time.sleep(0.5)
            with first:
                pass

    thread = threading.Thread(target=other)
    thread.start()
    with first:
        time.sleep(0.5)
        with second:
            pass


def pipe() -> None:
    """A rank that waits for a word of one that waits for a word of it."""
    here, there = os.pipe(), os.pipe()
    if os.fork() == 0:
        os.read(here[0], 1)
        os._exit(0)
    os.read(there[0], 1)


for line in range(1, 100_000):
    time.sleep(LINE * NOISE.uniform(0.9, 1.1))
    over = line > LINES
    if over and ENDS == "":
        break
    if over and ENDS == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif over and ENDS in ("locks", "pipe"):
        {"locks": locks, "pipe": pipe}[ENDS]()
    usual = (0.5 + 4 / (1 + line / 4)) * NOISE.uniform(0.9, 1.1)
    say(line, {"nan": float("nan"), "explodes": 40 * usual}.get(ENDS, usual) if over else usual)
    if EVERY and line % EVERY == 0:
        time.sleep(PAUSE)
        print("\nvalidation loss at the end of step %d | loss value: 2.0" % (line * EACH), flush=True)
