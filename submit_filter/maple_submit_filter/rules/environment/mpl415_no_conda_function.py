"""conda activate in a shell that has no such function."""

from __future__ import annotations

import re
from typing import Iterator

from ...bash.nodes import Function, Simple
from ...bash.parser import parse
from ...bash.questions import first, simples, within
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job, joined
from ...types.launch_plan import LaunchPlan
from .. import rule

_OF_CONDA = (b"conda", b"mamba", b"micromamba")
_MAY_FAIL = re.compile(rb"[^\n]*(?:2>|\|\|[ \t]*(?:true|:|source|\.|conda|mamba)(?![\w.-]))")
# Whatever may bring the function: a file that is read, a module, a hook, a shell that reads a profile.
_BRINGS = re.compile(
    rb"(?m)^#!.*(?:[ \t]-\w*[li]\w*\b|--login)"
    rb"|(?:^|[;&|(`\s])(?:source|\.|module|ml|eval|spack|lmod|use|conda[ \t]+init)(?=\s)"
    rb"|shell\.(?:bash|posix)|BASH_ENV|\bconda[ \t]*\(\)|function[ \t]+conda"
    # a site's own command that names it: `uenv miniconda3-py39`, `load_conda`
    rb"|^[ \t]*(?!(?:export|echo|printf|cd|ls|which|mkdir|test|conda|mamba|micromamba)[ \t])[A-Za-z_][\w.-]*"
    rb"(?:[ \t]+[\w-]*|(?<=[\w.-]))(?:conda|mamba|miniforge)[\w.-]*[ \t]*$"
)
_PLACE = re.compile(
    rb"(?m)^[ \t]*(?:export[ \t]+)?PATH=[\"']?([^\s:\"']*(?:conda|forge|mamba)[^\s:\"']*?)/(?:cond)?bin\b"
)
# A shell that a command line starts with a text; of its options, l and i make it read the user's files.
_SHELL = re.compile(
    rb"(?<![\w.-])(?:ba|z|k)?sh((?:[ \t]+-[\w-]+(?:[ \t]+pipefail)?)*?[ \t]+-[a-z]*c)[ \t]+"
    rb"(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)')",
    re.DOTALL,
)
_READS = re.compile(rb"(?<!\S)-(?:[a-z]*[li][a-z]*(?!\S)|-login|-rcfile|-init-file)")
_IN_TEXT = re.compile(
    rb"(?:\A|[;&|({\n]|\b(?:then|do|else)[ \t])[ \t]*((?:conda|(?:micro)?mamba)[ \t]+activate)\b(?![^\n;&]*(?:\|\||2>))"
)
_HANDED_ON = re.compile(
    rb"BASH_ENV|\b(?:export|declare|typeset)[ \t]+-\w*[fx]\w*[ \t]+[^\n;]*\b(?:conda|mamba)|\bset[ \t]+-a"
)
_CONDA_SH = re.compile(rb"(?m)^[ \t]*((?:source|\.)[ \t]+[\w/.${}~-]+/conda\.sh)\b")
_ASKED = b"source $(conda info --base)/etc/profile.d/conda.sh"


@rule("MPL415", "conda activate without conda's shell function", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """conda activate is a function of the shell; a batch shell reads no ~/.bashrc, and a PATH brings the program alone.

    Wrong: export PATH=$HOME/miniconda3/bin:$PATH ... conda activate train
    Wrong: module load miniforge3; srun bash -c "conda activate train && torchrun ... train.py"
    Right: source $HOME/miniconda3/etc/profile.d/conda.sh; conda activate train
    Why:   conda says: Run 'conda init' before 'conda activate', and the Python of the base environment goes on.
           `maple check` shows the change; at submission Maple only reports it. A script that reads any file or loads
           any module before, or that a login shell runs, is left alone. A shell that a task starts has no function of
           the batch shell; a module or ~/.bashrc may hand one on, so that is only said, too.
    """
    if b" activate" not in job.source:
        return
    yield from _in_new_shell(plan, job)
    if not job.script.is_shell or not plan.steps:
        return
    program = parse(job.source)
    command = next((node for node in simples(program) if _activates(node, job.source)), None)
    if command is None:
        return
    at = command.words[0].span.start
    functions = (node.span for node in within(program, (Function,)) if isinstance(node, Function))
    before = job.source if any(span.start <= at < span.end for span in functions) else job.source[:at]
    if _BRINGS.search(re.sub(rb"(?m)^[ \t]*#(?!!)[^\n]*", b"", before)):
        return
    where = _PLACE.search(job.source, 0, at)
    words = b"source %s/etc/profile.d/conda.sh; " % where.group(1) if where is not None else _hook(command)
    fix = Fix((Edit(Span(at, at), words, "MPL415"),), Safety.ASK, words.decode("utf-8", "replace").rstrip("; "))
    yield Finding("MPL415", "nothing brings conda's shell function, so nothing is activated",
                  Span(at, command.words[1].span.end), fixes=(fix,),
                  help="read conda.sh first: source .../etc/profile.d/conda.sh")  # fmt: skip


def _activates(command: Simple, source: bytes) -> bool:
    """Return whether it activates, and may not fail in silence."""
    words = [first(word) for word in command.words[:2]]
    return words[1:] == [b"activate"] and words[0] in _OF_CONDA and not _MAY_FAIL.match(source, command.span.start)


def _hook(command: Simple) -> bytes:
    if first(command.words[0]) == b"micromamba":
        return b'eval "$(micromamba shell hook --shell bash)"; '
    return b'eval "$(conda shell.bash hook)"; '


def _in_new_shell(plan: LaunchPlan, job: Job) -> Iterator[Finding]:
    """Yield that the text of a shell that is no login shell activates, and brings no function before."""
    source = re.sub(rb"(?m)^[ \t]*#[^\n]*", lambda match: b" " * len(match.group()), joined(job.source))
    if not job.script.is_shell or not any(step.links for step in plan.steps) or _HANDED_ON.search(source):
        return
    for shell in _SHELL.finditer(source):
        text = 2 if shell.group(2) is not None else 3
        match = _IN_TEXT.search(shell.group(text))
        if match is None or _READS.search(shell.group(1)) or _in_image(plan, shell.start()):
            continue
        if _BRINGS.search(shell.group(text)[: match.start(1)]):
            continue
        at = shell.start(text) + match.start(1)
        read = _CONDA_SH.search(source, 0, shell.start())
        words = read.group(1) if read is not None else _ASKED
        fix = Fix((Edit(Span(at, at), words + b"; ", "MPL415"),), Safety.ASK, words.decode("utf-8", "replace"))
        yield Finding("MPL415", "a new shell has no function of the batch shell, so nothing is activated",
                      Span(at, at + len(match.group(1))), fixes=(fix,),
                      help="read conda.sh in that shell first, or activate in front of the launch line")  # fmt: skip
        return


def _in_image(plan: LaunchPlan, at: int) -> bool:
    """Return whether a place lies on a launch line that goes into a container, whose shell may have what it needs."""
    lines = [step for step in plan.steps if step.span.start <= at < step.span.end]
    return any(step.images or any(link.option("container-image") for link in step.links) for step in lines)
