"""What `maple templates list` shows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from maple_submit_filter.answer.report import printable

from maple_agents.ask.sites import launch_templates as templates
from maple_agents.base.tables import paths, read
from maple_agents.templates import catalogue, environments, model_facts, paradigms, proofs
from maple_agents.templates.revisions import composition_revision
from maple_agents.templates.site_description import Described, described

from ...base.drawing import WIDE, coloured, width

Listed = dict[str, Any]
Row = tuple[str, ...]
_SEEN = {"site": "on the site", "lab": "in a lab of its shape", "doubles": "over doubles of its launcher"}


def of_all() -> Listed:
    """Return every part by kind. Raises `ValueError`."""
    return {
        "paradigms": {name: _paradigm(name) for name in paradigms.names()},
        "launches": {one.name: _launch(one) for one in templates.load()},
        "environments": {name: _environment(name) for name in environments.names()},
        "models": {name: _family(path) for name, path in paths(model_facts.KIND).items()},
    }


def of_site(site_id: str) -> Listed:
    """Return, by paradigm, the launch templates for the site, the best first. Raises `ValueError`.

    "verified": where the composition of today was seen to run: at the "site", in a "lab" of its shape, over "doubles".
    """
    one, among = described(site_id), templates.load()
    launches = {name: list(_launches(name, one, among)) for name in paradigms.names()}
    revision = one.environment.revision if one.environment else None
    return {"site": site_id, "environment": revision, "launches": launches}


def _launches(name: str, one: Described, among: list[templates.LaunchFile]) -> Iterator[Listed]:
    paradigm = paradigms.load(name)
    proof = proofs.load(one.site.id).get(name)
    here = {made.name for made in one.site.launch_templates if made.verified}
    for made in catalogue.fitting(paradigm, one.site, one.file, among=among):
        composition = composition_revision(one.site, paradigm, made, one.environment)
        ran = proof.where if proof and proofs.holds(proof, made.name, composition) else None
        verified = "site" if made.name in here else ran
        yield {"launch": made.name, "revision": made.revision, "composition": composition, "verified": verified}


def show(made: Listed) -> None:
    """Print a list of either kind as tables."""
    if "site" in made:
        _table("paradigm", ("started by", "seen to run", "or by"), _site_rows(made))
        return
    _table("paradigm", ("is", "started by"), _rows(made["paradigms"], "title", "launchers"))
    _table("launch template", ("revision", "scheduler"), _rows(made["launches"], "revision", "scheduler"))
    _table("environment of", ("revision", "internet"), _rows(made["environments"], "revision", "internet"))
    _table("models", ("family", "members"), _rows(made["models"], "title", "members"))


def _paradigm(name: str) -> Listed:
    one = paradigms.load(name)
    return {"revision": one.revision, "title": one.title, "launchers": list(one.launchers)}


def _launch(one: templates.LaunchFile) -> Listed:
    return {"revision": one.revision, **one.when.model_dump(exclude_defaults=True)}


def _environment(name: str) -> Listed:
    one = environments.load(name)
    return {"revision": one.revision, "internet": one.internet} if one else {}


def _family(path: str) -> Listed:
    one = read(model_facts.Family, path)
    return {"revision": one.revision, "title": one.title, "members": [member.name for member in one.members]}


def _site_rows(made: Listed) -> Iterator[Row]:
    for name, launches in made["launches"].items():
        said = [one["launch"] for one in launches]
        seen = launches[0]["verified"] or "" if launches else ""
        yield name, said[0] if said else "nothing", _SEEN.get(seen, seen), ", ".join(said[1:4])


def _rows(parts: Listed, *keys: str) -> Iterator[Row]:
    for name, part in parts.items():
        yield (name, *(_word(part.get(key, "")) for key in keys))


def _word(value: object) -> str:
    return ", ".join(str(one) for one in value) if isinstance(value, list) else str(value)


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
