"""The shortest job that a site takes: some queues refuse one of a few minutes."""

from __future__ import annotations

from maple_submit_filter.types.settings import Settings

from ...base.quantities import of_clock
from ...write.clusters import cluster
from .command_line import SPARE

SELECTORS = ("partition", "qos", "queue")


def least(site_id: str, settings: Settings) -> int:
    """Return the shortest walltime in seconds that the job's queue takes, 0 where nothing is known of one.

    Where the job names none, it is what every queue of the site takes.
    """
    try:
        file = cluster(site_id).file
    except ValueError:
        return 0
    times: dict[tuple[str, str], int] = {}
    for selector in SELECTORS if file is not None else ():
        for name, table in getattr(file, selector).items():
            times[selector, name] = of_clock(str(table.min_walltime or "")) or 0
    named = [(one, (settings.value(one) or b"").decode("utf-8", "replace")) for one in SELECTORS]
    known = [times[one] for one in named if one in times]
    return max(known or times.values(), default=0)


def at_least(seconds_wanted: float, site_id: str, settings: Settings) -> float:
    """Return the seconds to ask a walltime for: those that are wanted, or as many as the queue demands."""
    return max(seconds_wanted, least(site_id, settings) - SPARE)
