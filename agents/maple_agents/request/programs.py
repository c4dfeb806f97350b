"""The program that a request names, with its arguments as they stand there, and the launcher in front of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from maple_submit_filter.launchers import registry
from maple_submit_filter.launchers.record import Launcher

from ..base.slots import LAUNCHERS
from .language.lexemes import OPEN, OPTION, RANKS, SAID, WEAK, Reading
from .language.vocabulary import listed, pattern, table, texts

_WORDS = texts("programs")
_LAUNCHERS = {called: launcher for called, launcher in registry.NAMED.items() if launcher.name in LAUNCHERS}
_INTERPRETER = (
    r"(?:/[\w./+-]*/)?(?:python(?:\d(?:\.\d+)?)?|julia|Rscript|bash|sh|uv|poetry|pipenv|vllm(?=\s+serve\s)|papermill"
    r"|jupyter(?=\s+nbconvert))"
)
_FILE = r"(?:[\w.~$@{}+/-]*/)?[\w.+-]*\w\.(?:py|jl|R|sh)\b|\./[\w./+-]+"
_STARTER = r"(?:torchrun|accelerate\s+launch|deepspeed|srun|mpiexec|mpirun|ibrun|jsrun|aprun|horovodrun)"
_BEGIN = re.compile(
    r"(?<![\w./$~@-])(?:(?:[A-Z_][A-Z0-9_]+=[^\s\"'`]+[ \t]+){0,8}(?:%s\b|%s\b))|(?<![\w./$~@-])(?:%s)(?![\w/]|\.\w)"
    % (_STARTER, _INTERPRETER, _FILE)
)
_WORD = re.compile(r"[ \t]+((?:<[A-Za-z][\w -]{0,24}>|\\.|\"[^\"\n]*\"|'[^'\n]*'|\$\([^()\n]*\)|[^\s\"'`\\，])+)")
_STOP = listed(_WORDS["stop"])
_VERB = (
    r"(?:run|running|execute|executes|executing|launch|launching|start|starting|runs|train with"
    r"|training with|using|use|command|program|script|called|named|executable|is|via|with|submit"
    r"|job for|:|=|->)"
)
_BEFORE_STRONG = re.compile(
    r"%s\s+(?:(?:the|my|our|a|script|program|command|file|training|python|code|called|named"
    r"|it|is|as|following|just|main|then|distributed|ddp|entry|point|with)[\s:]+)*[\"'`*]*$" % _VERB,
    re.I,
)
_NOT_PROGRAM = re.compile(
    r"(?:%s)\s+(?:my |the |our |a |file |script |old )*[\"'`]*$" % pattern(_WORDS["no_start"]), re.I
)
_LOOKS = re.compile(r"(?:[A-Z_][A-Z0-9_]*=\S+\s+)*(?:%s\b|%s\b|(?:%s)(?:\s|$))" % (_STARTER, _INTERPRETER, _FILE))


_VALUE_OF = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*[ \t=]+\Z")
_JOINED = re.compile(r"[ \t]*&&[ \t]*")
_FOLDER_BEFORE = re.compile(r"(?<![\w./-])cd[ \t]+[\w./~${}+-]+[ \t]*&&[ \t]*\Z")


class Command(NamedTuple):
    """A command line that stands in the text from *start* to *end*."""

    text: str
    start: int
    end: int
    strength: int


def read(text: str) -> tuple[list[Reading], list[tuple[int, int]]]:
    """Return the programs named in *text* with what their launchers say, and the characters they take."""
    readings: list[Reading] = []
    spans: list[tuple[int, int]] = []
    commands = [*_bare(text)]
    chained = _chained(commands, text)
    commands = _only_file(commands)
    for at, command in enumerate(commands):
        spans.append((command.start, command.end))
        if at in chained:
            readings.append(Reading(OPEN, chained[at], command.start, command.end, command.strength))
        elif command.strength:
            readings += _of_command(command)
    return readings, spans


def _only_file(commands: list[Command]) -> list[Command]:
    """Return *commands*, of which the only Python file is the program even where it is what something comes "from"."""
    if any(command.strength for command in commands) and not all(
        _BARE_STARTER.fullmatch(command.text) for command in commands if command.strength
    ):
        return commands
    files = [at for at, command in enumerate(commands) if not command.strength and _PYTHON_FILE.match(command.text)]
    if len(files) == 1:
        commands[files[0]] = commands[files[0]]._replace(strength=WEAK)
    return commands


_PYTHON_FILE = re.compile(r"[\w./~$-]+\.py(?:\s|$)")
_BARE_STARTER = re.compile(_STARTER)


def _chained(commands: Sequence[Command], text: str) -> dict[int, str]:
    """Return of each command that is one of two programs joined by "&&" why nobody can say which is launched."""
    reasons: dict[int, str] = {}
    for at, command in enumerate(commands):
        programs = [part for part in _JOINED.split(command.text) if _LOOKS.match(part)]
        if len(programs) > 1:
            reasons[at] = _two(programs[0], programs[1])
        following = commands[at + 1] if at + 1 < len(commands) else None
        if following is not None and _JOINED.fullmatch(text, command.end, following.start):
            reasons[at] = reasons[at + 1] = _two(command.text, following.text)
    return reasons


def _two(first: str, second: str) -> str:
    return "%r and %r are two programs; name the one that runs on the nodes, and start the other by itself" % (
        first,
        second,
    )


def _strength(body: str, before: str) -> int:
    """Return how surely a command is the program; 0 for a file that something else is done with."""
    tail = before.rstrip(" \t")
    if _NOT_PROGRAM.search(before) and not re.match(_STARTER + "|" + _INTERPRETER, body):
        return 0
    if re.match(_STARTER + r"|" + _INTERPRETER, body) and " " in body:
        return SAID
    if re.match(r"[^\s]*\.sh\b", body):
        return (
            SAID
            if re.search(r"\b(?:run|execute|launch|start|program|command|executable)\b[\s:=\"'`]*$", tail, re.I)
            else 0
        )
    return SAID if _BEFORE_STRONG.search(before) else WEAK


_CLOSED = {"`": "`", '"': '"', "“": "”"}  # what is in quotes ends with them


def _bare(text: str) -> Iterator[Command]:
    """Yield the commands in plain prose, each with the arguments behind it."""
    at = 0
    while True:
        match = _BEGIN.search(text, at)
        if not match:
            return
        quote = _CLOSED.get(text[match.start() - 1 : match.start()], "") if match.start() else ""
        closes = text.find(quote, match.end(), (text + "\n").index("\n", match.end())) if quote else -1
        end = closes if closes > 0 else _arguments(text, match)
        before = text[max(0, match.start() - 80) : match.start()]
        body = text[match.start() : end]
        at = match.end()
        name = body.strip()
        bare = _INTERPRETER if closes > 0 else _STARTER + "|" + _INTERPRETER
        if len(name.split()) == 1 and re.fullmatch(bare, name):
            continue  # the bare name of a launcher or an interpreter is no command, but for one in quotes
        if re.match(r"(?:srun|salloc|interact)\b[^\n]*\s--pty\b", body):
            word = match.group().split()[0]
            yield Command(word, match.start(), match.start() + len(word), 0)
            continue  # a shell to work in: its options are those of a job
        if (
            re.match(_INTERPRETER + r"\s+\d", body)
            or closes < 0
            and re.match(
                r"(?:\S*/)?(?:srun|torchrun|deepspeed|mpiexec|mpirun|ibrun)\b(?!\s+(?:-|\S*[./]|python|julia|bash))",
                body,
            )
        ):
            continue
        at = max(end, match.end())
        if _VALUE_OF.search(before) and not re.match(_STARTER + "|" + _INTERPRETER, body):
            continue  # "it needs --data ./stories": the value of an option
        folder = None if re.match(_STARTER, body) else _FOLDER_BEFORE.search(before)
        if folder:
            yield Command(folder.group() + body, match.start() - len(folder.group()), end, SAID)
            continue
        yield Command(body, match.start(), end, _strength(body, before))


def _arguments(text: str, match: "re.Match[str]") -> int:
    """Return where the command that begins at *match* ends: behind its last option, value, file or assignment."""
    wants_program = not re.search(r"\.\w+$|^\./", match.group().split()[-1]) or bool(re.match(_STARTER, match.group()))
    return arguments_end(text, match.start(), match.end(), "", wants_program)


def arguments_end(text: str, start: int, end: int, value_for: str, wants_program: bool = False) -> int:
    """Return where the arguments end that go on behind *end*. *value_for*: the option that may take the next word."""
    value_for = "" if "=" in value_for else value_for
    at = end
    while True:
        word = _WORD.match(text, at)
        if not word:
            return _trimmed(text, start, end)
        raw = _before_comma(word.group(1))
        if _OF_THE_JOB.match(text, word.start(1)):
            return _trimmed(text, start, end)
        bare = raw.rstrip(".,;:!?)")
        closes = raw != word.group(1) or (
            bare != raw and (not text[word.end() : word.end() + 1] or text[word.end() : word.end() + 1].isspace())
        )
        follows = text[word.end() : word.end() + 24]
        kind = _argument(bare, value_for, wants_program, follows, raw)
        if not kind:
            return _trimmed(text, start, end)
        end = word.start(1) + len(bare if closes else raw)
        if closes:
            return _trimmed(text, start, end)
        at = word.end()
        value_for = (
            bare
            if kind == "option" and "=" not in bare or bare == "serve"
            else "many"
            if kind == "value" and _NUMBERS.fullmatch(bare)
            else ""
        )
        wants_program = wants_program and (kind == "option" or kind == "value")


def _before_comma(word: str) -> str:
    """Return what stands before the comma that ends a number: "0.9999,regular" is a list that goes on wi"
    r"thout blanks."""
    match = re.match(r"(-?\d+(?:\.\d+)?(?:e-?\d+)?),(?=[A-Za-z]{3})", word)
    return match.group(1) if match else word


_OF_THE_JOB = re.compile(r"-J[ \t=]+\w|(?:-[oe]|--(?:output|error))[ \t=]+\S*%[jJxAaN]")  # no program's
_NUMBERS = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
_UNIT_FOLLOWS = re.compile(
    r"\s*-?(?:x\b|nodes?\b|gpus?\b|hours?\b|hrs?\b|h\b|min|days?\b|ranks?\b|process|full\b"
    r"|a100|h100|v100|of\b|compute\b|machines?\b|tasks?\b|cards?\b)",
    re.I,
)
_OF_METHOD = re.compile(
    r"--?(?:\w+[-_])*(?:strategy|mode|method|parallel|parallelism|backend|launcher|engine|sharding|trainer|dist)"
)
_ACTION = re.compile(r"fit|validate|test|predict|train|eval|finetune|generate|export")  # "main.py fit --config"
_LOG_FILE = re.compile(r"=.*%[jJxAaN]")  # of the job
_SHARES = re.compile(r"(?i)[tpde]p=?\d+")  # "TP=4" tells how a model is divided
_GLUED_UNIT = re.compile(r"\d+-?(?:nodes?|gpus?|hours?|hrs?|h|days?|x\S*)$", re.I)


def _argument(word: str, value_for: str, wants_program: bool, follows: str, raw: str) -> str:
    """Return what a word behind a command is: "option", "value", "program" or "operand"; "" where the command ended."""
    if re.match(r"--?[A-Za-z]", word):
        return "option"
    low = word.lower()
    if _OF_METHOD.fullmatch(value_for) and re.fullmatch(r"[a-z][\w-]*", low):
        return "value"  # "--strategy fsdp": the same word without it begins another item
    if (
        not word
        or raw in ("/", "//", "|")  # the next item of a list
        or low in _STOP
        or _SHARES.fullmatch(word)
        or raw.startswith("(")
        or _GLUED_UNIT.match(word)
        and not (value_for and re.fullmatch(r"\d+(?:x\d+)+", word) and raw != word + ",")
        or (_NUMBERS.fullmatch(word) and _UNIT_FOLLOWS.match(follows))
    ):
        return ""
    if value_for == "many" and not wants_program:
        return "value" if _NUMBERS.fullmatch(word) or _operand(word) else ""
    if value_for and value_for != "many":
        return "value" if re.match(r"[\w\"'./~$@:+{\[<-]", word) else ""
    if wants_program and (
        _operand(word)
        or re.match(r"[\w.]+\.\w+$|\d+$", word)
        or low in ("run", "launch", "serve", "nbconvert", "python", "python3", "exec")
        or re.match(_INTERPRETER + "$|" + _STARTER + "$", word)
    ):
        return "program"
    return "operand" if _operand(word) or _ACTION.fullmatch(word) and re.match(r"\s+-", follows) else ""


def _operand(word: str) -> bool:
    """Tell whether a word looks like an argument and not like prose: a file, an assignment, a variable, in quotes."""
    return not _LOG_FILE.search(word) and bool(
        re.match(
            r"[\w.+-]*[\w-]\.(?:py|ipynb|jl|sh|R|ya?ml|json|toml|cfg|ini|txt|csv|conf|gin|pt|ckpt"
            r"|safetensors|npz|h5|hdf5|parquet|jsonl|bin)$|(?:[~$.]?\.?/|\$\{?\w)[^\s]*$|\+{0,2}[\w.@/]+=[^\s]+"
            r"$|\"|'|\w+/[\w./-]+\.\w+$",
            word,
        )
    )


def _trimmed(text: str, start: int, end: int) -> int:
    while end > start and text[end - 1] in ".,;:!?) \t" and not text[start:end].endswith("/."):
        end -= 1
    return end


def _of_command(command: Command) -> list[Reading]:
    """Return the readings of a command: its launcher with what that says, its other options, and the program."""
    words = [(match.group(), match.start()) for match in re.finditer(r"(?:\"[^\"]*\"|'[^']*'|[^\s\"'])+", command.text)]
    readings: list[Reading] = []
    while words:
        name = words[0][0]
        module = [word for word, _ in words[1:3]] if re.fullmatch(_INTERPRETER, name) else []
        if len(module) == 2 and module[0] == "-m" and module[1] in _MODULES:
            taken, name = 3, _MODULES[module[1]]
        elif name == "accelerate" and len(words) > 1 and words[1][0] == "launch":
            taken, name = 2, "accelerate"
        elif name in _LAUNCHERS:
            taken = 1
        elif name in _ELSEWHERE:  # of another site, with a size of its own
            at = next((at for at, (word, _) in enumerate(words) if at and _LOOKS.match(word + " ")), 0)
            first, last = words[0], words[at - 1]
            span = (command.start + first[1], command.start + last[1] + len(last[0]))
            no_launcher = ("paradigm", "horovod") if name == "horovodrun" else (OPTION, name)
            readings.append(Reading(*no_launcher, *span))
            words = words[at:] if at else []
            continue
        else:
            break
        words = words[:taken] + [word for word in words[taken:] if word[0] not in ("...", "…")]  # its own options
        program, options = _launcher(name, words, taken, command)
        readings += [
            Reading(
                "launcher",
                _LAUNCHERS[name].name,
                command.start + words[0][1],
                command.start + words[0][1] + len(words[0][0]),
                command.strength,
            ),
            *options,
        ]
        if program >= len(words):
            return readings
        words = words[program:]
    if words:
        begin, line = command.start + words[0][1], command.text[words[0][1] :]
        inner = _IN_SHELL.fullmatch(line)
        readings.append(Reading("program", inner[2] if inner else line, begin, command.end, command.strength))
    return readings


_IN_SHELL = re.compile(r"(?:ba|z|k)?sh[ \t]+-l?c[ \t]+([\"'])(.*)\1")  # bash -c "python train.py"


_ELSEWHERE = ("jsrun", "aprun", "horovodrun")
_MODULES = {
    "torch.distributed.run": "torchrun", "torch.distributed.launch": "torchrun",
    "accelerate.commands.launch": "accelerate", "deepspeed.launcher.runner": "deepspeed",
}  # fmt: skip


def _launcher(name: str, pieces: Sequence[tuple[str, int]], start: int, command: Command) -> tuple[int, list[Reading]]:
    """Return the index of the program behind a launcher's own words, and what its options say, counted or not."""
    from maple_submit_filter.launchers.grammar import read  # few requests need it
    from maple_submit_filter.types.text import plain

    table, words = _LAUNCHERS[name].table, [word for word, _ in pieces]
    if table is None:
        return start, []
    reading = read(table, [plain(word.encode()) for word in words], start)
    program = reading.program
    if program > start and words[program - 1] in ("-m", "--module"):
        program -= 1  # `torchrun -m pkg.mod`: the module is named as python names it
    readings, counted = [], _counted(_LAUNCHERS[name])
    for option in reading.options:
        what = counted.get(option.name)
        value = option.value.raw.decode() if option.value is not None and option.value.raw is not None else ""
        if what and value.isdigit() and int(value) and (what, value) != ("ranks_per_node", "1"):
            readings.append(Reading(what, int(value), command.start, command.end, SAID))
    ours = {name for name in counted if name} | _OURS
    for word, at in pieces[start:program]:
        own, _, value = word.lstrip("-").partition("=")
        own = own.replace("_", "-")
        if own == "container-image" and value:
            begin = command.start + at + len(word) - len(value)
            readings.append(Reading("container", value, begin, begin + len(value)))
        elif word.startswith("-") and own not in ours:
            readings.append(Reading(OPTION, word, command.start + at, command.start + at + len(word)))
    return program, readings


_OURS = listed(_WORDS["ours"])


def _counted(launcher: Launcher) -> dict[str, str]:
    """Return what its options count."""
    agent = launcher.agent
    if agent is None:
        return _OF_OUTER.get(launcher.name, {})
    each = "gpus_per_node" if agent.ranks.endswith("gpus") else "ranks_per_node"
    return {agent.nodes: "nodes", agent.ranks: RANKS if agent.total_ranks else each}


_OF_OUTER = {
    "srun": {
        "nodes": "nodes",
        "ntasks-per-node": "ranks_per_node",
        "ntasks": RANKS,
        "cpus-per-task": "cpus_per_task",
    },
    "ibrun": {"n": RANKS, "np": RANKS},
    "mpiexec": {"n": RANKS, "np": RANKS, "ppn": "ranks_per_node"},
}


def launcher_options(launcher: str) -> frozenset[str]:
    """Return the long names of a launcher's own options, with dashes; none of a launcher whose words nobody reads."""
    known = _LAUNCHERS[launcher].table if launcher in _LAUNCHERS else None
    rows = known.rows if known is not None else ()
    return frozenset(row.decode().lstrip("-").replace("_", "-") for row in rows if row.startswith(b"--"))


_IN_NAMES = ("ddp", "fsdp", "zero2", "zero3", "jax")


_SAYS = table(_WORDS["paradigm_arguments"])
_TOOLS = re.compile(r"(?:^|[ /])(?:vllm|sglang)")
_DEGREE = re.compile(r"--?(?:%s)[ =](?P<n>\d+)(?!\S)" % pattern(_WORDS["degrees"]))


def paradigm_in_arguments(program: str) -> str:
    """Return the paradigm that a program's own arguments say ("--strategy fsdp"), "" where none or several do."""
    if _TOOLS.search(program):
        return ""  # a server divides its model by itself
    if any(int(degree["n"]) > 1 for degree in _DEGREE.finditer(program)):
        return "3d"
    words = program.lower().replace("=", " ").replace("_", "-")
    named = {paradigm for form, paradigm in _SAYS.items() if re.search(r"(?<!\S)(?:%s)(?!\S)" % form, words)}
    return named.pop() if len(named) == 1 else ""


def paradigm_in_name(program: str) -> str:
    """Return the paradigm that a program's file is called by ("train_fsdp.py"), "" where it is none or several."""
    file = next((word for word in program.split() if re.search(_FILE, word)), "")
    named = set(re.split(r"[^a-z0-9]+", file.rpartition("/")[2].lower())).intersection(_IN_NAMES)
    return named.pop() if len(named) == 1 else ""
