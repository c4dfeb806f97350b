"""How much of trying changes a submission is worth: counted in commands, so that the answer is the same everywhere.

Whoever writes a script may write one that takes long. A clock would bound that too, and answer now this, now that.
"""

from __future__ import annotations

from typing import Optional

from .search import State

MOST_TRIED = 8_000  # commands that all tries play through; the scripts of the tests come to a fifth at most
BYTES_OF_A_COMMAND = 16  # of a script count for as many: rules read it all, whatever is played
SPENT = "the script is too long for every change to be tried"


class Effort:
    """What the tries of one submission have cost."""

    def __init__(self) -> None:
        self._spent = 0
        self.refused = False

    def may_try(self) -> bool:
        """Return whether there is any left; that there was none is remembered."""
        self.refused = self.refused or self._spent > MOST_TRIED
        return not self.refused

    def played(self, state: Optional[State]) -> Optional[State]:
        """Count what a play has come to, and return it."""
        if state is not None:
            self._spent += state.plan.commands + len(state.job.source) // BYTES_OF_A_COMMAND
        return state
