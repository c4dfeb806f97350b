"""What a command line starts: wrappers are seen through, launchers fan out, shells are played."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Optional, Sequence

from ..play import image
from ..play.interpreter import Interpreter
from ..play.program_owner import MPI, RUN_IN_ENVIRONMENT, around
from ..play.scene import AGENT, START, Agent, Scene, Start, Trail
from ..play.shell_state import Shell
from ..types.text import NUL, Text, host, plain, show
from .devices import HIERARCHY, MASKS, PLACING
from .opaque_programs import LAUNCHER_MARKS, harmless, strange
from .python_options import PythonCall, python_program
from .registry import BY_MODULE, family, foreign, registry
from .remote import destination
from .srun import tasks_of
from .wrappers import Unwrapped, pinned, unwrap

if TYPE_CHECKING:
    from ..play.scene import Launch

SHELLS = frozenset(b"bash sh dash zsh ksh".split())
# Programs that carry a command to places this module does not follow.
ELSEWHERE = frozenset(b"pdsh clush parallel xargs dsh pssh ray flux salloc docker nerdctl udocker".split())
UNREAD_LAUNCHERS = frozenset(b"composer colossalai torchx aprun".split())
RANK_VARIABLES = (b"RANK", b"WORLD_SIZE", b"LOCAL_RANK", b"MASTER_ADDR", b"MASTER_PORT")
FOLDERS = {"env": (b"-C", b"--chdir"), "apptainer": (b"--pwd", b"--cwd"), "singularity": (b"--pwd", b"--cwd")}


PINS = ("taskset", "numactl")
_ENVIRONMENTS = frozenset(
    ("conda run", "mamba run", "uv run", "poetry run", "pipenv run", "pixi run", "pdm run", "rye run")
)


def _kept(name: bytes, patterns: Sequence[bytes]) -> bool:
    """Return whether a cleared environment keeps a variable: by its name, or by `SLURM_*`."""
    return any(name == pattern or (pattern[-1:] == b"*" and name.startswith(pattern[:-1])) for pattern in patterns)


class Programs:
    """Starts command lines in a scene."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self._behind_srun = False
        scene.tasks_of, scene.destination = tasks_of, destination
        self.interpreter = Interpreter(scene, self.execute)
        self.launchers: Dict[bytes, Launch] = registry()

    def execute(self, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text] = None) -> None:
        """Start *argv* in the environment of *shell* (already what a child sees)."""
        if not argv:
            return
        name = argv[0].raw.rsplit(b"/", 1)[-1]
        shell.use(argv[0], -1, name, True)
        trail = self._around(argv[0], name, shell, trail)
        if NUL in name and not argv[0].open:
            written = self._script(argv[0], shell)
            if written is not None:
                self._run(written, argv[1:], shell, trail, b"bash")
                return
        if argv[0].open or not name or NUL in name:
            self._nameless(argv, shell, trail)
            return
        if name in self.launchers:
            self.launchers[name](self, argv, shell, trail, given)
            return
        if name in SHELLS:
            self._shell(argv, shell, trail, given)
            return
        call = python_program(argv)
        if call is not None:
            self._python(call, argv, shell, trail, given)
            return
        wrapper = unwrap(argv)
        if wrapper is not None:
            self._wrapped(wrapper, argv, shell, trail, given)
            return
        self._program(argv, shell, trail)

    def _around(self, word: Text, name: bytes, shell: Shell, trail: Trail) -> Trail:
        """Return the trail with what unsettles whose program a word is; of some that leaves nothing proven."""
        here = around(word, family(name), shell.image, shell.unsettled)
        if not here and not trail.around:
            return trail
        doubts = trail.doubts
        if name in self.launchers and family(name) != MPI or shell.image:
            doubts += tuple("%s: %s" % (show(name), why) for why in foreign(name, here))
        return trail._replace(around=here, doubts=doubts)

    def leaf(self, argv: Sequence[Text], shell: Shell, trail: Trail, python: bool = False) -> None:
        """Record a program that starts no ranks itself. In the batch shell only a python is worth a step."""
        if strange(argv, trail, python):
            self.scene.strangers = True
        if not trail.links and not python:
            return
        names = (*RANK_VARIABLES, *MASKS, HIERARCHY, *PLACING)
        environment = {name: value for name in names for value in [shell.value(name)] if value is not None}
        missing = tuple(name for name in RANK_VARIABLES if not shell.get(name).texts())
        dropped, withheld = shell.held_back()
        rest = (dropped, tuple(argv), python, shell.cwd, withheld)
        self.scene.starts.append(Start(trail, shell.place, None, environment, missing, *rest))
        self.scene.commands += START

    def agent(self, agent: Agent, program: Sequence[Text], shell: Shell, trail: Trail) -> None:
        """Record an agent that starts ranks; one that is asked for its help starts none."""
        if trail.links and trail.links[-1].option("help") is not None:
            return
        dropped, withheld = shell.held_back()
        self.scene.starts.append(
            Start(trail, shell.place, agent, {}, (), dropped, tuple(program), True, shell.cwd, withheld)
        )
        self.scene.commands += AGENT

    def _nameless(self, argv: List[Text], shell: Shell, trail: Trail) -> None:
        doubt = "the program's name is not known"
        self.scene.note(trail.span.start if trail.span else -1, doubt)
        self.scene.hidden = True  # it may be this very script again, or a launcher
        if trail.links or argv[0].open:
            self.leaf(argv, shell, trail._replace(doubts=trail.doubts + (doubt,)))

    def _program(self, argv: List[Text], shell: Shell, trail: Trail) -> None:
        name = argv[0].raw.rsplit(b"/", 1)[-1]
        words = b" ".join(text.raw for text in argv[1:])
        if name in UNREAD_LAUNCHERS or (name in ELSEWHERE and any(mark in words for mark in LAUNCHER_MARKS)):
            doubt = name.decode("ascii", "replace") + " carries a command elsewhere"
            self.scene.note(trail.span.start if trail.span else -1, doubt)
            self.scene.hidden = True
            return
        if name in ELSEWHERE and not harmless(words):
            self.scene.strangers = True
        self._behind_srun = bool(trail.links) and trail.links[-1].name == "srun"
        content = self._script(argv[0], shell)
        if content is not None:
            self._run(content, argv[1:], shell, trail, b"bash")
            return
        if self._behind_srun and b"/" not in argv[0].raw:
            self.scene.misplaced = self.scene.misplaced or self.scene.content(argv[0], shell.cwd) is not None
        self.leaf(argv, shell, trail)

    def _script(self, path: Text, shell: Shell) -> Optional[Text]:
        """Return the text of a shell script that the program is, if it can be read."""
        by_srun = self.scene.presumes and self._behind_srun
        if b"/" not in path.raw and not by_srun:
            return None  # looked up along PATH, by srun in the folder as well
        content = self.scene.content(path, shell.cwd)
        if content is None:
            return None
        first = content.raw[:100].split(b"\n", 1)[0]
        return content if first.startswith(b"#!") and any(name in first for name in SHELLS) else None

    def _run(self, content: Text, arguments: List[Text], shell: Shell, trail: Trail, name: bytes) -> None:
        shell.positional = list(arguments)
        if name == b"bash" and shell.place.node is not None:
            shell.set(b"HOSTNAME", plain(host(shell.place.node)))
        before, self.scene.within = self.scene.within, []
        self.interpreter.script(content, shell, trail)
        left, self.scene.within = self.scene.within, before
        if left and trail.links and trail.links[0].name == "srun" and trail.span is not None and not trail.maybe:
            self.scene.ended[trail.span] = None

    def _shell(self, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]) -> None:
        """bash -c TEXT, bash FILE, bash < text."""
        name = argv[0].raw.rsplit(b"/", 1)[-1]
        index = 1
        command = False
        while index < len(argv) and argv[index].raw[:1] in (b"-", b"+") and len(argv[index].raw) > 1:
            raw = argv[index].raw
            command = command or (raw[:2] != b"--" and b"c" in raw)
            index += 2 if raw in (b"-o", b"+o", b"-O", b"--rcfile", b"--init-file") else 1
        if index >= len(argv):
            if given is not None and not command:
                self._run(given, [], shell, trail, name)
            elif given is None and not command:
                self.leaf(argv, shell, trail)
            return
        if command:
            if argv[index].open:
                self._lost(argv, shell, trail, "a command text is not known")
                return
            self._run(argv[index], argv[index + 2 :], shell, trail, name)
            return
        content = self.scene.content(argv[index], shell.cwd)
        if content is None:
            self._lost(argv, shell, trail, "a script could not be read")
            return
        self._run(content, argv[index + 1 :], shell, trail, name)

    def _lost(self, argv: List[Text], shell: Shell, trail: Trail, doubt: str) -> None:
        self.scene.note(trail.span.start if trail.span else -1, doubt)
        self.scene.hidden = True
        if trail.links:
            self.leaf(argv, shell, trail._replace(doubts=trail.doubts + (doubt,)))

    def _python(self, call: PythonCall, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]) -> None:
        launcher = BY_MODULE.get(call.module or b"")
        if launcher is None:
            self.leaf(argv, shell, trail, python=call.module is not None or call.script is not None)
            return
        self.launchers[launcher](self, argv, shell, trail, given)

    def _wrapped(self, wrapper: Unwrapped, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]) -> None:
        rest = [plain(word) for word in wrapper.implies] + list(argv[wrapper.program_index :])
        if not rest and wrapper.name in ("env", "time") and not wrapper.open:
            return  # alone it prints the environment
        if wrapper.unread or not rest:
            self._lost(argv, shell, trail, wrapper.unread or "a wrapper starts nothing")
            return
        changes = wrapper.changes
        brought = image.handed(shell) if changes.container else {}
        if changes.cleared:
            lost = [name for name in shell.variables if not _kept(name, changes.kept)]
            shell.variables = {
                name: variable
                for name, variable in shell.variables.items()
                if name not in lost or name in self.scene.assigned
            }
            shell.withhold(name for name in lost if name in self.scene.assigned)
            shell.lost = b"cleared"
        if changes.unread:
            shell.lose(b"wrapper")
        for name in changes.unset:
            shell.unset(name)
        for name, value in changes.set:
            shell.set(name, value, exported=True)
        if wrapper.name in _ENVIRONMENTS:
            shell.unsettle(RUN_IN_ENVIRONMENT)
        if changes.container:
            image.inside(shell, brought)
            names = tuple(option.name for option in wrapper.options) + (("...",) if wrapper.open else ())
            trail = trail._replace(images=(*trail.images, (wrapper.name, names)))
        if wrapper.name in PINS:
            shell.place = shell.place._replace(pinned=pinned(wrapper, argv))
        folders = FOLDERS.get(wrapper.name, ())
        if any(text.raw.partition(b"=")[0] in folders for text in argv[1 : wrapper.program_index]):
            shell.cwd = None  # the program starts in another folder, of the image perhaps
        doubts = (
            ("an unknown word among the options of " + wrapper.name,) if wrapper.open and not wrapper.split_only else ()
        )
        self.execute(rest, shell, trail._replace(doubts=trail.doubts + doubts), given)
