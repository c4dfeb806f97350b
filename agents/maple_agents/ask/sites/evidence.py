"""On which site are we? What the evidence says."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping
from typing import Any


def detect_among(
    tables: Mapping[str, Mapping[str, Any]], environ: Mapping[str, str], hostname: str, cluster_name: str | None = None
) -> str | None:
    """Return the id of the site that all the evidence speaks for, None where there is none or it disagrees.

    *tables*: the `[detection]` table of each site. *hostname* is the full name; a short one proves little.
    """
    kinds: list[set[str]] = [
        {site for site, table in tables.items() if _variable_says(table, environ)},
        {site for site, table in tables.items() if cluster_name and _is_named(table, cluster_name)},
        {site for site, table in tables.items() if _host_says(table, hostname)},
    ]
    told = [sites for sites in kinds if sites]
    agreed = set.intersection(*told) if told else set()
    return agreed.pop() if len(agreed) == 1 else None


def _is_named(table: Mapping[str, Any], cluster_name: str) -> bool:
    return str(table.get("cluster_name", "")).lower() == cluster_name.lower()  # Slurm keeps it in small letters


def _variable_says(table: Mapping[str, Any], environ: Mapping[str, str]) -> bool:
    return any(_fits(variable, environ.get(variable["name"])) for variable in table.get("variables", ()))


def _fits(variable: Mapping[str, Any], value: str | None) -> bool:
    if value is None:
        return False
    if "value" in variable:
        return bool(value == variable["value"])
    return fnmatch.fnmatchcase(value, variable["matches"])


def _host_says(table: Mapping[str, Any], hostname: str) -> bool:
    domain = table.get("domain")
    below = bool(domain) and (hostname == domain or hostname.endswith(".%s" % domain))
    return below or _any_fits(table.get("host_patterns", ()), hostname)


def _any_fits(patterns: Iterable[str], hostname: str) -> bool:
    return any(re.fullmatch(pattern, hostname) for pattern in patterns)
