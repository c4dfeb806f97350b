"""`front.conf`: what the front reads at each start. The keys are those of docs/front.md.

The modes in force: the site's stands in front.conf, the exceptions in policy.json, which outlives a release.
"""

from __future__ import annotations

import grp
import json
import re
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from maple_submit_filter.host import configuration
from maple_submit_filter.site.modes import policy_of

from .refusals import Refused, group_name
from .release import releases
from .release.layout import Layout, Release, alone, installed, layout, write, write_json

TABLES = {"partition": "partitions", "group": "groups", "rule": "rules"}
BACK = "default"

MODES = ("off", "observe", "warn", "repair")
DEADLINES = ("socket_ms", "helper_ms", "files_ms")  # the administrator's to change, in front.conf itself
MOST_MS = 60_000  # as the front bounds them


class Modes(TypedDict):
    """The site's mode, and the exceptions by partition or queue, by the number of a Unix group, by rule."""

    mode: str
    partitions: dict[str, str]
    groups: dict[str, str]
    rules: dict[str, str]
    user_may_raise: NotRequired[bool]


HEAD = """\
# Written by maple admin install, which keeps the mode and the deadlines. Change the mode with: maple admin mode.
# socket_ms (50), helper_ms (250) and files_ms (500) are deadlines in milliseconds, 1 to 60000, for the service, for the
# helper that answers without it, and for files; a slow login node may need more. Set them here, a line each.
"""


def text(values: dict[str, str]) -> bytes:
    """Return the file's bytes for *values*; a key without a value is left out."""
    return (HEAD + "".join(f"{key}={value}\n" for key, value in values.items() if value)).encode()


def values(release: Release) -> dict[str, str]:
    """Return what the release's front.conf says, {} when it cannot be read."""
    try:
        lines = release.config.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return {}
    pairs = (line.partition("=") for line in lines if "=" in line and not line.startswith("#"))
    return {key: value for key, _, value in pairs}


def deadlines(release: Release) -> dict[str, str]:
    """Return the deadlines that the release's front.conf sets; one that the front would not take is left out."""
    configured = values(release)
    return {key: configured[key] for key in DEADLINES if is_deadline(configured.get(key, ""))}


def is_deadline(value: str) -> bool:
    """Return whether the front takes *value* for a deadline."""
    return value.isascii() and value.isdigit() and len(value) <= 5 and 1 <= int(value) <= MOST_MS


def carry(release: Release, now: Release) -> None:
    """Give a release what an administrator has set in the one that is in force: the mode and the deadlines."""
    kept = {**deadlines(now), **{key: value for key, value in values(now).items() if key == "mode"}}
    own = {key: value for key, value in values(release).items() if key not in DEADLINES}
    if own and kept:
        write(release.config, text({**own, **kept, "mode": checked(kept.get("mode") or own.get("mode", ""))}))


def change_mode(release: Release, mode: str) -> None:
    """Set the mode of a release for the whole site, in one rename."""
    now = values(release)
    if not now:
        raise Refused(f"{release.config} cannot be read", "run maple admin doctor, then install again")
    write(release.config, text({**now, "mode": checked(mode)}))


def checked(mode: str) -> str:
    """Return *mode* if it is one; refuse with the list of those there are."""
    if mode not in MODES:
        raise Refused(f"there is no mode {mode}", f"choose one of {', '.join(MODES)}")
    return mode


def helper_of(release: Release) -> Path:
    """Return the program that answers when no daemon does."""
    return release.package / "helper.py"


def modes_in_force(prefix: Path) -> Modes:
    """Return the site's mode and the exceptions, as `policy.json` has them."""
    where = layout(prefix)
    installed(where)
    site = values(in_force(where)).get("mode", "repair")
    kept = exceptions(where)
    made = Modes(mode=site, partitions=kept["partitions"], groups=kept["groups"], rules=kept["rules"])
    if "user_may_raise" in kept:
        made["user_may_raise"] = kept["user_may_raise"] is not False
    return made


def set_mode(
    prefix: Path, mode: str, *, partition: str | None = None, group: str | None = None, rule: str | None = None
) -> None:
    """Set the site's mode or one exception, in one rename; `default` takes an exception back."""
    where = layout(prefix)
    installed(where)
    named = [(kind, name) for kind, name in (("partition", partition), ("group", group), ("rule", rule)) if name]
    if len(named) > 1:
        raise Refused("--partition, --group and --rule are set one at a time", "run the command once for each")
    if mode != BACK:
        checked(mode)
    with alone(prefix):
        if named:
            except_for(where, named[0][0], key(*named[0]), mode)
        elif mode == BACK:
            raise Refused("the site always has a mode", f"choose one of {', '.join(MODES)}")
        else:
            change_mode(in_force(where), mode)


def except_for(where: Layout, kind: str, name: str, mode: str) -> None:
    """Set or take back one exception."""
    data = exceptions(where)
    data[TABLES[kind]].pop(name, None)
    if mode != BACK:
        data[TABLES[kind]][name] = mode
    write_json(where.policy, data)


def unlisted(prefix: Path, partition: str) -> str:
    """Return a sentence where the site's facts in force name no such partition or queue, "" where they do.

    Raises `Refused` where they list every one, so that the exception would never hold.
    """
    try:
        _, site = configuration.in_force(values(in_force(layout(prefix))))
    except (OSError, ValueError):
        return ""  # the doctor's business
    known = sorted({row.name for row in site.partitions if row.selector != "qos"})
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
