"""What a batch script does before its launch line on one site: `templates/environment/`.

It says which of the site file's facts a training job uses, by key path, so that a fact stands in one place. A site that
has no environment part gets a first one: what its file says of modules, variables and demands.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from maple_submit_filter.site.facts import Site

from ..ask import sites
from ..ask.sites import files
from ..ask.sites.model import Fact, SiteFile
from ..base.script_lines import BEGINS_AT_HOME, GOES_BACK
from ..base.tables import Part, Table, parse, paths, read

_WHY = "Drafted from the site file: look at every line, and say here why it is so."
_PAGES = {
    "slurm": "https://slurm.schedmd.com/sbatch.html",
    "pbs": "https://github.com/openpbs/openpbs/blob/master/doc/man1/qsub.1B",
}
_UNKNOWN = (
    "# The site file names no module that brings PyTorch ([[modules.pytorch]]): users load their own environment."
)

KIND = "environment"


class Directive(Table):
    """A directive that a training job of this site has, which follows from no slot and from no demand of the site.

    *option*: the long name without dashes, *value* with slots as in launch templates. *fact*: the key path of the
    site file that tells of it.
    """

    option: str
    value: str = ""
    fact: str = ""
    why: str


class Line(Table):
    """A line of the script that no fact of the site file spells out. *when*: "always" or a GPU vendor."""

    line: str
    why: str
    fact: str = ""


class Option(Table):
    """Words for the launch line that this site wants of a launcher, right behind its own words.

    *over*: the outer launcher. *launcher*: only where it starts this one ("python": rank by rank), "" for any.
    *ranks_per_node*: only for so many ranks on a node, 0 for any number that no other entry names. *words*: with the
    slots of launch templates.
    """

    over: str
    launcher: str = ""
    ranks_per_node: int = 0
    words: str
    fact: str
    why: str


class Environment(Part):
    """The environment part of a site; its name is the site's id.

    *modules*: key paths of `load` tables in the site file, in their order ("modules.pytorch.0"). *variables*: key
    paths of transport variables to export ("network.variables.2"). *first*, *lines*: before and behind the modules.
    *variables_of_agents*: in their place where an agent (torchrun, accelerate, deepspeed) starts the ranks of a node;
    None: the same. *directives*, *options*: as the classes say. *internet*: whether a compute node reaches the
    internet ("direct", "proxy" by the site's [proxy] table, "none"), "" not known.
    """

    modules: list[str] = []
    variables: list[str] = []
    variables_of_agents: list[str] | None = None
    first: list[Line] = []
    lines: list[Line] = []
    directives: list[Directive] = []
    options: list[Option] = []
    internet: str = ""


def names() -> list[str]:
    """Return the site ids that have an environment part, sorted."""
    return list(paths(KIND))


def load(site_id: str) -> Environment | None:
    """Return a site's environment part, None where it has none. Raises `ValueError` where the file is wrong."""
    files = paths(KIND)
    return read(Environment, files[site_id]) if site_id in files else None


class Described(NamedTuple):
    """All that is written of a cluster. *environment* None: it has no such part yet."""

    site: Site
    file: SiteFile
    environment: Environment | None


def described(site_id: str) -> Described:
    """Return what is written of a site. Raises `ValueError` with a line for each mistake, `OSError`."""
    path = sites.path(site_id)
    with open(path, "rb") as file:
        checked = files.parse(file.read(), path)
    return Described(sites.load(site_id), checked, load(site_id))


def draft(described: Described) -> str:
    """Return the text of `environment/<site>.toml`: it passes `lint`, and names facts by their place in the site file.

    The first way to PyTorch is taken, every variable that the centre recommends, and a demand with one fixed value;
    nothing of low confidence.
    """
    file = described.file
    ways = file.modules.pytorch if file.modules else ()
    modules = ["modules.pytorch.%d" % at for at, load in enumerate(ways) if load.sure][:1]
    variables = [
        "network.variables.%d" % at
        for at, variable in enumerate(file.network.variables if file.network else ())
        if variable.status == "recommended" and variable.sure
    ]
    lines = [
        "# The environment part of %s: what a training job does there before its launch line." % file.id,
        "revision = 1",
        "why = %s" % _text(_WHY),
        "sources = [%s]" % ", ".join(map(_text, _sources(file))),
    ]
    if described.site.scheduler == "pbs":
        lines.append("first = [{ line = %s, why = %s }]" % (_text(GOES_BACK), _text(BEGINS_AT_HOME)))
    lines += ["modules = [%s]" % ", ".join(map(_text, modules)), *([] if modules else [_UNKNOWN])]
    if variables:
        lines.append("variables = [%s]" % ", ".join(map(_text, variables)))
    if file.proxy and file.proxy.https:
        lines.append('internet = "proxy"')
    return "\n".join([*lines, *_demands(file)]) + "\n"


def of_draft(described: Described) -> Environment:
    """Return what a site has as long as nobody wrote its part: the draft, by its revision 0."""
    made = parse(Environment, draft(described).encode(), "environment/%s.toml" % described.file.id)
    return made.model_copy(update={"revision": 0})


def _demands(file: SiteFile) -> Iterator[str]:
    """A demand that nothing else of a script answers is shown, for an administrator to give it a value."""
    for name, demand in file.demand.items():
        if not demand.slot and demand.effect != "refused":
            yield from ("", "# The site wants %s: %s" % (", ".join(demand.options), _one_line(demand.says)))
            yield from ("# [[directives]]", "# option = %s" % _text(demand.options[0].lstrip("-")))
            yield from ('# value = ""', "# fact = %s" % _text("demand.%s" % name), '# why = ""')


def _sources(file: SiteFile) -> Sequence[str]:
    facts: list[Fact] = [*(file.modules.pytorch[:1] if file.modules else ()), *([file.network] if file.network else ())]
    known = [source for fact in [*facts, file.scheduler] for source in fact.source if source in file.sources]
    return list(dict.fromkeys(known)) or list(file.sources)[:1] or [_PAGES[file.scheduler.type]]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _text(words: str) -> str:
    return json.dumps(words, ensure_ascii=False)
