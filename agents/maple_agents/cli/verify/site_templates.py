"""What `maple verify --site` runs: the site's launch templates, and the repository's paradigms put together for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Optional, Union

from maple_submit_filter.site.facts import Site
from maple_submit_filter.types.submission import Submission

from ...ask.submission import here_of, loaded, submission
from ...base.complaint import Complaint

if TYPE_CHECKING:
    from maple_agents.ask.verified_runs import CannotVerify
    from maple_agents.base.slots import Slots


class Case(NamedTuple):
    """A script to verify. *template*, *revision*, *composition*: what its record is of, "" and 0 for a user's script.

    *miniapp*: the one that trains as the template means. *why*: why it is to be verified, [] where its record holds.
    """

    title: str
    submission: Submission
    site: Site
    template: str = ""
    revision: int = 0
    composition: str = ""
    miniapp: str = "auto"
    why: Sequence[str] = ()
    known_by: str = ""  # from where it is known which site this is, as a phrase


class Layout(NamedTuple):
    """What the options say of the job: nodes, GPUs of a node (None: all), seconds that it may take."""

    nodes: int
    gpus: Optional[int]
    seconds: float


CaseOrWhy = Union[Case, "CannotVerify"]


def cases(words: Sequence[str], site_id: str, name: Optional[str], layout: Layout) -> list[tuple[str, CaseOrWhy]]:
    """Return the template or paradigm of that name, or all that the site can use: as a script, or why there is none.

    Raises `Complaint` where nothing of the site can be verified, or the one that is named cannot.
    """
    from maple_agents.ask.verified_runs import CannotVerify
    from maple_agents.templates import paradigms

    where = here_of(site_id)
    site = loaded(where)
    names = [launch_template.name for launch_template in site.launch_templates]
    if name is None and not names:
        raise Complaint(f"--site {site_id}: there is no launch template for it", "see maple site show")
    known = paradigms.names()
    made_cases: list[tuple[str, CaseOrWhy]] = []
    for part in (*names, *known) if name is None else (name,):
        try:
            made = (_paradigm if part in known else _launch)(part, site, words, layout)
        except CannotVerify as error:
            if name is not None:
                raise Complaint(str(error)) from error
            made_cases.append((part, error))
            continue
        made_cases.append((part, made._replace(known_by=where.why)))
    return made_cases


def _launch(name: str, site: Site, words: Sequence[str], layout: Layout) -> Case:
    from maple_agents.ask import verified_runs
    from maple_agents.verify.exchange import from_template

    template = from_template.template(name, site)
    source = from_template.script(template, site, layout.nodes, _partition(words), layout.gpus)
    verified = any(
        launch_template.verified for launch_template in site.launch_templates if launch_template.name == name
    )
    why = [] if verified else verified_runs.outdated(site, name, template.revision)
    asked = submission("-", source, words, site.scheduler)
    return Case(name, asked, site, name, template.revision, why=why)


def _paradigm(name: str, site: Site, words: Sequence[str], layout: Layout) -> Case:
    from maple_agents.ask import verified_runs
    from maple_agents.verify.exchange.from_template import composed

    made = composed(name, site.id, _slots(name, site, words, layout))
    why = verified_runs.outdated(site, name, made.revision, made.composition)
    asked = submission("-", made.script, words, site.scheduler)
    return Case(name, asked, site, name, made.revision, made.composition, made.mini_app, why)


def _slots(name: str, site: Site, words: Sequence[str], layout: Layout) -> "Slots":
    """Return what is said of the job: by the words first, then by the options."""
    from maple_submit_filter.answer.decision import understood

    from maple_agents.base.quantities import clock
    from maple_agents.base.slots import Origin, Slot, Slots
    from maple_agents.verify.exchange.command_line import at_least, minutes

    from ...request.script.slots import slots_of_words

    job = understood(submission("-", b"#!/bin/bash\n", words, site.scheduler), None)
    slots = slots_of_words(job, site) if job is not None else Slots()
    seconds = at_least(layout.seconds, site.id, job.settings) if job is not None else layout.seconds
    option = Origin("option")
    more = [
        Slot("paradigm", name, option),
        Slot("nodes", layout.nodes, option),
        Slot("walltime", clock(minutes(seconds) * 60), option),
        Slot("program", "train.py", option),
    ]
    if layout.gpus is not None:
        more.append(Slot("gpus_per_node", layout.gpus, option))
    return slots.with_more(more)


def _partition(words: Sequence[str]) -> str:
    """Return the partition or queue among the words, "" where there is none: it decides what the nodes have."""
    for at, word in enumerate(words):
        for option in ("--partition=", "-p", "-q"):
            if word.startswith(option):
                return word[len(option) :] or (words[at + 1] if at + 1 < len(words) else "")
    return ""
