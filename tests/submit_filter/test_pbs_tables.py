"""What was measured at a real qsub, row by row: our reader agrees with each row that needs nothing of the server."""

from __future__ import annotations

import glob
import os
from typing import Any

import pytest
import tomllib
from maple_submit_filter.request.pbs import select
from maple_submit_filter.request.pbs import submission as pbs
from maple_submit_filter.request.pbs.refusals import refusals

from tests.submit_filter.pbs_cases import FOLDER

OF_THE_SERVER = ("Unknown resource", "Bad UID", "Bad GID", "cannot connect", "Unknown queue", "Array job exceeds")
OF_THE_FILE = ("script file", "script not a file", "opening script")
OF_THE_CALL = ("must be a terminal", "cannot send environment")  # a name that does not travel may be set


def rows() -> list[Any]:
    found = []
    for path in sorted(glob.glob(os.path.join(os.path.dirname(FOLDER), "tables", "*.toml"))):
        with open(path, "rb") as file:
            found += [
                pytest.param(row, id="%s: %s" % (os.path.basename(path)[:-5], row["says"]))
                for row in tomllib.load(file)["row"]
            ]
    return found


def environment(row: dict[str, Any]) -> dict[bytes, bytes]:
    return {name.encode(): value.encode() for name, value in row.get("environment", {}).items()}


def read(row: dict[str, Any]) -> tuple[pbs.ArgvReading, pbs.JobScript | None, bytes]:
    """Return the words, the script where one is read, and its name."""
    argv = [b"qsub", *(word.encode() for word in row["words"])]
    words, around = pbs.read_argv(argv), environment(row)
    path = argv[words.script_index] if words.script_index is not None else b""
    if words.executable is not None:
        return words, None, path
    text = row.get("script", "") if path else row.get("stdin", "")
    prefix, shell = pbs.prefix_in_force(words, around), pbs.shell_in_force(words, around)
    return words, pbs.read_script(text.encode(), prefix, shell), path


@pytest.mark.parametrize("row", rows())
def test_what_qsub_refuses_is_foretold_and_what_it_takes_is_not(row):
    words, script, path = read(row)
    found = refusals(words, environment(row), script, path)
    stderr = "".join((row.get("stderr", ""), *row.get("stderr_has", ())))
    known = (*OF_THE_SERVER, *OF_THE_FILE, *OF_THE_CALL)
    if row.get("setup") or "terminal" in row or "signal" in row or any(text in stderr for text in known):
        assert found == ()
    elif row.get("exit", 0) or "illegal" in stderr or "too long" in stderr:
        assert found and (found[0].text in stderr or not stderr)
        assert found[0].usage == row.get("usage", found[0].usage)
        assert found[0].exit_code == row.get("exit", found[0].exit_code)
    else:
        assert found == ()


OF_RESOURCES = [row for row in rows() if row.values[0]["words"][:1] == ["-l"] and not row.values[0].get("setup")]


@pytest.mark.parametrize("row", OF_RESOURCES)
def test_resources_in_a_directive_fare_as_on_the_command_line(row):
    script = "#!/bin/sh\n#PBS %s\n" % " ".join(row["words"][:-1])
    here, there = read(row), read({"words": ["job.sh"], "script": script})
    on_command_line, in_script = (refusals(one[0], {}, one[1], one[2]) for one in (here, there))
    assert [(one.text, one.exit_code) for one in in_script] == [(one.text, one.exit_code) for one in on_command_line]
    assert all(one.setting is not None and one.setting.origin.line == 2 for one in in_script)


@pytest.mark.parametrize("row", [row for row in rows() if {"sets", "unset", "name", "given"} & set(row.values[0])])
def test_a_request_amounts_to_what_was_measured(row):
    words, script, path = read(row)
    said = pbs.settings(words, environment(row), script)
    assert {name: said.value(name) for name in row.get("sets", {})} == {
        name: value.encode() for name, value in row.get("sets", {}).items()
    }
    assert not [name for name in row.get("unset", ()) if name in said]
    assert pbs.job_name(said, path).decode() == row.get("name", pbs.job_name(said, path).decode())
    if "given" in row:
        assert given(said) == row["given"]["select"]


def given(said: pbs.Settings) -> str:
    """Return the chunks that come of a request, written as a select."""
    nodes = said.value("nodes")
    chunks = select.nodes_form(nodes) if nodes is not None else select.job_wide({one.name: one.value for one in said})
    return "+".join(
        ":".join([str(one.count), *("%s=%s" % (each.name.decode(), each.value.decode()) for each in one.resources)])
        for one in chunks or ()
    )
