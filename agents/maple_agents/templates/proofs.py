"""What the compositions of a site did when they were run: `templates/verified/`, written by what runs them."""

from __future__ import annotations

from datetime import date
from typing import Literal

import tomllib
from maple_submit_filter.site.facts import Site
from pydantic import TypeAdapter, ValidationError

from ..base.tables import Table, paths

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
