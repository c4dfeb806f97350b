"""Files that are looked for in the home directory, and lie where the job was submitted.

What a script looks for in the folder it runs in, and whether it stays in the one where PBS starts it. For MPL602.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Iterator, List, NamedTuple, Optional, Tuple

from ...bash import nodes
from ...bash.parser import parse
from ...launchers.python_options import python_program
from ...launchers.registry import AGENTS
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step
from ...types.text import NUL, plain
from .. import rule

# Whatever may change the folder, or say where else to look. Where one of these words stands, nothing is said.
_MOVES = (  # compiled only when wanted
    rb"(?<![\w./-])(?:cd|pushd|popd|chdir|eval|apptainer|singularity|podman\S*|docker|shifter|enroot)(?![\w./-])"
    rb"|PBS_O_|PBS_JOBDIR|OLDPWD|\bPWD\b|[\s\"'](?:--?w(?:ork)?dir|--?wd|--chdir|--pwd|--path|--?cwd|-C|-D)\b"
)
_GOES = rb"(?m)(?:^|[;&|({])[ \t]*(?:cd|pushd|chdir)(?![\w./-])"
# Whatever may bring the file there.
_BRINGS = (
    rb"(?<![\w./-])(?:cp|mv|ln|rsync|tar|unzip|gunzip|zcat|cpio|git|hg|svn|wget|curl|scp|sftp|install|dd|tee|patch|make"
    rb"|cmake|gcc|mpicc|pip|conda-unpack|globus|rclone|dsync|mpifileutils|sed|touch)(?![\w./-])"
)
_SOURCED = (b"source", b".")
# Commands that make no file in the folder they run in. What any other may make is not known.
_MAKES_NOTHING = frozenset(
    b"""
. : [ basename cat conda cut date declare dirname echo exit export false free grep head hostname local lscpu mamba mkdir
ml module nproc nvidia-smi printenv printf readonly rocm-smi seq set shift sleep sort source spack tail test tr true
type ulimit uname uniq unset wait wc which xpu-smi
""".split()
)
# What a login shell may read before the script.
STARTUP = (b".bash_profile", b".bash_login", b".profile", b".bashrc", b".login", b".cshrc", b".tcshrc", b".zshenv",
           b".zprofile", b".zshrc", b".kshrc")  # fmt: skip


class Use(NamedTuple):
    """A file that is named from the folder the script runs in; *span*: where, *words*: what else stands behind it."""

    name: bytes
    span: Span
    words: Tuple[bytes, ...] = ()


def uses(plan: LaunchPlan, program: nodes.Program) -> List[Use]:
    """Return the files that launch lines start, and those that the script itself reads, in their order."""
    files = [use for step in plan.steps if not step.maybe for use in _of_step(step)]
    files += [Use(name, span) for name, span in sourced(program) if _is_relative(name) and b"/" in name]
    return sorted(files, key=lambda use: use.span)


def _of_step(step: Step) -> Iterator[Use]:
    words = step.program
    if not words:
        return
    at = 0
    if not (step.links and step.links[-1].name in AGENTS):
        call = python_program([plain(word) for word in takewhile(lambda word: NUL not in word, words)])
        if call is not None and call.script is not None:
            at = call.script
        elif call is not None or b"/" not in words[0]:
            return  # a module, or a name that is looked up along PATH
    elif not words[0].endswith(b".py"):
        return
    if _is_relative(words[at]):
        spans = step.program_spans[at : at + 1] or (None,)
        yield Use(words[at], spans[0] or step.program_span or step.span, words[at + 1 :])


def _is_relative(name: bytes) -> bool:
    return bool(name) and NUL not in name and name[:1] not in (b"/", b"-", b"~") and b".." not in name.split(b"/")


def sourced(program: nodes.Program) -> Iterator[Tuple[bytes, Span]]:
    """Yield the files that the script reads as its own, by `source` or `.`, with b"" where the name is not literal."""
    for command in _commands(program):
        if len(command.words) > 1 and _literal(command.words[0]) in _SOURCED:
            yield _literal(command.words[1]) or b"", command.words[1].span


def makes_nothing(program: nodes.Program, before: int) -> bool:
    """Return whether every command that ends before a byte is one that makes no file."""
    return not any(command.span.end <= before and _may_make(command) for command in _commands(program))


def _commands(program: nodes.Program) -> Iterator[nodes.Simple]:
    """Yield every simple command, wherever it stands."""
    waiting: List[object] = [program]
    while waiting:
        node = waiting.pop()
        if isinstance(node, nodes.Simple):
            yield node
        if isinstance(node, tuple) and not isinstance(node, Span):
            waiting.extend(node)


def _may_make(command: nodes.Simple) -> bool:
    known = not command.words or _literal(command.words[0]) in _MAKES_NOTHING
    return not known or any(b">" in redirect.op for redirect in command.redirects)


def _literal(word: nodes.Word) -> Optional[bytes]:
    texts = [part.text for part in word.parts if isinstance(part, nodes.Literal)]
    return b"".join(texts) if len(texts) == len(word.parts) else None


def may_move(source: bytes) -> bool:
    """Return whether a text has a word that may change the folder, outside its comments."""
    return re.search(_MOVES, _uncommented(source)) is not None


def _uncommented(source: bytes) -> bytes:
    return re.sub(rb"(?m)^[ \t]*#[^\n]*", b"", source)


def stays(job: Job, home: bytes, uses: List[Use], program: nodes.Program) -> bool:
    """Return whether nothing in the script may change the folder or bring the files, nor a login shell's files by cd.

    A file that is read by the script is looked into; one that cannot be makes all unknown.
    """
    text = _uncommented(job.source)
    if re.search(_BRINGS, text) or _written(text, uses):
        return False
    missing = {use.name for use in uses}
    if not all(_quiet(job, _at(home, name), name in missing) for name, _ in sourced(program)):
        return False
    return not any(_begins_with(job, _at(home, name), _GOES) for name in STARTUP)


def surely_stays(job: Job, home: bytes) -> bool:
    """Return whether no file of a login shell may change the folder, whatever it evaluates."""
    return not any(_begins_with(job, _at(home, name), _MOVES) for name in STARTUP)


def _written(text: bytes, uses: List[Use]) -> bool:
    names = {use.name.rsplit(b"/", 1)[-1] for use in uses}
    return any(re.search(rb">\s*\S*" + re.escape(name), text) for name in names)


def _at(home: bytes, name: bytes) -> bytes:
    return name if name.startswith(b"/") else home.rstrip(b"/") + b"/" + name


# What sets up Python, modules or a compiler, and stays where it is.
_SETS_UP = (
    b"activate",
    b"conda.sh",
    b"mamba.sh",
    b"micromamba.sh",
    b"modules.sh",
    b"lmod.sh",
    b"z00_lmod.sh",
    b"setvars.sh",
)


def _quiet(job: Job, path: bytes, missing: bool) -> bool:
    """Return whether a sourced file changes no folder: it is read, or it is one of those that are not there."""
    content = job.read(path) if job.read is not None else None
    if content is None:
        return missing or path.rsplit(b"/", 1)[-1] in _SETS_UP
    return not may_move(content)


def _begins_with(job: Job, path: bytes, pattern: bytes) -> bool:
    content = job.read(path) if job.read is not None else None
    return content is not None and re.search(pattern, _uncommented(content)) is not None


CODE = "MPL602"
INTO = b'cd "$PBS_O_WORKDIR" && '
_HARMLESS = (b"echo", b"printf", b"date", b"wait", b"exit", b"true", b":", b"hostname")


@rule("MPL602", "the job starts in the home directory", "pbs")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """PBS starts a job in the home directory, not where qsub was called.

    Wrong: mpiexec -n 8 python train.py, and no cd, where train.py lies beside the job script
    Right: cd "$PBS_O_WORKDIR", and then the launch line
    Why:   the ranks end with: can't open file 'train.py'. It is certain where the file lies in the folder of
           submission and not in the home directory, and neither the script nor what a login shell reads can change
           the folder. The job cannot run as it is, so where one command alone needs the folder, and nothing behind
           it could tell, Maple puts the cd in front of it, which changes nothing on a site that begins its jobs
           there; otherwise it asks first, because what follows would run in another folder too.
    """
    home, folder = job.submission.environment.get(b"HOME", b""), job.submission.cwd
    if (
        job.read is None
        or not job.script.is_shell
        or job.script.refused
        or any(_leads_elsewhere(setting.name) for setting in job.settings)
    ):
        return

    if may_move(job.source):
        return
    if not home.startswith(b"/") or not folder.startswith(b"/") or home.rstrip(b"/") == folder.rstrip(b"/"):
        return
    program = parse(job.source)
    missing = [use for use in uses(plan, program) if not _there(job, home, use.name)]
    here = [use for use in missing if _there(job, folder, use.name)]
    if not missing or not stays(job, home, here or missing, program):
        return
    if not here:
        yield _nowhere(missing[0], missing, job, home, program)
        return
    # A function of the submitter's shell may do anything, and a program may make the file that it is.
    sure = (
        "all-variables" not in job.settings and makes_nothing(program, here[0].span.start) and surely_stays(job, home)
    )
    fix = _into(here, job, home, program)
    fix = fix._replace(safety=Safety.ASK) if fix is not None and not sure else fix
    says = "%s lies in the folder of submission, but PBS starts the job in the home directory"
    yield Finding(CODE, says % here[0].name.decode("utf-8", "backslashreplace"), here[0].span, sure,
                  fixes=(fix,) if fix is not None else (), help='write cd "$PBS_O_WORKDIR" in front of it')  # fmt: skip


def _nowhere(use: Use, missing: List[Use], job: Job, home: bytes, program: nodes.Program) -> Finding:
    """Say so of a file that is not beside the script either: whoever checks may be elsewhere."""
    fix = _into(missing, job, home, program)
    says = "PBS starts the job in the home directory, and %s is not there"
    return Finding(CODE, says % use.name.decode("utf-8", "backslashreplace"), use.span,
                   fixes=(fix._replace(safety=Safety.ASK),) if fix is not None else (),
                   help='write cd "$PBS_O_WORKDIR" in front of it')  # fmt: skip


def _leads_elsewhere(name: str) -> bool:
    """Return whether a setting may have the job begin in another folder, or bring files: NCI has `-l wd`, say."""
    return name in ("sandbox", "stagein", "wd", "cwd") or "dir" in name.replace("directive", "")


def _there(job: Job, folder: bytes, name: bytes) -> bool:
    return job.read is not None and job.read(folder.rstrip(b"/") + b"/" + _plain(name)) is not None


def _plain(name: bytes) -> bytes:
    return name[2:] if name.startswith(b"./") else name


def _into(uses: List[Use], job: Job, home: bytes, program: nodes.Program) -> Optional[Fix]:
    """Return the fix that changes the folder in front of the first command that needs it."""
    items = [(index, item) for index, item in enumerate(program.items) if _within(item.command.span, uses[0].span)]
    if len(items) != 1:
        return None
    index, item = items[0]
    if isinstance(item.command, (nodes.Function, nodes.Unread)) or item.background:
        return None
    alone = all(_within(item.command.span, use.span) for use in uses)
    simple = isinstance(item.command, (nodes.Simple, nodes.Pipeline, nodes.AndOr))
    quiet = all(_harmless(later) for later in program.items[index + 1 :])
    safe = alone and simple and quiet and not any(_of_home(job, home, use) for use in uses)
    start = item.command.span.start
    edit = Edit(Span(start, start), INTO, CODE)
    return Fix((edit,), Safety.SAFE if safe else Safety.ASK, 'begin with: cd "$PBS_O_WORKDIR"')


def _within(outer: Span, inner: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _harmless(item: nodes.Item) -> bool:
    """Return whether a command does the same in any folder."""
    command = item.command
    if not isinstance(command, nodes.Simple) or command.redirects:
        return False
    first: Tuple[nodes.Part, ...] = command.words[0].parts if command.words else ()
    return not first or (isinstance(first[0], nodes.Literal) and first[0].text in _HARMLESS)


def _of_home(job: Job, home: bytes, use: Use) -> bool:
    """Return whether another word of the line names a file that is in the home directory only."""
    names = [part for word in use.words for part in (word, word.partition(b"=")[2]) if part and part[:1] not in b"-/"]
    names = [name for name in names if b"\0" not in name]
    return any(_there(job, home, name) and not _there(job, job.submission.cwd, name) for name in names)
