"""Asks a model in a folder about a job's folder, in a Python with torch: `python asked_locally.py MODEL JOB`."""

from __future__ import annotations

import json
import socket
import sys

from maple_agents.admission.agent.asking import Found, ask
from maple_agents.admission.agent.judge import NAMES
from maple_agents.ask.models.local import LocalModel
from maple_agents.ask.models.protocol import Limit

CALLS: list[str] = []


def _forbidden(self: socket.socket, where: object) -> None:
    CALLS.append(str(where))
    raise OSError("no network here")


def main(model: str, job: str) -> None:
    """Twice: the second time with what was found the first time."""
    socket.socket.connect = _forbidden  # type: ignore[method-assign, assignment]
    with open(job + "/job.sh", encoding="utf-8") as file:
        script = file.read()
    names = ("learning_rate", "seed", "epochs")
    known = [name for name in NAMES if name not in names]
    local = LocalModel(model)
    first = ask(local, job, script, known, Found(), Limit(100, 200))
    again = ask(local, job, script, known, first.found, Limit(100, 200))
    print(json.dumps({"claims": first.claims, "asked": first.asked, "calls": first.calls, "wrong": first.wrong,
                      "again": again.calls, "network": CALLS}))  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
