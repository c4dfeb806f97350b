"""Logs that the script writes to and that lie beside those that the user named: said, and not read.

Without a scheduler nobody knows when the job ran, so they may be of another run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from maple_submit_filter.site.facts import Site
from maple_submit_filter.types.submission import Submission

from ...ask.schedulers.deadlines import Worker
from ...ask.schedulers.errors import SchedulerError
from ..values import LogFile
from .gathering import Gathered
from .launch_files import launched
from .played import play
from .sought import Facts, redirected
from .walking import Window

SECONDS = 5.0  # for looking


def left_unread(asked: Submission, site: Site, read: Sequence[LogFile]) -> tuple[str, ...]:
    """Return a line that names them, nothing where there are none, or nobody knows in time. Raises nothing."""
    if not read:
        return ()
    folder = os.path.dirname(os.path.abspath(read[0].path))
    try:
        found = Worker("looking for more logs").call(lambda: _beside(asked, site, read, folder), SECONDS)
    except (SchedulerError, RecursionError, ValueError, LookupError, OSError):
        return ()
    if not found:
        return ()
    place = os.path.relpath(found[0] if len(found) == 1 else os.path.commonpath(map(os.path.dirname, found)))
    if len(found) == 1 or place == os.path.relpath(folder):
        others = " and %d more" % (len(found) - 1) if len(found) > 1 else ""
        return ("the script writes to %s%s too, not read: --log FILE" % (os.path.relpath(found[0]), others),)
    return ("the script writes to %d files in %s too, not read: --log %s" % (len(found), place, place),)


def _beside(asked: Submission, site: Site, read: Sequence[LogFile], folder: str) -> list[str]:
    """Return the files below *folder*, sorted. What was read of the script there is not ours to complain of."""
    facts = Facts(asked.scheduler, "", (), folder, {})
    played = play(asked._replace(cwd=os.fsencode(folder)), site, {})
    made = Gathered(Window())
    made.given(read)
    before = len(made.logs)
    made.sought([one for one in (*redirected(played, facts), *launched(played, facts)) if not one.shared])
    return sorted(one.path for one in made.logs[before:] if one.path.startswith(folder.rstrip("/") + "/"))
