"""Cases in TOML files hold scripts byte for byte, and what is written is read back as it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import tomllib
from hypothesis import given
from hypothesis import strategies as st

from tests import case_files
from tests.case_files import CASES, File, files, keyed, rows, text, written

SCRIPTS = sorted(
    os.path.join(at, name)
    for folder in ("rules", "launch", "right", "pbs/right")
    for at, _, names in os.walk(os.path.join(CASES, folder))
    for name in names
) + [os.path.join(CASES, of + ".toml") for of in ("tricky", "wrong", "pbs/tricky", "pbs/wrong")]


@given(st.one_of(st.binary(), st.text(), st.lists(st.sampled_from(["'''", "\n", "\r", "\\", '"', "é", "\x7f", "\t"]))))
def test_any_bytes_come_out_as_they_went_in(content: bytes | str | list[str]) -> None:
    raw = content if isinstance(content, bytes) else "".join(content).encode()
    beside = {"path": "a/b", "executable": True, **keyed("text", raw)}
    case = {"name": "one", "why": "it's so", "finds": list[str](), **keyed("script", raw), "file": [beside]}
    (row,) = tomllib.loads(written([case]))["case"]
    assert text(row, "script") == raw
    assert files(row) == (File("a/b", raw, True),)


def test_every_corpus_is_written_as_it_was_read() -> None:
    for path in SCRIPTS:
        with open(path, "rb") as file:
            cases = tomllib.load(file)["case"]
        assert tomllib.loads(written(cases))["case"] == cases, path


@pytest.mark.parametrize(
    ("cases", "says"),
    [
        ([{"name": "a", "why": "b", "finds": [], "color": "red"}], "x.toml: a: color: no such key"),
        ([{"name": "a", "finds": []}], "x.toml: a: a case that stays silent says why it must"),
        ([{"name": "a", "finds": ["1"]}, {"name": "a", "finds": ["2"]}], "x.toml: a: two cases have this name"),
    ],
)
def test_a_mistake_in_a_file_is_one_line(tmp_path: Path, cases: list[case_files.Row], says: str) -> None:
    (tmp_path / "x.toml").write_text(written(cases))
    with pytest.raises(ValueError) as refused:
        rows(str(tmp_path / "x.toml"), ())
    assert str(refused.value) == says


def test_a_script_is_added_and_shown_byte_for_byte(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    script, cases = tmp_path / "job.sh", tmp_path / "x.toml"
    script.write_bytes(b"#!/bin/bash\r\necho \xe9")
    cases.write_text(written([{"name": "a", "finds": ["MPL301"]}]))
    assert case_files.main(["add", str(cases), "b", str(script), "it is right"]) == 0
    assert [row["name"] for row in rows(str(cases), ("script",))] == ["a", "b"]
    assert case_files.main(["show", str(cases), "b"]) == 0
    assert capfdbinary.readouterr().out == script.read_bytes()
