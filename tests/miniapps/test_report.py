"""A report is one line and one file, both whole, whatever is in them."""

from __future__ import annotations

import json

import pytest
from maple_miniapps import phases

FACTS = {"miniapp": "dry", "rank": 3, "error": None}


def test_a_line_is_one_line_that_a_pipe_keeps_whole():
    huge = {
        **FACTS,
        "given": {"RANK": "x" * 3000},
        "machine": {"cpus": "1," * 1000},
        "error": phases.error_facts(ValueError("a\nb\x1b[31m" + "é" * 5000)),
    }
    line = phases.line(huge)
    assert len(line) <= 4096 and line.count(b"\n") == 1 and line.endswith(b"\n") and b"\x1b" not in line
    said = json.loads(line[len(phases.PREFIX) :])
    assert said["left_out"] == ["given"]
    assert said["machine"] == huge["machine"] and said["error"]["says"].startswith("a b")


def test_nothing_is_left_out_of_a_short_line():
    assert json.loads(phases.line(FACTS)[len(phases.PREFIX) :]) == FACTS


def test_the_file_is_replaced_and_leaves_nothing_beside_it(tmp_path):
    path = phases.path_of(str(tmp_path), FACTS)
    phases.save(path, FACTS)
    phases.save(path, {**FACTS, "rank": 4})
    (only,) = tmp_path.iterdir()
    assert json.loads(only.read_text())["rank"] == 4


def test_two_processes_with_one_rank_have_two_files(tmp_path):
    assert phases.path_of(str(tmp_path), FACTS) != phases.path_of(str(tmp_path), FACTS)


@pytest.mark.parametrize("host", ["../../etc/passwd", "a b;c", "x" * 500, ""])
def test_no_host_name_leads_out_of_the_folder(tmp_path, monkeypatch, host):
    monkeypatch.setattr(phases.socket, "gethostname", lambda: host)
    phases.save(phases.path_of(str(tmp_path), FACTS), FACTS)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_that_is_not_there_is_told_and_not_made(tmp_path):
    facts = dict(FACTS)
    phases.save(phases.path_of(str(tmp_path / "gone"), facts), facts)
    assert "No such file" in facts["file_error"] and not (tmp_path / "gone").exists()
