"""What a composed script was made of, as one hash: a record holds for no other."""

from __future__ import annotations

import hashlib
import json

from maple_submit_filter.site import Site

from ..templates import LaunchFile
from .environments import Environment
from .paradigms import Paradigm


def composition_revision(site: Site, paradigm: Paradigm, launch: LaunchFile, environment: Environment | None) -> str:
    """Return a hash of the contents of the parts and of the site's facts; another comment leaves it as it is.

    The runs that a launch template was verified by are no part of the script, and reasons and sources neither.
    """
    said = {"why", "sources", "says", "phrases", "described", "title", "around", "verified"}
    parts = {
        "site": [site.id, site.revision],
        "paradigm": paradigm.model_dump(mode="json", exclude=said),
        "launch": launch.model_dump(mode="json", exclude=said),
        "environment": environment.model_dump(mode="json", exclude=said) if environment else None,
    }
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
