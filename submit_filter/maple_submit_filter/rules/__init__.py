"""The rules: one file each, found by listing this folder, so that a new one needs no entry anywhere.

A rule is a function (plan, job, site) -> findings. It decides and hands back data; it never edits and never prints.
Its docstring is its page: what it is about, then lines that begin with `Wrong:`, `Right:` and `Why:`.
"""

from __future__ import annotations

import os
from typing import Callable, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from ..site.facts import Site
from ..types.findings import Finding
from ..types.job import Job
from ..types.launch_plan import LaunchPlan

Check = Callable[[LaunchPlan, Job, Site], Iterable[Finding]]


class Rule(NamedTuple):
    """A rule by its code (MPLnnn, never used again for something else) and title.

    *scheduler*: the only one whose jobs it is about ("slurm" or "pbs"), "" for those of both.
    """

    code: str
    title: str
    check: Check
    scheduler: str = ""

    @property
    def page(self) -> str:
        """The rule's explanation, from its docstring."""
        return self.check.__doc__ or ""


_RULES: List[Rule] = []
_loaded = False


def rule(code: str, title: str, scheduler: str = "") -> Callable[[Check], Check]:
    """Register a function as the rule of that code, for the jobs of one *scheduler*, or of both where it is ""."""

    def register(check: Check) -> Check:
        _RULES.append(Rule(code, title, check, scheduler))
        return check

    return register


def rules() -> List[Rule]:
    """Return every rule, in the order of their codes. Raises each time where one cannot be loaded.

    Some of the rules are none: by them a wrong script would be called right (files may be exchanged under a service).
    """
    global _loaded
    if not _loaded:
        for room, name in _files(os.path.dirname(__file__)):
            before = len(_RULES)
            try:
                __import__("%s.%s.%s" % (__name__, room, name))
            except BaseException:
                del _RULES[before:]
                raise
        _RULES.sort(key=lambda rule: rule.code)
        _loaded = True
    return _RULES


def _files(folder: str) -> Iterator[Tuple[str, str]]:
    """Yield the room and the module of each rule."""
    for room in sorted(os.listdir(folder)):
        if "." not in room and room[:1] != "_":
            for name in sorted(os.listdir(folder + "/" + room)):
                if name.startswith("mpl") and name.endswith(".py"):
                    yield room, name[:-3]


def by_code(code: str) -> Optional[Rule]:
    """Return the rule of a code, in any case of letters."""
    return next((rule for rule in rules() if rule.code == code.upper()), None)


def diagnose(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Yield what every rule finds that is about such jobs.

    A rule that fails is skipped: a bug in one must not cost the submission.
    """
    for rule in rules():
        if rule.scheduler not in ("", job.submission.scheduler):
            continue
        try:
            findings = list(rule.check(plan, job, site))
        except Exception:
            if os.environ.get("MAPLE_RULES_RAISE"):
                raise
            continue
        yield from findings
