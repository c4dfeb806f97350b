"""What kind of job this is, from the script alone: no file is read.

What the launch lines say: launcher, world, program, arguments, framework, parallelism.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from maple_submit_filter.answer import decision
from maple_submit_filter.site.facts import GENERIC_SLURM, Site
from maple_submit_filter.types.job import Job, line_of
from maple_submit_filter.types.job_records import Part, Value
from maple_submit_filter.types.launch_plan import LaunchPlan, Step
from maple_submit_filter.types.submission import Submission

from ..request.script.slots import paradigm
from . import names
from .names import Candidate, of_key, part_at, settled
from .programs import Argument, Started, main, one_program

_AGENTS = ("deepspeed", "accelerate", "torchrun")
FRAMEWORKS = (  # the more a name says of how the program trains, the earlier
    "megatron", "nemo", "colossalai", "deepspeed", "lightning", "composer", "accelerate", "horovod", "jax",
    "tensorflow", "torch",
)  # fmt: skip
_OF_LAUNCHER = {"deepspeed": "deepspeed", "accelerate": "accelerate", "torchrun": "torch"}
CONFIGS_OF_DEEPSPEED = ("deepspeed", "deepspeed_config", "ds_config")


class Analysis(NamedTuple):
    """*values*: one for each name that is known. *parts*: those that they were read from."""

    parts: tuple[Part, ...] = ()
    values: tuple[Value, ...] = ()


def whole_script(script: bytes) -> Part:
    """Return a script as one part, for whoever keeps no versions of its pieces."""
    return Part("launch", "", hashlib.sha256(script).hexdigest(), (1, script.count(b"\n") + 1))


class Read(NamedTuple):
    """A submission with the plan of what it would start."""

    job: Job
    plan: LaunchPlan


def analyse(submission: Submission, parts: Sequence[Part], site: Site = GENERIC_SLURM) -> Analysis:
    """Return what the script says of the job; nothing where it is to be left alone, or is no shell script.

    *parts*: the pieces of the script with their hashes; a value on a line that is in none of them is not kept.
    """
    read = played(submission, site)
    return analysed(read, parts, from_script(read, parts)) if read is not None else Analysis()


def played(submission: Submission, site: Site) -> Read | None:
    """Return the submission with its plan, None where there is no script of a shell to read."""
    here = decision.at_home(submission, site)
    if here is None or submission.script is None or len(submission.script) > decision.MOST_READ:
        return None
    job = decision.understood(submission, None)
    if job is None or not job.script.is_shell:
        return None
    return Read(job, decision.examined(job, here).plan)


def from_script(read: Read, parts: Sequence[Part]) -> list[Candidate]:
    """Return what all places of the script say."""
    return [*of_launches(read.job, read.plan, parts), *of_surroundings(read.job, parts)]


def analysed(read: Read, parts: Sequence[Part], candidates: Sequence[Candidate]) -> Analysis:
    """Return what the candidates come to. Where the script cannot be played to its end, its plan is not known."""
    sure = [candidate for candidate in candidates if candidate.by != "plan" or not read.plan.unread]
    values = tuple(value for value in settled(sure) if value.part)
    held = {value.part for value in values}
    return Analysis(tuple(part for part in parts if part.hash in held), values)


# What stands around the launch lines: modules, environments, containers, packages, and where the output goes.

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
        for match in (match for match in pattern.finditer(text) if not _is_comment(text, match.start(1))):
            yield from _candidate(name, match[1], text, match.start(1), kind, parts)
    yield from _modules(text, parts)
    for match in (*_images(text), *_OPTION.finditer(text)):
        if not _is_comment(text, match.start(1)):
            yield from _candidate("container", match[1], text, match.start(1), "launch", parts)
    yield from _outputs(job, parts)


def _images(text: str) -> Iterator[re.Match[str]]:
    """Yield the image of each container that is run: the first word that is one."""
    for run in _RUN.finditer(text):
        match = _IMAGE.search(text, run.start(1), run.end(1))
        if match:
            yield match


def _modules(text: str, parts: Sequence[Part]) -> Iterator[Candidate]:
    """Yield the modules that are loaded, as one value at the line of the first."""
    loaded: list[str] = []
    first = 0
    for match in _MODULES.finditer(text):
        words = match[1].split()
        if words and words[0] not in ("purge", "use", "unload", "list", "avail", "show", "restore", "swap", "spider"):
            first = first or match.start(1)
            loaded += [word for word in words if _NAME.fullmatch(word) and not word.startswith("-")]
    if loaded:
        yield from _candidate("modules", " ".join(dict.fromkeys(loaded)), text, first, "environment", parts)


def _outputs(job: Job, parts: Sequence[Part]) -> Iterator[Candidate]:
    """Yield where the scheduler is told to write."""
    for name, key in (("stdout", "output"), ("stderr", "error")):
        setting = next((setting for setting in job.settings if setting.name == key), None)
        value = setting.value.decode("utf-8", "replace") if setting is not None else ""
        if setting is not None and value and setting.origin.line and names.allowed(name, value):
            part = part_at(setting.origin.line, parts, "directives")
            yield Candidate(name, value, "", setting.origin.line, part, "script")


def _candidate(name: str, value: str, text: str, at: int, kind: str, parts: Sequence[Part]) -> Iterator[Candidate]:
    line = text.count("\n", 0, at) + 1
    if names.allowed(name, value):
        yield Candidate(name, value, "", line, part_at(line, parts, kind), "script")


def _is_comment(text: str, at: int) -> bool:
    line = text[text.rfind("\n", 0, at) + 1 : at].lstrip()
    return line.startswith("#") and not line.startswith(("#SBATCH", "#PBS"))


def of_launches(job: Job, plan: LaunchPlan, parts: Sequence[Part]) -> Iterator[Candidate]:
    """Yield what the launch lines of the job's own program say."""
    starts = main(plan)
    if not starts:
        return
    for started in starts:
        yield from _of_step(started, job, parts)
        if any(each.kind for each in starts):
            yield Candidate(
                "job_kind", started.kind or None, "", started.step.line, part_at(started.step.line, parts), "script"
            )
    yield from _allocated(starts[0].step, plan, parts)
    if one_program(starts):
        yield from _common([list(_of_program(started, job, parts)) for started in starts])


def _of_step(started: Started, job: Job, parts: Sequence[Part]) -> Iterator[Candidate]:
    step = started.step
    part = part_at(step.line, parts)
    agent = next((link.name for link in reversed(step.links) if link.name in _AGENTS), "")
    launcher = agent or (step.links[0].name if step.links else "")
    yield Candidate("launcher", (launcher or None) if not started.hidden else None, "", step.line, part, "script")
    framework = _framework(started, agent)
    if framework:
        yield Candidate("framework", framework, "", step.line, part, "script")
    way = paradigm(step, job.source, None)
    if way:
        yield Candidate("parallelism", way, "", step.line, part, "script")
    world = {group.world_size for group in step.groups}
    size = next(iter(world)) if len(world) == 1 else None
    yield Candidate("world_size", str(size) if size else None, "", step.line, part, "plan")


def _framework(started: Started, agent: str) -> str:
    """Return the framework that a launch line proves."""
    options = {names.plain(each.name) for each in started.given.all if each.form == "option"}
    frameworks = [_OF_LAUNCHER[agent]] if agent else []
    frameworks += ["deepspeed"] if options.intersection(CONFIGS_OF_DEEPSPEED) else []
    return min(frameworks, key=FRAMEWORKS.index, default="")


def _allocated(step: Step, plan: LaunchPlan, parts: Sequence[Part]) -> Iterator[Candidate]:
    granted = plan.allocation
    part = part_at(step.line, parts, "launch")
    counts = {"nodes": granted.nodes, "gpus_per_node": granted.gpus_per_node}
    if granted.nodes and granted.gpus_per_node:
        counts["gpus"] = granted.nodes * granted.gpus_per_node
    for name, count in counts.items():
        if count:
            yield Candidate(name, str(count), "", step.line, part, "plan")


def _common(of_steps: Sequence[list[Candidate]]) -> Iterator[Candidate]:
    """Yield what every one of the lines says; what only some say is not known of the job."""
    values = [{(candidate.name, candidate.value) for candidate in candidates} for candidates in of_steps]
    for candidates in of_steps:
        for candidate in candidates:
            yield (
                candidate
                if all((candidate.name, candidate.value) in other for other in values)
                else candidate._replace(value=None)
            )


def _of_program(started: Started, job: Job, parts: Sequence[Part]) -> Iterator[Candidate]:
    line = line_at(started, started.first - 1, job)
    part = part_at(line, parts)
    if (
        started.program.strip()
        and names.allowed("program", started.program)
        and not _is_lost(started, started.first - 1, job)
    ):
        yield Candidate("program", started.program, "", line, part, "script")
    whole = _whole(started)
    if whole:
        yield Candidate("arguments", whole, "", line, part, "script")
    yield from _of_launcher(started, parts)
    for each in given(started):
        at = line_at(started, started.first + each.at, job)
        word = each.at + (b"=" not in started.step.program[started.first + each.at])
        value = _value(each) if not _is_lost(started, started.first + word, job) else None
        yield from of_key(each.name, value, "", at, part_at(at, parts), "arguments")


def _of_launcher(started: Started, parts: Sequence[Part]) -> Iterator[Candidate]:
    """Yield what options of Accelerate's own say of the training; the program's words and its config may say more."""
    step = started.step
    for link in (link for link in step.links if link.name == "accelerate"):
        for name in _OF_ACCELERATE:
            option = link.option(name)
            value = option.value.raw if option is not None and option.value is not None else b""
            if value and b"\0" not in value:
                text = value.decode("utf-8", "replace")
                yield from of_key(name, text, "", step.line, part_at(step.line, parts), "script")


_OF_ACCELERATE = ("mixed-precision", "gradient-accumulation-steps", "zero-stage")
_VARIABLE = re.compile(rb"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")


def _is_lost(started: Started, index: int, job: Job) -> bool:
    """Return whether a word has a variable that the script never sets: `/train.py` of `$APP_PATH/train.py`.

    The submitting shell may have set it, and only few of its variables are known here.
    """
    source, spans = job.submission.script or b"", started.step.program_spans
    span = spans[index] if 0 <= index < len(spans) else None
    written = _VARIABLE.findall(source[span.start : span.end]) if span is not None else []
    return any(not _is_set(braced or bare, source, job) for braced, bare in written)


def _is_set(name: bytes, source: bytes, job: Job) -> bool:
    if name in job.submission.environment:
        return True
    return re.search(rb"(?:^|[\s;&|(])(?:%s\+?=|(?:for|read|select)\b[^\n]*\b%s\b)" % (name, name), source,
                     re.MULTILINE) is not None  # fmt: skip


def given(started: Started) -> list[Argument]:
    """Return the options and overrides in force: of one that stands there twice, the last."""
    last = {each.name: each for each in started.given.sure() if each.form != "word"}
    unsure = [each._replace(value=None) for each in started.given.all if each.form != "word" and each.name not in last]
    return [*last.values(), *unsure]


def common_arguments(starts: Sequence[Started]) -> list[Argument]:
    """Return the options of the first line; what another does not give in the same way is unknown."""
    others = [{(each.name, each.value) for each in given(started)} for started in starts]
    same = [each if all((each.name, each.value) in other for other in others) else each._replace(value=None)
            for each in given(starts[0])]  # fmt: skip
    known = {each.name for each in same}
    return same + [
        each._replace(value=None) for started in starts[1:] for each in given(started) if each.name not in known
    ]


def _value(each: Argument) -> str | None:
    """Return what an argument says; a sweep (`lr=1e-3,1e-4`) says no one value."""
    swept = each.form == "override" and each.value is not None and "," in each.value
    if swept:
        return None
    return "true" if each.value == "" else each.value


def _whole(started: Started) -> str:
    """Return the arguments as one line, "" where a word is not known, or is a secret."""
    words = started.step.program[started.first :]
    if any(b"\0" in word for word in words):
        return ""
    text = " ".join(word.decode("utf-8", "replace") for word in words)
    return text if text and names.allowed("arguments", text) else ""


def line_at(started: Started, index: int, job: Job) -> int:
    """Return the line of a word of the launch line, that of the whole where the word is not written as such."""
    spans = started.step.program_spans
    span = spans[index] if 0 <= index < len(spans) else None
    return line_of(job.source, span.start) if span is not None else started.step.line
