"""Other readers of shell scripts: bash itself, and tree-sitter-bash; and the scripts of this machine to try them on."""

from __future__ import annotations

import os
import subprocess
from typing import Iterator

import tree_sitter
import tree_sitter_bash

PLACES = (
    "/usr/bin",
    "/usr/sbin",
    "/etc/init.d",
    "/etc/profile.d",
    "/usr/lib/git-core",
    "/var/lib/dpkg/info",
    "/usr/lib/init",
    "/usr/share/bash-completion/completions",
    "/lib/udev",
    "/usr/share/debconf",
    "/etc/cron.daily",
)
LARGEST = 200_000


def scripts(most: int) -> "list[tuple[str, bytes]]":
    """Return at most *most* shell scripts of this machine, spread over the places where they lie."""
    found = []
    for place in PLACES:
        inside = sorted(_scripts(place))
        found.extend(inside[:: max(1, len(inside) * len(PLACES) // most)])
    return found[:most]


def _scripts(place: str) -> Iterator[tuple[str, bytes]]:
    for name in os.listdir(place) if os.path.isdir(place) else ():
        path = os.path.join(place, name)
        if not os.path.isfile(path) or os.path.islink(path) or os.path.getsize(path) > LARGEST:
            continue
        with open(path, "rb") as file:
            first = file.readline(100)
            if first.startswith(b"#!") and first.split()[-1].rsplit(b"/", 1)[-1] in (b"sh", b"bash", b"-e"):
                if b"sh" in first.split()[0]:
                    yield path, first + file.read()
            elif place.endswith(("completions", "profile.d")):
                yield path, first + file.read()


def bash_takes(source: bytes) -> bool:
    """Return whether bash finds no syntax error."""
    ran = subprocess.run(["bash", "-n"], input=source, capture_output=True, timeout=20, env={"PATH": "/usr/bin:/bin"})
    return ran.returncode == 0 and b"syntax error" not in ran.stderr


def commands_of_the_other_parser(source: bytes) -> "dict[int, tuple[tuple[int, int], ...]]":
    """Return the word spans of each simple command, by the offset of its first word; nothing from within an error."""
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
    found: dict[int, tuple[tuple[int, int], ...]] = {}
    waiting = [parser.parse(source).root_node]
    while waiting:
        node = waiting.pop()
        if node.type == "ERROR" or node.is_missing:
            continue
        if node.type == "command" and not node.has_error:
            words = [child for child in node.named_children if child.type not in _NO_WORDS]
            if words and words[0].type == "command_name":
                found[words[0].start_byte] = tuple((one.start_byte, one.end_byte) for one in words)
        waiting.extend(node.children)
    return found


_NO_WORDS = ("variable_assignment", "file_redirect", "herestring_redirect", "heredoc_redirect", "comment")
