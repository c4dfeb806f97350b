"""Characters of the shell in an option's value, which end the launch line."""

from __future__ import annotations

import re
from itertools import islice
from typing import Iterator, List, NamedTuple, Optional, Tuple

from ...bash import nodes
from ...bash.parser import parse
from ...bash.questions import lies_in, unreached
from ...launchers.registry import NAMED
from ...launchers.unstarted import starts_no_program
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule

CODE = "MPL338"
MOST = 16  # places that are looked at
_SIGNS = (b"&", b"|", b";")
_WITHIN = re.compile(rb"\S[&|;]\S")


class _Sequel(NamedTuple):
    """Two commands that stand side by side, with one character between."""

    before: nodes.Simple
    after: nodes.Simple


@rule("MPL338", "a character of the shell ends the launch line")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """An ampersand, a bar or a semicolon without quotes ends a command, also in the middle of a word.

    Wrong: srun --nodes=2 -C gpu&hbm80g python train.py
    Wrong: srun --constraint=a100|h100 python train.py
    Right: srun --nodes=2 -C "gpu&hbm80g" python train.py
    Why:   the shell starts srun without a program, which ends at once, and then looks for a command named hbm80g.
    """
    if not job.script.is_shell or not _may_be_cut(job.source):
        return
    tree = parse(job.source)
    never = unreached(tree, job.source)
    for sequel in islice(_sequels(tree, job.source), MOST):
        value = _value(sequel, job.source)
        if (
            value is None
            or lies_in(value, never)
            or not starts_no_program(sequel.before)
            or len(sequel.after.words) < 2
        ):
            continue
        edits = (Edit(Span(value.start, value.start), b'"', CODE), Edit(Span(value.end, value.end), b'"', CODE))
        sign = job.source[sequel.before.span.end : sequel.before.span.end + 1].decode()
        name = job.source[sequel.before.words[0].span.start : sequel.before.words[0].span.end].decode(
            "utf-8", "replace"
        )
        yield Finding(CODE, "%s ends the line here, before %s is given a program" % (sign, name), value, True,
                      fixes=(Fix(edits, Safety.SAFE, "quotes around it"),), help="quotes around the value")  # fmt: skip


def _may_be_cut(source: bytes) -> bool:
    """Return whether one of the characters stands in the middle of a word of a launch line."""
    text = source.replace(b"\\\n", b" ")
    for match in _WITHIN.finditer(text):
        words = text[text.rfind(b"\n", 0, match.start()) + 1 : match.end()].split(None, 1)
        if words[0].rsplit(b"/", 1)[-1].decode("ascii", "replace") in NAMED:
            return True
    return False


def _sequels(program: nodes.Program, source: bytes) -> Iterator[_Sequel]:
    stack: List[object] = [program]
    while stack:
        node = stack.pop()
        pairs: List[Tuple[object, object]] = []
        if isinstance(node, nodes.Program):
            commands = [item.command for item in node.items]
            pairs = list(zip(commands, commands[1:]))
        elif isinstance(node, nodes.Pipeline):
            pairs = list(zip(node.commands, node.commands[1:]))
        for before, after in pairs:
            if not isinstance(before, nodes.Simple) or not isinstance(after, nodes.Simple):
                continue
            if source[before.span.end : after.span.start] in _SIGNS and before.words and after.words:
                yield _Sequel(before, after)
        if isinstance(node, tuple):
            stack.extend(part for part in node if isinstance(part, tuple))


def _value(sequel: _Sequel, source: bytes) -> Optional[Span]:
    """Return the value that the character stands in: of the last option before, up to the first word behind."""
    last, first = sequel.before.words[-1], sequel.after.words[0]
    if sequel.after.assignments or sequel.before.redirects or last.span.end != sequel.before.span.end:
        return None
    text = source[last.span.start : first.span.end]
    if b'"' in text or b"'" in text or b"\\" in text:
        return None
    at = text.find(b"=") + 1 if text[:1] == b"-" else 0
    return Span(last.span.start + at, first.span.end)
