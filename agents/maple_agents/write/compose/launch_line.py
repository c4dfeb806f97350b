"""The launch line of a plan: what stands in front of the program, around it and behind it.

How a program is run inside a container on a site.

The program that was said, as a shell reads it: what a launcher takes the place of, and what stays verbatim.
"""

from __future__ import annotations

import os
import re
import shlex
from typing import NamedTuple

from maple_submit_filter.bash.nodes import AndOr, Assignment, Command, Param, Pipeline, Simple, Word
from maple_submit_filter.bash.parser import parse
from maple_submit_filter.launchers.registry import AGENTS, registry

from ...base.script_lines import EXPORTS
from ...base.slots import Refused
from ...request.script.walk import simple_commands
from ..values import Plan

_PREPARES = frozenset((
    b"cd", b"pushd", b"export", b"source", b".", b"module", b"ml", b"conda", b"mamba", b"micromamba", b"set", b"shopt",
    b"ulimit", b"umask", b"unset", b"mkdir", b"echo", b"printf", b"date", b"hostname", b"nvidia-smi", b"true", b":",
))  # fmt: skip
_LAUNCHERS = frozenset((*registry(), b"aprun"))
_PYTHON = re.compile(rb"python(\d+(\.\d+)?)?\Z")

_NAMED = re.compile(r"\b(apptainer|singularity|shifter|podman-hpc)\b")
_GPUS = {"nvidia": b"--nv ", "amd": b"--rocm "}

_SLOT = re.compile(r"(?<!\$)\{([a-z_.]+)\}")
_EXPORTS = b" " + EXPORTS.encode()
WIDTH = 90  # bytes, behind which a launch line goes on in the next line
_NEXT = b" \\\n    "  # the line goes on below


class Launched(NamedTuple):
    """*before*: setup lines without newlines (MASTER_ADDR, a hostfile). The launch line is *words_before*, *program*,
    *words_after*, with nothing between them; *program* is the part of the program that stays, verbatim.
    """

    before: tuple[bytes, ...]
    words_before: bytes
    program: bytes
    words_after: bytes = b""

    @property
    def line(self) -> bytes:
        """The launch line, without newline; it may go over several lines."""
        return self.words_before + self.program + self.words_after


def launch(plan: Plan, program: bytes) -> Launched:
    """Return how *program* (its command with arguments, as said) is started by the plan's launch template.

    Shell operators behind the program (`> log`, `| tee log`, `&& next`) keep their meaning: they are the batch
    shell's, and so is what prepares it (`cd src && …`). Variables in front of it are given to it by env. A leading
    `python` is left out where an agent (torchrun, accelerate, deepspeed) takes its place. Raises `Refused` where the
    program is no command that can be launched.
    """
    read = read_program(program)
    outer, inner = (filled(words, plan).encode() for words in launch_words(plan))
    if plan.launch.when.launcher in ("python", "plain"):
        inner, rest, option = _rank_by_rank(inner, read), read.rest, b""
    else:
        option, rest = words_for_agent(read, plan.launch.when.launcher)
    given = b"env %s " % b" ".join(read.assignments) if read.assignments else b""
    within = given + container_words(plan) + inner
    apart = _NEXT if len(within) + len(rest) > WIDTH else b" "
    within = _NEXT + within if within and outer else within
    words = read.ahead + outer + within + (apart if outer or within else b"") + (option + b" " if option else b"")
    return Launched(tuple(before(plan)), words, rest)


def launch_words(plan: Plan) -> list[str]:
    """Return the template's `launch` with the words that the site wants of the outer launcher; slots unfilled."""
    outer, inner = plan.launch.launch
    part, when = plan.cluster.environment, plan.launch.when
    meant = [
        option
        for option in (part.options if part is not None else ())
        if option.over == when.over and option.launcher in ("", when.launcher)
    ]
    exact = [option for option in meant if option.ranks_per_node == plan.layout.ranks_per_node]
    words = [option.words for option in exact or meant if option in exact or not option.ranks_per_node]
    return [" ".join([outer, *words]), inner]


def handed_on(script: bytes) -> bytes:
    """Return the script with `-x NAME` in place of the slot of each launch line, for every variable exported above it.

    Open MPI starts its daemons over ssh where it was not built for the scheduler, and hands on nothing else.
    """
    while (at := script.find(_EXPORTS)) >= 0:
        options = [b"-x " + name for name in _exported(script[:at])]
        line = script[script.rfind(b"\n", 0, at) + 1 : at]
        words = b"".join(b" " + word for word in options if word not in line)
        script = script[:at] + words + script[at + len(_EXPORTS) :]
    return script


def _exported(script: bytes) -> list[bytes]:
    """Return the names of the variables that a script exports, in order."""
    commands = (each.command.words for each in simple_commands(script))
    words = [
        _text(word, script) for each in commands if each and _text(each[0], script) == b"export" for word in each[1:]
    ]
    names = (word.partition(b"=")[0] for word in words)
    return list(dict.fromkeys(name for name in names if re.fullmatch(rb"[A-Za-z_]\w*", name)))


def _rank_by_rank(inner: bytes, read: Program) -> bytes:
    """Return the template's words; its last, python, gives way to an interpreter of the program's own."""
    if not inner.endswith(b"python"):
        return inner
    return inner if read.is_script else inner[: -len(b"python")].rstrip()


def before(plan: Plan) -> list[bytes]:
    """Return the lines in front of the launch line that it needs; each is one line of shell."""
    lines = [filled(line, plan).encode() for line in plan.launch.before]
    inherits = plan.cluster.site.srun_inherits_cpus
    if plan.launch.when.over == "srun" and plan.layout.cpus_per_task and inherits is not True:
        lines.append(b"export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK")
    return lines


def filled(words: str, plan: Plan) -> str:
    """Return words of a template with the plan's numbers in place of its slots."""
    layout = plan.layout
    numbers = {
        "job.nodes": layout.nodes,
        "job.tasks": layout.nodes * layout.tasks_per_node,
        "job.tasks_per_node": layout.tasks_per_node,
        "job.ranks": layout.ranks,
        "site.gpus_per_node": layout.ranks_per_node,
    }
    return _SLOT.sub(lambda match: str(numbers[match[1]]) if match[1] in numbers else match[0], words)


def container_runtime(plan: Plan) -> str:
    """Return the command that runs containers there: the one that the site's own usage line has, else apptainer."""
    file = plan.cluster.file
    if file is None or file.containers is None:
        return "apptainer"
    match = _NAMED.search(file.containers.usage) or _NAMED.search(file.containers.runtime)
    if "shifter" in file.containers.runtime:
        return "shifter"
    return match[1] if match else "apptainer"


def container_words(plan: Plan) -> bytes:
    """Return what stands in front of the program, with a blank behind it; b"" where no container was said.

    Shifter takes its image from a directive.
    """
    image = plan.slots.text("container")
    if not image:
        return b""
    command = container_runtime(plan)
    if command == "shifter":
        return b"shifter "
    vendor = next((kind.gpu_vendor for kind in plan.kinds if kind.gpu_vendor), "nvidia")
    return b"%s exec %s%s " % (command.encode(), _GPUS.get(vendor, b""), _word(image).encode())


def _word(image: str) -> str:
    """Return the image as one word of shell: variables and a leading tilde keep their meaning.

    Raises `Refused` where something in it would begin another command.
    """
    if not re.fullmatch(r"[\w@%+=:,./~${} -]+", image):
        raise Refused("container %r: is no path or address of an image" % image)
    if " " not in image:
        return '"%s"' % image if "$" in image else image
    return '"%s"' % image if "$" in image else shlex.quote(image)


def load_container(plan: Plan) -> list[bytes]:
    """Return the line that brings the runtime, where one was documented and a container was said."""
    file = plan.cluster.file
    if file is None or file.containers is None or not plan.slots.text("container"):
        return []
    return [file.containers.load.encode()] if file.containers.load else []


class Program(NamedTuple):
    """*ahead*: what comes before it in the batch shell (`cd src && `). *assignments*: `NAME=value` words before it.

    *rest*: from its first word to the end, redirections, pipes and later commands too, as said.
    *interpreter*: the first word is a Python. *plain*: it is `python` or `python3`, whichever is on PATH, with no
    option but -u. *module*: `-m` follows. *target*: where in *rest* the script, or the module's name, begins.
    """

    ahead: bytes
    assignments: tuple[bytes, ...]
    rest: bytes
    interpreter: bool = False
    plain: bool = False
    module: bool = False
    target: int = 0

    @property
    def is_script(self) -> bool:
        """Whether a Python has to be put in front: a script or a module was said without one."""
        first = self.rest.split(None, 1)[0] if self.rest.split() else b""
        return not self.interpreter and (self.module or first.strip(b"\"'").endswith(b".py"))


def read_program(program: bytes) -> Program:
    """Return the parts of *program*. Raises `Refused` with one line where it is no command that can be launched."""
    if not program.strip() or b"\0" in program:
        raise Refused("the program is empty; name a command such as train.py")
    command = _launched(program)
    if command is None or not command.words:
        raise Refused("the program is no single command; put it into a file of its own: %s" % _shown(program))
    begin = (command.assignments[0] if command.assignments else command.words[0]).span.start
    first = command.words[0].span.start
    words = [_text(word, program) for word in command.words]
    _not_launched_twice(words)
    made = Program(
        program[:begin], tuple(_as_word(assignment, program) for assignment in command.assignments), program[first:]
    )
    return _with_interpreter(made, words, [word.span.start - first for word in command.words])


def _launched(program: bytes) -> Simple | None:
    """Return the first command that does not only prepare something, else the first."""
    simples = [simple for item in parse(program).items for simple in _simple(item.command)]
    training = [simple for simple in simples if simple.words and _text(simple.words[0], program) not in _PREPARES]
    return next(iter(training or simples), None)


def _simple(command: Command) -> list[Simple]:
    if isinstance(command, Simple):
        return [command]
    if isinstance(command, (AndOr, Pipeline)):
        return [simple for part in command.commands for simple in _simple(part)]
    return []


def _text(word: Word, source: bytes) -> bytes:
    return source[word.span.start : word.span.end]


def _as_word(assignment: Assignment, source: bytes) -> bytes:
    """Return an assignment as an argument of `env`: there a value is split at blanks, which an assignment is not."""
    written = source[assignment.span.start : assignment.span.end]
    bare = assignment.value is not None and any(
        isinstance(part, Param) and not part.quoted for part in assignment.value.parts
    )
    return b'"%s"' % written if bare and b'"' not in written and b"'" not in written else written


def _not_launched_twice(words: list[bytes]) -> None:
    name = os.path.basename(words[0].strip(b"\"'"))
    by_module = _PYTHON.match(name) is not None and any(
        word in (b"torch.distributed.run", b"torch.distributed.launch") for word in words[1:4]
    )
    if name in _LAUNCHERS or by_module:
        raise Refused("the program begins with a launcher, which Maple writes: name the program alone, not %s"
                      % _shown(b" ".join(words[:2])))  # fmt: skip


def _with_interpreter(made: Program, words: list[bytes], starts: list[int]) -> Program:
    name = words[0].strip(b"\"'")
    at = 1 if _PYTHON.match(os.path.basename(name)) else 0
    interpreter, plain = at == 1, name in (b"python", b"python3")
    while interpreter and at < len(words) and words[at] == b"-u":
        at += 1
    module = at < len(words) and words[at] == b"-m"
    at += module
    if at >= len(words):
        raise Refused("the program names no script: %s" % _shown(b" ".join(words)))
    plain = plain and (module or not words[at].startswith(b"-"))
    return made._replace(interpreter=interpreter, plain=plain, module=module, target=starts[at])


def words_for_agent(program: Program, agent: str) -> tuple[bytes, bytes]:
    """Return the agent's own option in front of the program, b"" none, and what of the program stays.

    An agent starts Python by itself, unbuffered, the one that it runs in. So `python train.py` and
    `python3 -u train.py` become `train.py`, and `python -m pkg.mod` the module that the agent is told of. A Python of
    another name, or with options of its own, is kept, and so is a program that is none: the agent is told to start it
    as it is.
    """
    module, as_it_is = AGENTS[agent].module, AGENTS[agent].no_python
    if program.module and (program.plain or not program.interpreter):
        return module, program.rest[program.target :]
    if program.plain:
        return b"", program.rest[program.target :]
    return (b"", program.rest) if program.is_script else (as_it_is, program.rest)


def _shown(text: bytes) -> str:
    shown = " ".join(text.decode("utf-8", "backslashreplace").split())
    return shown if len(shown) <= 60 else shown[:57] + "..."
