"""How often it is tried to start a process that does not start, and what is said of it: once, not at each try."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FIRST, LONGEST = 1.0, 60.0  # seconds between two tries, twice as long after each


class Starting:
    """Of processes of one kind. *says*: what they do. *failed* hears of each try that came to nothing."""

    def __init__(self, says: str, log: Callable[[], Any], failed: Callable[[], None]) -> None:
        self._says, self._log, self._failed = says, log, failed
        self._in_a_row, self._said = 0, ""

    @property
    def fails(self) -> bool:
        """Whether the last try came to nothing."""
        return self._in_a_row > 0

    def failure(self, why: str) -> float:
        """Return how many seconds to wait. Said is what has not been said since it last went well."""
        self._failed()
        self._in_a_row += 1
        if why != self._said:
            self._said = why
            self._log().error("cannot be started, tried again less and less often", what=self._says, why=why)
        return float(min(LONGEST, FIRST * 2 ** min(self._in_a_row - 1, 10)))

    def success(self) -> None:
        """One has started. Where none could be before, that is said, and how often it was tried."""
        if self._in_a_row:
            self._log().warning("starts again", what=self._says, failed=self._in_a_row)
        self._in_a_row, self._said = 0, ""
