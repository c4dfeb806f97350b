"""What the described clusters call their places, and the shapes of their accounts."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import tomllib

FOLDER = Path(__file__).parents[2] / "site_configs"


class SiteWords(NamedTuple):
    """Names of partitions, queues and QOS of a cluster, and the shapes of its accounts."""

    places: tuple[str, ...]
    account_shapes: tuple[str, ...]


def _words(path: Path) -> SiteWords:
    site = tomllib.loads(path.read_text("utf-8"))
    places = [name for table in ("partition", "queue", "qos") for name in site.get(table, {})]
    return SiteWords(tuple(places), tuple(site.get("account_shapes", ())))


SITES = tuple(_words(path) for path in sorted(FOLDER.glob("*.toml")) if path.stem != "example")
