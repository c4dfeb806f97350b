"""Where things stand in a script: launch lines, options, directives. By tree-sitter: Maple must not judge itself."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Iterator, NamedTuple

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

LAUNCHERS = (b"srun", b"torchrun", b"mpirun", b"mpiexec", b"ibrun", b"accelerate", b"deepspeed")
COMPOUNDS = (
    "function_definition",
    "for_statement",
    "while_statement",
    "c_style_for_statement",
    "if_statement",
    "subshell",
)
_PARSER = Parser(Language(tree_sitter_bash.language()))


class Line(NamedTuple):
    """A launch line of the batch script: a simple command whose first word is a launcher. *start*, *end* in bytes."""

    start: int
    end: int
    launcher: bytes
    name_start: int
    name_end: int
    alone: bool  # it is a statement of its own: not in a pipe, list, function or background
    nested: bool  # inside a function, a loop or another compound


@lru_cache(maxsize=512)
def launch_lines(script: bytes) -> tuple[Line, ...]:
    """Return the launch lines, in order. Lines inside quotes are not among them."""
    return tuple(_walk(_PARSER.parse(script).root_node, False))


def _walk(node: Node, nested: bool) -> Iterator[Line]:
    for child in node.children:
        if child.type == "command":
            name = child.child_by_field_name("name")
            word = name.text if name is not None else None
            if name is not None and word is not None and _is_launcher(child, word):
                alone = node.type in ("program", "compound_statement")
                yield Line(
                    child.start_byte, child.end_byte, word, name.start_byte, name.end_byte, alone and not nested, nested
                )
                continue
        yield from _walk(child, nested or child.type in COMPOUNDS)


def _is_launcher(command: Node, word: bytes) -> bool:
    if word in LAUNCHERS:
        return True
    text = command.text or b""
    return word.startswith(b"python") and b"torch.distributed" in text


def options(script: bytes, names: bytes) -> list[re.Match[bytes]]:
    """Return every `--name=value` or `--name value` outside comments; groups "whole", "name", "joint", "value".

    *names* is a regular expression for the name, dashes included.
    """
    pattern = (
        rb"(?<=[\s'\"(])(?P<whole>(?P<name>" + names + rb")(?P<joint>=|[ \t]+)(?P<value>[^\s'\"\\)]+|\"[^\"\s]*\"))"
    )
    return [found for found in re.finditer(pattern, script) if not _in_comment(script, found.start())]


def _in_comment(script: bytes, at: int) -> bool:
    start = script.rfind(b"\n", 0, at) + 1
    line = script[start:at]
    return bool(re.search(rb"(?:^|\s)#", line)) and not line.startswith((b"#SBATCH", b"#PBS"))


def directives(script: bytes) -> list[tuple[int, int]]:
    """Return the span of every line in the block that sbatch (or qsub) reads, its newline included."""
    prefix = b"#PBS" if re.search(rb"(?m)^#PBS", script) and not re.search(rb"(?m)^#SBATCH", script) else b"#SBATCH"
    spans = []
    at = 0
    for line in script.splitlines(keepends=True):
        if line.startswith(prefix):
            spans.append((at, at + len(line)))
        elif line.strip() and not line.startswith(b"#"):
            break
        at += len(line)
    return spans


def body_start(script: bytes) -> int:
    """Return where the first line behind the directives begins."""
    spans = directives(script)
    return spans[-1][1] if spans else script.find(b"\n") + 1
