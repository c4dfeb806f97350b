"""Regular expressions as they were compiled before: what a search finds never depends on what lies in the cache."""

from __future__ import annotations

import marshal
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from maple_agents.base import expressions

PATTERNS = [
    (r"(?P<port>\d+)\D+(?P<host>[a-z.]+)", "port 29500 on node.a"), (r"(?i)ÄÖ|ß{2,}", "xx äö ßß"),
    (r"^a(?=b)|(?<!c)d", "ab\ncd d"), (r"(?s:a.b)(?-i:C)", "a\nbC"), (r"(a)|b(?(1)c|d)", "bd"),
    (r"[^\W\d_]+[\u4e00-\u9fff]?", "日 words 12"), (r"(?x) a + # why", "caaa"), (r"(?>a+)b|a++c", "aab aac"),
    (r"(x)\1{2}", "xxx"),
]  # fmt: skip


@pytest.fixture()
def cache(tmp_path, monkeypatch):
    """A cache folder of the user's own, and how many expressions are worth a file: one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(expressions, "FEW", 1)
    return tmp_path / "maple"


def found() -> list[object]:
    """Return all that the expressions find, compiled anew, or from what was kept."""
    rows: list[object] = []
    for pattern, text in PATTERNS:
        for flags in (0, re.I, re.M | re.S):
            re.purge()
            made = re.compile(pattern, flags)
            rows += [made.flags, made.groups, dict(made.groupindex)]
            rows += [(match.span(), match.groupdict(), match.lastgroup) for match in made.finditer(text)]
    re.purge()
    return [*rows, re.compile(rb"\xff+(?P<a>a)").findall(b"\xff\xffa")]


def test_what_was_kept_finds_what_is_compiled_finds(cache):
    """Twice with the cache, of which the second compiles nothing, as without."""
    usual = found()
    with expressions.used():
        first = found()
    (file,) = cache.iterdir()
    written = file.stat().st_mtime_ns
    with expressions.used():
        second = found()
    assert usual == first == second and file.stat().st_mtime_ns == written
    assert re._compiler.compile.__module__ == "re._compiler"  # type: ignore[attr-defined]  # nothing is left behind


@pytest.mark.parametrize("harm", ["no marshal", "another type", "a row of nonsense", "writable by others"])
def test_a_file_that_is_odd_changes_nothing(cache, harm):
    """It is compiled as ever."""
    usual = found()
    with expressions.used():
        found()
    (file,) = cache.iterdir()
    rows = marshal.loads(file.read_bytes())
    bad = {key: (row[0], [1, 2, 3, 4_000_000_000], row[2], row[3], row[4]) for key, row in rows.items()}
    texts = {"no marshal": b"\x80\x04no", "another type": marshal.dumps([1]), "a row of nonsense": marshal.dumps(bad)}
    file.write_bytes(texts.get(harm, marshal.dumps(bad)))
    file.chmod(0o666 if harm == "writable by others" else 0o600)
    with expressions.used():
        assert found() == usual


def test_no_folder_no_matter(tmp_path, monkeypatch):
    """A cache that cannot be written, and none at all."""
    usual = found()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with expressions.used():
        assert found() == usual
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME")
    with expressions.used():
        assert found() == usual


def test_the_command_says_the_same_with_and_without(tmp_path):
    """`maple-fix` of one log, its cache cold, then warm: the same words and exit code, whole in a pipe."""
    log = tmp_path / "slurm-1.out"
    log.write_text("Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\nKeyError: 'RANK'\n")
    command = str(Path(sys.executable).with_name("maple-fix"))
    environ = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    cold, warm = (
        subprocess.run([command, "--log", str(log)], capture_output=True, env=environ, check=False) for _ in range(2)
    )
    assert (cold.returncode, cold.stdout, cold.stderr) == (warm.returncode, warm.stdout, warm.stderr)
    assert b"KeyError" in warm.stdout and [*(tmp_path / "cache" / "maple").glob("expressions-*")]
