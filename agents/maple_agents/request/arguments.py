"""Arguments that a request names apart from the program, "it wants --config x", "flags: --fp16", and whose they are.

An option that nobody else takes belongs to the program, unless it is one of the launcher that was said. What stands
between a container's runtime and its image is the runtime's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from maple_submit_filter.request.slurm.options import SBATCH

from .forms import pasted
from .language.lexemes import ARGUMENTS, GPUS, SAID, WEAK, Reading
from .programs import arguments_end, launcher_options

_BEGIN = re.compile(
    r"(?<![\w./=$-])--?[A-Za-z][\w.-]*(?:=(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s,;)\]\"'`，。]+?))?(?=[\s,;)\]\"'`，。]|\.\s|\.?$)"
)
_OPTION_NAME = re.compile(r"--?([A-Za-z][\w.-]*)")
_EXISTS = re.compile(r"\b(?:takes?|accepts?|supports?|knows|understands?)\b[^.;\n]{0,60}$")
_VALUED = re.compile(r"(?<!\S)--?[A-Za-z][\w-]*(?:=|[ \t]+(?!(?:and|or|plus|as)\b)[^\s,;&(-])")
_FILE_AHEAD = re.compile(  # "x.json goes in with --config"
    r"(?<!\S)[\"'`]?(?P<file>[\w.~$/{}+-]*[\w}/]\.[a-z]\w{1,7})[\"'`]?[ \t]+(?:\w+[ \t]+){0,3}"
    r"(?:with|via|through|as|by|under|behind)[ \t]+(?:the[ \t]+)?[\"'`]?$"
)
_RUNTIME = re.compile(
    r"(?<![\w./-])(?:(?:apptainer|singularity)[ \t]+(?:exec|run)|(?:podman-hpc|podman|docker)[ \t]+run|"
    r"shifter(?=[ \t]+(?:-|python|bash|\S+\.py)))"
    r"(?P<options>(?:[ \t]+--?[a-z][\w-]*(?:=\S+)?)*)(?=[ \t])"
)
_OF_RUNTIMES = re.compile(  # up to the program, whose place the sign has
    r"(?<![\w./-])(?:(?:apptainer|singularity)[ \t]+(?:exec|run)|(?:podman-hpc|podman|docker)[ \t]+run)[ \t][^\n§]*"
)
_SHELL = re.compile(
    r"(?<![\w-])(?:qstat|squeue|sacct|sinfo)[ \t]+-[^\n]*|"
    r"(?<=qsub )-I\b|\bcd[ \t]+\"?\$\{?(?:PBS_O_WORKDIR|SLURM_SUBMIT_DIR)\}?\"?|--pty\b|"
    r"(?:source|\.)[ \t]+(?:~|\$HOME)/\.(?:bash|z)\w*|(?:source|\.)[ \t]+/etc/profile\S*|"
    r"(?:--wait=0|(?<![\w./])(?:/usr)?/bin/(?:ba|z|t?c)?sh)(?:[ \t]+-[il]+)?(?=\s|$)|"
    r"(?:(?<![\w-])--wrap[ \t]*=?|(?<![\w./-])(?:ba|z|k)?sh[ \t]+-[il]*c|(?<=\s)-l?c)[ \t]*(?=[\"'`“]+§)"
)
_DONE_ANYWAY = re.compile(r"[ \t]+(?:--(?:nv|rocm|rm|gpus?(?:=all)?|nccl|mpi)|-it?|-t)(?=[ \t]|$)")


def read(text: str, others: Sequence[Reading], written: str) -> tuple[list[Reading], list[tuple[int, int]]]:
    """Return the arguments that stand apart from a program, and the characters that say them.

    *text*: with a sign in place of programs and of the scheduler's options; *written*: without. *others*: what was
    read of those; without a program nobody knows whose an option is.
    """
    runtimes = list(_runtimes(text))
    commands = pasted(written)
    if not any(reading.name == "program" for reading in others):
        return [], runtimes
    named = [str(reading.value) for reading in others if reading.name == "launcher"]
    own = {name for launcher in named for name in launcher_options(launcher)} | _of_the_scheduler()
    images = [match.span() for match in _OF_RUNTIMES.finditer(text)]
    readings = [
        reading for reading in _runs(text, [*runtimes, *commands, *images]) if not own & set(_names(str(reading.value)))
    ]
    return readings, [*runtimes, *((reading.start, reading.end) for reading in readings)]


@cache
def _of_the_scheduler() -> frozenset[str]:
    """Return the options of sbatch: `--exclusive` is none of a program's, whoever does not read it."""
    return frozenset(name.decode() for name in SBATCH.long) - _OF_PROGRAMS


_OF_PROGRAMS = frozenset(
    ("batch", "debug", "input", "profile", "quiet", "verbose")
)  # programs have them far more often


def _runs(text: str, taken: Sequence[tuple[int, int]]) -> Iterator[Reading]:
    at = 0
    while match := _BEGIN.search(text, at):
        at = match.end()
        if any(start <= match.start() < end for start, end in taken):
            continue
        at = max(at, arguments_end(text, match.start(), match.end(), match.group()))
        run, file = text[match.start() : at], _FILE_AHEAD.search(text[max(0, match.start() - 80) : match.start()])
        if file is not None and not re.search(r"[=\s]", run):
            yield Reading(ARGUMENTS, "%s %s" % (run, file["file"]), at - len(run) - len(file[0]), at, SAID)
        elif not _describes(text, match.start(), at):
            yield Reading(ARGUMENTS, run, match.start(), at, SAID)


def _describes(text: str, start: int, end: int) -> bool:
    """Tell whether an option without a value is only said to exist: "it takes --model and --data"."""
    if " " in text[start:end].strip() or "=" in text[start:end]:
        return False
    mention = _EXISTS.search(text[:start])
    return mention is not None and _VALUED.search(mention.group()) is None  # beside --lr 3, --bf16 is given too


def _names(run: str) -> list[str]:
    return [_name(word) for word in run.split() if _OPTION_NAME.match(word)]


def _name(word: str) -> str:
    return word.lstrip("-").partition("=")[0].replace("_", "-")


def _runtimes(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the command of a container's runtime stands, where all its options are done anyway."""
    for match in _SHELL.finditer(text):
        yield match.span()
    for match in _RUNTIME.finditer(text):
        if not _DONE_ANYWAY.sub("", match.group("options")).strip():
            yield match.span()


def joined(program: Reading, runs: Sequence[Reading]) -> Reading:
    """Return the program with the arguments behind it, in the order in which they were said."""
    return program._replace(value=" ".join([str(program.value), *(str(reading.value).strip() for reading in runs)]))


# A model that is to be served: the command that vLLM or SGLang is started by, and over how many GPUs it is divided.

_TOOL = re.compile(r"(?i)(?<![\w./-])(?P<tool>vllm|sglang)(?![\w./-])")
_SERVES = re.compile(r"(?i)(?<![\w./-])(?:serv(?:e|er|es|ing)|host|deploy|endpoint|launch_server)(?![\w./-])")
_HUB = re.compile(r"(?<![\w./~$-])(?P<hub>[A-Za-z][\w-]*/[\w.-]*\d[\w.-]*\w)(?![\w/])")
_DIVIDED = re.compile(
    r"(?i)(?<![\w./-])(?:tp|tensor[ -]parallel(?:ism)?(?:[ -]size)?)[ \t]?(?:=|:|of|with)?[ \t]?(?P<n>\d{1,3})(?![\w.])"
)
_COMMANDS = {
    "vllm": ("vllm serve %s", "--tensor-parallel-size", r"--tensor-parallel-size|(?<!\S)-tp\b"),
    "sglang": ("python -m sglang.launch_server --model-path %s", "--tp", r"--tp\b|--tensor-parallel-size"),
}


def served(text: str, commands: Sequence[Reading]) -> tuple[list[Reading], list[tuple[int, int]]]:
    """Return *commands* with the server's own among them, whole, and the characters that say how it is divided.

    Nothing changes where another program is named, or nothing is to be served.
    """
    tool, serves, divided = _TOOL.search(text), _SERVES.search(text), _DIVIDED.search(text)
    programs = [reading for reading in commands if reading.name == "program"]
    if tool is None or serves is None or any("serve" not in str(reading.value) for reading in programs):
        return list(commands), []
    made, option, has = _COMMANDS[tool["tool"].lower()]
    hub = _HUB.search(text)
    readings = [reading for reading in commands if reading.name != "program"]
    spans = [tool.span(), serves.span()]
    if programs and str(programs[0].value).split()[-1] != "serve":
        start, end, command = programs[0].start, programs[0].end, str(programs[0].value)
    elif hub is not None:
        start, end, command = hub.start(), hub.end(), made % hub["hub"]
    else:
        return readings, []  # of what, nobody said
    if divided is not None and not re.search(has, command):
        command += " %s %s" % (option, divided["n"])
        readings.append(Reading(GPUS, int(divided["n"]), *divided.span(), WEAK))
        spans.append(divided.span())
    return [*readings, Reading("program", command, start, end, SAID)], spans
