"""Each folder of a package imports only those that stand before it in its README, and no modules in a circle.

`python -m tests.test_rooms` prints what the graph of imports comes to.
"""

from __future__ import annotations

import ast
import fnmatch
import importlib.util
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
_spec = importlib.util.spec_from_file_location("lists", ROOT / "packaging" / "docs" / "modules.py")
assert _spec is not None and _spec.loader is not None
lists = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(lists)
PACKAGES = ("submit_filter/maple_submit_filter", "agents/maple_agents", "daemon/maple_daemon")
PLUGINS = {  # one file each, as many as there are
    "maple_submit_filter.launchers",
    "maple_submit_filter.rules.launch",
    "maple_submit_filter.rules.resources",
    "maple_submit_filter.rules.script",
    "maple_agents.diagnose.fix.kinds",
    "maple_agents.scheduling.queueing.policies",
}
MOST = 20  # modules of a folder that one can walk through
EXAMPLES = {
    "train.py",
    "pretrain.py",
    "main.py",
    "run.py",
    "NAME.py",
    "mplNNN_what_is_wrong.py",
    "mpl399_what_is_wrong.py",
}
TOP = ""  # beside the folders: what is started


class Arrow(NamedTuple):
    """One module imports another. *typing*: only where types are checked. *line*: of the import."""

    source: str
    target: str
    typing: bool
    line: int


def order(package: str) -> tuple[str, ...]:
    """Return the folders of a package as its README lists them: each may import those before it."""
    folder, name = package.split("/")
    text = (ROOT / folder / "README.md").read_text()
    block = re.search(rf"```text\n{name}/\n(.*?)```", text, re.DOTALL)
    assert block, f"{folder}/README.md has no list of the folders of {name}"
    return tuple(re.findall(r"^  (\w+)/ ", block[1], re.MULTILINE))


def modules(package: str) -> dict[str, Path]:
    """Return the modules of a package by their dotted names."""
    top = ROOT / package
    found = {}
    for path in sorted(top.rglob("*.py")):
        parts = path.relative_to(top.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def arrows(name: str, path: Path, known: dict[str, Path]) -> Iterator[Arrow]:
    """Yield what a module imports of its package, in functions too."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    waiting: list[tuple[ast.AST, bool]] = [(ast.parse(path.read_bytes()), False)]
    while waiting:
        node, typing = waiting.pop()
        if isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            target = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                whole = f"{target}.{alias.name}"
                if whole in known or target in known:
                    yield Arrow(name, whole if whole in known else target, typing, node.lineno)
        typing = typing or isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        waiting.extend((child, typing) for child in ast.iter_child_nodes(node))


def room(module: str, package: str) -> str:
    """Return the folder of a package that a module stands in; TOP for those beside the folders."""
    parts = module.split(".")
    return parts[1] if len(parts) > 2 or (ROOT / package / parts[-1]).is_dir() and len(parts) == 2 else TOP


@pytest.mark.parametrize("package", PACKAGES)
def test_the_readme_lists_every_folder(package: str) -> None:
    """Once, and none that is not there."""
    there = {path.parent.name for path in (ROOT / package).glob("*/__init__.py")}
    assert Counter(order(package)) == Counter(there)


def upward(package: str) -> list[str]:
    """Return the imports of a folder that stands behind the importer's. Types count too, and imports in functions."""
    known, listed = modules(package), order(package)
    place = {TOP: len(listed), **{name: at for at, name in enumerate(listed)}}
    return [
        f"{path.relative_to(ROOT)}:{arrow.line} imports {arrow.target}"
        for name, path in known.items()
        for arrow in arrows(name, path, known)
        if place[room(arrow.target, package)] > place[room(name, package)] and arrow.target.count(".")
    ]


def circles(package: str, typing: bool = False) -> list[str]:
    """Return the modules that import each other in a circle, or one of those; *typing*: imports for types count too."""
    known = modules(package)
    waiting = {name: {arrow.target for arrow in arrows(name, path, known) if typing or not arrow.typing} - {name}
               for name, path in known.items()}  # fmt: skip
    waiting = {name: {to for to in targets if not name.startswith(to + ".")} for name, targets in waiting.items()}
    while free := {name for name, targets in waiting.items() if not targets}:
        waiting = {name: targets - free for name, targets in waiting.items() if name not in free}
    return sorted(waiting)


def folders(package: str) -> Counter[str]:
    """Return how many modules each folder of a package has."""
    top = ROOT / package
    return Counter(".".join(path.parent.relative_to(top.parent).parts) for path in top.rglob("*.py"))


@pytest.mark.parametrize("package", PACKAGES)
def test_folders_import_only_those_before_them(package: str) -> None:
    """Types count too, and imports in functions."""
    up = upward(package)
    assert not up, "\n".join(up)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_modules_import_each_other_in_a_circle(package: str) -> None:
    """Those in functions count, and those for type checkers."""
    assert not circles(package, typing=True)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_folder_is_a_warehouse(package: str) -> None:
    """A folder of plug-ins aside."""
    assert not {name: count for name, count in folders(package).items() if count > MOST and name not in PLUGINS}


@pytest.mark.parametrize("path", [pytest.param(one, id=str(one.relative_to(ROOT))) for one in lists.readmes(ROOT)])
def test_lists_of_modules_are_as_they_are_written(path: Path) -> None:
    """By `make docs`."""
    assert path.read_text("utf-8") == lists.written(path)


@pytest.mark.parametrize("folder", [*(package.split("/")[0] for package in PACKAGES), "docs", "CONTRIBUTING.md"])
def test_no_page_names_a_module_that_is_gone(folder: str) -> None:
    """Pages, READMEs beside the code, and the words between backquotes in docstrings and comments; `*` is any name."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"]  # build/ may hold whole systems
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    there = {Path(line).name for line in listed.splitlines() if (ROOT / line).exists()} | EXAMPLES
    top, gone = ROOT / folder, []
    for path in [top] if top.is_file() else sorted(top.rglob("*")):
        if path.suffix in (".md", ".py"):
            named = re.findall(r"`(?:[\w.]+/)*([\w*]+\.py)`", path.read_text("utf-8"))
            gone += [f"{path.relative_to(ROOT)}: {name}" for name in named if not fnmatch.filter(there, name)]
    assert not gone, "\n".join(gone)


def figures() -> str:
    """Return modules (those that name a folder aside), lines, and what the tests hold, package by package."""
    rows = ["package modules plug-ins lines biggest-folder arrows-up in-circles"]
    for package in PACKAGES:
        known = {name: path for name, path in modules(package).items() if path.name != "__init__.py"}
        plugins = sum(name.rpartition(".")[0] in PLUGINS or bool(re.search(r"\.mpl\d", name)) for name in known)
        lines = sum(len(path.read_text("utf-8").splitlines()) for path in modules(package).values())
        biggest, most = max(((name, count) for name, count in folders(package).items() if name not in PLUGINS),
                            key=lambda folder: folder[1])  # fmt: skip
        rows.append(f"{package} {len(known)} {plugins} {lines} {biggest}:{most} {len(upward(package))} "
                    f"{len(circles(package, typing=True))}")  # fmt: skip
    return "\n".join(rows)


if __name__ == "__main__":
    print(figures())
