"""Writes the shapes of secrets that detect-secrets knows, with its licence, as data: `make shapes`.

Run by a Python that has detect-secrets installed; nothing of it is needed afterwards.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path


def patterns() -> Iterator[dict[str, object]]:
    """Yield each pattern of each detector that goes by patterns, in the order of its files."""
    package = importlib.import_module("detect_secrets.plugins")
    for _, name, _ in sorted(pkgutil.iter_modules(package.__path__), key=lambda one: one[1]):
        module = importlib.import_module("detect_secrets.plugins." + name)
        for _, found in inspect.getmembers(module, inspect.isclass):
            own = found.__module__ == module.__name__ and name != "base"
            for one in getattr(found, "denylist", ()) if own else ():
                flags = "".join(letter for letter, flag in (("i", re.I), ("x", re.X)) if one.flags & flag)
                yield {"detector": name, "pattern": one.pattern, "flags": flags}


def main(folder: Path) -> None:
    """Write both files."""
    distribution = metadata.distribution("detect-secrets")
    names = importlib.import_module("detect_secrets.plugins.keyword").DENYLIST
    made = {
        "source": "detect-secrets %s, Apache-2.0: LICENSE.detect-secrets" % distribution.version,
        "names": list(names),
        "shapes": list(patterns()),
    }
    (folder / "detect-secrets.json").write_text(json.dumps(made, indent=1, ensure_ascii=True) + "\n")
    licence = next(one for one in distribution.files or () if one.name == "LICENSE")
    (folder / "LICENSE.detect-secrets").write_text(Path(str(licence.locate())).read_text())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
