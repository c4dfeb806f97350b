"""A paradigm of the repository as a batch script for a site: the parts put together as `maple new` does."""

from __future__ import annotations

from typing import NamedTuple

from ...ask.sites.launch_templates import LaunchFile, load
from ...ask.verified.records import CannotVerify
from ...base.slots import Lacking, Refused, Slots
from ...templates import environments, paradigms
from ...templates.revisions import composition_revision
from ...write.clusters import cluster
from ...write.composition import Made, make
from ...write.rule_check import Mistaken


class Composed(NamedTuple):
    """A script of a paradigm. *revision*: of the paradigm. *composition*: the hash of all its parts and facts.

    *mini_app*: what proves a launch of it.
    """

    script: bytes
    revision: int
    composition: str
    mini_app: str


def composed(name: str, site_id: str, said: Slots) -> Composed:
    """Return the script that starts the paradigm of that name on a site, with what was *said* of the job.

    Raises `CannotVerify` where there is no such paradigm, where the site has no way to start it, or where it demands
    what nobody said.
    """
    try:
        made = make(said, cluster(site_id))
        paradigm = paradigms.load(name)
    except Mistaken:
        raise
    except (Refused, ValueError) as error:
        raise CannotVerify("%s on %s: %s" % (name, site_id, error)) from error
    if isinstance(made, Lacking):
        missing = ["%s (%s)" % (one.slot, one.says) for one in made.missing]
        raise CannotVerify("%s on %s lacks %s" % (name, site_id, "; ".join(missing)), "say it behind --")
    launch = _launch(made)
    site = made.plan.cluster.site
    revision = composition_revision(site, paradigm, launch, environments.load(site_id))
    return Composed(made.script, paradigm.revision, revision, paradigm.mini_app)


def _launch(made: Made) -> LaunchFile:
    """Return the launch template of the plan, read from its file: what is kept of it says less."""
    return next(one for one in load() if one.name == made.plan.launch.name)
