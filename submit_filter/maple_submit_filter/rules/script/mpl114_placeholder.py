"""Placeholders that are left in a request."""

from __future__ import annotations

import re
from typing import Iterator

from ...cures.option_edits import at
from ...request.scheduler_words import option
from ...site.facts import Site
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule

_LEFT_IN = re.compile(
    rb"<[A-Za-z][\w .-]*>|\{\{?[A-Za-z][\w .-]*\}?\}|\A\[[A-Za-z][\w .-]*\]\Z"
    rb"|\A(?:YOUR|MY|CHANGE|INSERT|ENTER|REPLACE)[_-]?(?:ME|[A-Z]+(?:[_-][A-Z]+)*)\Z|\A(?:TODO|FIXME|[xX]{3,})\Z"
    rb"|\Ayour[_-](?:project|account|allocation|partition|queue|qos)(?:[_-](?:name|id|code))?\Z"
)
_ASKED = {"account": "account", "partition": "partition", "qos": "qos", "queue": "queue", "time": "walltime",
          "walltime": "walltime", "nodes": "nodes"}  # fmt: skip
_FREE = ("comment", "wrap", "output", "error", "input", "job-name", "mail-user", "export", "Variable_List", "chdir")


@rule("MPL114", "a placeholder is left in the request")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Examples of centres have words in brackets, or in capitals, where each user writes an own value.

    Wrong: #SBATCH --account=<project>, #SBATCH --nodes={nodes}, #PBS -A YOUR_PROJECT
    Right: #SBATCH --account=abc123
    Why:   the scheduler takes the word as it stands and knows no such account, partition or number. Maple has no value
           to put in its place; it asks for one.
    """
    for setting in job.settings:
        match = _LEFT_IN.search(setting.value) if setting.name not in _FREE else None
        if match is not None:
            says = "%s is a placeholder" % match.group().decode("utf-8", "replace")
            yield Finding("MPL114", says, at(setting), asks_for=_ASKED.get(setting.name, ""),
                          help="write the value that is meant: %s" % option(job, setting.name, "..."))  # fmt: skip
