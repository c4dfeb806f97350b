"""Modes are shown and set without touching anything else."""

from __future__ import annotations

import grp
import json
import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from maple_daemon.cli.admin import admin
from maple_submit_filter.host import places

from tests.json_shapes import fits


def shown(cluster):
    """Return what `maple admin mode --json` says."""
    modes = json.loads(cluster.admin("mode", "--json").output)
    fits("mode", modes)
    return modes


def test_the_mode_of_the_site_is_set_in_front_conf(installed):
    """Only the one line changes."""
    config = installed.release / "etc" / "front.conf"
    before = config.read_text()
    assert installed.admin("mode", "observe").exit_code == 0
    assert config.read_text() == before.replace("mode=repair", "mode=observe")
    assert installed.admin("doctor").exit_code == 0


def test_exceptions_are_set_and_taken_back(installed):
    """By partition, Unix group and rule; a group is kept by its number."""
    group = grp.getgrgid(os.getgid()).gr_name
    for words in (["observe", "--partition", "gpu"], ["warn", "--group", group], ["off", "--rule", "MPL301"]):
        assert installed.admin("mode", *words).exit_code == 0
    assert shown(installed) == {
        "mode": "repair", "partitions": {"gpu": "observe"}, "groups": {str(os.getgid()): "warn"},
        "rules": {"MPL301": "off"},
    }  # fmt: skip
    assert f"group {group}: warn" in installed.admin("mode").output
    assert installed.admin("mode", "default", "--partition", "gpu").exit_code == 0
    assert shown(installed)["partitions"] == {}


def test_exceptions_outlive_an_update(installed):
    """They are the site's, not a release's."""
    installed.admin("mode", "observe", "--partition", "gpu")
    assert installed.install(version="0.2.0").exit_code == 0
    assert shown(installed)["partitions"] == {"gpu": "observe"}
    assert f"policy={installed.prefix}/policy.json\n" in (installed.release / "etc/front.conf").read_text()


@pytest.mark.parametrize("command", ["mode", "doctor", "rollback --list", "report"])
def test_the_installation_on_path_needs_no_prefix(installed, command):
    """As `maple site` takes it; what puts Maple there or takes it away is told where."""
    named = installed.admin(*command.split())
    found = CliRunner().invoke(admin, command.split())
    assert found.exit_code == named.exit_code == 0
    assert re.sub(r"\d+ ms", "ms", found.output) == re.sub(r"\d+ ms", "ms", named.output)


@pytest.mark.parametrize("command", ["mode", "doctor", "rollback"])
def test_where_none_is_on_path_the_prefix_is_asked_for(cluster, command):
    """One line, and no look below folders that nobody named."""
    found = CliRunner().invoke(admin, [command])
    assert found.exit_code != 0 and "No installation is on PATH" in found.output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["loud"], "choose one of off, observe, warn, repair"),
        (["warn", "--group", "no-such-group"], "there is no group no-such-group"),
        (["warn", "--rule", "301"], "is no code of a rule"),
        (["off", "--rule", "MPL999"], "there is no rule MPL999"),
        (["warn", "--rule", "MPL301", "--partition", "gpu"], "one at a time"),
        (["--partition", "gpu"], "no mode is named"),
        (["default"], "the site always has a mode"),
    ],
)
def test_what_cannot_be_set_is_said_in_one_line(installed, words, says):
    """And nothing is changed."""
    before = installed.listing()
    result = installed.admin("mode", *words)
    assert result.exit_code == 2 and says in result.output
    assert installed.listing() == before


def test_a_site_that_is_new_here_begins_with_its_own_mode(installed, tmp_path, monkeypatch):
    """A draft only looks on, though another site was repaired before; once it is in force its mode is the one set."""
    known = Path(places.find("site_configs", "ncsa-delta.toml")).read_text()
    draft = known.replace('id = "ncsa-delta"', 'id = "drafted"\nmode = "observe"', 1)
    (tmp_path / "etc/site_configs").mkdir(parents=True)
    (tmp_path / "etc/site_configs/drafted.toml").write_text(draft)
    monkeypatch.setenv("MAPLE_ETC", str(tmp_path / "etc"))
    assert installed.install(site="drafted").exit_code == 0
    assert shown(installed)["mode"] == "observe"
    assert installed.admin("mode", "repair").exit_code == 0
    assert installed.install(site="drafted", version="0.2.0").exit_code == 0
    assert shown(installed)["mode"] == "repair"


def test_an_exception_for_a_partition_that_no_fact_names_is_told(installed, monkeypatch):
    """It is kept, for the list may lack one; where it is complete the exception would never hold."""
    result = installed.admin("mode", "warn", "--partition", "gpuA100")
    assert result.exit_code == 0 and "the facts about ncsa-delta name no gpuA100; they name " in result.output
    assert "gpuA100x4" in result.output and shown(installed)["partitions"] == {"gpuA100": "warn"}
    assert "name no" not in installed.admin("mode", "warn", "--partition", "gpuA100x4").output
    snapshot = Path(os.path.realpath(installed.prefix / "current")) / "etc" / "site.json"
    facts = json.loads(snapshot.read_bytes())
    facts["partitions_complete"] = True
    os.chmod(snapshot, 0o644)
    snapshot.write_text(json.dumps(facts))
    result = installed.admin("mode", "warn", "--partition", "gpuA40")
    assert result.exit_code == 2 and "ncsa-delta has no gpuA40; it has " in result.output
    assert "gpuA40" not in shown(installed)["partitions"]
