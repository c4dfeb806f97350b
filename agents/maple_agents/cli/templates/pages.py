"""What `maple templates show` shows: a part as a tree, every line with the reason that goes with it.

What `maple templates list` shows.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Optional, TypedDict, Union, cast

from maple_submit_filter.answer.report import printable
from pydantic import BaseModel

from maple_agents.ask.sites import launch_templates as templates
from maple_agents.ask.sites.launch_templates import LaunchFile
from maple_agents.base.near_names import nearest
from maple_agents.base.tables import paths, read
from maple_agents.templates import catalogue, environments, model_facts, paradigms, proofs
from maple_agents.templates.environments import Described, Environment, described
from maple_agents.templates.model_facts import Family
from maple_agents.templates.paradigms import Paradigm
from maple_agents.templates.proofs import composition_revision

from ...base.output import WIDE, Branch, coloured, width
from ...base.output import draw as draw_tree
from ...templates.model_facts import fact

Row = tuple[str, ...]
_SEEN = {"site": "on the site", "lab": "in a lab of its shape", "doubles": "over doubles of its launcher"}


class ListedParadigm(TypedDict):
    """A way to divide a training, and who may start it."""

    revision: int
    title: str
    launchers: list[str]


class ListedEnvironment(TypedDict):
    """A site's environment part."""

    revision: int
    internet: str


class ListedFamily(TypedDict):
    """A family of models."""

    revision: int
    title: str
    members: list[str]


class All(TypedDict):
    """Every part by kind and name. Of a launch template: its revision, and what it is for."""

    paradigms: dict[str, ListedParadigm]
    launches: dict[str, dict[str, Any]]
    environments: dict[str, ListedEnvironment]
    models: dict[str, ListedFamily]


class Start(TypedDict):
    """A launch template that starts a paradigm on a site. *verified*: where the composition of today was seen to run:
    at the "site", in a "lab" of its shape, over "doubles".
    """

    launch: str
    revision: int
    composition: str
    verified: Optional[str]


class OfSite(TypedDict):
    """By paradigm the launch templates for a site, the best first, and the revision of its environment part."""

    site: str
    environment: Optional[int]
    launches: dict[str, list[Start]]


class Page(NamedTuple):
    """A part to be shown. *data*: for JSON. *tree*: for people."""

    data: dict[str, Any]
    tree: Branch


def page(name: str, site_id: str | None) -> Page:
    """Return the page of the part of that name. Raises `ValueError` where there is none."""
    site = described(site_id) if site_id else None
    launches = {made.name: made for made in templates.load()}
    if name in paradigms.names():
        return _of_paradigm(name, site)
    if name in launches:
        return Page(_data("launch", name, launches[name]), _launch_tree(launches[name], site))
    if name in environments.names():
        return _of_environment(name)
    family = _family(name)
    if family is not None:
        return Page(_data("models", name, family), _family_tree(family))
    raise ValueError("there is no part %r%s" % (name, _meant(name)))


def draw(made: Page) -> None:
    """Print the page of a part."""
    draw_tree(made.tree._replace(kind="job"))


def branch(label: str, below: Sequence[str | Branch] = ()) -> Branch:
    """Return a branch of the page; words below it are its leaves."""
    leaves = tuple(leaf if isinstance(leaf, Branch) else Branch("rank", _line(leaf)) for leaf in below)
    return Branch("node" if leaves else "rank", _line(label), leaves)


def _line(words: str) -> str:
    return printable(" ".join(words.split()))


def _data(kind: str, name: str, part: BaseModel) -> dict[str, Any]:
    return {"kind": kind, "name": name, **part.model_dump(mode="json", exclude_defaults=True)}


def names() -> list[str]:
    """Return every name that has a page: paradigms, launch templates, environments of sites, models."""
    members = [member.name for family in model_facts.load() for member in family.members]
    return [
        *paradigms.names(),
        *(launch_file.name for launch_file in templates.load()),
        *environments.names(),
        *members,
    ]


def _meant(name: str) -> str:
    return nearest(name, names()) or "; maple templates list names them all"


def _family(name: str) -> Family | None:
    word = _plain(name)
    for family in model_facts.load():
        if word in (_plain(family.title), *(_plain(member.name) for member in family.members)):
            return family
    return None


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "", name.lower())


def _of_paradigm(name: str, described: Described | None) -> Page:
    part = paradigms.load(name)
    data = _data("paradigm", name, part)
    tree = [branch(part.says), branch("started by", [", ".join(part.launchers)])]
    tree += [branch("each rank holds only its share of", [", ".join(part.divides)])] if part.divides else []
    tree += [branch("proved by", ["the mini-app %s" % part.mini_app])]
    tree += [branch("the program needs", part.around)] if part.around else []
    tree += [branch("people say", [", ".join(part.phrases)])]
    if described is not None:
        fitting = catalogue.fitting(part, described.site, described.file)
        data["site"] = {"id": described.site.id, "launches": [made.name for made in fitting]}
        tree += [_launch_tree(made, described) for made in fitting[:1]]
    return Page(data, branch("%s: %s" % (name, part.title), [*tree, *_known_from(part)]))


def _launch_tree(part: LaunchFile, described: Described | None) -> Branch:
    words = catalogue.launch_words(part, described.environment if described else None, _ranks(described))
    tree = [branch("before the launch line", part.before)] if part.before else []
    tree += [branch("the launch line", [*words, "the program"]), branch("because", [part.why])]
    if described is None:
        tree.append(branch("for", list(_sites_of(part)) or ["no site"]))
    return branch("%s, revision %d" % (part.name, part.revision), tree)


def _ranks(described: Described | None) -> int:
    """Return the ranks of a node where all nodes of the site have as many; 0 where they differ."""
    counts = {kind.gpus for kind in described.site.kinds if kind.gpus} if described else set()
    return next(iter(counts)) if len(counts) == 1 else 0


def _sites_of(part: LaunchFile) -> Iterator[str]:
    """Yield the sites where the template starts something, and what it is the first choice for."""
    known: dict[str, Paradigm] = {name: paradigms.load(name) for name in paradigms.names()}
    among = templates.load()
    for site_id in environments.names():
        site = described(site_id)
        fitting = {
            name: catalogue.fitting(paradigm, site.site, site.file, None, among) for name, paradigm in known.items()
        }
        first = [name for name, launch_files in fitting.items() if launch_files and launch_files[0].name == part.name]
        if first:
            yield "%s: the first choice for %s" % (site_id, ", ".join(first))
        elif any(part.name == made.name for launch_files in fitting.values() for made in launch_files):
            yield site_id


def _of_environment(name: str) -> Page:
    site = described(name)
    part = site.environment
    assert part is not None
    tree = [
        branch("directives", list(_directives(part))),
        branch("first", ["%s: %s" % (row.line, row.why) for row in part.first]),
        branch("modules", list(_modules(site, part))),
        branch("then", ["%s: %s" % (row.line, row.why) for row in part.lines]),
        branch("variables", list(_variables(site, part.variables))),
        branch("variables where an agent starts the ranks", list(_variables(site, part.variables_of_agents or ()))),
        branch("on the launch line", list(_options(part))),
        branch("internet on a compute node", [part.internet or "not known"]),
    ]
    shown = [part for part in tree if part.below]
    return Page(
        _data("environment", name, part),
        branch("%s: %s, revision %d" % (name, site.file.name, part.revision), [*shown, *_known_from(part)]),
    )


def _directives(part: Environment) -> Iterator[str]:
    for row in part.directives:
        yield "%s%s: %s" % (row.option, row.value and "=" + row.value, row.why)


def _modules(described: Described, part: Environment) -> Iterator[str]:
    for path in part.modules:
        load = fact(described.file, path)
        yield from ("%s (%s)" % (line, path) for line in load.load)
        if load.then:
            yield "then: %s" % load.then


def _variables(described: Described, paths: Sequence[str]) -> Iterator[str]:
    for path in paths:
        variable = fact(described.file, path)
        value = variable.value or ":".join([*variable.prepend, "$" + variable.name])
        yield "%s=%s (%s)" % (variable.name, value, path)


def _options(part: Environment) -> Iterator[str]:
    for row in part.options:
        inner = " %s" % row.launcher if row.launcher else ""
        count = ", %d ranks a node" % row.ranks_per_node if row.ranks_per_node else ""
        yield "%s%s%s: %s: %s" % (row.over, inner, count, row.words, row.why)


def _family_tree(family: Family) -> Branch:
    tree = [
        branch(
            "%s: %s parameters, %s" % (member.name, format(member.parameters, ","), member.hub),
            [", ".join(member.phrases)],
        )
        for member in family.members
    ]
    more = [branch("a job needs", family.around)] if family.around else []
    return branch("%s%s" % (family.title, ", gated" if family.gated else ""), [*tree, *more, *_known_from(family)])


def _known_from(part: Any) -> list[Branch]:
    return [branch("because", [part.why]), branch("known from", list(part.sources))]


def list_of_all() -> All:
    """Return every part by kind. Raises `ValueError`."""
    return {
        "paradigms": {name: _paradigm(name) for name in paradigms.names()},
        "launches": {launch_file.name: _launch(launch_file) for launch_file in templates.load()},
        "environments": {name: _environment(name) for name in environments.names()},
        "models": {name: _listed_family(path) for name, path in paths(model_facts.KIND).items()},
    }


def list_of_site(site_id: str) -> OfSite:
    """Return, by paradigm, the launch templates for the site, the best first. Raises `ValueError`."""
    site, among = described(site_id), templates.load()
    launches = {name: list(_launches(name, site, among)) for name in paradigms.names()}
    revision = site.environment.revision if site.environment else None
    return {"site": site_id, "environment": revision, "launches": launches}


def _launches(name: str, described: Described, among: list[templates.LaunchFile]) -> Iterator[Start]:
    paradigm = paradigms.load(name)
    proof = proofs.load(described.site.id).get(name)
    here = {made.name for made in described.site.launch_templates if made.verified}
    for made in catalogue.fitting(paradigm, described.site, described.file, among=among):
        composition = composition_revision(described.site, paradigm, made, described.environment)
        ran = proof.where if proof and proofs.holds(proof, made.name, composition) else None
        verified = "site" if made.name in here else ran
        yield {"launch": made.name, "revision": made.revision, "composition": composition, "verified": verified}


def show_list(made: Union[All, OfSite]) -> None:
    """Print a list of either kind as tables."""
    if "site" in made:
        made = cast("OfSite", made)
        _table("paradigm", ("started by", "seen to run", "or by"), _site_rows(made))
        return
    _table("paradigm", ("is", "started by"), _rows(made["paradigms"], "title", "launchers"))
    _table("launch template", ("revision", "scheduler"), _rows(made["launches"], "revision", "scheduler"))
    _table("environment of", ("revision", "internet"), _rows(made["environments"], "revision", "internet"))
    _table("models", ("family", "members"), _rows(made["models"], "title", "members"))


def _paradigm(name: str) -> ListedParadigm:
    paradigm = paradigms.load(name)
    return {"revision": paradigm.revision, "title": paradigm.title, "launchers": list(paradigm.launchers)}


def _launch(launch_file: templates.LaunchFile) -> dict[str, Any]:
    return {"revision": launch_file.revision, **launch_file.when.model_dump(exclude_defaults=True)}


def _environment(name: str) -> ListedEnvironment:
    environment = environments.load(name)
    assert environment is not None, name
    return {"revision": environment.revision, "internet": environment.internet}


def _listed_family(path: str) -> ListedFamily:
    family = read(model_facts.Family, path)
    return {"revision": family.revision, "title": family.title, "members": [member.name for member in family.members]}


def _site_rows(made: OfSite) -> Iterator[Row]:
    for name, launches in made["launches"].items():
        names = [launch["launch"] for launch in launches]
        seen = launches[0]["verified"] or "" if launches else ""
        yield name, names[0] if names else "nothing", _SEEN.get(seen, seen), ", ".join(names[1:4])


def _rows(parts: Mapping[str, Mapping[str, Any]], *keys: str) -> Iterator[Row]:
    for name, part in parts.items():
        yield (name, *(_word(part.get(key, "")) for key in keys))


def _word(value: object) -> str:
    return ", ".join(str(part) for part in value) if isinstance(value, list) else str(value)


def _table(first: str, others: tuple[str, ...], rows: Iterator[Row]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in (first, *others):
        table.add_column(heading, style="cyan" if heading == first else "", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    terminal = sys.stdout.isatty()
    console = Console(width=width() if terminal else WIDE, no_color=not coloured(), highlight=False, emoji=False)
    console.print(table)
    console.print()
