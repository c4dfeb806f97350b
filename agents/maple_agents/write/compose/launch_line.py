"""The launch line of a plan: what stands in front of the program, around it and behind it.

How a program is run inside a container on a site.
"""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

from ...base.slots import Refused
from ..values import Plan
from . import programs

_NAMED = re.compile(r"\b(apptainer|singularity|shifter|podman-hpc)\b")
_GPUS = {"nvidia": b"--nv ", "amd": b"--rocm "}

_SLOT = re.compile(r"(?<!\$)\{([a-z_.]+)\}")
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
    read = programs.read(program)
    outer, inner = (filled(words, plan).encode() for words in launch_words(plan))
    if plan.launch.when.launcher == "python":
        inner, rest, option = _rank_by_rank(inner, read), read.rest, b""
    else:
        option, rest = programs.for_agent(read, plan.launch.when.launcher)
    given = b"env %s " % b" ".join(read.assignments) if read.assignments else b""
    within = given + container_words(plan) + inner
    apart = _NEXT if len(within) + len(rest) > WIDTH else b" "
    words = read.ahead + outer + (_NEXT + within if within else b"") + apart + (option + b" " if option else b"")
    return Launched(tuple(before(plan)), words, rest)


def launch_words(plan: Plan) -> list[str]:
    """Return the template's `launch` with the words that the site wants of the outer launcher; slots unfilled."""
    outer, inner = plan.launch.launch
    part, when = plan.cluster.environment, plan.launch.when
    meant = [
        one
        for one in (part.options if part is not None else ())
        if one.over == when.over and one.launcher in ("", when.launcher)
    ]
    exact = [one for one in meant if one.ranks_per_node == plan.layout.ranks_per_node]
    words = [one.words for one in exact or meant if one in exact or not one.ranks_per_node]
    return [" ".join([outer, *words]), inner]


def _rank_by_rank(inner: bytes, read: programs.Program) -> bytes:
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
    return _SLOT.sub(lambda found: str(numbers[found[1]]) if found[1] in numbers else found[0], words)


def container_runtime(plan: Plan) -> str:
    """Return the command that runs containers there: the one that the site's own usage line has, else apptainer."""
    file = plan.cluster.file
    if file is None or file.containers is None:
        return "apptainer"
    found = _NAMED.search(file.containers.usage) or _NAMED.search(file.containers.runtime)
    if "shifter" in file.containers.runtime:
        return "shifter"
    return found[1] if found else "apptainer"


def container_words(plan: Plan) -> bytes:
    """Return what stands in front of the program, with a blank behind it; b"" where no container was said.

    Shifter takes its image from a directive.
    """
    image = plan.said.text("container")
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
    if file is None or file.containers is None or not plan.said.text("container"):
        return []
    return [file.containers.load.encode()] if file.containers.load else []
