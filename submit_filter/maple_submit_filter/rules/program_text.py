"""What the training program itself says, where it lies beside the script: which rank variables it cannot do without.

A second witness: the plan knows what each task is given, the program's own text what it reads. Only the text is read,
and only what stands in this one file; a program that looks in several places is taken for one that finds what it needs.

What the words of a user's own program say, as far as their names leave no doubt.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Dict, FrozenSet, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..launchers.python_options import python_program
from ..launchers.registry import AGENTS
from ..types.edits import Span
from ..types.findings import FileLine
from ..types.job import Job
from ..types.launch_plan import LaunchPlan, Option, Step
from ..types.text import NUL, plain

_NAME = rb"['\"]([A-Z][A-Z0-9_]+)['\"]"
_NEEDED = re.compile(
    rb"\benviron\[\s*" + _NAME + rb"\s*\](?!\s*(?:=[^=]|\+=))"
    rb"|\bint\(\s*os\.(?:getenv|environ\.get)\(\s*" + _NAME + rb"\s*\)\s*\)"
)  # fmt: skip
_SET = re.compile(rb"\benviron\[\s*" + _NAME + rb"\s*\]\s*(?:=[^=]|,)|\bsetdefault\(\s*" + _NAME)
_COMMENT = re.compile(rb"(?m)^\s*#.*$")
# Where one of these stands, the program looks whether something is there, or is told by another library.
_LOOKS = re.compile(
    rb"\bin os\.environ|\bin environ|\bexcept\b|environ\.update|putenv|\bspawn\b|submitit|idr_torch|hostlist"
    rb"|argparse_env|\bload_dotenv|ClusterEnvironment|horovod|\bhvd\b|jax\.distributed|auto_mpi_discovery|cluster_resolver"
)


class Program(NamedTuple):
    """A launch line's Python program and its text without comments."""

    step: Step
    name: str
    text: bytes

    @property
    def needs(self) -> FrozenSet[bytes]:
        """Variables that it reads without another way, and does not set itself; none where it looks around first."""
        if _LOOKS.search(self.text):
            return frozenset()
        return frozenset(name for names in _NEEDED.findall(self.text) for name in names if name) - self.sets

    @property
    def sets(self) -> FrozenSet[bytes]:
        """Variables that it sets itself."""
        return frozenset(name for names in _SET.findall(self.text) for name in names if name)


_last: List[Tuple[LaunchPlan, Job, Tuple[Program, ...]]] = []  # several rules ask about one plan


def programs(plan: LaunchPlan, job: Job) -> Tuple[Program, ...]:
    """Return the programs of launch lines that surely run, where the script writes them or their files can be read."""
    if not _last or _last[0][0] is not plan or _last[0][1] is not job:
        _last[:] = [(plan, job, tuple(_read(plan, job)))]
    return _last[0][2]


def beside(job: Job, name: bytes, step: Step) -> Optional[bytes]:
    """Return the text of a file that a launch line names, from the folder it starts in; None where it is not known."""
    if job.peruse is None or NUL in name or not name.startswith(b"/") and not step.folder:
        return None
    text = job.peruse(_path(name, step))
    return text if text is not None and NUL not in text else None


def _path(name: bytes, step: Step) -> bytes:
    """Return where a file lies that a launch line names."""
    return name if name.startswith(b"/") else step.folder.rstrip(b"/") + b"/" + name


def files_read(plan: LaunchPlan, job: Job, ending: bytes = b"") -> Iterator[Tuple[str, bytes]]:
    """Yield the name and the text of each file that was read for the plan, of those with an *ending*."""
    for path in plan.depends if job.read is not None else ():
        text = job.read(path) if job.read is not None and path.endswith(ending) else None
        if text is not None:
            yield path.rpartition(b"/")[2].decode("utf-8", "replace"), text


def line_of_file(file: str, text: bytes, span: Span, new: bytes) -> FileLine:
    """Return what the line of a file becomes with new bytes for a span of it."""
    start, end = text.rfind(b"\n", 0, span.start) + 1, text.find(b"\n", span.end)
    end = end if end >= 0 else len(text)
    becomes = text[start : span.start] + new + text[span.end : end]
    number = text.count(b"\n", 0, start) + 1
    return FileLine(file, number, text[start:end].decode("utf-8", "replace"), becomes.decode("utf-8", "replace"))


def renamed_in_program(program: Program, job: Job, names: Mapping[bytes, bytes]) -> Tuple[FileLine, ...]:
    """Return the lines of a program's file that have one of the *names* in quotes, with what it is to be called."""
    step, quoted = program.step, re.compile(rb"(?<=['\"])(%s)(?=['\"])" % b"|".join(names))
    file = next(
        (word for word in step.program if word.rpartition(b"/")[2].decode("utf-8", "replace") == program.name), b""
    )
    lines = (beside(job, file, step) or b"").split(b"\n") if file else []
    pairs = [
        (number, line, quoted.sub(lambda match: names[match.group()], line)) for number, line in enumerate(lines, 1)
    ]
    return tuple(FileLine(program.name, number, was.decode("utf-8", "replace"), new.decode("utf-8", "replace"))
                 for number, was, new in pairs if new != was and not was.lstrip().startswith(b"#"))  # fmt: skip


def in_called_file(plan: LaunchPlan, job: Job, option: Optional[Option], new: bytes) -> Tuple[FileLine, ...]:
    """Return the line of a called script that gives an option a number, as it should be; () where no one line does."""
    if option is None or option.value_span is not None or option.value is None or not option.value.raw.isdigit():
        return ()
    return _in_called(plan, job, option, rb"(%s)(?![\w.])" % option.value.raw, new)


def _in_called(plan: LaunchPlan, job: Job, option: Option, value: bytes, new: bytes) -> Tuple[FileLine, ...]:
    name = rb"[-_]".join(map(re.escape, option.spelling.split(b"=")[0].lstrip(b"-").replace(b"_", b"-").split(b"-")))
    spelled = re.compile(rb"(?<!\S)--?%s[= \t]+%s" % (name, value))
    places = [(file, text, match) for file, text in files_read(plan, job, b".sh") for match in spelled.finditer(text)]
    return tuple(
        line_of_file(file, text, Span(*match.span(1)), new) for file, text, match in places[:1] if not places[1:]
    )


def option_in_called_file(plan: LaunchPlan, job: Job, option: Optional[Option], new: bytes) -> Tuple[FileLine, ...]:
    """Return the line of a called file that says an option, with another value; () where no one line does."""
    if option is None or option.span is not None:
        return ()
    return _said_once(plan, job, option.spelling.split(b"=")[0], 2, new)


def name_in_called_file(plan: LaunchPlan, job: Job, spelling: bytes, named: bytes) -> Tuple[FileLine, ...]:
    """Return the line of a called file that says an option, with its name as it is called."""
    return _said_once(plan, job, spelling, 1, named)


def _said_once(plan: LaunchPlan, job: Job, spelling: bytes, part: int, new: bytes) -> Tuple[FileLine, ...]:
    """Return the one line that says an option, with *new* for its name (1) or its value (2)."""
    value = rb"(?:[= \t]+(\"[^\"\n]*\"|'[^'\n]*'|[^\s\\]+))?(?=[\s\\]|$)"
    spelled = re.compile(rb"(?m)^[^#\n]*?(?<!\S)(%s)%s" % (re.escape(spelling), value))
    places = [(file, text, match) for file, text in files_read(plan, job) for match in spelled.finditer(text)]
    if len(places) != 1 or places[0][2].group(part) is None:
        return ()
    file, text, match = places[0]
    return (line_of_file(file, text, Span(*match.span(part)), new),)


def _read(plan: LaunchPlan, job: Job) -> Iterator[Program]:
    for step in plan.steps if job.peruse is not None or plan.written else ():
        for name in _files(step) if not step.maybe and (not step.unknown or plan.presumes) else ():
            text = plan.written.get(name, plan.written.get(_path(name, step))) or beside(job, name, step)
            if text is not None and NUL not in text:
                yield Program(step, name.rpartition(b"/")[2].decode("utf-8", "replace"), _COMMENT.sub(b"", text))
                break


def _files(step: Step) -> Tuple[bytes, ...]:
    """Return what the Python file that a launch line starts may be called; () where it starts none that is known."""
    words: Tuple[bytes, ...] = tuple(takewhile(lambda word: NUL not in word, step.program))
    if not words:
        return ()
    if step.links and step.links[-1].name in AGENTS:
        module = step.links[-1].option("module") is not None
        return _of_module(words[0]) if module else words[:1] if words[0].endswith(b".py") else ()
    call = python_program([plain(word) for word in words])
    if call is None:
        return words[:1] if words[0].endswith(b".py") and b"/" in words[0] else ()
    if call.script is not None:
        return (words[call.script],)
    return _of_module(call.module) if call.module else ()


def is_rank(step: Step) -> bool:
    """Return whether a launch line surely starts the ranks themselves: an agent's workers, or many Pythons a node."""
    if step.links and step.links[-1].name in AGENTS:
        return True
    words = list(takewhile(lambda word: NUL not in word, step.program))
    return (step.tasks_per_node or 0) > 1 and python_program([plain(word) for word in words]) is not None


def _of_module(name: bytes) -> Tuple[bytes, ...]:
    path = name.replace(b".", b"/")
    return (path + b".py", path + b"/__main__.py")


_SEPARATOR = re.compile(rb"[-_.]")


class Named(NamedTuple):
    """A value that the program is told by name: `--trainer.num-nodes=2`, `--tp 4`, `trainer.num_nodes=2` (Hydra).

    *word* is the index of the one that holds the value, *name* as it is written, *last* its last part with underscores.
    """

    word: int
    name: bytes
    last: str
    value: bytes


def place_of(named: Named, step: Step) -> Optional[Span]:
    """Return where a value that a step's program is told stands in the script, None where it does not as such."""
    return step.program_spans[named.word] if named.word < len(step.program_spans) else None


def named_values(program: Sequence[bytes]) -> Iterator[Named]:
    """Yield what a program is told by name, in order."""
    for index, word in enumerate(program):
        name, equals, value = word.partition(b"=")
        bare = name.lstrip(b"-+")
        if not bare or NUL in name or not bare.replace(b"-", b"").replace(b"_", b"").replace(b".", b"").isalnum():
            continue
        last = bare.rpartition(b".")[2].decode("ascii", "replace").replace("-", "_").lower()
        if equals:
            yield Named(index, bare if name[:1] != b"-" else name, last, value)
        elif name.startswith(b"-") and index + 1 < len(program):
            yield Named(index + 1, name, last, program[index + 1])


TENSOR, PIPELINE, CONTEXT = "tensor parallel", "pipeline parallel", "context parallel"
_PARALLEL = {  # what the last part of an option's name divides, as the frameworks spell it
    TENSOR: ("tensor_model_parallel_size", "tensor_parallel_size", "tensor_parallel_degree", "tp_size", "tp"),
    PIPELINE: (
        "pipeline_model_parallel_size", "pipeline_parallel_size", "pipeline_parallel_degree", "pp_size", "pp",
    ),
    CONTEXT: ("context_parallel_size", "context_parallel_degree", "cp_size", "cp"),
}  # fmt: skip


def parallel_parts(named: Iterable[Named]) -> Dict[str, Named]:
    """Return the parts of a model by what is parallel about them; *named* are numbers, of which the last counts."""
    parts: Dict[str, Named] = {}
    for value in named:
        for kind, names in _PARALLEL.items():
            if value.last in names and int(value.value) > 0:
                parts[kind] = value
    return parts


def value_of(program: Sequence[bytes], word: bytes) -> Optional[Named]:
    """Return the first value of a long option with *word* as its name's last word: `--dist-backend=nccl`."""
    for named in named_values(program):
        if named.name.startswith(b"--") and _SEPARATOR.split(named.name)[-1] == word:
            return named
    return None
