"""What earlier jobs say goes with every answer: a front that does not believe it asks a helper, which has to know."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from maple_daemon.base.peers import Peer
from maple_daemon.decide import rules_in_force
from maple_daemon.decide.exact import Known
from maple_daemon.decide.handlers import Handler
from maple_submit_filter.answer import decision, earlier
from maple_submit_filter.answer.reply import Once

from tests.daemon.serving import WRONG, request

TAKEN_BACK = earlier.Earlier(taken_back={"0" * 32: "4711"})


class Knowing:
    """A memory that knows what was decided of every script; no file had a part in it."""

    def get(self, key: bytes) -> Known:
        """By the rules alone."""
        asked = request(WRONG, uid=0)
        return Known(decision.decide(asked.submission, rules_in_force.generic().site), (), Once(), 0)


def test_what_was_taken_back_is_told_where_no_file_decides_too() -> None:
    """As the front of root, or one that finds the change out of bounds, has its own helper decide anew."""
    handler = Handler(rules_in_force.generic(), cast(Any, Knowing()), cast(Any, None))
    handler.earlier = lambda asked, uid: TAKEN_BACK
    handled = asyncio.run(handler.answer(request(WRONG, uid=0), b"", Peer(1, 0, frozenset(), 1)))
    assert handled.reply is not None and handled.reply.change is not None and not handled.reply.conditions
    assert earlier.unpack(handled.reply.earlier) == TAKEN_BACK
