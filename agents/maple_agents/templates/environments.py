"""What a batch script does before its launch line on one site: `templates/environment/`.

It says which of the site file's facts a training job uses, by key path, so that a fact stands in one place.
"""

from __future__ import annotations

from ..base.tables import Part, Table, paths, read

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
    found = paths(KIND)
    return read(Environment, found[site_id]) if site_id in found else None
