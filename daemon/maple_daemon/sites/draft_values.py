"""What a running system says of itself, as values; a name, number or text that cannot be right is left out.

What a command prints may have been written by anybody, so nothing of it goes further unchecked.

Asks the running system: commands as argument vectors, each with a time limit, and small files.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from maple_agents.ask.schedulers.commands import quiet_environment, run
from maple_agents.ask.schedulers.protocol import SchedulerError, one_line
from maple_submit_filter.answer.report import printable

SECONDS = 20.0  # for one command
LIMIT = 64 << 20  # bytes of an answer; ten thousand nodes are 16 MiB as JSON
SMALL = 1 << 20  # bytes of an answer about this host

MOST_SAID = 160  # characters of a text that is shown
_NAME = re.compile(r"[A-Za-z0-9_][\w.+@:=-]{0,62}", re.ASCII)


class Seen(NamedTuple):
    """A node as its scheduler describes it. *memory*: MiB. *gpus* None: not told, or in a form that is not known.

    *places*: partitions, or the queue it is kept for. *cores*: real ones, *allocatable* those that jobs get.
    """

    name: str
    places: tuple[str, ...] = ()
    gpus: int | None = None
    gpu_types: tuple[str, ...] = ()
    cores: int | None = None
    allocatable: int | None = None
    threads: int | None = None
    memory: int | None = None
    features: tuple[str, ...] = ()
    arch: str = ""


class Place(NamedTuple):
    """A partition, QOS or queue. Times in seconds; None is no limit, or none told. *notes*: for the administrator."""

    name: str
    selector: str  # "partition", "qos" or "queue"
    default: bool = False
    shared: bool | None = None
    kind: str = ""  # of a PBS queue: "routing", "execution-only"
    access: str = ""
    min_nodes: int | None = None
    max_nodes: int | None = None
    max_walltime: int | None = None
    default_walltime: int | None = None
    max_gpus: int | None = None
    max_running: int | None = None
    max_submitted: int | None = None
    notes: tuple[str, ...] = ()


class System(NamedTuple):
    """All that a scheduler says. *complete*: whether the nodes, and the names of places, are all that there are.

    *nodes_by*: the command that told of the nodes. *default_sure*: a job that names no place goes to the default.
    *notes*: what is left to the administrator.
    """

    scheduler: str
    version: str = ""
    cluster: str = ""
    nodes: tuple[Seen, ...] = ()
    nodes_by: str = ""
    places: tuple[Place, ...] = ()
    nodes_complete: bool = False
    places_complete: bool = False
    default_sure: bool = False
    notes: tuple[str, ...] = ()


class Launcher(NamedTuple):
    """A launcher that PATH finds. *implementation*: whose program it is, "" not known."""

    name: str
    path: str
    implementation: str = ""


class Machine(NamedTuple):
    """What this host shows beside its scheduler; of the nodes it says nothing."""

    host: str = ""
    os: str = ""
    interfaces: tuple[str, ...] = ()
    fabric: str = ""
    launchers: tuple[Launcher, ...] = ()
    modules: str = ""  # the module system
    modules_name: str = ""  # LMOD_SYSTEM_NAME
    pytorch: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def is_name(text: object) -> bool:
    """Return True where *text* can be the name of a node, partition, feature or kind of GPU."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def names(texts: object) -> tuple[str, ...]:
    """Return the names among *texts*, a list or words with commas between, each once; none for what nobody set."""
    words = texts.split(",") if isinstance(texts, str) else texts if isinstance(texts, list) else []
    return tuple(dict.fromkeys(word for word in words if is_name(word)))


def shown(text: str) -> str:
    """Return *text* on one line that a terminal can show and a TOML comment can hold, cut where it is long."""
    line = printable(" ".join(text.encode("utf-8", "backslashreplace").decode().split()))
    return line if len(line) <= MOST_SAID else line[: MOST_SAID - 1] + "…"


def count(value: object, most: int = 10_000_000) -> int | None:
    """Return a whole number from 0 to *most*, from a number or its digits; None for everything else."""
    if isinstance(value, str) and re.fullmatch(r"\d{1,9}", value, re.ASCII):
        value = int(value)
    right = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most
    return value if right else None  # type: ignore[return-value]


def version(text: str) -> str:
    """Return the numbers that *text* begins with, `23.11.7` of `23.11.7-2`, at most four; "" where there are none."""
    match = re.match(r"\d{1,8}(\.\d{1,8}){1,3}(?!\d)", text.strip(), re.ASCII)
    return match[0] if match else ""


class Asking:
    """*environ*: what commands run in, and where PATH is taken from. *seconds*: for each of them.

    *silent*: what did not answer, and why, a line each, in order.
    """

    def __init__(self, environ: Mapping[str, str], seconds: float = SECONDS) -> None:
        self.environ = environ
        self.silent: list[str] = []
        self._seconds = seconds

    def path_of(self, command: str) -> str:
        """Return where PATH finds *command*, "" where it does not."""
        path = shutil.which(command, path=self.environ.get("PATH", os.defpath))
        return os.path.abspath(path) if path else ""

    def output_of(self, *argv: str, limit: int = LIMIT, errors_too: bool = False, tell: bool = True) -> str:
        """Return what a command printed; "" where it is not there, fails, is late or says too much.

        *errors_too*: what it printed as errors as well, and whatever its exit code. *tell* False: a refusal is no news.
        """
        path = self.path_of(argv[0])
        if not path:
            return ""
        env = quiet_environment(self.environ, TZ="UTC0")
        try:
            answer = run([path, *argv[1:]], timeout=self._seconds, env=env, limit=limit, cwd="/")
        except SchedulerError as error:
            self._missed(argv, error.text)
            return ""
        if errors_too:
            return answer.out + answer.err
        if answer.code and tell:
            self._missed(argv, one_line(answer.err) or "exit code %d" % answer.code)
        return "" if answer.code else answer.out

    def _missed(self, argv: Sequence[str], why: str) -> None:
        plain = takewhile(lambda word: "%" not in word, argv)  # a list of columns tells nobody anything
        self.silent.append("%s: %s" % (shown(" ".join(plain)), shown(why)))


def text_of(path: str, most: int = 65536) -> str:
    """Return the begin of a small file, "" where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(most)
    except OSError:
        return ""


def entries_of(folder: str, most: int = 1000) -> list[str]:
    """Return the names in a folder, sorted, none where it cannot be read."""
    try:
        return sorted(os.listdir(folder))[:most]
    except OSError:
        return []
