"""A helper that starts from its image decides as one that imports its modules, and imports next to nothing."""

from __future__ import annotations

import compileall
import hashlib
import json
import marshal
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from maple_submit_filter import helper_image, lean_re
from maple_submit_filter.answer.audit_line import sha256
from maple_submit_filter.answer.decision import decide
from maple_submit_filter.host import frames
from maple_submit_filter.host.frames import Reply
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.site.snapshot import write

from tests.bench.scripts import script
from tests.daemon.serving import request
from tests.submit_filter.test_worlds_kept_everywhere import everything

PACKAGE = Path(helper_image.__file__).parent
BEFORE = {"helper_image", "lean_re", "lean_typing"}  # what reads the image


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package with its image, as an installation has it, beside the configuration of a front."""
    root = tmp_path_factory.mktemp("lib")
    made = root / "maple_submit_filter"
    shutil.copytree(PACKAGE, made, ignore=shutil.ignore_patterns("__pycache__"))
    compileall.compile_dir(
        str(made), quiet=2, invalidation_mode=compileall.py_compile.PycInvalidationMode.UNCHECKED_HASH
    )
    subprocess.run([sys.executable, "-IS", str(made / "write_helper_image.py")], check=True)
    (root / "site.json").write_text(json.dumps(write(GENERIC_SLURM)))
    (root / "front.conf").write_text(f"mode=repair\nsnapshot={root}/site.json\n")
    return made


def sized(*head: object) -> bytes:
    """Return the beginning of an image with that head."""
    made = marshal.dumps(head, 2)
    return helper_image.SIGN + len(made).to_bytes(8, "big") + made


def helped(folder: Path, source: bytes, *before: str) -> tuple[Reply | None, str]:
    """Return what the helper answers, and what it says on standard error."""
    words = [sys.executable, "-IS", *before, str(folder / "helper.py"), str(folder.parent / "front.conf")]
    asked = frames.pack_request(request(source))
    done = subprocess.run(words, input=asked, capture_output=True, timeout=60, check=True)
    return frames.unpack_reply(done.stdout), done.stderr.decode()


@pytest.fixture
def without(folder: Path, tmp_path: Path) -> Path:
    """The same without the image."""
    other = tmp_path / "maple_submit_filter"
    shutil.copytree(folder, other)
    (other / helper_image.NAME).unlink()
    for name in ("front.conf", "site.json"):
        shutil.copy(folder.parent / name, tmp_path / name)
    return other


@pytest.mark.parametrize("mistakes", [0, 1, 3])
def test_it_answers_the_same_with_and_without(folder: Path, without: Path, mistakes: int) -> None:
    """But for the id of that very submission."""

    def told(one: Path) -> object:
        reply = helped(one, script(60, mistakes))[0]
        assert reply is not None
        return reply.say, re.sub(rb"maple: .*", b"", reply.change.script or b"") if reply.change else None

    assert told(folder) == told(without)


@pytest.mark.parametrize("mistakes", [0, 1, 3])
def test_neither_re_nor_typing_is_loaded(folder: Path, mistakes: int) -> None:
    """Nor what they load, nor OpenSSL; `lean_re` has every expression that a script of the usual kind needs."""
    loaded = {
        line.rpartition("|")[2].strip()
        for line in helped(folder, script(60, mistakes), "-X", "importtime")[1].splitlines()
        if "import time" in line
    }
    assert "maple_submit_filter.helper_image" in loaded
    standard = {"collections", "functools", "contextlib", "operator", "dataclasses", "pathlib", "_hashlib"}
    assert not loaded & {*standard, "re", "enum", "typing", "re._compiler", "sre_compile"}


def test_the_hash_is_the_one_that_hashlib_makes() -> None:
    """Whichever module of the interpreter it comes from."""
    for data in (b"", b"maple", bytes(range(256)) * 999):
        assert sha256(data) == hashlib.sha256(data).hexdigest()


def test_every_expression_is_the_one_that_re_makes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two expressions are equal where their code is."""
    with (folder / helper_image.NAME).open("rb") as file:
        _, length, _, expressions, _ = helper_image.head(file)
        needed = marshal.loads(file.read(length))
    assert len(expressions) > 100
    assert "maple_submit_filter.rules.launch.mpl301_fan_out" in {name for name, *_ in needed}
    monkeypatch.setattr(lean_re, "_known", expressions)
    for pattern, flags in expressions:
        assert lean_re.compile(pattern, flags) == re.compile(pattern, flags)


def test_few_scripts_need_an_expression_that_is_not_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For one of them alone `re` is loaded, which costs as much as a starting interpreter."""
    with (folder / helper_image.NAME).open("rb") as file:
        known = helper_image.head(file)[3]
    compiled: list[tuple[object, int]] = []
    real: Any = re._compile  # type: ignore[attr-defined]

    def compiling(pattern: object, flags: int) -> object:
        compiled.append((pattern, int(flags)))
        return real(pattern, flags)

    sample = sorted(everything(), key=lambda one: hashlib.sha256(one.name.encode()).digest())[:300]  # a new case is one
    for one in sample:
        decide(one.asked, one.site, one.read)  # imports what it needs
    monkeypatch.setattr(re, "_compile", compiling)
    needed = []
    for one in sample:
        compiled.clear()
        decide(one.asked, one.site, one.read)
        needed += [one.name] if not set(compiled) <= set(known) else []
    assert len(needed) < len(sample) / 8, needed


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"noise",
        marshal.dumps(7, 2),
        helper_image.SIGN,
        helper_image.SIGN + b"\xff" * 60,
        helper_image.SIGN + (7).to_bytes(8, "big") + marshal.dumps(7, 2),
        sized(("another release",), 0, {}, {}, b""),
        sized(helper_image.key(), 9, {}, {}, b""),
    ],
)
def test_an_image_of_another_python_is_left_alone(folder: Path, without: Path, content: bytes) -> None:
    """And one that is cut off; modules come from their files then."""
    (without / helper_image.NAME).write_bytes(content)
    reply, said = helped(without, script(60, 1))
    assert reply is not None and reply.change is not None and said == ""


def test_hardly_a_module_is_looked_for(folder: Path) -> None:
    """Each is run in the order in which one imports the other, so that the importer never has to find one."""
    said = helped(folder, script(60), "-X", "importtime")[1]
    ours = [line.rpartition("|")[2].strip() for line in said.splitlines() if "maple_submit_filter." in line]
    assert len(ours) < 10
    assert not [name for name in ours if name.split(".")[1] in ("bash", "play", "plan", "launchers", "cures", "rules")]


def test_a_module_that_some_need_comes_from_the_image_too(folder: Path, tmp_path: Path) -> None:
    """With no source beside the image there is nothing else that it could come from."""
    bare = tmp_path / "maple_submit_filter"
    shutil.copytree(folder, bare)
    for name in ("front.conf", "site.json"):
        shutil.copy(folder.parent / name, tmp_path / name)
    for path in [*bare.rglob("*.py"), *bare.rglob("*.pyc")]:
        if path.stem.partition(".")[0] not in {"__init__", "helper", *BEFORE} and "mpl" not in path.name:
            path.unlink()
    reply, said = helped(bare, script(60, 3))
    assert reply is not None and reply.change is not None and said == ""


def test_two_of_the_same_sources_are_equal(folder: Path, tmp_path: Path) -> None:
    """A release can be told by its files."""
    first = (folder / helper_image.NAME).read_bytes()
    subprocess.run([sys.executable, "-IS", str(folder / "write_helper_image.py")], check=True)
    assert (folder / helper_image.NAME).read_bytes() == first
