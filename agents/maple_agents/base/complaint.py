"""What a command cannot do, in one line: what is wrong, where, and what to do about it."""

from __future__ import annotations

import click
from maple_submit_filter.answer.report import printable


class Complaint(click.ClickException):
    """Ends a command with exit code 2 and one line on stderr; *remedy* says what to do."""

    exit_code = 2

    def __init__(self, wrong: str, remedy: str = "") -> None:
        super().__init__(printable(wrong.rstrip(".") + (f"; {remedy}" if remedy else "")))
