"""What the files that a launch line names say of the sizes: its configuration, the options and the mesh of its program.

A file is one that the script writes, or one beside it. What the line itself says comes before a configuration, and
this before what the program declares.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from maple_submit_filter.rules.program_text import Named
from maple_submit_filter.types.launch_plan import LaunchPlan, Step
from maple_submit_filter.types.text import NUL

from ..admission import python_source
from ..admission.extracts import SUFFIXES, leaves
from . import groups
from .groups import Written

Reads = Callable[[bytes], "bytes | None"]  # a file by its name, from where the job is submitted
OUTSIDE = 1 << 20  # the place of a word that is on no line
_MOST_FILES = 6
_OF_DATA = re.compile(rb"--?(?:tokenizer|vocab|merge|data|dataset|model)\w*", re.IGNORECASE)
_FRAMEWORKS = re.compile(r"\A(?:megatron_lm|parallelism_config)_")  # Accelerate says whose a setting is
_SHORT = re.compile(r"[tpce]p\Z")
_BESIDE = re.compile(r"(?:[tpce]p|dp\w*)\Z")


class FileSizes(NamedTuple):
    """*layers*: named values, those that count first at the front. *mesh*: the dimensions that a program writes."""

    layers: tuple[tuple[Named, ...], ...] = ()
    mesh: Written | None = None


NO_FILES = FileSizes()


def of_step(step: Step, plan: LaunchPlan, source: bytes, read: Reads) -> FileSizes:
    """Return what the files of a launch line say."""
    own = [tuple(_of_launcher(step))]
    configs = [text for name in _configs(step) if (text := text_of(name, step, plan, source, read)) is not None]
    layers = own + [tuple(_of_config(name.decode("utf-8", "replace"), text)) for name, text in configs]
    program = next((word for word in step.program[:3] if word.endswith(b".py")), None)
    program_file = text_of(program, step, plan, source, read) if program is not None else None
    if program_file is None:
        return FileSizes(tuple(layers))
    declared = tuple(
        Named(OUTSIDE, each.flags[0].encode() if each.flags else each.dest.encode(), each.dest, value)
        for each in python_source.source(program_file[1]).declared
        if (value := (each.default or "").encode()).isdigit()
    )
    return FileSizes((*layers, declared), groups.written(program_file[1]))


def _of_launcher(step: Step) -> Iterator[Named]:
    """Yield the numbers that Accelerate's own options say (`--megatron_lm_tp_degree 8`)."""
    for option in (option for link in step.links if link.name == "accelerate" for option in link.options):
        last = _FRAMEWORKS.sub("", option.name.replace("-", "_").lower())
        if option.value is not None and last != option.name.replace("-", "_").lower():
            yield Named(OUTSIDE, option.name.encode(), last, option.value.raw)


def _configs(step: Step) -> Iterator[bytes]:
    """Yield the names of configurations on a line: of the program, and of what starts it."""
    names: dict[bytes, None] = {}
    for link in step.links:
        option = link.option("config-file") if link.name == "accelerate" else None
        if option is not None and option.value is not None:
            names[option.value.raw] = None
    before = b""
    for word in step.program:
        name, equals, value = word.partition(b"=")
        option_of, path = (name, value) if equals else (before, word)
        if path.endswith(tuple(suffix.encode() for suffix in SUFFIXES)) and not _OF_DATA.match(option_of):
            names[path] = None
        before = word
    yield from list(names)[:_MOST_FILES]


def text_of(name: bytes, step: Step, plan: LaunchPlan, source: bytes, read: Reads) -> tuple[bytes, bytes] | None:
    """Return the name and the text of a file; one that the script writes before one that lies there."""
    bare = name[2:] if name.startswith(b"./") else name
    path = bare if bare.startswith(b"/") or not step.folder else step.folder.rstrip(b"/") + b"/" + bare
    written = {text for file, text in plan.written.items() if file == path or file.endswith(b"/" + bare)}
    if written:
        return (name, written.pop()) if len(written) == 1 else None
    text = read(path) if NUL not in path else _begun(name, source)
    return (name, text) if text is not None else None


def _begun(name: bytes, source: bytes) -> bytes | None:
    """Return the here-document that begins a file whose name has open parts, and to which more may be appended."""
    parts = [re.escape(part) for part in re.split(rb"\0[^\0]*\0", name)]
    spelled = rb"[^\s\"';|&<>]{1,60}".join(parts)
    first = re.search(rb"(?m)(?<!>)>[ \t]*[\"']?%s[\"']?[ \t]*<<-?[ \t]*[\"']?(\w+)[\"']?[ \t]*\n" % spelled, source)
    first = first or re.search(rb"(?m)<<-?[ \t]*[\"']?(\w+)[\"']?[ \t]*>[ \t]*[\"']?%s[\"']?[ \t]*\n" % spelled, source)
    if first is None:
        return None
    end = re.search(rb"(?m)^[ \t]*%s[ \t]*$" % re.escape(first[1]), source[first.end() :])
    return source[first.end() : first.end() + end.start()] if end is not None else None


def _of_config(name: str, data: bytes) -> Iterator[Named]:
    """Yield the numbers of a configuration; a name of two letters counts only among its like, or below its heading.

    What stands there twice with unlike values says nothing.
    """
    values_of: dict[str, set[str]] = {}
    rows = leaves(data.replace(b"\0", b"_"), name)
    parents: dict[str, list[str]] = {}
    for leaf in rows:
        parent, _, last = leaf.path.rpartition(".")
        parents.setdefault(parent, []).append(last)
    for leaf in rows:
        parent, _, last = leaf.path.rpartition(".")
        last = _FRAMEWORKS.sub("", last.replace("-", "_").lower())
        like = [each for each in parents[parent] if _BESIDE.match(each)]
        if leaf.value is None or _SHORT.match(last) and len(like) < 2 and "parallel" not in parent.lower():
            continue
        values_of.setdefault(last, set()).add(leaf.value)
    for last, values in values_of.items():
        if len(values) == 1:
            yield Named(OUTSIDE, last.encode(), last, values.pop().encode())


def nothing(_: bytes) -> bytes | None:
    """Return no text: for whoever asks about a script whose files are not there."""
    return None
