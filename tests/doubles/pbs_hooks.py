"""PBS's interpreter of hooks: a module called pbs with one event, and what the hook did (as in OpenPBS 23.06.06)."""

from __future__ import annotations

import json
import re
import sys
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

OBIT, EPILOGUE = 1 << 20, 1 << 8  # kinds of events, as the module numbers them


class HookJob:
    """A job as `pbs.event().job` has it: what was told, and nothing else. *primary*: whether its script ran here."""

    def __init__(self, **told: Any) -> None:
        self.__dict__.update({"id": "30.pbs01", "Exit_status": 3, "primary": True, **told})

    def in_ms_mom(self) -> bool:
        """Whether this is the node that the script ran on."""
        return bool(self.__dict__["primary"])


class Heard(NamedTuple):
    """What the interpreter heard of a hook: how often it accepted the event, and the lines that it logged."""

    accepted: int
    logged: list[str]


def run_hook(path: str, job: object, settings: Mapping[str, object], kind: int = OBIT) -> Heard:
    """Run a hook to its end, with other values for the settings at its top."""
    text = Path(path).read_text(encoding="utf-8")
    for name, value in settings.items():
        line = ("%s = %r" % (name, value)).replace("\\", r"\\")
        text, found = re.subn("^%s = .*" % name, line, text, flags=re.MULTILINE)
        assert found == 1, name
    accepted: list[bool] = []
    logged: list[str] = []

    def accept() -> None:
        accepted.append(True)
        raise SystemExit(0)

    who = vars(job).get("requestor", "ann") if hasattr(job, "__dict__") else "ann"
    event = types.SimpleNamespace(type=kind, job=job, accept=accept, requestor=who)
    double: Any = types.ModuleType("pbs")
    double.event, double.JOBOBIT, double.LOG_DEBUG = lambda: event, OBIT, 1
    double.logmsg = lambda level, text: logged.append(text)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit):
        patch.setitem(sys.modules, "pbs", double)
        exec(compile(text, path, "exec"), {"__name__": "hook"})
    return Heard(len(accepted), logged)


if __name__ == "__main__":  # a hook, the kind of the event, and the job's attributes
    run_hook(sys.argv[1], HookJob(**json.loads(sys.argv[3])), {}, int(sys.argv[2]))
