"""What decides here: the site, the policy, and one hash that changes whenever any of it or of our rules does."""

from __future__ import annotations

import hashlib
import json
import os
from typing import NamedTuple

import maple_submit_filter
from maple_submit_filter.host import configuration
from maple_submit_filter.site.facts import Site
from maple_submit_filter.site.modes import Policy


class InForce(NamedTuple):
    """*facts*: the hash. *snapshot*: the path of the site's facts, "" where nobody has described it.

    *child*: the program that reads a user's files as the user, "" where there is none.
    """

    site: Site
    policy: Policy
    facts: bytes
    snapshot: str
    child: str = ""


def read(conf_path: str) -> InForce:
    """Return what is in force by that `front.conf`. Raises `OSError` and `ValueError` as `settled` does."""
    conf = configuration.read_conf(conf_path)
    snapshot, site = configuration.in_force(conf)
    return InForce(site, configuration.policy(conf), facts_of(snapshot), snapshot, conf.get("child", ""))


def facts_of(snapshot: str, package: str = "") -> bytes:
    """Return the hash of the rules of *package*, a folder ("": those that run here), and of the site's facts."""
    made = hashlib.sha256(rules_hash(package))
    if snapshot:
        with open(snapshot, "rb") as file:
            made.update(file.read())
    return made.digest()


def modes_of(policy: Policy) -> str:
    """Return the hash of the modes of site, partitions, groups and rules, in hexadecimal."""
    return hashlib.sha256(json.dumps(policy._asdict(), sort_keys=True).encode()).hexdigest()


def generic() -> InForce:
    """Return what is in force where nobody has described the cluster: contradictions of a script with itself."""
    return InForce(configuration.site({}), configuration.policy({}), rules_hash(), "")


def rules_hash(package: str = "") -> bytes:
    """Return the hash of the code that decides: a changed rule is another answer."""
    made = hashlib.sha256()
    top = package or os.path.dirname(os.path.abspath(maple_submit_filter.__file__))
    for folder, folders, names in os.walk(top):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".py"):
                with open(os.path.join(folder, name), "rb") as file:
                    content = file.read()
                made.update(b"%s %d:" % (os.fsencode(os.path.relpath(os.path.join(folder, name), top)), len(content)))
                made.update(content)
    return made.digest()
