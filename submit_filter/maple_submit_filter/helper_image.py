"""Starts the helper from one file: half of its time would go into finding its modules and compiling its expressions.

`write_helper_image` writes it when Maple is installed, for one interpreter; any other one, and where there is no image,
imports modules as usual.
"""

from __future__ import annotations

import _sre  # type: ignore[import-not-found]
import marshal
import sys
from _frozen_importlib import ModuleSpec

from . import lean_re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Dict, Optional, Tuple

NAME = "helper.image"  # beside the helper


def key() -> Tuple[object, ...]:
    """Return what an image has to agree with: byte code and expressions are of one release of Python."""
    return sys.hexversion, sys.implementation.cache_tag, _sre.MAGIC, _sre.CODESIZE


def install(folder: str) -> bool:
    """Import from the image in *folder* from now on, and return whether it is for this interpreter."""
    try:
        with open(folder + "/" + NAME, "rb") as file:
            made, modules, expressions = marshal.loads(file.read())
    except (OSError, ValueError, EOFError, TypeError):
        return False
    if made != key():
        return False
    lean_re.install(expressions)
    sys.meta_path.insert(0, _Modules(folder, modules))
    return True


class _Modules:
    """Finds and runs the modules of an image. *folder*: where their sources lie, for who asks."""

    def __init__(self, folder: str, modules: Dict[str, Tuple[bool, bytes]]) -> None:
        self._folder, self._modules = folder, modules

    def find_spec(self, name: str, path: object = None, target: object = None) -> Optional[ModuleSpec]:
        """Return where a module comes from, None for one of others."""
        if name not in self._modules:
            return None
        package = self._modules[name][0]
        inner = name.partition(".")[2].replace(".", "/")
        folder = self._folder + "/" + inner
        origin = folder + "/__init__.py" if package else folder + ".py"
        spec = ModuleSpec(name, self, origin=origin, is_package=package)  # type: ignore[arg-type]
        spec.has_location = True
        if package:
            spec.submodule_search_locations = [folder]
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave that to the importer."""

    def exec_module(self, module: ModuleType) -> None:
        """Run a module's body."""
        exec(marshal.loads(self._modules[module.__name__][1]), vars(module))
