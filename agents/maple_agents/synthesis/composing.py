"""A plan as a batch script."""

from __future__ import annotations

from .values import Plan


def compose(plan: Plan) -> bytes:
    """Return the script: shebang, directives, environment, setup, launch line. It ends with a newline."""
    raise NotImplementedError
