"""`maple admin purge|backup|check` without --config: whose memory is meant."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from click.testing import CliRunner
from maple_daemon.cli.admin import admin
from maple_daemon.store import open_store


def _memory(folder: Any, name: str = "daemon.toml") -> str:
    """Settings in that folder, and the store that they name."""
    folder.mkdir(parents=True, exist_ok=True)
    store = str(folder / "memory.db")
    open_store(store).close()
    (folder / name).write_text('store = "%s"\n' % store)
    return store


def _linked(prefix: Any, bin: Any, name: str) -> None:
    """An installation as `maple admin install` leaves it: DIR/sbatch → current → a release's front."""
    front = prefix / "releases/0.1.0-abc/bin/front"
    front.parent.mkdir(parents=True)
    front.write_text("#!/bin/sh\n")
    front.chmod(0o755)
    (front.parent.parent / "etc").mkdir()
    (front.parent.parent / "etc" / "front.conf").write_text("mode=repair\n")
    (prefix / "current").symlink_to("releases/0.1.0-abc")
    bin.mkdir(exist_ok=True)
    (bin / name).symlink_to(prefix / "current/bin/front")


def _checked(path: Any, *words: str, **environment: str) -> str:
    """The store that `maple admin check` has looked at."""
    told = {"PATH": str(path), "MAPLE_PREFIX": "", **environment}
    done = CliRunner().invoke(admin, ["check", "--json", *words], env=told)
    assert done.exit_code == 0, done.output
    return str(json.loads(done.output)["store"])


@pytest.mark.parametrize("name", ["sbatch", "qsub"])
def test_the_memory_of_the_installation_in_path_is_meant(tmp_path: Any, name: str) -> None:
    """As its links say, before that of /etc/maple; what --config names comes before both."""
    own, etc = _memory(tmp_path / "maple"), _memory(tmp_path / "etc")
    _linked(tmp_path / "maple", tmp_path / "bin", name)
    place = {"MAPLE_ETC": str(tmp_path / "etc")}
    assert _checked(tmp_path / "bin", **place) == own
    assert _checked(tmp_path / "empty", **place) == etc
    assert _checked(tmp_path / "bin", "--config", str(tmp_path / "etc/daemon.toml"), **place) == etc


def test_maple_prefix_names_the_installation(tmp_path: Any) -> None:
    """Before the one that stands in PATH, as for the other commands."""
    _memory(tmp_path / "maple")
    _linked(tmp_path / "maple", tmp_path / "bin", "sbatch")
    other = _memory(tmp_path / "other")
    assert _checked(tmp_path / "bin", MAPLE_PREFIX=str(tmp_path / "other")) == other


def test_an_installation_without_a_service_has_no_say(tmp_path: Any) -> None:
    """Nor has an sbatch that is none of ours."""
    _linked(tmp_path / "maple", tmp_path / "bin", "sbatch")
    _memory(tmp_path / "bin/releases")
    etc = _memory(tmp_path / "etc")
    assert _checked(tmp_path / "bin", MAPLE_ETC=str(tmp_path / "etc")) == etc
    os.unlink(tmp_path / "bin/sbatch")
    (tmp_path / "bin/sbatch").write_text("#!/bin/sh\n")
    (tmp_path / "bin/sbatch").chmod(0o755)
    assert _checked(tmp_path / "bin", MAPLE_ETC=str(tmp_path / "etc")) == etc
