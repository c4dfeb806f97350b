"""What may be done with a decision: the administrator's modes by site, partition, group and rule, and the user's."""

from __future__ import annotations

from typing import Iterable, List, Mapping, NamedTuple, Sequence, Tuple

MODES = ("off", "observe", "warn", "repair")  # each does what the one before does, and more


class Policy(NamedTuple):
    """*mode* holds for the site; *partitions*, *groups* (by gid, as text: names may cost a lookup over the network) and
    *rules* say otherwise for some. Of site, partition and group the last that speaks wins; a rule can only do less.
    """

    mode: str = "repair"
    partitions: Mapping[str, str] = {}
    groups: Mapping[str, str] = {}
    rules: Mapping[str, str] = {}
    user_may_raise: bool = True


def weaker(first: str, other: str) -> str:
    """Return the mode that does less."""
    return MODES[min(MODES.index(first), MODES.index(other))]


def policy_of(data: object, mode: str = "") -> Policy:
    """Return the policy in parsed JSON; *mode* is the site's. `ValueError`: it does not fit."""
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise ValueError("policy: not an object")
    site = mode or data.get("mode") or "repair"
    tables = [_table(data, key) for key in ("partitions", "groups", "rules")]
    if site not in MODES:
        raise ValueError("policy: mode %r is none of %s" % (site, ", ".join(MODES)))
    return Policy(site, tables[0], tables[1], tables[2], data.get("user_may_raise") is not False)


def _table(data: Mapping[str, object], key: str) -> Mapping[str, str]:
    table = data.get(key, {})
    if not isinstance(table, dict) or not all(value in MODES for value in table.values()):
        raise ValueError("policy: %s must map names to one of %s" % (key, ", ".join(MODES)))
    return table


def in_force(policy: Policy, partitions: Iterable[str], gids: Iterable[int], user: bytes) -> str:
    """Return the mode for one submission; *user* is the user's MAPLE, b"" if unset.

    Several partitions or groups that speak: the weakest of them, because the job may land in any. A word that is none
    of Maple's is somebody's "off" with a letter wrong, and means that; a path is a value of somebody else.
    """
    mode = policy.mode
    for names, table in ((partitions, policy.partitions), (map(str, gids), policy.groups)):
        spoken = [table[name] for name in names if name in table]
        if spoken:
            mode = min(spoken, key=MODES.index)
    words = user.decode("ascii", "replace").split(",")
    wish = next((word for word in words if word in MODES), mode)
    if mistyped(user):
        wish = "off"
    if mode == "off" or not policy.user_may_raise:
        return weaker(mode, wish)
    return wish


def mistyped(word: bytes) -> str:
    """Return the first word of MAPLE that is none of Maple's, as who mistypes "off" writes, "" where there is none."""
    words = word.decode("ascii", "replace").split(",")
    return next((word for word in words if word not in (*MODES, "verbose", "") and "/" not in word), "")


def for_rules(policy: Policy, mode: str, codes: Iterable[str]) -> str:
    """Return what is left of *mode* for a change that all these rules had a part in."""
    for code in codes:
        mode = weaker(mode, policy.rules.get(code, mode))
    return mode


class Silence(NamedTuple):
    """Codes that the user wants to hear nothing of: in the whole file, or on one line (1-based)."""

    everywhere: Tuple[str, ...] = ()
    lines: Tuple[Tuple[int, str], ...] = ()

    def covers(self, code: str, line: int) -> bool:
        """Return whether a finding of *code* at *line* is silenced (line 0: nowhere in the script)."""
        return code in self.everywhere or (line, code) in self.lines


def silenced(source: bytes) -> Silence:
    """Read every `# maple: ignore CODE…`: above the first command for the file, else for the next command's line."""
    everywhere: List[str] = []
    lines: List[Tuple[int, str]] = []
    waiting: List[str] = []
    if b"maple:" not in source:
        return Silence()
    begun = False
    for number, line in enumerate(source.split(b"\n"), 1):
        text = line.strip()
        codes = _ignored(text)
        if codes and not begun:
            everywhere += codes
        elif codes:
            waiting += codes
        elif text and not text.startswith(b"#"):
            begun = True
            lines += [(number, code) for code in waiting]
            waiting = []
    return Silence(tuple(everywhere), tuple(lines))


def _ignored(text: bytes) -> Sequence[str]:
    if not text.startswith(b"#"):
        return ()
    words = text[1:].replace(b",", b" ").split()
    if words[:2] != [b"maple:", b"ignore"]:
        return ()
    return [word.decode("ascii", "replace") for word in words[2:]]
