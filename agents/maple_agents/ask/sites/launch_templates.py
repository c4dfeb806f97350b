"""Launch templates: what a right launch line looks like, read from `templates/launch/` and checked."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Literal

from maple_submit_filter.site.facts import LaunchTemplate, Site
from pydantic import Field

from ...base import tables
from ...base.script_lines import EXPORTS
from ...base.tables import Table

KIND = "launch"
FOLDER = os.path.join("templates", KIND)
SLOTS = frozenset(("job.nodes", "job.tasks", "job.tasks_per_node", "job.ranks", "site.gpus_per_node", "job.exports"))
_SLOT = re.compile(r"(?<!\$)\{([^{}]*)\}")


class When(Table):
    """The exact slots that the template is for. *over*: the launcher that starts *launcher* on the nodes, or the
    command whose batch shell is all that starts it ("plain").

    *maker*: whose program that launcher has to be, "" for any. *ranks*: how many ranks it needs, "" for any number.
    """

    scheduler: Literal["slurm", "pbs"]
    launcher: Literal["torchrun", "accelerate", "deepspeed", "python", "plain"]
    over: Literal["srun", "ibrun", "mpirun", "mpiexec", "sbatch", "qsub"]
    maker: Literal["", "pals", "hydra", "openmpi", "intelmpi"] = ""
    ranks: Literal["", ">1"] = ""


class Verification(Table):
    """One run of a mini-app with this template: where, at which revisions, when, and what came of it."""

    site: str
    site_revision: str
    revision: Annotated[int, Field(ge=1)]
    by: str
    on: date
    result: Literal["passed", "failed"]


class LaunchFile(Table):
    """A launch template. *launch*: words from outside in, with slots; first those of `when.over`.

    *before*: lines in front of the launch line, in the batch shell, that set what it names (MASTER_ADDR, HOSTFILE).
    The program stands behind the last word of *launch*; that of "python" or "plain" ends with python, which gives way
    to an interpreter of the program's own.
    """

    revision: Annotated[int, Field(ge=1)]
    when: When
    before: list[str] = []
    launch: Annotated[list[str], Field(min_length=2, max_length=2)]
    why: Annotated[str, Field(min_length=1)]
    verified: list[Verification] = []

    @property
    def name(self) -> str:
        """The name of its file, without the ending."""
        return "%s-over-%s" % (self.when.launcher, self.when.maker or self.when.over)


def paths() -> list[str]:
    """Return the path of every template in force, sorted by name."""
    return list(tables.paths(KIND).values())


def parse(source: bytes, filename: str) -> LaunchFile:
    """Return the template that *source* is. Raises `ValueError`: a line for each mistake, with file and key path."""
    made = tables.parse(LaunchFile, source, filename)
    for key, lines in (("before", made.before), ("launch", made.launch)):
        for at, line in enumerate(lines):
            wrong = sorted(set(_SLOT.findall(line)) - SLOTS)
            if wrong:
                raise ValueError("%s: %s[%d]: no such slot {%s}; there are %s" % (
                    filename, key, at, wrong[0], ", ".join(sorted(SLOTS))))  # fmt: skip
    if os.path.basename(filename) != made.name + ".toml":
        raise ValueError("%s: when: the file should be called %s.toml" % (filename, made.name))
    return made


def filled(line: str, slots: Mapping[str, int]) -> str:
    """Return *line* with the number of each slot of `SLOTS` in its place; `EXPORTS` stays."""
    return _SLOT.sub(lambda match: match[0] if match[0] == EXPORTS else str(slots[match[1]]), line)


def load() -> list[LaunchFile]:
    """Return every template. Raises `ValueError` with every mistake of the first file that is wrong."""
    templates = []
    for path in paths():
        with open(path, "rb") as file:
            templates.append(parse(file.read(), path))
    return templates


def for_site(site: Site) -> tuple[LaunchTemplate, ...]:
    """Return the templates whose outer launcher the site has, as its snapshot holds them.

    What hands on variables by name is not verified there: a repair of one line does not know them all.
    """
    return tuple(
        LaunchTemplate(
            name=launch_file.name,
            revision=launch_file.revision,
            launcher=launch_file.when.launcher,
            over=launch_file.when.over,
            words=launch_file.launch[0].replace(" " + EXPORTS, ""),
            verified=EXPORTS not in launch_file.launch[0] and _passed(launch_file, site),
        )
        for launch_file in load()
        if launch_file.when.scheduler == site.scheduler
        and site.launcher(launch_file.when.over) in ("preferred", "present")
        and launch_file.when.maker in ("", site.maker(launch_file.when.over))
    )


def _passed(launch_file: LaunchFile, site: Site) -> bool:
    """Return whether the last run for this very revision of template and site passed."""
    runs = [
        run for run in launch_file.verified if (run.site, run.site_revision, run.revision) == _now(launch_file, site)
    ]
    return bool(runs) and max(runs, key=lambda run: run.on).result == "passed"


def _now(launch_file: LaunchFile, site: Site) -> tuple[str, str, int]:
    return site.id, site.revision, launch_file.revision
