"""What a composed script was made of, as one hash: a record holds for no other."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from maple_submit_filter.site.facts import Site
from pydantic import BaseModel

from ..ask.sites.launch_templates import LaunchFile
from .environments import Environment
from .paradigms import Paradigm

_SAID = {"why", "sources", "says", "phrases", "described", "title", "around", "verified"}


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
