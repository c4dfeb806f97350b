"""`maple new --model`: a real server reads along; one that fails costs a line and nothing else."""

from __future__ import annotations

import json

import pytest

from tests.agents.models.failures import FAILURES
from tests.agents.models.served import saying, served

REQUEST = "train.py with DDP on 2 nodes of Delta for 1 hour, partition gpuA100x4. We budget: xy17"
ELSEWHERE = "train.py with DDP on 2 nodes of Polaris for 1 hour, queue debug-scaling, filesystems home. We budget: xy17"
READ = json.dumps({"slots": [{"slot": "account", "value": "xy17", "quote": "We budget: xy17"}]})
LIE = json.dumps({"slots": [{"slot": "account", "value": "root", "quote": "We budget: root"}]})


@pytest.fixture
def alone(monkeypatch, tmp_path):
    """No settings of the machine."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MAPLE_ETC", str(tmp_path / "etc"))
    for name in ("XDG_CONFIG_HOME", "MAPLE_MODEL", "MAPLE_MODEL_KEY", "MAPLE_MODEL_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "etc").mkdir()


@pytest.mark.usefixtures("alone")
def test_a_model_finds_what_the_grammar_does_not(maple):
    with served(saying(READ)) as server:
        said = maple("new", "--json", "--model", f"{server.url}#tiny", ELSEWHERE)
    answer = json.loads(said.out)
    assert said.code == 0, said.err
    assert answer["slots"]["account"] == "xy17"
    assert "#PBS -A xy17" in answer["script"]


@pytest.mark.usefixtures("alone")
def test_what_a_model_reads_has_the_form_that_the_site_knows(maple):
    """An account of Delta ends with -delta-gpu or -delta-cpu, so this is none, and is asked for."""
    with served(saying(READ)) as server:
        said = maple("new", "--json", "--model", f"{server.url}#tiny", REQUEST)
    assert said.code == 3 and "account" in json.loads(said.out)["missing"]


@pytest.mark.usefixtures("alone")
def test_a_model_that_lies_changes_no_script(maple):
    bare = maple("new", "--json", "--model", "none", REQUEST)
    with served(saying(LIE)) as server:
        said = maple("new", "--json", "--model", f"{server.url}#tiny", REQUEST)
    assert (said.code, said.out) == (bare.code, bare.out)
    assert "root" not in said.out


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("failure", ["garbage", "fails", "answers nothing", "another shape", "breaks off"])
def test_a_server_that_fails_costs_one_line(maple, failure):
    bare = maple("new", "--json", "--model", "none", REQUEST)
    with served(FAILURES[failure].reply) as server:
        said = maple("new", "--json", "--model", f"{server.url}#tiny", REQUEST)
    assert (said.code, said.out) == (bare.code, bare.out)
    more = [line for line in said.err.splitlines() if line not in bare.err.splitlines()]
    assert len(more) == 1 and "read without it" in more[0]


@pytest.mark.usefixtures("alone")
def test_a_model_that_cannot_be_had_is_one_line(maple):
    said = maple("new", "--json", "--model", "/no/such/folder", REQUEST)
    assert said.code == 2 and said.out == ""
    assert len(said.err.splitlines()) == 1 and "config.json" in said.err
