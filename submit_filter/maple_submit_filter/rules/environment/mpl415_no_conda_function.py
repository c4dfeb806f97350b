"""conda activate in a shell that has no such function."""

from __future__ import annotations

import re
from typing import Iterator, Optional

from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule

_ACTIVATES = re.compile(
    rb"(?m)^(?:[^#\n'\"]*?[;&|][ \t]*)?[ \t]*((?:conda|mamba)[ \t]+activate)\b(?![^\n]*(?:\|\||2>))"
)
# Whatever may bring the function: a file that is read, a module, a hook, a shell that reads a profile.
_BRINGS = re.compile(
    rb"(?m)^#!.*(?:[ \t]-\w*[li]\w*\b|--login)"
    rb"|(?:^|[;&|(`\s])(?:source|\.|module|ml|eval|spack|lmod|use|conda[ \t]+init)(?=\s)"
    rb"|shell\.(?:bash|posix)|BASH_ENV|\bconda[ \t]*\(\)|function[ \t]+conda"
)
_PLACE = re.compile(
    rb"(?m)^[ \t]*(?:export[ \t]+)?PATH=[\"']?([^\s:\"']*(?:conda|forge|mamba)[^\s:\"']*?)/(?:cond)?bin\b"
)


@rule("MPL415", "conda activate without conda's shell function", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """conda activate is a function of the shell; a batch shell reads no ~/.bashrc, and a PATH brings the program alone.

    Wrong: export PATH=$HOME/miniconda3/bin:$PATH ... conda activate train
    Right: source $HOME/miniconda3/etc/profile.d/conda.sh; conda activate train
    Why:   conda says: Run 'conda init' before 'conda activate', and the Python of the base environment goes on.
           `maple check` shows the change; at submission Maple only reports it. A script that reads any file or loads
           any module before, or that a login shell runs, is left alone.
    """
    if b" activate" not in job.source or any(word in job.source for word in (b"source ", b"\n. ", b"module ")):
        return  # most have one of these, and no expression is made then
    match = _ACTIVATES.search(job.source)
    if match is None or not job.script.is_shell or not plan.steps:
        return
    if _BRINGS.search(re.sub(rb"(?m)^[ \t]*#(?!!)[^\n]*", b"", job.source[: match.start(1)])):
        return
    where = _PLACE.search(job.source, 0, match.start(1))
    hook = b'eval "$(conda shell.bash hook)"; '
    words = b"source %s/etc/profile.d/conda.sh; " % where.group(1) if where is not None else hook
    edit = Edit(Span(match.start(1), match.start(1)), words, "MPL415")
    fix: Optional[Fix] = Fix((edit,), Safety.ASK, words.decode("utf-8", "replace").rstrip("; "))
    yield Finding("MPL415", "nothing brings conda's shell function, so nothing is activated", Span(*match.span(1)),
                  fixes=(fix,) if fix is not None else (),
                  help="read conda.sh first: source .../etc/profile.d/conda.sh")  # fmt: skip
