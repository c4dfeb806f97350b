"""The modes in force: the site's stands in front.conf, the exceptions in policy.json, which outlives a release."""

from __future__ import annotations

import grp
import json
import re
from pathlib import Path
from typing import Any

from maple_submit_filter.host import configuration
from maple_submit_filter.site.modes import policy_of

from . import settings
from .refusals import Refused, group_name
from .release import atomic, receipt, releases
from .release.layout import Layout, Release, layout

TABLES = {"partition": "partitions", "group": "groups", "rule": "rules"}
BACK = "default"


def shown(prefix: Path) -> dict[str, Any]:
    """Return the site's mode and the exceptions, as `policy.json` has them."""
    where = layout(prefix)
    receipt.installed(where)
    site = settings.values(in_force(where)).get("mode", "repair")
    return {"mode": site, **exceptions(where)}


def change(
    prefix: Path, mode: str, *, partition: str | None = None, group: str | None = None, rule: str | None = None
) -> None:
    """Set the site's mode or one exception, in one rename; `default` takes an exception back."""
    where = layout(prefix)
    receipt.installed(where)
    named = [(kind, name) for kind, name in (("partition", partition), ("group", group), ("rule", rule)) if name]
    if len(named) > 1:
        raise Refused("--partition, --group and --rule are set one at a time", "run the command once for each")
    if mode != BACK:
        settings.checked(mode)
    with atomic.alone(prefix):
        if named:
            except_for(where, named[0][0], key(*named[0]), mode)
        elif mode == BACK:
            raise Refused("the site always has a mode", f"choose one of {', '.join(settings.MODES)}")
        else:
            settings.change_mode(in_force(where), mode)


def except_for(where: Layout, kind: str, name: str, mode: str) -> None:
    """Set or take back one exception."""
    data = exceptions(where)
    data[TABLES[kind]].pop(name, None)
    if mode != BACK:
        data[TABLES[kind]][name] = mode
    atomic.write_json(where.policy, data)


def unlisted(prefix: Path, partition: str) -> str:
    """Return a sentence where the site's facts in force name no such partition or queue, "" where they do.

    Raises `Refused` where they list every one, so that the exception would never hold.
    """
    try:
        _, site = configuration.in_force(settings.values(in_force(layout(prefix))))
    except (OSError, ValueError):
        return ""  # the doctor's business
    known = sorted({one.name for one in site.partitions if one.selector != "qos"})
    if not known or partition in known:
        return ""
    if site.partitions_complete:
        raise Refused(f"--partition: {site.id} has no {partition}", f"it has {', '.join(known)}")
    return f"the facts about {site.id} name no {partition}; they name {', '.join(known)}"


def exceptions(where: Layout) -> dict[str, Any]:
    """Return the tables of policy.json, all of them; refuse a file that does not fit."""
    empty: dict[str, Any] = {table: {} for table in TABLES.values()}
    try:
        data = json.loads(where.policy.read_bytes())
        policy_of(data)
    except FileNotFoundError:
        return empty
    except ValueError as error:
        raise Refused(f"{where.policy}: {error}", "correct it, or move it away to have no exceptions") from None
    return {**empty, **data}


def in_force(where: Layout) -> Release:
    """Return the release in force."""
    name = releases.in_force(where)
    if not name:
        raise Refused(f"{where.current} leads to no release", "maple admin rollback, or install again")
    return Release(where.releases / name)


def key(kind: str, name: str) -> str:
    """Return the name as the policy keeps it: a group by its number, which needs no lookup at submission."""
    if kind == "rule" and not re.fullmatch(r"MPL[1-9]\d\d", name):
        raise Refused(f"--rule: {name} is no code of a rule", "maple explain lists them")
    if kind != "group" or name.isdigit():
        return name
    try:
        return str(grp.getgrnam(name).gr_gid)
    except KeyError:
        raise Refused(f"--group: there is no group {name}", "name one that getent group knows") from None


def readable(kind: str, name: str) -> str:
    """Return the name as people know it."""
    return group_name(int(name)) if kind == "group" and name.isdigit() else name
