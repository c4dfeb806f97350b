"""From a site file's bytes to a checked `SiteFile`, or to every mistake in it."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

import tomllib
from pydantic import ValidationError

from . import mistakes
from .check import contradictions
from .mistakes import Mistakes
from .model import SiteFile


def parse(source: bytes, filename: str) -> SiteFile:
    """Return the site that *source* describes. Raises `Mistakes` with all of them, each with *filename* and key path.

    The id must be the name of the file, so that one can be found by the other.
    """
    try:
        site = SiteFile.model_validate(_tables(source))
    except ValidationError as error:
        raise Mistakes(["%s: %s" % (filename, line) for line in mistakes.of_shape(error)]) from None
    except ValueError as error:
        raise Mistakes(["%s: %s" % (filename, error)]) from None
    lines = contradictions(site)
    stem = os.path.basename(filename).removesuffix(".toml")
    if filename.endswith(".toml") and site.id != stem:
        lines.insert(0, "id: %r, but the file is called %s.toml" % (site.id, stem))
    if lines:
        raise Mistakes(["%s: %s" % (filename, line) for line in lines])
    return site


def revision(site: SiteFile) -> str:
    """Return a hash of the facts: another comment or another order of keys does not change it, another fact does."""
    facts = json.dumps(site.model_dump(mode="json", exclude_defaults=True), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(facts.encode()).hexdigest()


def _tables(source: bytes) -> dict[str, Any]:
    """Parse TOML; a file that is none is a `ValueError` with one line."""
    try:
        return tomllib.loads(source.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError("byte %d: not UTF-8" % error.start) from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError("not TOML: %s" % error) from None
