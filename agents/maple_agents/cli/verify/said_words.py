"""What the words of a submit command's line say, as slots: an account, a queue, a number of nodes."""

from __future__ import annotations

from maple_submit_filter.answer.decision import examined
from maple_submit_filter.site.facts import Site
from maple_submit_filter.types.job import Job
from maple_submit_filter.types.settings import Settings

from maple_agents.base.slots import Slots
from maple_agents.request.script import slots as script_slots


def slots_of_words(job: Job, site: Site) -> Slots:
    """Return what command line and environment say; the directives of the job's script do not count."""
    words = Settings(tuple(one for one in job.settings if one.origin.kind != "directive"))
    plain = job._replace(settings=words)
    return script_slots.slots(plain, examined(plain, site).plan, (), [], "")
