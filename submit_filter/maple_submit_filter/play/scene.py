"""What all shells and launchers of one job share while it is played through: files, findings on the way, starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from ..site.facts import Site
from ..types.edits import Span
from ..types.job import Read
from ..types.launch_plan import Allocation, Around, Link
from ..types.text import Text, plain
from .shell_state import Place, Shell, Variable

if TYPE_CHECKING:
    from typing import Protocol, Union

    from ..bash.nodes import CommandSub, ProcessSub, Simple

# Played through per job; beyond it the rest of the script is unread. No script of the tests comes to a tenth of it.
MOST_COMMANDS = 6_000
BYTES_OF_A_COMMAND = 64  # of text that a filter went through count like a command, so that time stays bounded
WORDS_OF_A_COMMAND = 8  # so many count like one more: a list of thousands may stand on thousands of lines
PIECES_OF_A_COMMAND = 32  # and so many that words are put together of
START, AGENT = 8, 24  # commands that a program started in one place counts for, and one that starts ranks
ALLOCATION, FIRST, MACHINE, OF_FILE = b"\0allocation", b"\0first", b"\0machine", b"\0file "  # in `Scene.asked`
MOST_TASKS = 64  # played through one by one; larger steps are sampled


Files = Mapping[bytes, Optional[Text]]


class Agent(NamedTuple):
    """One torchrun-like agent: what it was told. None is unknown; texts hold tokens."""

    launcher: str
    nnodes: Optional[Tuple[int, int]]  # least, most
    workers: Optional[int]
    backend: bytes  # b"static", b"c10d", ...; b"" unknown
    run_id: Optional[Text]
    node_rank: Optional[int]
    master: Optional[Text]
    port: Optional[Text]
    standalone: bool
    total: Optional[int]  # where the launcher names the world size itself (accelerate, deepspeed)
    visible: Optional[Tuple[bytes, ...]]  # devices its workers see
    cpu: bool  # the run says that it uses no GPU
    devices: Optional[Text] = None  # the variable that hides devices, as the agent inherits it
    empty: Tuple[str, ...] = ()  # options that were given and came out empty
    rankless: bool = False  # no node rank was given, and the launcher will not start without one


class Trail(NamedTuple):
    """How a command came to be started: launchers from outside in, and where in the script."""

    links: Tuple[Link, ...] = ()
    span: Optional[Span] = None  # of the outermost launch line
    key: Tuple[object, ...] = ()  # tells launch lines, and rounds of loops, apart
    background: bool = False
    maybe: bool = False
    phase: int = 0
    doubts: Tuple[str, ...] = ()
    vanished: Tuple[bytes, ...] = ()  # unquoted variables of the line that were empty and so left no word
    images: Tuple[Tuple[str, Tuple[str, ...]], ...] = ()  # containers that were gone into, as `Step.images`
    around: Around = ()  # what unsettles whose program the command now starting is


class Start(NamedTuple):
    """A program, or an agent of a launcher, that would start in one place."""

    trail: Trail
    place: Place
    agent: Optional[Agent]
    environment: Mapping[bytes, Text]
    missing: Tuple[bytes, ...]  # rank variables that are surely not set
    dropped: Tuple[bytes, ...]  # variables that were set in the parent shell and not exported
    program: Tuple[Text, ...]
    python: bool
    folder: Optional[Text] = None  # in which it starts
    withheld: Tuple[bytes, ...] = ()  # of *dropped*, those of the batch shell


class StepShape(NamedTuple):
    """What the outer launcher of a launch line makes: tasks over nodes. None is unknown."""

    nodes: Optional[int]
    tasks: Optional[int]
    layout: Optional[Tuple[int, ...]]  # tasks on each node, where known
    sampled: bool
    refused: str  # why the launcher itself would not start this, "" if it would

    def anywhere(self) -> "StepShape":
        """Return the shape of a step that may lay out its ranks in any way."""
        return StepShape(None, None, None, False, self.refused)


TasksOf = Callable[[List[Text], Shell, "Scene"], Optional[Tuple[List[Place], List[Text], Link]]]
Destination = Callable[[List[Text]], Tuple[Optional[int], int]]


class Machine(NamedTuple):
    """What the job has, as far as commands print it; None unknown. *gpus*: of a node, where they are all the job's."""

    nodes: Optional[int]
    gpus: Optional[int] = None


def all_gpus(given: Allocation) -> Optional[int]:
    """Return how many NVIDIA GPUs a node has, where every kind it may be has as many and all are the job's."""
    counts = {kind.gpus for kind in given.node_kinds}
    vendors = {kind.gpu_vendor for kind in given.node_kinds}
    return given.gpus_per_node if counts == {given.gpus_per_node} and vendors == {"nvidia"} else None


class Scene:
    """The mutable side of one playing-through."""

    def __init__(self, allocation: Allocation, site: Site, read: Optional[Read]) -> None:
        self.granted = allocation
        self._machine = Machine(allocation.nodes, all_gpus(allocation))
        self.asked: Set[bytes] = set()  # what of all that may differ from play to play was looked at (see `recording`)
        self.site = site
        self.read_file = read
        self.files: Dict[bytes, Optional[Text]] = {}
        self.wrote_to: Set[bytes] = set()
        self.added_to: Set[bytes] = set()  # files that got more lines at least once
        self.starts: List[Start] = []
        self.shapes: Dict[Tuple[object, ...], Tuple[Trail, StepShape]] = {}
        self.unread: List[Tuple[int, str]] = []
        self.depends: List[bytes] = []
        self.commands = 0
        self.phase = 0
        self.beside: List[Start] = []  # begun in the background, and nothing has come since that may wait for it
        self.within: List[Start] = []  # the same of the shell of a task
        self.ended: Dict[Span, None] = {}  # launch lines whose task ends while what it began runs on
        self.kills = False  # what runs in the background may have been ended in between
        self.trapped = False  # a `trap` may wait at the end
        self.assigned: Dict[
            bytes, Dict[Span, None]
        ] = {}  # where the script assigns a name, as far as that stands in it
        self.assignments: List[Tuple[bytes, Span]] = []  # the same, one after the other
        self.other_jobs = False  # other jobs (of an array) may be part of the same world
        self.shares_gpus = False  # several processes may share a GPU (MPS)
        self.login: Mapping[bytes, Variable] = {}  # what a fresh login on a node of the job has
        self.begun_with: Mapping[bytes, Variable] = {}  # what the batch shell had
        self.home: Optional[Text] = None
        self.login_gpus: Optional[Tuple[bytes, ...]] = None  # devices that a fresh login can use
        self.tasks_of: Optional[TasksOf] = None  # where the tasks of an srun run, its program, and itself
        self.destination: Optional[Destination] = None  # the node that ssh's words name, and where the command begins
        self.presumes = False  # what nobody has read is taken to change nothing
        self.submitted_in: Optional[Text] = None  # where files are looked for, if the folder is not known
        self.misplaced = False  # a file was named whose folder is not known
        self.hidden = False  # a command was carried where it cannot be followed
        self.strangers = False  # programs that cannot be read run beside, or elsewhere, and may start agents of a world

    @property
    def allocation(self) -> Allocation:
        """What the scheduler grants."""
        self.asked.add(ALLOCATION)
        return self.granted

    @property
    def first(self) -> Mapping[bytes, Variable]:
        """What the batch shell began with."""
        self.asked.add(FIRST)
        return self.begun_with

    def machine(self) -> Machine:
        """Return what the job has, as far as commands print it."""
        self.asked.add(MACHINE)
        return self._machine

    def assign(self, name: bytes, here: Span) -> None:
        """Remember that the script assigns a name there."""
        self.assigned.setdefault(name, {})[here] = None
        self.assignments.append((name, here))

    def note(self, offset: int, why: str) -> None:
        """Say once that something at a byte offset (-1: not in the script) was not understood."""
        if (offset, why) not in self.unread and len(self.unread) < 100:
            self.unread.append((offset, why))

    def content(self, path: Text, cwd: Optional[Text], node: Optional[int] = 0) -> Optional[Text]:
        """Return a file's text: written earlier in the script, else read from disk within bounds; None unknown.

        PBS writes its node file on the first node alone.
        """
        raw = path.raw
        if raw == b"\0nodefile\0" and node != 0:
            return None
        for name in (raw, _beside(raw, cwd)):
            self.asked.add(OF_FILE + name)
            if name in self.files:
                return self.files[name]
        if self.read_file is None or not path.literal or len(raw) > 4096:
            return None
        if cwd is None or b"\0" in cwd.raw:
            self.misplaced = self.misplaced or raw[:1] != b"/"
            cwd = self.submitted_in or cwd
        full = _beside(raw, cwd)
        if b"\0" in full or (cwd is None and full[:1] != b"/"):
            return None
        data = self.read_file(full)
        if data is None and self.submitted_in is not None and raw[:1] != b"/":
            full = _beside(raw, self.submitted_in)  # a folder that is not here is likely the one submitted from
            data = self.read_file(full)
        if data is None or b"\0" in data:
            return None
        if full not in self.depends:
            self.depends.append(full)
        return _off_script(data)

    def wrote(self, path: Text, cwd: Optional[Text]) -> bool:
        """Return whether the script wrote that file before."""
        name = _beside(path.raw, cwd)
        self.asked.add(OF_FILE + name)
        return name in self.files

    def write(self, path: Text, cwd: Optional[Text], text: Optional[Text], append: bool) -> None:
        """Remember what the script writes to a file; None: unknown content."""
        name = _beside(path.raw, cwd)
        self.asked.add(OF_FILE + name)
        self.wrote_to.add(name)
        before = self.files.get(name)
        if append:
            self.added_to.add(name)
        if append and text is not None and before is not None:
            text = Text(before.pieces + text.pieces)
        elif append and name in self.files:
            text = None
        self.files[name] = text

    def remove(self, path: Text, cwd: Optional[Text]) -> None:
        """Empty a file that the script wrote, or those of a folder; where there is a pattern nobody knows which."""
        name, star, _ = _beside(path.raw, cwd).partition(b"*")
        name = name if star else name.rstrip(b"/")
        for file in [file for file in self.files if file == name or file.startswith(name + (b"" if star else b"/"))]:
            self.asked.add(OF_FILE + file)
            self.wrote_to.add(file)
            self.files[file] = None if star else plain(b"")

    def left_open(self, before: Files, added: bool) -> None:
        """Take for unknown what was written since *before*, by commands that may run more often than they were played.

        *added*: only of files that get more lines each time.
        """
        for name, text in list(self.files.items()):
            if text is not before.get(name, b"") and (not added or name in self.added_to):
                self.wrote_to.add(name)
                self.files[name] = None

    def agree(self, before: Files, ends: Sequence[Files]) -> None:
        """Keep what all *ends* that may follow on *before* hold of a file; one that lacks it is not in the way."""
        self.files = dict(before)
        for name in {name for end in ends for name in end if end[name] is not before.get(name, b"")}:
            texts = [end[name] for end in ends if name in end]
            alike = len({None if text is None else text.raw for text in texts}) == 1
            self.wrote_to.add(name)
            self.files[name] = texts[0] if alike else None


def _beside(raw: bytes, cwd: Optional[Text]) -> bytes:
    raw = raw[2:] if raw.startswith(b"./") else raw
    if raw.startswith(b"/") or cwd is None or not cwd.raw:
        return raw
    return cwd.raw.rstrip(b"/") + b"/" + raw


def _off_script(data: bytes) -> Text:
    return plain(data)


if TYPE_CHECKING:

    class Player(Protocol):
        """What a builtin or a launcher needs of whoever plays the script."""

        scene: Scene
        loops: int

        def script(self, source: Text, shell: Shell, trail: Trail) -> None:
            """Play a script of its own."""

        def text(self, source: Text, shell: Shell, trail: Trail) -> None:
            """Play a script text in *shell*, which is changed."""

        def key(self, simple: Simple, shell: Shell) -> Tuple[int, int]:
            """Return what tells a command of the script from every other."""

        def offset(self, shell: Shell, position: int) -> int:
            """Return where a byte of what is played stands in the script."""

        def remember(self, name: bytes, span: Span, shell: Shell) -> None:
            """Note where a variable was given its value."""

        def substitute(self, part: Union[CommandSub, ProcessSub], shell: Shell) -> Text:
            """Return what a substitution stands for."""

        def written(self, simple: Simple, argv: List[Text], shell: Shell, given: Optional[Text]) -> bool:
            """Remember a file that is written; return whether that is all there was."""

    class Starter(Protocol):
        """What a launcher needs of whoever plays the script: it hands back its program, or the agent that it is."""

        scene: Scene

        @property
        def interpreter(self) -> Player:
            """Whoever plays the script."""

        def execute(self, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text] = None) -> None:
            """Start *argv* in the environment of *shell* (already what a child sees)."""

        def leaf(self, argv: Sequence[Text], shell: Shell, trail: Trail, python: bool = False) -> None:
            """Record a program that starts no ranks itself."""

        def agent(self, agent: Agent, program: Sequence[Text], shell: Shell, trail: Trail) -> None:
            """Record an agent that starts ranks."""

    Launch = Callable[[Starter, List[Text], Shell, Trail, Optional[Text]], None]
