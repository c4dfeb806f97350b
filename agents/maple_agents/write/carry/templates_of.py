"""The words of launch templates, taken apart: what a task sets for itself, and what stands around it."""

from __future__ import annotations

import re
from typing import NamedTuple

from ...ask.sites.launch_templates import LaunchFile

_TASK = re.compile(r"""^bash -c 'exec (?P<text>.*?) "\$@"' bash ?(?P<rest>.*)$""", re.DOTALL)
_RANKS = re.compile(r"""^bash -c 'export (?P<text>[^;]*); exec "\$@"' bash ?(?P<rest>.*)$""", re.DOTALL)
_QUOTED = re.compile(r'"(\$\w+)"')
_SET = re.compile(r"(\w+)=(\S+)")
_NODE = re.compile(r'--(?:machine|node)_rank="?(\$\w+)"?')


class Inner(NamedTuple):
    """The inner words of a template. *task*: those that only a shell of the task can expand, ""; *rest*: others."""

    whole: str
    task: str
    rest: str


def inner(words: str) -> Inner:
    """Return the inner words taken apart."""
    found = _TASK.match(words)
    return Inner(words, found["text"], found["rest"]) if found else Inner(words, "", words)


def in_text(words: str, quote: bytes) -> str:
    """Return the words for a text that the shell of the task reads: in single or double quotes, or a here-document."""
    made = inner(words)
    task = made.task
    if quote in (b'"', b"<"):
        task = _QUOTED.sub(r"\1", task).replace("$", r"\$")
    joined = " ".join(filter(None, (task, made.rest)))
    return _QUOTED.sub(r"\1", joined).replace('"', "") if quote == b'"' else joined


def ranks(one: LaunchFile) -> dict[str, str]:
    """Return what each variable of a rank is set to in its task, by a template that starts rank by rank."""
    found = _RANKS.match(one.launch[1])
    return dict(_SET.findall(found["text"])) if found else {}


def in_front(one: LaunchFile) -> str:
    """Return the words that set a rank's variables in front of any program, "" where the template has none."""
    found = _RANKS.match(one.launch[1])
    return one.launch[1][: found.start("rest")].rstrip() if found else ""


def node_rank(files: tuple[LaunchFile, ...]) -> str:
    """Return the word for a node's number in its task, "" where no template has one."""
    found = (_NODE.search(one.launch[1]) for one in files)
    return next((each[1] for each in found if each), "")
