"""What one shell process knows: variables, functions, where it runs.

The variables of a forked shell: those of its parent, seen through what it changed itself.

A copy of all of them for every command would make the time grow with the square of a script's length. None is needed,
because a child has come to its end before its parent goes on.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any, Dict, FrozenSet, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Pattern, Set, Tuple

from ..bash.nodes import Command
from ..types.launch_plan import Around, Noted, Reason
from ..types.submission import is_watched, travels
from ..types.text import EMPTY, Piece, Text, join, plain, token, unknown
from .availability import BATCH, IMAGE, TASK
from .program_owner import UNREAD, of_path, seldom_brings

MOST_ELEMENTS = 4096
MOST_PIECES = 256  # of which it is remembered where in the script each stands
PLACED = b"\0placed"  # asked for where an unknown value is named for its place in the script
DEEPEST = 24  # calls within calls
MOST_BYTES = 64 * 1024  # of one value; a longer one is taken for unknown, so that no script can fill the memory


class Place(NamedTuple):
    """Where a process runs. *node* counts in the job's nodes, *task* in the step; None is unknown.

    *name* tells this process from every other: b"" is the batch shell. *gpus*: devices of the node that the step
    gave to it, by their number on the node; None unknown. *pinned*: the CPUs that a word in front of the program binds
    it to, "0-15", or "node 0" of the memory's nodes; None where none does, or it is not known.
    """

    node: Optional[int] = 0
    task: Optional[int] = None
    local_task: Optional[int] = None
    name: bytes = b""
    gpus: Optional[Tuple[bytes, ...]] = None
    cpus: Optional[int] = None
    pinned: Optional[bytes] = None


class Shell:
    """A shell process. `fork` gives a subshell or child; what that changes is lost here, as in life."""

    __slots__ = ("variables", "functions", "positional", "place", "lost", "softly", "base", "cwd", "depth",
                 "mentioned", "shared", "options", "parents", "scopes", "skips", "folders",
                 "elsewhere", "others", "image", "unsettled", "uses", "presumes", "unlike")  # fmt: skip

    def __init__(self, place: Place, base: Text, mentioned: bytes = b"") -> None:
        self.variables: MutableMapping[bytes, Variable] = {}
        self.functions: Dict[bytes, Tuple[Command, Text]] = {}
        self.unlike: FrozenSet[bytes] = frozenset()  # functions of which another of the same name may stand here
        self.positional: List[Text] = []
        self.place = place
        self.lost = b""  # not empty: something unread may have set any variable
        self.softly = False  # a module or environment was loaded: PATH and the like may have changed
        self.base = base
        self.cwd: Optional[Text] = None
        self.depth = 0
        self.mentioned = mentioned  # names in these bytes were looked up in the submit environment
        self.shared: FrozenSet[bytes] = frozenset()  # functions marked for children (`export -f`)
        self.options: set[bytes] = set()
        self.parents: Tuple[Parent, ...] = ()  # what the programs on the way here were started from
        self.scopes: List[Dict[bytes, Optional[Variable]]] = []  # per running function: what its locals hide
        self.others: Mapping[bytes, bool] = {}  # what a launcher sets besides; whether it differs from task to task
        self.elsewhere = b""  # "image" or "prolog": it may have set any name that the script itself does not assign
        self.image = False  # programs come from an image: those of the host alone are not there
        self.unsettled: Around = ()  # why a program found along PATH may be none of the site's
        self.uses: Optional[List[Noted]] = None  # every word that is expanded or run, where that is asked for
        self.folders: Optional[Tuple[Optional[Text], ...]] = ()  # that `popd` goes back to; None: not known
        self.presumes = False  # what nobody has read is taken to change nothing (see `plan.build.presumed`)
        self.skips = b""  # b"continue" or b"break", where it is not known whether that left this round of a loop

    def fork(self, place: Optional[Place] = None) -> "Shell":
        """Return a copy for a subshell."""
        other = Shell(place or self.place, self.base, self.mentioned)
        other.variables = Layer(self.variables)
        other.functions, other.unlike = dict(self.functions), self.unlike
        other.positional = list(self.positional)
        other.lost, other.softly, other.cwd, other.depth = self.lost, self.softly, self.cwd, self.depth
        other.shared, other.skips, other.folders = self.shared, self.skips, self.folders
        other.elsewhere, other.others, other.image = self.elsewhere, self.others, self.image
        other.unsettled, other.uses, other.presumes = self.unsettled, self.uses, self.presumes
        other.options = set(self.options)
        other.parents = self.parents
        other.scopes = [dict(scope) for scope in self.scopes]
        return other

    def spawn(self, place: Optional[Place] = None, parent: Optional["Parent"] = None) -> "Shell":
        """Return what a program started from here would see: exported variables only.

        *parent*: of tasks that are started at once, one for all.
        """
        other = self.fork(place)
        other.variables = Layer(self.variables, spawned=True)
        other.parents += (parent or Parent(self.variables),)
        other.functions = {name: body for name, body in self.functions.items() if name in self.shared}
        other.positional, other.folders = [], ()
        return other

    def held_back(self) -> Tuple[Tuple[bytes, ...], Tuple[bytes, ...]]:
        """Return what the parents had and did not export, and nothing on the way here has set anew.

        The names of all parents, and those of the batch shell alone.
        """
        own = self.variables
        lacking = [tuple(name for name in parent.kept_back() if not is_set(own, name)) for parent in self.parents]
        return tuple(name for names in lacking for name in names), lacking[0] if lacking else ()

    def get(self, name: bytes) -> Variable:
        """Return the variable; unset and unknown are told apart by `Variable.texts` being empty or an open text."""
        variable = self.variables.get(name)
        if name in self.others and not (variable is not None and variable.texts()):
            return Variable(self.mix(name) if self.others[name] else unknown(name), None, True)
        if variable is not None and (variable.texts() or not self._may_be_brought(name)):
            return variable
        if (
            self.lost and not name.startswith(b"PET_") and not (self.presumes and name.startswith(_OF_LAUNCHERS))
        ):  # torchrun's own defaults, which no other file would set
            return Variable(open_value(b"lost." + self.lost + b"." + name))
        if self._may_be_brought(name):
            return Variable(self.brought(name))
        if name in _FOLDERS and name != b"TMPDIR":
            return Variable(unknown(b"env." + name))
        if is_watched(name):
            return Variable()
        if self.softly or not travels(name, self.mentioned):
            return Variable(unknown(b"env." + name) if name in _FOLDERS else open_value(b"env." + name))
        return Variable()

    def _may_be_brought(self, name: bytes) -> bool:
        """Return whether an image, its hooks or a prolog may have set a name that the script has not given to it.

        A name that the script set and did not hand on is its own (`image` says which ones hooks set all the same), and
        torchrun's defaults, PET_*, nobody sets.
        """
        if not self.elsewhere or name.startswith(b"PET_") or (self.presumes and self.elsewhere == b"image"):
            return False
        return not any(parent.had(name) for parent in self.parents)

    def brought(self, name: bytes) -> Text:
        """Return the unknown value of a name that was brought: one for all tasks, if it is no task's own number."""
        alike = self.elsewhere == b"image" and name not in (b"RANK", b"LOCAL_RANK", b"NODE_RANK", b"GROUP_RANK")
        return open_value(b"elsewhere." + name) if alike else Text(self.mix(b"elsewhere." + name).pieces, True)

    def unsettle(self, reason: Optional[Reason]) -> None:
        """Remember why programs found along PATH may no longer be those of the site."""
        if reason is not None and reason not in self.unsettled and not (self.presumes and seldom_brings(reason)):
            self.unsettled += (reason,)

    def use(self, text: Text, start: int, name: bytes, is_command: bool, there: bool = True) -> None:
        """Note that a word was expanded, or run, here: where it stands is told as in `launch.Noted`."""
        if self.uses is not None:
            where = IMAGE if self.image else TASK if self.place.name else BATCH
            self.uses.append((text, start, name, is_command, where, there))

    def value(self, name: bytes) -> Optional[Text]:
        """Return a scalar's text (an array's first element), or None when surely unset."""
        texts = self.get(name).texts()
        return texts[0] if texts else None

    def set(self, name: bytes, value: Text, exported: bool = False) -> None:
        """Assign a scalar; an export mark once given stays."""
        before = self.variables.get(name)
        if name == b"PATH":
            self.unsettle(of_path(self.value(name), value))
        if len(value.pieces) > MOST_PIECES:  # one that grows in each of a thousand lines
            value = Text((Piece(value.raw),), value.open)
        if sum(len(piece.text) for piece in value.pieces) > MOST_BYTES:
            value = open_value(b"long." + name)
        self.variables[name] = Variable(
            value, None, exported or b"a" in self.options or bool(before and before.exported)
        )

    def hide(self, name: bytes) -> None:
        """Make a name local to the running function."""
        if self.scopes:
            self.scopes[-1].setdefault(name, self.variables.get(name))

    def leave_function(self) -> None:
        """Bring back what the locals of the function that ends had hidden."""
        for name, variable in self.scopes.pop().items():
            if variable is None:
                self.variables.pop(name, None)
            else:
                self.variables[name] = variable

    def unset(self, name: bytes) -> None:
        """Forget a variable: it is surely unset afterwards."""
        self.variables[name] = Variable()

    def withhold(self, names: Iterable[bytes]) -> None:
        """Have variables that a parent exported surely not reach this program."""
        gone = {name: self.variables[name]._replace(exported=False) for name in names if name in self.variables}
        self.parents += (Parent(gone),)
        self.variables.update(dict.fromkeys(gone, Variable()))

    def export(self, name: bytes) -> None:
        """Mark a variable for children."""
        self.variables[name] = self.get(name)._replace(exported=True)  # also of one that has no value yet

    def keep(self, name: bytes) -> None:
        """Take the mark for children away: `export -n`."""
        if name in self.variables:
            self.variables[name] = self.variables[name]._replace(exported=False)

    def exports(self, names: Pattern[bytes]) -> bool:
        """Return whether a variable of these *names* is surely handed to children."""
        named = (self.variables[name] for name in self.variables if names.match(name))
        return any(variable.exported and variable.texts() for variable in named)

    def lose(self, why: bytes) -> None:
        """Forget everything an unread file may have changed; what the scheduler set stays."""
        self.lost = why
        if self.presumes:
            return
        for name in list(self.variables):
            if not name.startswith((b"SLURM_", b"SLURMD_", b"PBS_")):
                del self.variables[name]
        self.functions.clear()
        self.unsettle(UNREAD)

    def mix(self, name: bytes) -> Text:
        """Return an unknown value of this process: the same for all in the batch shell, else one per process."""
        place = self.place.name
        return plain(token(b"vary", name + b"." + place)) if place else unknown(name)

    def place_named(self) -> None:
        """Have whoever watches what is asked for know that a value is named for where it stands."""
        self.variables.get(PLACED)

    def draw(self, name: bytes) -> Text:
        """Return a random value of this process."""
        place = self.place.name
        return plain(token(b"task", name + b"." + place)) if place else unknown(name)


# Folders of a user that centres set at login: one word, whatever it is. A script that uses one where there is none has
# no path at all there.
_FOLDERS = frozenset(
    b"SCRATCH PSCRATCH WORK PROJECT PROJWORK MEMBERWORK WORLDWORK CFS LOCAL TMPDIR SLURM_TMPDIR STORE FAST".split()
)


_OF_LAUNCHERS = (
    b"PMI",
    b"OMPI_",
    b"PALS_",
    b"SLURM_",
    b"MPI_LOCAL",
)  # no sourced file sets what tells a rank its number


def open_value(name: bytes) -> Text:
    """Return an unknown text that may be any number of words."""
    return Text(unknown(name).pieces, True)


def joined(texts: Tuple[Text, ...], by: bytes = b" ") -> Text:
    """Return the texts with a separator between them."""
    out: List[Text] = []
    for text in texts:
        out += [plain(by), text] if out else [text]
    return join(out) if out else EMPTY


def bounded(texts: Tuple[Text, ...], name: bytes) -> Tuple[Text, ...]:
    """Return the elements of an array, one unknown in place of more than any sane script has."""
    return texts if len(texts) <= MOST_ELEMENTS else (open_value(b"long." + name),)


class Variable(NamedTuple):
    """A variable: a scalar *value* or an *array*; both None means surely unset."""

    value: Optional[Text] = None
    array: Optional[Tuple[Text, ...]] = None
    exported: bool = False

    def texts(self) -> Tuple[Text, ...]:
        """Return the elements: one for a scalar, none when unset."""
        if self.array is not None:
            return self.array
        return (self.value,) if self.value is not None else ()


def kept(variable: Variable) -> Variable:
    """Return what a child process sees of a variable."""
    return variable if variable.exported and variable.array is None else Variable()


def is_set(variables: Mapping[bytes, Variable], name: bytes) -> bool:
    """Return whether a variable has a value."""
    variable = variables.get(name)
    return variable is not None and bool(variable.texts())


class Parent:
    """What a program was started from; it waits for the program, so its variables stay as they are."""

    __slots__ = ("_variables", "_kept_back")

    def __init__(self, variables: Mapping[bytes, Variable]) -> None:
        self._variables = variables
        self._kept_back: Optional[Tuple[bytes, ...]] = None

    def had(self, name: bytes) -> bool:
        """Return whether a variable was set there."""
        return is_set(self._variables, name)

    def kept_back(self) -> Tuple[bytes, ...]:
        """Return the names of what was set there and not exported."""
        if self._kept_back is None:
            own = self._variables.items()
            self._kept_back = tuple(name for name, variable in own if not variable.exported and variable.texts())
        return self._kept_back


class Layer(MutableMapping[bytes, Variable]):
    """What one shell changed, over what it was forked from. *spawned*: a program's, which sees what is exported."""

    __slots__ = ("below", "spawned", "own", "gone")

    def __init__(self, below: MutableMapping[bytes, Variable], spawned: bool = False) -> None:
        self.below = below
        self.spawned = spawned
        self.own: Dict[bytes, Variable] = {}
        self.gone: Set[bytes] = set()

    def changed(self) -> Set[bytes]:
        """Return the names that may differ from what is below."""
        return self.gone.union(self.own)

    def __getitem__(self, name: bytes) -> Variable:
        variable: Optional[Variable] = self.get(name)
        if variable is None:
            raise KeyError(name)
        return variable

    def get(self, name: bytes, default: Any = None) -> Any:
        """Return a variable, or what is to stand for one that is not there."""
        layer: MutableMapping[bytes, Variable] = self
        spawned = False
        while type(layer) is Layer:  # asked in any other way, an abstract class takes its time
            variable = layer.own.get(name)
            if variable is not None:
                return kept(variable) if spawned else variable
            if name in layer.gone:
                return default
            spawned = spawned or layer.spawned
            layer = layer.below
        variable = layer.get(name)
        if variable is None:
            return default
        return kept(variable) if spawned else variable

    def __setitem__(self, name: bytes, value: Variable) -> None:
        self.own[name] = value

    def __delitem__(self, name: bytes) -> None:
        if name not in self:
            raise KeyError(name)
        self.own.pop(name, None)
        self.gone.add(name)

    def __contains__(self, name: object) -> bool:
        return name in self.own or (name not in self.gone and name in self.below)

    def __iter__(self) -> Iterator[bytes]:
        for name in self.below:
            if name not in self.gone or name in self.own:
                yield name
        for name in list(self.own):
            if name not in self.below:
                yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)
