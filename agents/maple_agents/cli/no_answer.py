"""A service that does not answer: one line, and exit code 3."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator

import click
from maple_submit_filter.answer.report import printable


class Unanswered(click.ClickException):
    """Ends a command with exit code 3 and one line on stderr."""

    exit_code = 3


@contextmanager
def asked_of_service() -> Iterator[None]:
    """Turn what the service cannot do into one line."""
    from maple_agents.ask.memory.service import NoService, Refused

    try:
        yield
    except (NoService, Refused) as error:
        raise Unanswered(printable(str(error))) from None
    except (KeyError, TypeError, AttributeError) as error:
        what = "the service's answer was not understood (%s); service and command may be of different releases" % error
        raise Unanswered(printable(what)) from None
