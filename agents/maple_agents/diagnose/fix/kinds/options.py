"""Options of launchers and of container programs on their lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from maple_submit_filter.cures import launch_edits
from maple_submit_filter.types.edits import Edit, Fix, Safety, Span
from maple_submit_filter.types.launch_plan import Link, Option

from ..registry import Given, concerned, fix
from .insertion import PlainWord, plain_words

_OPTION = re.compile(r"[a-z][a-z-]*\Z")
_VALUE = re.compile(r"[A-Za-z0-9_.,:/=-]*\Z")
_CONTAINERS = ("apptainer", "singularity")  # the same program by two names
_NOTHING = (b"none", b"no", b"off", b"v", b"verbose", b"q", b"quiet")
_VERBS = ("exec", "run", "shell")
_BY_VENDOR = {"amd": "rocm"}  # what --nv is on GPUs of another maker


@fix("set-option")
def set_option(given: Given) -> Fix | None:
    """Give *launcher*'s *option* the *value* on each of its lines that the log can be of; "" where it takes none."""
    name, value, launcher = given.word("option"), given.word("value"), given.word("launcher")
    if not _OPTION.match(name) or not _VALUE.match(value):
        return None
    if launcher in _CONTAINERS:
        return _of_container(given, name)
    edits = [edit for link in _links(given, launcher) for edit in _set(link, name, value.encode())]
    shown = "--%s%s" % (name, "=" + value if value else "")
    return Fix(tuple(edits), Safety.ASK, "%s %s" % (launcher, shown)) if edits else None


@fix("kill-on-bad-exit")
def kill_on_bad_exit(given: Given) -> Fix | None:
    """End the step as soon as one of its tasks fails, so that the others do not wait for it until the time limit."""
    edits = [edit for link in _links(given, "srun") for edit in _set(link, "kill-on-bad-exit", b"1")]
    return Fix(tuple(edits), Safety.ASK, "srun --kill-on-bad-exit=1") if edits else None


def _set(link: Link, name: str, value: bytes) -> list[Edit]:
    option = link.option(name)
    if option is not None and (not value or option.value is not None and option.value.raw == value):
        return []
    if value:
        return launch_edits.put(link, [(name, value)], "set-option") or []
    if link.options_at is None:
        return []
    return [Edit(Span(link.options_at, link.options_at), b" --" + name.encode(), "set-option")]


def _of_container(given: Given, name: str) -> Fix | None:
    """Put a flag behind the verb, where this program takes it; a launch plan sees through containers."""
    if name == "nv":
        name = _BY_VENDOR.get(str(given.facts.get("site.vendor")), name)
    source, flag = given.job.source, b"--" + name.encode()
    edits = []
    for verb in _verbs(plain_words(source)):
        words = source[verb.span.end : verb.command.end].split()
        if flag not in words:
            edits.append(Edit(Span(verb.span.end, verb.span.end), b" " + flag, "set-option"))
    return Fix(tuple(edits), Safety.ASK, "the container is started with --%s" % name) if edits else None


def _verbs(words: list[PlainWord]) -> Iterator[PlainWord]:
    """Yield the `exec` of each `apptainer exec`, the program's own options between them."""
    program: PlainWord | None = None
    for word in words:
        if word.text.rpartition("/")[2] in _CONTAINERS:
            program = word
        elif program is not None and word.command == program.command and word.text in _VERBS:
            yield word
            program = None
        elif program is not None and not (word.command == program.command and word.text.startswith("-")):
            program = None


@fix("drop-option")
def drop_option(given: Given) -> Fix | None:
    """Leave out *launcher*'s *option*, where its value asks for anything at all."""
    name, launcher = given.word("option"), given.word("launcher")
    edits: list[Edit] = []
    for link in _links(given, launcher):
        for option in (
            given_option
            for given_option in link.options
            if given_option.name == name and not _asks_nothing(given_option)
        ):
            edits += launch_edits.drop(given.job.source, option, "drop-option") or []
    return Fix(tuple(edits), Safety.ASK, "%s without --%s" % (launcher, name)) if edits else None


def _asks_nothing(option: Option) -> bool:
    """Return whether an option keeps the launcher from doing something, or has it tell more: that is no cause."""
    return option.value is not None and option.value.raw.lower() in _NOTHING


def _links(given: Given, launcher: str) -> list[Link]:
    return [link for step in concerned(given) for link in step.links if link.name == launcher]


_TURNED_AWAY = re.compile(r"exec: (--?[a-z][\w-]*): not found")


@fix("option-before-image")
def option_before_image(given: Given) -> Fix | None:
    """Put the flag that the container took for its program in front of the image."""
    texts = [line.text for line in given.cause.evidence]
    match = next(filter(None, map(_TURNED_AWAY.search, texts)), None)
    words = plain_words(given.job.source)
    edits: list[Edit] = []
    for verb in _verbs(words) if match is not None else ():
        own = [word for word in words if word.command == verb.command and word.nth > verb.nth]
        flag = next((word for word in own if match is not None and word.text == match[1]), None)
        if flag is not None and own[0] is not flag:
            blank = given.job.source[flag.span.start - 1 : flag.span.start] in (b" ", b"\t")
            edits.append(Edit(Span(verb.span.end, verb.span.end), b" " + flag.text.encode(), "option-before-image"))
            edits.append(Edit(Span(flag.span.start - blank, flag.span.end), b"", "option-before-image"))
    return Fix(tuple(edits), Safety.ASK, "%s in front of the image" % match[1]) if edits and match is not None else None
