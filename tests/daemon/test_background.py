"""Work beside the answers: the start waits a moment for what comes first, and the stop until it has ended."""

from __future__ import annotations

import asyncio

import pytest
from maple_daemon.base import background
from maple_daemon.base.background import Background


def test_what_is_slow_at_first_is_given_up_and_the_work_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service's start does not depend on a store that hangs."""
    monkeypatch.setattr(background, "START_SECONDS", 0.01)
    seen: list[str] = []

    async def first() -> None:
        seen.append("first")
        await asyncio.Event().wait()

    async def work() -> None:
        seen.append("work")
        try:
            await asyncio.Event().wait()
        finally:
            seen.append("ended")

    async def whole() -> None:
        one = Background(first, work)
        await one.start()
        await asyncio.sleep(0.01)
        assert seen == ["first", "work"]
        await one.stop()
        assert seen == ["first", "work", "ended"]

    asyncio.run(asyncio.wait_for(whole(), 30))


def test_what_was_never_started_or_has_failed_can_be_stopped() -> None:
    """A stop raises nothing."""

    async def first() -> None:
        return

    async def work() -> None:
        raise ValueError("x")

    async def whole() -> None:
        one = Background(first, work)
        await one.stop()
        await one.start()
        await asyncio.sleep(0)
        await one.stop()

    asyncio.run(asyncio.wait_for(whole(), 30))
