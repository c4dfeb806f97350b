"""What a scheduler refuses, or why it cannot be asked: one exception."""

from __future__ import annotations

from maple_submit_filter.answer.report import printable


class SchedulerError(Exception):
    """One line: what was asked, what the scheduler said, what to do.

    *code* is the PBS error number or a command's exit code, None where nobody answered. *transient*: the same question
    may well be answered later, so who waits goes on waiting.
    """

    def __init__(self, asked: str, text: str, remedy: str, code: int | None = None, *, transient: bool = False) -> None:
        self.asked = asked
        self.code = code
        self.text = text
        self.remedy = remedy
        self.transient = transient
        number = "" if code is None else " (%d)" % code
        super().__init__(printable("%s: %s%s; %s" % (asked, one_line(text) or "no reason given", number, remedy)))


class MisuseError(RuntimeError):
    """A mistake in our own code: a connection used by another thread, after a fork, or after it was closed."""


def one_line(text: str) -> str:
    """Return *text* on one line, cut after 300 characters."""
    joined = " / ".join(line.strip() for line in text.splitlines() if line.strip())
    return joined if len(joined) <= 300 else joined[:299] + "…"
