"""Asks a model in a folder about a failure, in a Python with torch: `python advised_locally.py FOLDER LOG`."""

from __future__ import annotations

import json
import socket
import sys

from maple_agents.ask.models.local import LocalModel
from maple_agents.ask.models.protocol import Limit
from maple_agents.diagnose import explanation
from maple_agents.diagnose.advise.model_advice import advised
from maple_agents.diagnose.gather import by_files
from maple_agents.diagnose.read import read
from maple_agents.templates.knowledge import anchors, entries

CALLS: list[str] = []


def _forbidden(self: socket.socket, where: object) -> None:
    CALLS.append(str(where))
    raise OSError("no network here")


def main(folder: str, log: str) -> None:
    socket.socket.connect = _forbidden  # type: ignore[method-assign, assignment]
    case = by_files([log], None, "generic-slurm", (), "failed", 1)
    before = explanation.explained(case, "off")
    told: list[str] = []
    digest = read(case.logs, anchors(entries()))
    after = advised(before, digest, None, entries(), LocalModel(folder), Limit(200, 1200), tell=told.append)
    print(json.dumps({
        "before": before.causes[0].cause, "after": after.causes[0].cause, "by": after.causes[0].by, "told": told,
        "same": after == before, "confidence": after.causes[0].confidence, "calls": CALLS,
    }))  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
