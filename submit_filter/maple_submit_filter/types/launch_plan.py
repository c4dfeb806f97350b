"""The launch plan: which processes would start where, with which rank."""

from __future__ import annotations

from typing import Mapping, NamedTuple, Optional, Tuple

from ..site.facts import NodeKind
from .edits import Span
from .text import Text

# A use as it is noted: most are never looked at. The text it is in and its start there, -1 for a command's own word.
Noted = Tuple[Text, int, bytes, bool, str, bool]


class Reason(NamedTuple):
    """Why a word may be another program than the site's own. *of*: families, or names, of the programs in doubt."""

    of: Tuple[str, ...]
    says: str


Around = Tuple[Reason, ...]


class Option(NamedTuple):
    """One option of a launcher as it stands on its line.

    *name* is the launcher's long name with dashes for underscores ("nproc-per-node"); *spelling* what was written.
    *value* is None for a flag. *words* = first index and count in the launcher's argv. *span* is the whole option in
    the script, *value_span* its value; None when it does not stand there one for one (it came from a variable). *kind*:
    what the launcher's parser takes for a value (see `option_table`), "" for anything.
    """

    name: str
    spelling: bytes
    value: Optional[Text]
    words: Tuple[int, int]
    span: Optional[Span]
    value_span: Optional[Span]
    kind: str = ""


class Link(NamedTuple):
    """One launcher or wrapper of a launch line, from outside in.

    *argv* are its words up to, not including, the program it starts. *name_span* is its own word (or words, as in
    `python -m torch.distributed.run`); *options_end* the byte offset just behind its last own word, where an option
    may be inserted; both None when they do not stand in the script.
    """

    name: str
    argv: Tuple[Text, ...]
    options: Tuple[Option, ...]
    name_span: Optional[Span]
    options_at: Optional[int]  # just behind the launcher's name
    open: bool  # unknown words stand among the options, so any option may be there
    quoted: bytes = b""  # the quote the line stands in: b"" for the batch script itself, b"'" or b'"' inside bash -c
    around: Around = ()  # why a program of this or another name may be none of the site's here (see `owners`)
    refused: Tuple[Tuple[int, str], ...] = ()  # words of *argv*, by index, that its parser refuses, and why

    def option(self, *names: str) -> Optional[Option]:
        """Return the option in force of any of the names (the last one written)."""
        chosen = None
        for option in self.options:
            if option.name in names:
                chosen = option
        return chosen


class Process(NamedTuple):
    """One worker process. None is unknown; *master* and *port* hold tokens (see `text`). *pinned*: see `Place`.

    *placing*: what its environment says of the cores and network ports that its libraries take.
    """

    node: Optional[int]
    task: Optional[int]  # index of the task of the outer launcher that is its parent
    local_rank: Optional[int]
    rank: Optional[int]  # None also where only the set of ranks is known (c10d)
    world_size: Optional[int]
    master: Optional[bytes]
    port: Optional[bytes]
    gpus: Optional[Tuple[bytes, ...]]  # the devices it can see, None unknown
    cpus: Optional[int]
    binds_gpu: bool  # a torch worker that takes the device of its local rank
    pinned: Optional[bytes] = None
    placing: Tuple[Tuple[bytes, bytes], ...] = ()


class Group(NamedTuple):
    """The processes that mean to form one world.

    *declared*: the world size that the launch line says. *agents*: (node, task) of each torchrun-like agent that
    would join. *complete*: every process is listed; otherwise *processes* are those of a few nodes, as samples.
    """

    launcher: str
    processes: Tuple[Process, ...]
    nodes: Optional[int]
    ranks_per_node: Optional[int]
    world_size: Optional[int]
    declared: Optional[int]
    master: Optional[bytes]
    port: Optional[bytes]
    complete: bool


class Breach(NamedTuple):
    """A proven contradiction the plan ran into; rules turn it into findings.

    *kind*: by its name in `plan/breach_kinds.py`, with the invariant that it breaks.
    *texts* are the values in question, with their origins; *numbers* what they come to.
    """

    kind: str
    numbers: Mapping[str, Optional[int]]
    texts: Mapping[str, Text]
    names: Tuple[bytes, ...] = ()


class Step(NamedTuple):
    """One launch line."""

    line: int
    span: Span
    links: Tuple[Link, ...]
    groups: Tuple[Group, ...]
    breaches: Tuple[Breach, ...]
    nodes: Optional[int]
    tasks: Optional[int]
    tasks_per_node: Optional[int]
    workers_per_task: Optional[int]
    program: Tuple[bytes, ...]
    program_span: Optional[Span]  # of the program's first word
    background: bool
    maybe: bool  # stands behind a condition whose outcome is unknown: nothing about it is proven
    unknown: Tuple[str, ...]
    program_spans: Tuple[Optional[Span], ...] = ()  # of each word of *program*, None where it is not written as such
    phase: int = 0  # how often the script waited for its background before
    images: Tuple[Tuple[str, Tuple[str, ...]], ...] = ()  # containers it runs in: their runner, and its options' names
    folder: bytes = b""  # in which its program starts, b"" where that is not known
    lacks: Tuple[bytes, ...] = ()  # rank variables that surely none of its tasks has
    withheld: Tuple[bytes, ...] = ()  # variables that the script has set when it begins, and that it does not export


class Allocation(NamedTuple):
    """What the scheduler gives: None is unknown."""

    nodes: Optional[int]
    tasks: Optional[int]
    tasks_per_node: Optional[int]
    cpus_per_task: Optional[int]
    gpus_per_node: Optional[int]
    gpus_per_task: Optional[int]
    node_kinds: Tuple[NodeKind, ...]
    partition: str
    shared: Optional[bool]
    node_file: Optional[Tuple[int, ...]] = None  # lines of each node in PBS_NODEFILE; None unknown, or no PBS
    gpus: Optional[int] = None  # of the whole job, where that is all that was asked for and nothing gives it more
    gpus_asked: Optional[int] = None  # the same where nodes of its own may give it more
    most_nodes: Optional[int] = None  # where `nodes` is unknown: more it cannot be


def device_numbers(count: int) -> Tuple[bytes, ...]:
    """Return the names of the first devices of a node, as masks list them."""
    return tuple(b"%d" % index for index in range(count))


class LaunchPlan(NamedTuple):
    """What would start. *unread*: (line, what could not be understood)."""

    allocation: Allocation
    steps: Tuple[Step, ...]
    unread: Tuple[Tuple[int, str], ...]
    assigned: Mapping[bytes, Tuple[Span, ...]] = {}  # where the script assigns a variable: `NAME=value`
    left: Tuple[Span, ...] = ()  # launch lines that surely run on in the background when the script ends
    depends: Tuple[bytes, ...] = ()  # files on disk that were read for it
    uses: Tuple[Noted, ...] = ()  # the words that were expanded and run, and where
    ended: Tuple[Span, ...] = ()  # launch lines whose tasks end while what they began in the background runs
    presumes: bool = False  # what nobody has read is taken to change nothing
    presumable: bool = False  # something unread may have changed what starts
    strangers: bool = False  # programs that nobody has read run beside, and may start something anywhere
    leads: Tuple[bytes, ...] = ()  # variables of the script that hold a name of the job's first node when it ends
    written: Mapping[bytes, bytes] = {}  # the text of each file that the script writes, with tokens where it is open
    commands: int = 0  # that were played through for it, by their weight
