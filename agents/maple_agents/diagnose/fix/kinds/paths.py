"""A path that is not there, and exactly one nearly the same that is, as the user's own process sees it."""

from __future__ import annotations

import os
import re

from maple_submit_filter.types.edits import Edit, Fix, Safety, Span

from ..corrections import listed, near_path, nearest
from ..registry import Given, fix
from .insertion import plain_words

_WRITES = frozenset((
    "rm", "rmdir", "mv", "mkdir", "touch", "tee", "dd", "install", "truncate", "tar", "unzip", "unlink", "shred",
    "mktemp", "chmod", "chown", "git", "wget", "curl",
))  # fmt: skip
_COPIES = frozenset(("cp", "rsync", "scp", "ln", "sbcast"))  # the last word is what they write
_OUTPUTS = rb"-{1,2}[\w.-]*(?:out|save|dump|export|write|result|log)[\w.-]*"  # options that name what is written
_OPTION = re.compile(r"(?:--?[A-Za-z][\w.-]*|[A-Za-z_]\w*)=")


@fix("near-path")
def path_nearby(given: Given) -> Fix | None:
    """Name the file that is there in every word of the script that names the one that is not.

    Not where the script itself makes, moves or removes that one: the near file would be written over. Only for one's
    own job. A folder or a name of an environment is a path, too. A relative one is looked for from where the job began,
    and from folders that the script goes to by their plain names.
    """
    wanted = given.text("what")
    if _is_made(given, wanted):
        return None
    if not given.own or not wanted or not wanted.isprintable() or not wanted.isascii():
        return None
    folders = _folders(given)
    edits: list[Edit] = []
    says = ""
    for span, text in _words(given):
        near = _near(text, wanted, folders)
        if near:
            edits.append(_changed(span, text, near))
            says = "%s in place of %s" % (near, text)
    return Fix(tuple(edits), Safety.ASK, says) if edits else None


def _near(text: str, wanted: str, folders: list[str]) -> str:
    """Return what a word is to say in place of what the log did not find, "" where it means something else."""
    meant = [folder for folder in folders if _same(text, wanted, folder)]
    if not meant or any(os.path.lexists(os.path.join(folder, text)) for folder in meant if not os.path.isabs(wanted)):
        return ""
    if "/" not in wanted and "." not in text and _environment(text):
        return _environment(text)
    near = {near_path(text, folder) for folder in meant} - {""}
    return near.pop() if len(near) == 1 else ""


def _is_made(given: Given, wanted: str) -> bool:
    """Return whether a command or redirection of the script may write, move or remove what the log did not find."""
    name = wanted.rstrip("/").rpartition("/")[2]
    words = plain_words(given.job.source)
    writing = {word.command for word in words if word.text.rpartition("/")[2] in _WRITES}
    copying = {word.command for word in words if word.nth == 0 and word.text.rpartition("/")[2] in _COPIES}
    source = given.job.source
    last = {word.span for word in words if not source[word.span.end : word.command.end].strip(b" \t\"'")}
    written = (word for word in words if word.command in writing or word.command in copying and word.span in last)
    if any(_last(word.text) == name for word in written):
        return True
    into = rb"(?:>[>|&]?[ \t]*|(?:%s)[= \t]+)[\"']?[^\s;&|]*%s(?![\w.-])" % (_OUTPUTS, re.escape(name.encode()))
    return re.search(into, source) is not None


def _last(text: str) -> str:
    return text.rpartition("=")[2].rstrip("/").rpartition("/")[2]


def _folders(given: Given) -> list[str]:
    """Return from where the script's words are looked for: where the job begins, and each folder that it goes to."""
    cwd = os.fsdecode(given.job.submission.cwd)
    words = plain_words(given.job.source)
    entering = {word.command for word in words if word.nth == 0 and word.text in ("cd", "pushd")}
    gone = [os.path.join(cwd, word.text) for word in words if word.nth == 1 and word.command in entering]
    return list(dict.fromkeys([cwd, *(folder for folder in gone if os.path.isdir(folder))]))


def _words(given: Given) -> list[tuple[Span, str]]:
    """Return the plain words of the script and what stands behind `=` in options and assignments; no modules."""
    out = []
    modules = {(word.command, word.nth + 1) for word in plain_words(given.job.source) if word.text == "-m"}
    for word in plain_words(given.job.source):
        if (word.command, word.nth) in modules:
            continue
        option = _OPTION.match(word.text)
        at = option.end() if option else 0
        out.append((Span(word.span.start + at, word.span.end), word.text[at:]))
    for name, spans in given.plan.assigned.items():
        for span in spans:
            match = re.compile(rb"=([\"']?)([\w./+@%~-]+)\1(?=[\s;&|)]|\Z)").match(
                given.job.source, span.start + len(name)
            )
            if match:
                out.append((Span(*match.span(2)), match[2].decode("ascii", "replace")))
    return list(dict.fromkeys(out))


def _same(text: str, wanted: str, cwd: str) -> bool:
    """Return whether a word names what the log does, which may name it as a whole path."""
    return text == wanted or bool(text) and os.path.normpath(os.path.join(cwd, text)) == os.path.normpath(wanted)


def _changed(span: Span, old: str, new: str) -> Edit:
    """Change the bytes that differ alone."""
    head = len(os.path.commonprefix([old, new]))
    tail = len(os.path.commonprefix([old[head:][::-1], new[head:][::-1]]))
    return Edit(Span(span.start + head, span.end - tail), new[head : len(new) - tail].encode(), "near-path")


def _environment(name: str) -> str:
    """Return the conda environment that is nearly called so, from the list that conda keeps of them."""
    home = os.path.expanduser("~")
    folders = [os.path.basename(environment) for environment in environments()]
    near = nearest(name, [*folders, *listed(os.path.join(home, ".conda", "envs"))], 0.8)
    return near if re.match(r"[A-Za-z0-9_.][A-Za-z0-9_.-]*\Z", near) else ""


def environments() -> list[str]:
    """Return the folders of the user's conda environments, as conda lists them."""
    try:
        with open(os.path.expanduser("~/.conda/environments.txt"), encoding="utf-8") as file:
            return [line.strip() for line in file.read(1 << 16).splitlines() if line.startswith("/")]
    except (OSError, ValueError):
        return []
