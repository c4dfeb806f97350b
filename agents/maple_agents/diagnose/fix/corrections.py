"""Values that are nearly right, by what the site's file or the user's own process knows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher, get_close_matches
from itertools import islice

from maple_submit_filter.launchers.registry import OVER
from maple_submit_filter.types.edits import Edit, Fix, Safety, Span

from .kinds.directives import with_option
from .kinds.insertion import PlainWord, plain_words
from .registry import Given, fix

_SHELLS = ("bash", "sh")
_OPENING = re.compile(r"open.{0,20}(?:std(?:out|err)|output|error) file|IO setup failed|^open\(")
_PATTERN = re.compile(r"[A-Za-z0-9_.,:=+@%^-]+\Z")


@fix("correct-value")
def correct_value(given: Given) -> Fix | None:
    """Correct *what*: "interpreter" (the first line), "output" (its folder), a path that is no program; nothing: names.

    Names are those of a partition, queue or QOS, from the site's file. Accounts are never guessed.
    """
    what = given.text("what")
    if what == "interpreter":
        return _interpreter(given)
    if what == "output":
        return _output(given)
    return _called(given, what) if what else _name(given)


def _name(given: Given) -> Fix | None:
    for name in ("partition", "queue", "qos"):
        setting = given.job.settings.get(name)
        wrong = setting.value.decode("utf-8", "replace") if setting else ""
        known = [
            partition.name for partition in given.site.partitions if partition.selector == name and not partition.routed
        ]
        near = nearest(wrong, known)
        if near:
            return with_option(given, name, near, "%s %s, which is nearest to %s" % (name, near, wrong))
    return None


def _interpreter(given: Given) -> Fix | None:
    """Put /bin/bash where the first line names a shell that is not there."""
    match = re.match(rb"#![ \t]*(\S+)", given.job.source)
    if match is None or match[1] == b"/bin/bash" or given.caught("path") not in ("", os.fsdecode(match[1])):
        return None
    name = os.fsdecode(match[1]).rpartition("/")[2]
    if not get_close_matches(name, _SHELLS, 1, 0.7):
        return None
    return Fix(
        (Edit(Span(*match.span(1)), b"/bin/bash", "correct-value"),), Safety.ASK, "the script begins with #!/bin/bash"
    )


def _output(given: Given) -> Fix | None:
    """Write output beside the script where its folder is not there, or in the folder that is nearly called so."""
    if not given.own or given.facts.get("log.missing") is False and not _OPENING.search(_evidence_text(given)):
        return None
    cwd = os.fsdecode(given.job.submission.cwd)
    edits: list[Edit] = []
    for name in ("output", "error"):
        setting = given.job.settings.get(name)
        value = setting.value.decode("utf-8", "replace") if setting else ""
        folder, _, base = value.rpartition("/")
        at = setting.origin.value_span if setting is not None and setting.origin.kind == "directive" else None
        if at is None or not folder or "%" in folder or os.path.isdir(os.path.join(cwd, folder)):
            continue
        near = near_path(folder, cwd)
        new = "%s/%s" % (near, base) if near else base
        if all(_PATTERN.match(part) for part in new.split("/") if part) and at.end - at.start == len(value):
            edits.append(Edit(at, new.encode(), "correct-value"))
    return Fix(tuple(edits), Safety.ASK, "output goes to a folder that is there") if edits else None


def _evidence_text(given: Given) -> str:
    return " ".join(evidence.text for evidence in given.cause.evidence)


def _called(given: Given, path: str) -> Fix | None:
    """Start a shell script that may not be executed by bash: it is called by its name, and readable."""
    cwd = os.fsdecode(given.job.submission.cwd)
    whole = os.path.normpath(os.path.join(cwd, path))
    if not given.own or "\0" in path or not os.path.isfile(whole) or os.access(whole, os.X_OK) or not _is_script(whole):
        return None
    edits = [
        Edit(Span(word.span.start, word.span.start), b"bash ", "correct-value")
        for word in _programs(plain_words(given.job.source))
        if os.path.normpath(os.path.join(cwd, word.text)) == whole
        and given.job.source[word.span.start - 1 : word.span.start] not in (b"'", b'"')
    ]
    return Fix(tuple(edits), Safety.ASK, "bash %s" % path) if edits else None


def _programs(words: list[PlainWord]) -> Iterator[PlainWord]:
    """Yield the words that name what runs: the first of a command, and the first behind a launcher and its options."""
    launched: Span | None = None
    for word in words:
        if word.nth == 0:
            launched = word.command if word.text in OVER else None
            yield word
        elif launched == word.command and not re.match(r"-|\d+\Z", word.text):
            launched = None
            yield word


def _is_script(path: str) -> bool:
    """Return whether a regular file is for a shell, by its name or its first line."""
    try:
        with open(path, "rb") as file:
            first = file.read(64).split(b"\n")[0]
    except OSError:
        return False
    return re.match(rb"#!.*\b(?:ba)?sh\b", first) is not None or (path.endswith(".sh") and not first.startswith(b"#!"))


# Names nearly the same: of files that the user's own process sees, and in lists.

MOST = 20_000  # entries of a folder that are looked at
DEEPEST = 40  # parts of a path
_PLAIN = re.compile(r"[A-Za-z0-9_.,+@%=:~][A-Za-z0-9_.,+@%=:~-]*\Z")  # of a part of a path; no option, no quote


def nearest(name: str, known: Iterable[str], cutoff: float = 0.75) -> str:
    """Return the one of *known* that is nearly *name*, "" where none or several are, or *name* itself is there.

    The same letters in other cases, or with `-` for `_`, are nearer than anything else; then those in another order.
    """
    rows = list(dict.fromkeys(known))
    if not name or name in rows:
        return ""
    alike = [row for row in rows if _folded(row) == _folded(name)]
    turned = [row for row in rows if len(name) > 2 and sorted(_folded(row)) == sorted(_folded(name))]
    close = alike or turned or get_close_matches(name, rows, 3, cutoff)
    if len(close) > 1 and _far_ahead(name, close[0], close[1]):
        close = close[:1]
    return close[0] if len(close) == 1 else ""


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")


def _far_ahead(name: str, best: str, second: str) -> bool:
    ratio = [SequenceMatcher(None, name, other).ratio() for other in (best, second)]
    return ratio[0] >= 0.9 and ratio[0] - ratio[1] >= 0.08


def listed(folder: str) -> list[str]:
    """Return the names in a folder, () where it cannot be read; no more than are looked at in a moment."""
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in islice(entries, MOST)]
    except (OSError, ValueError):
        return []


def near_path(path: str, cwd: str) -> str:
    """Return *path* with the one part that is not there replaced by the one that nearly is; "" where that is no file.

    *cwd*: from where a relative path is looked for. Links are followed, nothing is read or written.
    """
    parts = path.split("/")
    if "\0" in path or len(parts) > DEEPEST or os.path.lexists(os.path.join(cwd, path)):
        return ""
    for at, part in enumerate(parts):
        before = "/".join(parts[:at]) or ("/" if path.startswith("/") and at else "")
        if part in ("", ".", "..") or os.path.lexists(os.path.join(cwd, before, part)):
            continue
        near = nearest(part, listed(os.path.join(cwd, before)), 0.8)
        whole = "/".join([*parts[:at], near, *parts[at + 1 :]])
        return whole if near and _PLAIN.match(near) and os.path.exists(os.path.join(cwd, whole)) else ""
    return ""
