"""What the program's own files say: its options and their defaults, its configs, its packages.

Where a program and its modules lie: the work folder at a launch line, and the paths that a name can mean.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from maple_submit_filter.site.facts import GENERIC_SLURM, Site
from maple_submit_filter.types.job import Job
from maple_submit_filter.types.job_records import Part
from maple_submit_filter.types.submission import Submission

from . import names
from .analysis import (
    CONFIGS_OF_DEEPSPEED,
    FRAMEWORKS,
    Analysis,
    Read,
    analysed,
    common_arguments,
    from_script,
    line_at,
    played,
)
from .extracts import CONFIG, PACKAGES, SOURCE, SUFFIXES
from .hydra import Composed, Setting, composed
from .names import Candidate, of_key, part_at
from .programs import Argument, Started, main, one_program
from .python_source import Declared, Source
from .user_files import Files

_CD = re.compile(r"^([ \t]*)(?:cd|pushd)(?:[ \t]+([^\n#;&|]*?))?[ \t]*(?=$|#|;|&|\|)", re.MULTILINE)
_HIDDEN = re.compile(r"(?:[;&|({]|\bthen|\bdo)[ \t]*(?:cd|pushd)\b|\bpopd\b|--chdir\b|--wdir\b|\bsrun\b[^\n]*[ \t]-D\b")
_SUBMITTED = re.compile(r"\$\{?(?:SLURM_SUBMIT_DIR|PBS_O_WORKDIR|PWD)\}?")

_CONFIG = re.compile(  # options that name a configuration of the training: that of a model or a tokenizer is none
    r"(?:(?:train|training|trainer|exp|experiment|base|ds|deepspeed|run|main|job|yaml)_)?"
    r"(?:config|cfg|conf|recipe|yaml|params|hparams|deepspeed|opt|options)(?:_(?:file|path|name|yaml|json))?"
)
_IMPORTED = {  # what an import at the top of a program proves
    "torch": "torch", "lightning": "lightning", "pytorch_lightning": "lightning", "deepspeed": "deepspeed",
    "accelerate": "accelerate", "jax": "jax", "flax": "jax", "tensorflow": "tensorflow", "horovod": "horovod",
    "megatron": "megatron", "nemo": "nemo", "colossalai": "colossalai", "composer": "composer",
}  # fmt: skip
_REQUIREMENTS = ("requirements.txt", "pyproject.toml", "environment.yml", "environment.yaml")
PROGRAM, DEEPSPEED, ACCELERATE = "program", "deepspeed", "accelerate"  # whose a config is
_HYDRA = {"config_name": ("--config-name", "-cn"), "config_path": ("--config-path", "-cp"),
          "config_dir": ("--config-dir", "-cd")}  # fmt: skip


def read_files(
    submission: Submission, parts: Sequence[Part], site: Site = GENERIC_SLURM, files: Files | None = None
) -> Analysis:
    """Return what script and files say, with the parts that were read; values of the script alone are among them.

    Reads only files that the script, the program or its configs name, and the usual lists of packages beside the
    program. Raises nothing that a file could cause.
    """
    read = played(submission, site)
    if read is None:
        return Analysis()
    files = files or Files(os.fsdecode(submission.cwd))
    candidates = from_script(read, parts)
    started = main(read.plan)
    folder = work_folder(read.job, started[0].step.line) if started and one_program(started) else None
    if folder is not None:
        candidates = list(_Program(read, parts, started, folder, files).over(candidates))
    analysis = analysed(read, (*parts, *files.parts.values()), candidates)
    return analysis._replace(parts=tuple(dict.fromkeys((*analysis.parts, *files.parts.values()))))


class _Program:
    """The program that a job is about, with what lies around it."""

    def __init__(self, read: Read, parts: Sequence[Part], starts: Sequence[Started], folder: str, files: Files) -> None:
        self._read, self._parts, self._one, self._folder, self._files = read, parts, starts[0], folder, files
        self._open = any(started.given.is_open for started in starts)
        self._given = common_arguments(starts)
        self._of_deepspeed: set[str] = set()  # paths of configs
        self._sources = self._program()
        self._declared = [
            (path, each) for path, source in self._sources.items() for each in _declared(source, self._sources)
        ]

    def over(self, script: Iterable[Candidate]) -> Iterator[Candidate]:
        """Yield what the script says and what the files do; an unknown word among the arguments may overrule these."""
        made = self._hydra()
        candidates = [candidate for candidate in script if not self._chooses(candidate, made)]
        candidates += self._arguments()
        if not self._open:
            candidates += [
                *of_config([*self._configs(), *(made.settings if made else ())], self._files, self._of_deepspeed),
                *self._defaults(),
            ]
        candidates += [*self._own_words(), *self._packages()]
        yield from _one_framework(candidates)

    def _program(self) -> dict[str, Source]:
        """Return the program's file and those beside it that it imports, by path, the program first."""
        path = next(
            (candidate for candidate in program_paths(self._one, self._folder) if self._files.is_there(candidate)), ""
        )
        if not path:
            return {}
        top = self._folder if self._one.is_module else os.path.dirname(path)
        sources: dict[str, Source] = {}
        waiting = [os.path.normpath(path)]
        while waiting and len(sources) < 12:
            candidate = waiting.pop(0)
            source = self._files.extracted(candidate, "program", SOURCE) if candidate not in sources else None
            if source is not None:
                sources[candidate] = source
                for dots, module in sources[candidate].local:
                    paths = module_paths(dots, module, candidate, top)
                    waiting += [os.path.normpath(each) for each in paths if self._files.is_there(each)][:1]
        return sources

    def _dest(self, argument: Argument) -> str:
        """Return how the program calls an option of the command; "" where it declares none such."""
        flag = argument.name.lstrip("-")
        exact = {each.dest for _, each in self._declared if flag in each.flags or names.plain(flag) == each.dest}
        if not exact and argument.name.startswith("--"):
            exact = {each.dest for _, each in self._declared for long in each.flags if long.startswith(flag)}
        return exact.pop() if len(exact) == 1 else ""

    def _arguments(self) -> Iterator[Candidate]:
        for argument in self._given:
            dest = self._dest(argument) if argument.form == "option" else ""
            if dest and names.known(dest) != names.known(argument.name):
                line = line_at(self._one, self._one.first + argument.at, self._read.job)
                value = "true" if argument.value == "" else argument.value
                yield from of_key(dest, value, "", line, part_at(line, self._parts), "arguments")

    def _defaults(self) -> Iterator[Candidate]:
        """Yield the defaults of options that are not given."""
        given = {self._dest(argument) or names.plain(argument.name) for argument in self._given}
        for path, declared in self._declared:
            if declared.dest not in given and declared.default != "":
                yield from of_key(declared.dest, declared.default, *self._place(path, declared.line), "program")

    def _place(self, path: str, line: int) -> tuple[str, int, str]:
        part = self._files.parts[path]
        return part.name, line, part.hash

    def _configs(self) -> Iterator[Setting]:
        """Yield the settings of the configs that are named; Accelerate's may name one of DeepSpeed's."""
        waiting = dict(self._config_paths())
        keys = next((source.keys for source in self._sources.values()), None)
        queue = list(waiting)
        for path in queue:
            config = self._files.extracted(path, "config", CONFIG)
            for leaf in config.leaves if config is not None else ():
                if keys is not None and waiting[path] == PROGRAM and leaf.path.split(".")[0] not in keys:
                    continue  # nobody reads it
                yield Setting(leaf.path, leaf.value, os.path.normpath(path), leaf.line)
                other = os.path.join(self._folder, leaf.value or "")
                if leaf.path == "deepspeed_config.deepspeed_config_file" and other not in waiting:
                    waiting[other] = DEEPSPEED
                    queue.append(other)
        self._of_deepspeed = {os.path.normpath(path) for path, whose in waiting.items() if whose == DEEPSPEED}

    def _config_paths(self) -> Iterator[tuple[str, str]]:
        """Yield the paths of configs, and whose each is."""
        given = {}
        for argument in self._given:
            name = self._dest(argument) or names.plain(argument.name)
            given[name] = argument.value
            if argument.value and argument.value.endswith(SUFFIXES) and _CONFIG.fullmatch(name.replace(".", "_")):
                whose = DEEPSPEED if name in CONFIGS_OF_DEEPSPEED else PROGRAM
                yield os.path.join(self._folder, argument.value), whose
        words = [word.value for word in self._one.given.all if word.form == "word"]
        files = [word for word in words if word and word.endswith(SUFFIXES)]
        if len(files) == 1 and None not in words:
            yield os.path.join(self._folder, files[0]), PROGRAM
        for _, each in self._declared:
            if (
                each.dest not in given
                and each.default
                and each.default.endswith(SUFFIXES)
                and _CONFIG.fullmatch(each.dest)
            ):
                yield os.path.join(self._folder, each.default), PROGRAM
        for link in self._one.step.links:
            option = link.option("config-file") if link.name == "accelerate" else None
            value = option.value.raw if option is not None and option.value is not None else b""
            if value and b"\0" not in value:
                yield os.path.join(self._folder, os.fsdecode(value)), ACCELERATE

    def _hydra(self) -> Composed | None:
        path, source = next(iter(self._sources.items()), ("", Source()))
        if source.hydra is None:
            return None
        keys = {key: next((each.value for each in self._given if each.name in flags), None)
                for key, flags in _HYDRA.items()}  # fmt: skip
        folder = keys["config_path"] or source.hydra[0]
        name = keys["config_name"] or source.hydra[1]
        if folder is None or not name:
            return None
        groups: Mapping[str, str | None] = {
            each.name: each.value for each in self._given if each.form == "override" and "." not in each.name
        }
        return composed(os.path.join(os.path.dirname(path), folder), name, groups, self._files)

    def _chooses(self, candidate: Candidate, made: Composed | None) -> bool:
        """Return whether an override names a config of a group, so that the value is in there."""
        if made is None or candidate.by != "arguments":
            return False
        keys = [names.known(each.name) for each in self._given if each.form == "override" and each.name in made.groups]
        return any(key is not None and key.name == candidate.name for key in keys)

    def _own_words(self) -> Iterator[Candidate]:
        """Yield what the program itself has in so many words; what it imports may never be called."""
        for path, source in list(self._sources.items())[:1]:
            for each in source.constants:
                if each.name == "parallelism":
                    if not self._is_parallel:
                        continue
                    yield Candidate("parallelism", each.value, *self._place(path, each.line), "program")
                else:
                    yield from of_key(each.name, each.value, *self._place(path, each.line), "program")
            for each in source.imports:
                framework = _IMPORTED.get(each.name.split(".")[0])
                if framework:
                    yield Candidate("framework", framework, *self._place(path, each.line), "program")
            if source.trains and not self._one.kind:
                yield Candidate("job_kind", "training", *self._place(path, source.trains), "program")

    @property
    def _is_parallel(self) -> bool:
        return any((group.world_size or 0) > 1 for group in self._one.step.groups)

    def _packages(self) -> Iterator[Candidate]:
        """Yield what the nearest list of packages asks for."""
        path = next(iter(self._sources), "")
        folders = dict.fromkeys((os.path.dirname(path), self._folder)) if path else {}
        for place in (os.path.join(folder, name) for folder in folders for name in _REQUIREMENTS):
            wanted = self._files.extracted(place, "requirements", PACKAGES) if self._files.is_there(place) else None
            value = " ".join(wanted or ())[: names.MOST_VALUE]
            if value and names.allowed("packages", value):
                yield Candidate("packages", value, *self._place(os.path.normpath(place), 1), "config")
                return


def _declared(source: Source, sources: Mapping[str, Source]) -> Iterator[Declared]:
    """Yield the options of a file; classes that another file makes options of are among these."""
    yield from source.declared
    wanted = {name for each in sources.values() if each is not source for name in each.parsed}
    for name in wanted:
        yield from source.classes.get(name, ())


def _one_framework(candidates: Sequence[Candidate]) -> Iterator[Candidate]:
    """Yield the candidates with one framework: that which says most of how the program trains."""
    frameworks = [candidate for candidate in candidates if candidate.name == "framework" and candidate.value]
    yield from (candidate for candidate in candidates if candidate.name != "framework")
    if frameworks:
        yield min(frameworks, key=lambda candidate: FRAMEWORKS.index(candidate.value or ""))


# What a configuration file says: the program's own, DeepSpeed's, Accelerate's.

_DISTRIBUTED = {"FSDP": "fsdp", "MULTI_GPU": "accelerate-ddp", "MULTI_XPU": "accelerate-ddp", "MEGATRON_LM": "3d"}
_STAGES = ("zero_optimization.stage", "deepspeed_config.zero_stage")


def of_config(settings: Sequence[Setting], files: Files, deepspeed: Collection[str] = ()) -> Iterator[Candidate]:
    """Yield what the settings say; a key nearer to the top tells more. *deepspeed*: the files that are its configs."""
    own = {*deepspeed, *(setting.file for setting in settings if setting.path == "zero_optimization.stage")}
    for setting in settings:
        part = files.parts.get(setting.file)
        if part is None:
            continue
        for candidate in _of_setting(setting, setting.file in own, part.name, part.hash):
            yield candidate._replace(rank=candidate.rank + 10 * setting.path.count("."))


def _of_setting(setting: Setting, is_deepspeed: bool, file: str, part: str) -> Iterator[Candidate]:
    place = (file, setting.line, part, "config")
    value = setting.value
    if setting.path in _STAGES and value in ("0", "1", "2", "3"):
        yield Candidate("zero_stage", value, *place)
        if value != "0":
            yield Candidate("parallelism", "zero" + value, *place)
    elif setting.path == "distributed_type" and value in _DISTRIBUTED:
        yield Candidate("parallelism", _DISTRIBUTED[value], *place)
    elif setting.path in ("bf16.enabled", "fp16.enabled"):
        if value == "true":
            yield Candidate("precision", setting.path[:4], *place)
    elif setting.path == "optimizer.type" and value and names.allowed("optimizer", value):
        yield Candidate("optimizer", value, *place)
    elif setting.path == "train_batch_size" and is_deepspeed:
        if value and value.isdigit():
            yield Candidate("batch_size_global", value, *place)
    else:
        yield from of_key(setting.path, value, *place)


def work_folder(job: Job, line: int) -> str | None:
    """Return the folder that the launch on *line* runs in, None where the script hides it."""
    text = job.source.decode("utf-8", "replace")
    if _HIDDEN.search(text):
        return None
    submitted = os.fsdecode(job.submission.cwd)
    chdir = os.fsdecode(job.settings.value("chdir") or b"")
    folder: str | None = os.path.join(submitted, chdir)
    if job.submission.scheduler == "pbs" and not chdir:
        folder = None  # PBS starts a job in the user's home
    for match in _CD.finditer(text):
        if text.count("\n", 0, match.start()) + 1 < line:
            if match[1]:
                return None  # it may not come to that
            folder = _entered(folder, (match[2] or "").strip().strip("\"'"), submitted)
    return folder if folder is not None and os.path.isabs(folder) else None


def _entered(folder: str | None, word: str, submitted: str) -> str | None:
    path = _SUBMITTED.sub(lambda _: submitted, word)
    if not path or re.search(r"[$`*?~\\\s\"']", path) or path == "-":
        return None
    return path if os.path.isabs(path) else os.path.join(folder, path) if folder is not None else None


def program_paths(started: Started, folder: str) -> Iterator[str]:
    """Yield where the program's file may be, the likeliest first."""
    if started.is_module:
        at = os.path.join(folder, *started.program.split("."))
        yield at + ".py"
        yield os.path.join(at, "__main__.py")
    elif started.program.endswith(".py"):
        yield os.path.join(folder, started.program)


def module_paths(dots: int, module: str, path: str, top: str) -> Iterator[str]:
    """Yield where a module that *path* imports may lie; *top*: the folder of the program."""
    start = top
    if dots:
        start = os.path.dirname(path)
        for _ in range(dots - 1):
            start = os.path.dirname(start)
    at = os.path.join(start, *filter(None, module.split(".")))
    if module:
        yield at + ".py"
    yield os.path.join(at, "__init__.py")
