"""Starts the helper from one file: half of its time would go into finding its modules and compiling its expressions.

`write_helper_image` writes it when Maple is installed, for one interpreter; any other one, and where there is no image,
imports modules as usual. What every submission needs is run in one go, in the order in which one imports the other;
what only some need is found when they import it.
"""

from __future__ import annotations

import _sre  # type: ignore[import-not-found]
import marshal
import sys
from _frozen_importlib import ModuleSpec

from . import lean_re, lean_typing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType
    from typing import IO, Any, Dict, Optional, Sequence, Tuple

MODULES = "__modules__"  # what a module of the image finds those by that were made before it
NAME = "helper.image"  # beside the helper
MOST_HEAD = 1 << 24  # bytes
SIGN = b"maple image 2\n"  # begins one; then the length of its head in eight bytes, the head, and all that it speaks of


def key() -> Tuple[object, ...]:
    """Return what an image has to agree with: byte code and expressions are of one release of Python."""
    return sys.hexversion, sys.implementation.cache_tag, _sre.MAGIC, _sre.CODESIZE


def install(folder: str) -> bool:
    """Import from the image in *folder* from now on, and return whether it is for this interpreter."""
    try:
        file = open(folder + "/" + NAME, "rb", 0)  # noqa: SIM115 - modules are read from it until the end
        made, length, others, expressions, makers = head(file)
        start = file.tell()
        needed = marshal.loads(file.read(length)) if made == key() else ()
    except (OSError, ValueError, EOFError, TypeError):
        needed = ()
    if not needed:
        lean_typing.install()
        return False
    lean_re.install(expressions)
    lean_typing.install(marshal.loads(makers))
    sys.meta_path.insert(0, _Modules(folder, file, start, others))
    sys.modules.setdefault("collections.abc", sys.modules["_collections_abc"])  # as `collections` itself has it
    _run(folder, needed)
    return True


def head(file: IO[bytes]) -> Any:
    """Return the head of an image: its key, the length of what follows, where else what is. Raises what is caught."""
    begun, length = file.read(len(SIGN)), int.from_bytes(file.read(8), "big")
    if begun != SIGN or length > MOST_HEAD:
        raise ValueError("no image")
    return marshal.loads(file.read(length))


def _place(folder: str, name: str, package: bool) -> str:
    """Return the path of the source of a module of ours."""
    inner = folder + "/" + name.partition(".")[2].replace(".", "/")
    return inner + "/__init__.py" if package else inner + ".py"


def _run(folder: str, modules: Sequence[Tuple[str, bool, CodeType, str]]) -> None:
    """Make modules of their code, each behind those that it imports, so that the importer finds them made."""
    kind, made = type(sys), sys.modules
    for name, package, code, path in modules:
        if name in made:
            continue
        module = made[name] = kind(name)
        above, _, own = name.rpartition(".")
        names = vars(module)
        names[MODULES] = made
        names["__file__"] = path = path or _place(folder, name, package)
        names["__package__"] = name if package else above
        if package:
            names["__path__"] = [path[: -len("/__init__.py")]]
        exec(code, names)
        if above in made:
            setattr(made[above], own, module)


class _Modules:
    """Finds and runs the modules of an image that are imported later.

    *folder*: where their sources lie, for who asks. *modules*: whether each is a package, where its code stands in the
    *file* behind *start*, how long it is, and the path of one of the standard library.
    """

    def __init__(
        self, folder: str, file: IO[bytes], start: int, modules: Dict[str, Tuple[bool, int, int, str]]
    ) -> None:
        self._folder, self._file, self._start, self._modules = folder, file, start, modules

    def find_spec(self, name: str, path: object = None, target: object = None) -> Optional[ModuleSpec]:
        """Return where a module comes from, None for one of others."""
        if name not in self._modules:
            return None
        package, _, _, path = self._modules[name]
        origin = path or _place(self._folder, name, package)
        spec = ModuleSpec(name, self, origin=origin, is_package=package)  # type: ignore[arg-type]
        spec.has_location = True
        if package:
            spec.submodule_search_locations = [origin[: -len("/__init__.py")]]
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave that to the importer."""

    def exec_module(self, module: ModuleType) -> None:
        """Run a module's body."""
        _, at, length, _ = self._modules[module.__name__]
        self._file.seek(self._start + at)
        exec(marshal.loads(self._file.read(length)), vars(module))
