"""Writes the lists of modules in READMEs, between `<!-- modules -->` and `<!-- end -->`, from their first lines.

`<!-- modules FOLDER -->` lists those of a folder below.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = re.compile(r"(<!-- modules ?(\w*) -->\n).*?(<!-- end -->\n)", re.DOTALL)


def readmes(root: Path) -> Iterator[Path]:
    """Yield every README that has such a list."""
    for folder in ("submit_filter", "agents", "daemon", "miniapps", "tests"):
        for path in sorted((root / folder).rglob("README.md")):
            if LIST.search(path.read_text("utf-8")):
                yield path


def written(path: Path) -> str:
    """Return a README with its list as the modules are now."""

    def list_of(place: re.Match[str]) -> str:
        return place[1] + "".join(f"{line}\n" for line in lines(path.parent / place[2])) + place[3]

    return LIST.sub(list_of, path.read_text("utf-8"))


def lines(folder: Path) -> Iterator[str]:
    """Yield a line for each module of a folder but its tests, one for each C file, and one for each folder in it."""
    for path in sorted((*folder.glob("*.py"), *folder.glob("*.c"))):
        if not path.name.startswith(("__", "test_", "conftest.")):
            yield f"- `{path.name}`: {first(path)}"
    for below in sorted(path.parent for path in folder.glob("*/__init__.py")):
        yield f"- **{below.name}/** {first(below / '__init__.py')}"


def first(path: Path) -> str:
    """Return the first sentence of a C file's comment, the first line of a module's docstring; "" where it has none."""
    if path.suffix == ".c":
        comment = re.match(r"/\*(.*?)\*/", path.read_text("utf-8"), re.DOTALL)
        return re.split(r"\.(?:\s|$)", " ".join(re.sub(r"\n \*", "\n", comment[1]).split()))[0] if comment else ""
    text = ast.get_docstring(ast.parse(path.read_bytes())) or ""
    return text.split("\n")[0].rstrip(".")


def main() -> None:
    """Write them all, and say which were another."""
    for path in readmes(ROOT):
        new = written(path)
        if new != path.read_text("utf-8"):
            path.write_text(new, "utf-8")
            sys.stdout.write(f"{path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
