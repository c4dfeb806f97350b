"""Lines that load modules, as the site's file says them or as the module folders show them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from maple_submit_filter.types.edits import Edit, Fix, Safety

from ..corrections import listed, nearest
from ..registry import Given, fix, whole
from .insertion import line, newline, plain_words

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+/-]*\Z")
_LOADING = re.compile(r"module (?:load|use) [A-Za-z0-9_./+ -]+\Z|conda activate [A-Za-z0-9_.-]+\Z")
_BRINGS = {  # which module brings a command or library, by the first letters of its name
    "nvcc": "cuda", "ptxas": "cuda", "libcudart": "cuda", "libcublas": "cuda", "libcufft": "cuda", "libnvrtc": "cuda",
    "libcudnn": "cudnn", "libnccl": "nccl", "librccl": "rccl", "hipcc": "rocm", "libamdhip": "rocm",
    "gcc": "gcc", "g++": "gcc", "libstdc++": "gcc", "conda": "conda", "mamba": "conda", "apptainer": "apptainer",
    "singularity": "apptainer", "ninja": "ninja", "cmake": "cmake",
}  # fmt: skip
_OF_TORCH = ("python", "python3", "pip", "pip3", "torchrun", "accelerate", "deepspeed")
_FOLDERS = 64


@fix("module-of-site")
def module_of_site(given: Given) -> Fix | None:
    """Load *module*, or the one that brings *what*; without either, correct the name that the log calls unknown."""
    module, what = given.word("module"), given.text("what").rpartition("/")[2]
    if not module and not what:
        return _corrected(given)
    if what in _OF_TORCH:
        return _torch(given)
    module = module or next((brought for name, brought in _BRINGS.items() if what.startswith(name)), "")
    return _loaded(given, module) if module else None


def _loaded(given: Given, module: str) -> Fix | None:
    """Load a module that the site's file names in a line of its own, or that lies in the module folders."""
    if _has(given, module):
        return None
    for row in (*_loads(given), _of_containers(given)):
        at = next((place for place, command in enumerate(row) if _names(command, module)), None)
        if at is not None:
            return _in_front(given, row[: at + 1])  # what comes before it may be what makes it loadable
    return _in_front(given, ["module load " + module]) if given.own and module in _seen() else None


def _torch(given: Given) -> Fix | None:
    """Load what the site says brings PyTorch, where the script sets up no environment at all."""
    rows = _loads(given)
    names = {word.text for word in plain_words(given.job.source) if word.nth == 0}
    own = {"module", "ml", "source", ".", "conda", "mamba", "spack"} & names
    own |= {"PATH"} if b"PATH" in given.plan.assigned else set()
    return _in_front(given, rows[0]) if rows and not own else None


def _loads(given: Given) -> list[list[str]]:
    site = whole(given.site)
    rows = site.modules.pytorch if site is not None and site.modules is not None else []
    return [load.load for load in rows if all(_LOADING.match(each) for each in load.load)]


def _of_containers(given: Given) -> list[str]:
    site = whole(given.site)
    load = site.containers.load if site is not None and site.containers is not None else ""
    return [load] if _LOADING.match(load) else []


def _in_front(given: Given, lines: list[str]) -> Fix | None:
    new = [command.encode() for command in lines if command.encode() not in given.job.source]
    edit = line(given, newline(given.job.source).join(new), "module-of-site") if new else None
    return Fix((edit,), Safety.ASK, "; ".join(lines)) if edit is not None else None


def _names(text: str, module: str) -> bool:
    return any(_is(word, module) for word in text.split()[2:])


def _is(word: str, module: str) -> bool:
    return word == module or re.match(re.escape(module) + r"[\d/]", word) is not None


def _has(given: Given, module: str) -> bool:
    return any(_is(name, module) for name, _ in _words_of_loads(given))


def _words_of_loads(given: Given) -> list[tuple[str, Edit]]:
    """Return the module names that the script loads, each with an empty edit of its place."""
    words = plain_words(given.job.source)
    loading = {word.command for word in words if word.nth == 1 and word.text in ("load", "add")}
    heads = {word.command for word in words if word.nth == 0 and word.text in ("module", "ml")}
    return [
        (word.text, Edit(word.span, b"", "module-of-site"))
        for word in words
        if word.command in loading & heads and word.nth > 1 and not word.text.startswith("-")
    ]


def _corrected(given: Given) -> Fix | None:
    """Put the near name in place of one that the script loads and the log names."""
    event = given.event()
    words = " ".join([event.text, *event.unit, *(evidence.text for evidence in given.cause.evidence)]) if event else ""
    known = sorted({*_seen(), *_of_file(given)}) if given.own else sorted(_of_file(given))
    for name, place in _words_of_loads(given):
        if not re.search(r"(?<![\w./+-])%s(?![\w+-])" % re.escape(name), words):
            continue
        near = _near(name, known)
        if near and _NAME.match(near):
            edit = place._replace(new=near.encode())
            return Fix((edit,), Safety.ASK, "module %s, which is nearest to %s" % (near, name))
    return None


def _near(name: str, known: Iterable[str]) -> str:
    """Return the module that is nearly called so; for a version that is not there, the only one that is."""
    rows = [module for module in known if "/" in module]
    family, _, version = name.partition("/")
    if version:
        versions = [row for row in rows if row.partition("/")[0] == family]
        return versions[0] if len(versions) == 1 and versions[0] != name else nearest(name, rows, 0.85)
    return nearest(name, {module.partition("/")[0] for module in known}, 0.8)


def _of_file(given: Given) -> set[str]:
    """Return the names of the modules that the site's file loads."""
    return {
        word
        for row in _loads(given)
        for command in row
        if command.startswith("module load")
        for word in command.split()[2:]
    }


def _seen() -> set[str]:
    """Return the modules in the folders of MODULEPATH, as `name` and `name/version`."""
    modules: set[str] = set()
    for folder in os.environ.get("MODULEPATH", "").split(":")[:_FOLDERS]:
        for name in listed(folder) if folder.startswith("/") else ():
            modules.add(name.removesuffix(".lua"))
            if len(modules) < 20_000 and not name.startswith("."):
                versions = listed(os.path.join(folder, name))
                modules.update(
                    "%s/%s" % (name, version.removesuffix(".lua"))
                    for version in versions
                    if not version.startswith(".")
                )
    return modules
