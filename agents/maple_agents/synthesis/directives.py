"""The directives of a plan, each in the scheduler's and the site's own form."""

from __future__ import annotations

from .values import Plan


def lines(plan: Plan) -> list[bytes]:
    """Return the directive lines (`#SBATCH --nodes=2`), without newlines, in the order that people write them.

    Never one that the site refuses. The job's name is not among them where nobody knows one.
    """
    raise NotImplementedError
