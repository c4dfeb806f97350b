"""What stands between the directives and the launch line: modules, variables, the user's environment."""

from __future__ import annotations

from .values import Plan


def lines(plan: Plan) -> list[bytes]:
    """Return the lines, without newlines and with short comments: modules, variables, the user's own environment,
    and what the model needs around it. Under PBS the change to the folder of the submission comes first.
    """
    raise NotImplementedError
