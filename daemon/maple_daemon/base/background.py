"""Work that goes on beside the answers: begun with the service, ended with it, and waited for by neither."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

START_SECONDS = 1.0  # that the service's start may wait for what is done first


class Background:
    """One task. *first*: is done before the start is over, unless it is slow; *work*: goes on until the stop."""

    def __init__(self, first: Callable[[], Awaitable[None]], work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._first, self._work = first, work
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Do what comes first, and go on beside. Raises what that raises."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(START_SECONDS):
                await self._first()
        self._task = asyncio.create_task(self._work())

    async def stop(self) -> None:
        """End it, and wait until it has ended. Raises nothing."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
