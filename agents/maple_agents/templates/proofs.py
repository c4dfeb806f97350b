"""What the compositions of a site did when they were run: `templates/verified/`, written by what runs them.

What a composed script was made of, as one hash: a record holds for no other.
"""

from __future__ import annotations

import hashlib
import json
from datetime import date
from typing import Any, Literal

import tomllib
from maple_submit_filter.site.facts import Site
from pydantic import BaseModel, TypeAdapter, ValidationError

from ..ask.sites.launch_templates import LaunchFile
from ..base.tables import Table, paths
from .environments import Environment
from .paradigms import Paradigm

_SAID = {"why", "sources", "says", "phrases", "described", "title", "around", "verified"}

KIND = "verified"


class Proof(Table):
    """One run of a composition: the parts it was made of, with their revisions then, and what came of it.

    *where*: "lab" (a real scheduler in the site's shape), "doubles", or the site itself. *why*: what failed.
    """

    on: date
    result: Literal["passed", "failed"]
    nodes: int
    ranks_per_node: int
    mini_app: str
    where: str
    launch: str
    launch_revision: int
    paradigm_revision: int
    environment_revision: int
    composition: str
    site_revision: str
    why: str = ""


_PROOFS = TypeAdapter(dict[str, Proof])


def load(site_id: str) -> dict[str, Proof]:
    """Return the runs by paradigm; none where nothing was run. Raises `ValueError` where the file is wrong,
    `OSError`.
    """
    path = paths(KIND).get(site_id)
    if path is None:
        return {}
    with open(path, "rb") as file:
        try:
            return _PROOFS.validate_python(tomllib.load(file))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise ValueError("%s: %s: %s" % (path, place, first["msg"].lower())) from None
        except ValueError as error:
            raise ValueError("%s: not TOML: %s" % (path, error)) from None


def holds(proof: Proof | None, launch: str, composition: str) -> bool:
    """Tell whether this very composition passed."""
    return proof is not None and (proof.launch, proof.composition, proof.result) == (launch, composition, "passed")


def unraised(proof: Proof, site: Site, composition: str, revisions: tuple[int, int, int]) -> bool:
    """Tell whether the composition is another than the one that ran, though each part has the revision it had then.

    *revisions*: of launch template, paradigm and environment part, today.
    """
    then = (proof.launch_revision, proof.paradigm_revision, proof.environment_revision)
    return proof.composition != composition and (proof.site_revision, *then) == (site.revision, *revisions)


def composition_revision(site: Site, paradigm: Paradigm, launch: LaunchFile, environment: Environment | None) -> str:
    """Return a hash of the contents of the parts and of the site's facts; another comment leaves it as it is.

    The runs that a launch template was verified by are no part of the script, and reasons and sources neither. A key
    that is left out counts as little as one that did not exist yet.
    """
    parts = {
        "site": [site.id, site.revision],
        "paradigm": _contents(paradigm),
        "launch": _contents(launch),
        "environment": _contents(environment) if environment else None,
    }
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _contents(part: BaseModel) -> dict[str, Any]:
    return part.model_dump(mode="json", exclude=_SAID, exclude_defaults=True)
