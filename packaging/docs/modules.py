"""Writes the lists of modules in READMEs, between `<!-- modules -->` and `<!-- end -->`, from their first lines."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = re.compile(r"(<!-- modules -->\n).*?(<!-- end -->\n)", re.DOTALL)


def readmes(root: Path) -> Iterator[Path]:
    """Yield every README of a package that has such a list."""
    for folder in ("submit_filter", "agents", "daemon", "miniapps"):
        for path in sorted((root / folder).rglob("README.md")):
            if "<!-- modules -->" in path.read_text("utf-8"):
                yield path


def written(path: Path) -> str:
    """Return a README with its list as the modules are now."""
    text = "\n".join(lines(path.parent)) + "\n"
    return LIST.sub(lambda found: found[1] + text + found[2], path.read_text("utf-8"))


def lines(folder: Path) -> Iterator[str]:
    """Yield a line for each module of a folder, and one for each folder in it."""
    for path in sorted(folder.glob("*.py")):
        if path.name != "__init__.py":
            yield f"- `{path.name}`: {first(path)}"
    for below in sorted(path.parent for path in folder.glob("*/__init__.py")):
        yield f"- **{below.name}/** {first(below / '__init__.py')}"


def first(path: Path) -> str:
    """Return the first line of a module's docstring, "" where it has none."""
    told = ast.get_docstring(ast.parse(path.read_bytes())) or ""
    return told.split("\n")[0].rstrip(".")


def main() -> None:
    """Write them all, and say which were another."""
    for path in readmes(ROOT):
        new = written(path)
        if new != path.read_text("utf-8"):
            path.write_text(new, "utf-8")
            sys.stdout.write(f"{path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
