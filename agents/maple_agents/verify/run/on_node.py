#!/usr/bin/env python3
"""What a launch line starts in the program's place: `dry` first, then the mini-app that trains as the program does.

It is copied beside the mini-apps and imports nothing of ours, for it runs on a compute node in the user's own Python
(3.6 and later). Its settings lie beside it, under its own name: the environment may not reach every rank. Words on the
command line are the program's, and ignored.
"""

import importlib.util
import json
import os
import signal
import subprocess
import sys
from typing import Any, Dict, List


def main() -> int:
    """Run the stages; return the exit code of the first that fails, without going on to the next."""
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.splitext(os.path.abspath(__file__))[0] + ".json") as file:
        settings = json.load(file)
    if not settings["stages"]:
        return 0  # the program of this line stands aside
    os.environ.update(settings["environment"])
    stages = [stage for stage in settings["stages"] if stage["sure"] or _there(stage["needs"])]
    for stage in stages[:-1]:
        code = _in_child(_words(here, stage), stage)
        if code:
            return code
    os.environ["MAPLE_MINIAPP_TIMEOUT"] = str(stages[-1]["timeout"])
    words = _words(here, stages[-1])
    os.execv(words[0], words)


def _words(here: str, stage: Dict[str, Any]) -> List[str]:
    """Return how a mini-app is started by the interpreter that runs this."""
    python = sys.executable or "/usr/bin/env"
    more = [] if sys.executable else ["python3"]
    return [python, *more, os.path.join(here, "maple_miniapps", stage["app"] + ".py")]


def _there(names: List[str]) -> bool:
    """Return whether this Python could import all of them."""
    return all(importlib.util.find_spec(name) is not None for name in names)


def _in_child(words: List[str], stage: Dict[str, Any]) -> int:
    """Run a stage in a process of its own and return its exit code; a signal to this process is handed on to it."""
    environment = dict(os.environ, MAPLE_MINIAPP_TIMEOUT=str(stage["timeout"]))
    stopped = []  # type: List[int]
    children = []  # type: List[subprocess.Popen[bytes]]

    def stop(number: int, _: object) -> None:
        stopped.append(number)
        for child in children:
            child.send_signal(number)

    before = [(number, signal.signal(number, stop)) for number in (signal.SIGTERM, signal.SIGINT)]
    children.append(subprocess.Popen(words, env=environment))
    if stopped:
        children[0].send_signal(stopped[0])
    code = children[0].wait()
    for number, handler in before:
        signal.signal(number, handler)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
