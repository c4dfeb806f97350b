"""Scripts that bash cannot read to their end."""

from __future__ import annotations

import re
from typing import Iterator, Optional, Tuple

from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job, in_comment
from ...types.launch_plan import LaunchPlan
from .. import rule

_SHELL = rb"#![ \t]*(?:\S*/)?(?:env[ \t]+)?(?:bash|sh)\b"
_TEST = (  # expressions are made where there is something to look for
    rb"(?m)^(?![ \t]*#)[^\n#]*?(?<![\w\[$])\[[ \t]+[^\[\]\n;]*?[^\s\]](\])(?=[ \t]*(?:;|&&|\|\||$))"
)
_EXPORTED = (
    rb"(?m)^[ \t]*export[ \t]+(?:[A-Za-z_]\w*=[^\s;&|#\"'$`(]*[ \t]+)+(\d[\w.,:]*|=\S*|-[A-Za-z-]\S*)(?=[\s;&|])"
)
_CALLED = rb"\$\(([A-Z][A-Z0-9_]*)\)"


@rule("MPL119", "the shell cannot read the script")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A quote, an if or a loop that is never closed ends the script where it begins; `[` wants blanks; `$(X)` runs X.

    Wrong: if [ $SLURM_NNODES -gt 1]; then
    Right: if [ $SLURM_NNODES -gt 1 ]; then
    Wrong: --master_addr=$(MASTER_ADDR), which is make's way to name a variable
    Right: --master_addr=${MASTER_ADDR}
    Wrong: export CUDA_VISIBLE_DEVICES=0 1 2 3, of which each word is a name for export
    Right: export CUDA_VISIBLE_DEVICES=0,1,2,3
    Why:   bash says: syntax error: unexpected end of file; [: missing `]'; MASTER_ADDR: command not found. `maple
           check` shows the change where there is one; at submission Maple only reports it.
    """
    if not job.script.is_shell:
        return
    for match in re.finditer(_TEST, job.source) if _glued(job.source) else ():
        edit = Edit(Span(match.start(1), match.start(1)), b" ", "MPL119")
        yield Finding("MPL119", "the bracket belongs to the word in front of it, so the test has no end",
                      Span(*match.span(1)), fixes=(Fix((edit,), Safety.ASK, "a blank in front of ]"),),
                      help="[ and ] are words of their own")  # fmt: skip
        return
    for match in re.finditer(_CALLED, job.source) if _calls_a_name(job.source) else ():
        name = match.group(1)
        if name in plan.assigned and not in_comment(job.source, match.start()):
            yield Finding("MPL119", "$(%s) runs a command of this name" % name.decode(), Span(*match.span()),
                          fixes=_braces(name, job.source), help="a variable is ${%s}" % name.decode())  # fmt: skip
            return
    named = re.search(_EXPORTED, job.source) if b"export " in job.source else None
    if named is not None and plan.steps:
        yield Finding("MPL119", "export takes %s for a name, and the value ends before it" % named.group(1).decode(),
                      Span(*named.span(1)), help="quotes around a value with blanks")  # fmt: skip
        return
    unclosed = _unclosed(plan) if not plan.steps else None
    if unclosed is not None and re.match(_SHELL, job.source) and not _parses(job.source):
        line, why = unclosed
        lines = job.source.split(b"\n")
        begin = sum(len(before) + 1 for before in lines[: line - 1])
        yield Finding("MPL119", "%s: bash reads the script no further" % why, Span(begin, begin + len(lines[line - 1])),
                      help="close it; bash -n SCRIPT says no more")  # fmt: skip


def _glued(source: bytes) -> bool:
    """Return whether a bracket closes behind a word, where a command or the line ends."""
    parts = source.split(b"]")
    ends = (b";", b"\n", b" ;", b" &&", b" ||")
    return b"[ " in source and any(
        part[-1:] not in (b"", b" ", b"\t") and after.startswith(ends) for part, after in zip(parts, parts[1:])
    )


def _calls_a_name(source: bytes) -> bool:
    return any(part.partition(b")")[0].isupper() and part[:1].isalpha() for part in source.split(b"$(")[1:])


def _unclosed(plan: LaunchPlan) -> Optional[Tuple[int, str]]:
    """Return line and name of the first thing that is not closed."""
    begins = ("no closing", "an if without", "a loop without", "a case without")
    return next(((line, why) for line, why in plan.unread if why.startswith(begins)), None)


def _parses(source: bytes) -> bool:
    from ...bash.check import parses  # starts bash, which few scripts need

    return parses(source)


def _braces(name: bytes, source: bytes) -> Tuple[Fix, ...]:
    spans = [match.span() for match in re.finditer(rb"\$\(%s\)" % name, source)]
    edits = tuple(Edit(Span(*span), b"${%s}" % name, "MPL119") for span in spans)
    return (Fix(edits, Safety.ASK, "${%s}" % name.decode()),)
