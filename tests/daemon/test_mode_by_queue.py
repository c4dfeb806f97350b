"""Where modes go by queue, all directives are read: of a long script not where everybody is answered, and once."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, cast

import pytest
from maple_daemon.base.peers import Peer
from maple_daemon.decide import handlers, rules_in_force
from maple_daemon.decide.exact import Memory
from maple_daemon.decide.handlers import Handler
from maple_daemon.remember import drafts
from maple_submit_filter.answer import reply
from maple_submit_filter.host.frames import Request
from maple_submit_filter.site.modes import Policy

from tests.daemon.serving import request

OFF = Policy(partitions={"quiet": "off"})
LONG = b"#!/bin/bash\n#PBS -q quiet\n" + b"#PBS -l select=2:ncpus=4\n" * 100
ME = Peer(1, 0, frozenset(), 1)


def of_pbs(script: bytes) -> Request:
    """A request by qsub."""
    asked = request(script, uid=0)
    return asked._replace(submission=asked.submission._replace(scheduler="pbs", argv=(b"qsub", b"job.sh")))


@pytest.mark.parametrize("script, on_loop", [(LONG, False), (LONG[:60], True)], ids=["long", "short"])
def test_directives_are_read_once_and_of_a_long_script_beside_the_loop(
    monkeypatch: pytest.MonkeyPatch, script: bytes, on_loop: bool
) -> None:
    """The mode that is found so is in the answer and in what is recorded."""
    seen: list[bool] = []
    real = reply.mode_of

    def mode_of(*given: Any) -> str:
        seen.append(threading.current_thread() is threading.main_thread())
        return real(*given)

    monkeypatch.setattr(reply, "mode_of", mode_of)
    in_force = rules_in_force.generic()._replace(policy=OFF)
    handler = Handler(in_force, Memory(1 << 20), cast(Any, None))
    asked = of_pbs(script)
    handled = asyncio.run(handler.answer(asked, b"", ME))
    recorded = drafts.draft_of(asked, ME, handled, handled.decision, in_force, 0.0, handled.seconds).mode
    assert (handled.how, handled.mode, recorded) == ("off", "off", "off")
    assert seen == [on_loop]
    assert (len(script) <= handlers.DIRECTIVES_AT_ONCE) == on_loop
