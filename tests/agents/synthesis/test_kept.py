"""What was checked once is read without the library that checks it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from maple_agents.ask import sites
from maple_agents.ask.sites.files import parse
from maple_agents.write import clusters


def test_a_kept_table_has_the_keys_and_properties_of_its_class():
    """And nothing in it can be changed."""
    path = sites.path("ncsa-delta")
    with open(path, "rb") as file:
        checked = parse(file.read(), path)
    table = clusters.unpacked(json.loads(json.dumps(clusters.packed(checked))))
    assert table.node["A100x4"].gpus == checked.node["A100x4"].gpus
    assert table.node["A100x4"].sure is True and table.modules.pytorch[0].load == checked.modules.pytorch[0].load
    with pytest.raises(AttributeError):
        table.name = "x"


@pytest.mark.parametrize("broken", [b"", b"{}", b'{"of": "x"}', b"[1]", b"\xff"])
def test_a_cache_that_is_broken_is_done_without(broken, tmp_path, monkeypatch):
    """It is made anew."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    right = clusters.cluster("tacc-vista")
    path = tmp_path / "maple" / "clusters" / "tacc-vista.json"
    path.write_bytes(broken)
    assert clusters.cluster("tacc-vista").launches == right.launches
    assert path.read_bytes() != broken


def test_a_changed_template_is_seen(tmp_path, monkeypatch):
    """The administrator's own file stands before ours at once."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("MAPLE_ETC", str(tmp_path / "etc"))
    before = clusters.cluster("ncsa-delta").environment
    assert before is not None
    folder = tmp_path / "etc" / "templates" / "environment"
    folder.mkdir(parents=True)
    (folder / "ncsa-delta.toml").write_text('revision = 99\nwhy = "ours"\nsources = ["https://example.org"]\n')
    after = clusters.cluster("ncsa-delta").environment
    assert after is not None and (after.revision, before.revision < 99) == (99, True)


def test_a_site_without_a_part_of_its_own_has_what_its_file_says(maple, tmp_path, monkeypatch):
    """The module that brings PyTorch, and variables; nothing of low confidence. The script says that it is a draft."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("MAPLE_ETC", str(tmp_path / "etc"))
    (tmp_path / "etc" / "site_configs").mkdir(parents=True)
    with open(sites.path("ncsa-delta"), encoding="utf-8") as file:
        text = file.read().replace('id = "ncsa-delta"', 'id = "drafted"')
    ways = '[[modules.pytorch]]\nload = ["module load %s"]\nsource = ["delta-jobs"]\n%s\n'
    tables = ways % ("hearsay", 'confidence = "low"') + ways % ("torch-of-ours", "")
    at = text.index("[[modules.pytorch]]")
    (tmp_path / "etc" / "site_configs" / "drafted.toml").write_text(text[:at] + tables + text[at:])
    made = maple(
        "new", "--site", "drafted", "--set", "account=a", "train.py with DDP on 2 nodes, 1 hour, 200G memory"
    ).out
    assert "\nmodule load torch-of-ours\n" in made and "hearsay" not in made, made
    assert "environment as drafted from" in made
    assert clusters.cluster("drafted").environment.revision == 0
    unsaid = maple("new", "--site", "drafted", "--set", "account=a", "train.py with DDP on 2 nodes, 1 hour")
    assert "no memory is requested" in unsaid.err and "the site's environment part" in unsaid.err, unsaid


def test_a_warm_answer_needs_neither_pydantic_nor_the_reading_of_logs(tmp_path):
    """The first alone would take most of the time that an answer may take, the second a sixth of it."""
    code = (
        "import sys\nfrom maple_agents.cli.main import run\n"
        "run(['new', '--site', 'ncsa-delta', '--set', 'account=a', '--json', 'train.py with DDP on 2 nodes'])\n"
        "print('pydantic' in sys.modules, 'maple_agents.diagnose.read' in sys.modules, file=sys.stderr)"
    )
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    for told in ("True False", "False False"):
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        assert done.stderr.splitlines()[-1] == told
