"""The whole repository as one value for JSON: what an administrator keeps, compares or shows elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from ..ask import sites
from ..ask.sites import launch_templates as templates
from ..ask.sites.launch_templates import LaunchFile
from ..base.tables import paths, read
from . import catalogue, environments, model_facts, paradigms
from .environments import described
from .proofs import composition_revision


def exported() -> dict[str, Any]:
    """Return every part by kind and name, and what they make: for each site the launches of each paradigm.

    The order is always the same, and nothing in it depends on where the files lie. Raises `ValueError`, `OSError`.
    """
    launches = {launch_file.name: launch_file for launch_file in templates.load()}
    return {
        "paradigms": {name: _plain(paradigms.load(name)) for name in paradigms.names()},
        "launches": {name: _plain(launch_file) for name, launch_file in sorted(launches.items())},
        "environments": {name: _plain(environments.load(name)) for name in environments.names()},
        "models": {name: _plain(read(model_facts.Family, path)) for name, path in paths(model_facts.KIND).items()},
        "sites": {site_id: compositions(site_id, list(launches.values())) for site_id in sites.ids()},
    }


def compositions(site_id: str, among: Sequence[LaunchFile] | None = None) -> dict[str, Any]:
    """Return, by paradigm, the launch templates that start it on the site, the best first, each with its revision."""
    one = described(site_id)
    found = {name: paradigms.load(name) for name in paradigms.names()}
    return {
        name: [
            {"launch": launch.name, "revision": composition_revision(one.site, paradigm, launch, one.environment)}
            for launch in catalogue.fitting(paradigm, one.site, one.file, among=among)
        ]
        for name, paradigm in found.items()
    }


def _plain(part: BaseModel | None) -> dict[str, Any]:
    return part.model_dump(mode="json", exclude_defaults=True) if part is not None else {}
