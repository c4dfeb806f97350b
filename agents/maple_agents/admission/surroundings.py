"""What stands around the launch lines: modules, environments, containers, packages, and where the output goes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from maple_submit_filter.types.job import Job
from maple_submit_filter.types.job_records import Part

from . import names
from .candidates import Candidate, part_at

_WORD = r"[\"']?([^\s\"'$`;&|<>()*?\\]{1,400})[\"']?"
_PATH = r"[\"']?([^\s\"'$`;&|<>()*?\\]{1,400})"
_START, _END = r"(?:^|&&|;)[ \t]*", r"[ \t]*(?:$|#|;|&&)"
_PIP = r"\bpip[\d.]*[ \t]+install[ \t](?:[^#;&|\n]{0,200}[ \t])??(?:-r|--requirement)[ \t=]*"
_CONDA = r"\b(?:conda|mamba)[ \t]+env[ \t]+(?:create|update)[ \t][^#;&|\n]{0,200}?(?:-f|--file)[ \t=]*"
_LINES = (
    ("environment", "environment", _START + r"(?:conda|mamba|micromamba|source)[ \t]+activate[ \t]+" + _WORD + _END),
    ("environment", "environment", _START + r"(?:source|\.)[ \t]+" + _PATH + r"/bin/activate[\"']?" + _END),
    ("requirements", "setup", _PIP + _WORD),
    ("requirements", "setup", _CONDA + _WORD),
)
_PATTERNS = [(name, kind, re.compile(pattern, re.MULTILINE)) for name, kind, pattern in _LINES]
_MODULES = re.compile(r"^[ \t]*(?:module|ml)[ \t]+(?:(?:load|add)[ \t]+)?([^#;&|\n]+)", re.MULTILINE)
_RUN = re.compile(r"\b(?:apptainer|singularity)[ \t]+(?:exec|run)[ \t]((?:\\\n|[^\n])*)")
_IMAGE = re.compile(
    r"(?:^|\s)[\"']?((?:docker|oras|library)://[^\s\"'$`]{1,400}|[^\s\"'$`=:,]{1,400}\.(?:sif|simg|sqsh))[\"']?(?=\s|$)"
)
_OPTION = re.compile(r"--(?:container-image|image)[ =][\"']?([^\s\"'$`]+)")
_NAME = re.compile(r"[\w.+/-]+")


def of_surroundings(job: Job, parts: Sequence[Part]) -> Iterator[Candidate]:
    """Yield what the script says beside its launch lines; text with an expansion in it says nothing."""
    text = job.source.decode("utf-8", "surrogateescape")
    for name, kind, pattern in _PATTERNS:
        for found in (one for one in pattern.finditer(text) if not _is_comment(text, one.start(1))):
            yield from _said(name, found[1], text, found.start(1), kind, parts)
    yield from _modules(text, parts)
    for found in (*_images(text), *_OPTION.finditer(text)):
        if not _is_comment(text, found.start(1)):
            yield from _said("container", found[1], text, found.start(1), "launch", parts)
    yield from _outputs(job, parts)


def _images(text: str) -> Iterator[re.Match[str]]:
    """Yield the image of each container that is run: the first word that is one."""
    for run in _RUN.finditer(text):
        found = _IMAGE.search(text, run.start(1), run.end(1))
        if found:
            yield found


def _modules(text: str, parts: Sequence[Part]) -> Iterator[Candidate]:
    """Yield the modules that are loaded, as one value at the line of the first."""
    loaded: list[str] = []
    first = 0
    for found in _MODULES.finditer(text):
        words = found[1].split()
        if words and words[0] not in ("purge", "use", "unload", "list", "avail", "show", "restore", "swap", "spider"):
            first = first or found.start(1)
            loaded += [one for one in words if _NAME.fullmatch(one) and not one.startswith("-")]
    if loaded:
        yield from _said("modules", " ".join(dict.fromkeys(loaded)), text, first, "environment", parts)


def _outputs(job: Job, parts: Sequence[Part]) -> Iterator[Candidate]:
    """Yield where the scheduler is told to write."""
    for name, key in (("stdout", "output"), ("stderr", "error")):
        setting = next((one for one in job.settings if one.name == key), None)
        value = setting.value.decode("utf-8", "replace") if setting is not None else ""
        if setting is not None and value and setting.origin.line and names.allowed(name, value):
            part = part_at(setting.origin.line, parts, "directives")
            yield Candidate(name, value, "", setting.origin.line, part, "script")


def _said(name: str, value: str, text: str, at: int, kind: str, parts: Sequence[Part]) -> Iterator[Candidate]:
    line = text.count("\n", 0, at) + 1
    if names.allowed(name, value):
        yield Candidate(name, value, "", line, part_at(line, parts, kind), "script")


def _is_comment(text: str, at: int) -> bool:
    line = text[text.rfind("\n", 0, at) + 1 : at].lstrip()
    return line.startswith("#") and not line.startswith(("#SBATCH", "#PBS"))
