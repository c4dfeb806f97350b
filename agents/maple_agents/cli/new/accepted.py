"""What an answer may be: judged where it is given, so that nobody learns of it after the last question."""

from __future__ import annotations

import re
from collections.abc import Sequence

from maple_agents.base.slots import Name

ONE_WORD = ("account", "partition", "queue", "qos", "filesystems")  # each is one word of a directive
_PLAIN = re.compile(r"""[^\s#;'"`$\\-][^\s#;'"`$\\]*\Z""")  # what no directive and no shell takes for an end
FORMS = {
    "account": "one word, as your site writes it: abc123",
    "filesystems": "names with colons between them: home:scratch",
}
SEPARATED = re.compile(r"[:, ]+")


def wrong(name: Name, value: str, choices: Sequence[str] = ()) -> str:
    """Return what is wrong with a value, and what is accepted; "" where nothing is.

    *choices*: the file systems that the site lists, () where it lists none, or where the user insists (--set). Which
    partition can be had is told by trying.
    """
    if name not in ONE_WORD:
        return ""
    if not _PLAIN.match(value):
        return "%s cannot stand in a directive; write %s" % (value, FORMS.get(name, "one name, without blanks"))
    return _no_such_file_system(value, choices) if name == "filesystems" and choices else ""


def joined(name: Name, value: str) -> str:
    """Return file systems as the directive has them, whichever way they were separated."""
    return ":".join(filter(None, SEPARATED.split(value))) if name == "filesystems" else value


def _no_such_file_system(value: str, choices: Sequence[str]) -> str:
    unknown = [one for one in value.split(":") if one not in choices]
    if not unknown:
        return ""
    return "%s is no file system here; write %s, or several: %s" % (
        unknown[0], " or ".join(choices), ":".join(choices[:2]),
    )  # fmt: skip
