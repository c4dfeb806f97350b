"""What the administrator settled: `front.conf`, the snapshot of the site and the policy, read from disk."""

from __future__ import annotations

import json
from typing import Mapping, Tuple

from ..site.facts import GENERIC_SLURM, Site
from ..site.modes import Policy, policy_of
from ..site.snapshot import from_snapshot

MAX_CONF = 16384


def read_conf(path: str) -> Mapping[str, str]:
    """Return the keys of a `front.conf`, by the rules that the front reads it by."""
    with open(path, "rb") as file:
        text = file.read(MAX_CONF).decode("utf-8", "surrogateescape")
    pairs = (line.partition("=") for line in text.split("\n") if not line.startswith("#"))
    return {key: value for key, equals, value in pairs if equals}


def site(conf: Mapping[str, str]) -> Site:
    """Return the site of the facts in force; without any, the cluster nobody has described yet."""
    return in_force(conf)[1]


def in_force(conf: Mapping[str, str]) -> Tuple[str, Site]:
    """Return the path of the facts in force, and the site: what was applied, else what the release brought.

    What an administrator applied lies beside the releases and outlives them. A release that cannot read it, an older
    one perhaps, goes by its own. ("", a cluster that nobody has described) without either.
    """
    applied, brought = conf.get("facts", ""), conf.get("snapshot", "")
    if applied:
        try:
            return applied, _read(applied)
        except (OSError, ValueError):
            pass
    return (brought, _read(brought)) if brought else ("", GENERIC_SLURM)


def _read(path: str) -> Site:
    with open(path, "rb") as file:
        return from_snapshot(json.load(file))


def policy(conf: Mapping[str, str]) -> Policy:
    """Return the modes in force here."""
    path = conf.get("policy", "")
    data = None
    if path:
        try:
            with open(path, "rb") as file:
                data = json.load(file)
        except FileNotFoundError:
            data = None
    return policy_of(data, conf.get("mode", ""))
