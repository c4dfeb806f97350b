"""Why a script cannot be verified: one exception."""

from __future__ import annotations

from maple_submit_filter.answer.report import printable


class CannotVerify(Exception):
    """One line: what is in the way and where; *remedy* says what to do."""

    def __init__(self, says: str, remedy: str = "") -> None:
        self.says, self.remedy = says, remedy
        super().__init__(printable(says + (f"; {remedy}" if remedy else "")))


class Interrupted(BaseException):
    """A signal asked us to end; no `Exception`, so that nothing takes it for a failure to be dealt with."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(f"signal {number}")
