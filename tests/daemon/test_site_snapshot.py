"""The snapshot holds all that the submit path knows of a site, and is never half written."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from maple_agents.ask import sites
from maple_daemon.sites import snapshot
from maple_submit_filter.site.facts import Site
from maple_submit_filter.site.snapshot import from_snapshot, write


@pytest.mark.parametrize("name", sites.ids())
def test_a_snapshot_gives_the_site_back(name: str) -> None:
    """Through JSON, as the helper reads it."""
    site = sites.load(name)
    assert from_snapshot(json.loads(json.dumps(write(site)))) == site


def test_another_fact_is_another_revision_and_another_comment_is_not() -> None:
    """What was verified for one revision holds for it alone."""
    source = Path(sites.path("ncsa-delta")).read_bytes()
    site = sites.read(source, "ncsa-delta.toml")
    assert sites.read(source + b"# seen\n", "ncsa-delta.toml").revision == site.revision
    assert sites.read(source.replace(b"gpus = 4", b"gpus = 5", 1), "ncsa-delta.toml").revision != site.revision


def broken(change: Any) -> Any:
    data = write(sites.load("ncsa-delta"))
    change(data)
    return data


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data.update(format=2), "site snapshot: format 2, this Maple reads 1"),
        (lambda data: data.pop("format"), "site snapshot: format None, this Maple reads 1"),
        (lambda data: data.pop("id"), "site snapshot: 'id' is missing"),
        (lambda data: data.update(kindz=[]), "site snapshot: unknown key 'kindz'"),
        (lambda data: data.update(kinds={}), "site snapshot: kinds: not a list"),
        (lambda data: data["kinds"][1].update(gpus="4"), "site snapshot: kinds[1]: gpus: not a count"),
        (lambda data: data["kinds"][1].update(gpus=True), "site snapshot: kinds[1]: gpus: not a count"),
        (lambda data: data["partitions"][0].update(sure=1), "site snapshot: partitions[0]: sure: not true or false"),
        (lambda data: data.update(gpu_request="no"), "site snapshot: gpu_request: not an object"),
        (lambda data: data.update(mode=None), "site snapshot: mode: not a text"),
    ],
)
def test_a_broken_snapshot_is_refused_in_one_line(change: Any, said: str) -> None:
    """With the place in it."""
    with pytest.raises(ValueError) as caught:
        from_snapshot(broken(change))
    assert str(caught.value) == said


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda a: st.lists(a) | st.dictionaries(st.text(), a)
    )
)
def test_any_json_is_a_site_or_a_value_error(data: Any) -> None:
    """Never another error."""
    with pytest.raises(ValueError):
        from_snapshot(data)


def test_saving_keeps_the_last_one(tmp_path: Path) -> None:
    """So that a bad day can be undone by hand."""
    target = tmp_path / "etc" / "site.json"
    delta, anvil = sites.load("ncsa-delta"), sites.load("purdue-anvil")
    assert snapshot.save(delta, target) and not snapshot.last(target).exists()
    assert snapshot.save(anvil, target)
    assert (snapshot.load(target), snapshot.load(snapshot.last(target))) == (anvil, delta)
    assert sorted(os.listdir(target.parent)) == ["site.json", "site.json.last"]


def test_saving_the_same_again_changes_nothing(tmp_path: Path) -> None:
    """Else the last one would be lost."""
    target = tmp_path / "site.json"
    snapshot.save(sites.load("purdue-anvil"), target)
    snapshot.save(sites.load("ncsa-delta"), target)
    assert not snapshot.save(sites.load("ncsa-delta"), target)
    assert snapshot.load(snapshot.last(target)).id == "purdue-anvil"


def test_every_user_may_read_it_whatever_the_umask(tmp_path: Path) -> None:
    """The helper runs as the user."""
    before = os.umask(0o077)
    try:
        snapshot.save(sites.load("ncsa-delta"), tmp_path / "site.json")
    finally:
        os.umask(before)
    assert (tmp_path / "site.json").stat().st_mode & 0o777 == 0o644


def test_what_fails_to_be_written_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk, say."""
    target = tmp_path / "site.json"
    snapshot.save(sites.load("ncsa-delta"), target)

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError):
        snapshot.save(sites.load("purdue-anvil"), target)
    assert snapshot.load(target).id == "ncsa-delta" and os.listdir(tmp_path) == ["site.json"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"format": 1}'])
def test_a_broken_file_is_one_line_that_names_it(tmp_path: Path, content: bytes) -> None:
    """Not a traceback."""
    target = tmp_path / "site.json"
    target.write_bytes(content)
    with pytest.raises(ValueError) as caught:
        snapshot.load(target)
    assert str(caught.value).startswith(str(target)) and "\n" not in str(caught.value)


def test_a_site_is_loaded_with_and_without_its_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache is a convenience: broken or in the way, it changes nothing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = sites.load("ncsa-delta")
    (kept,) = (tmp_path / "maple" / "sites").iterdir()
    assert from_snapshot(json.loads(kept.read_bytes())["site"]) == first == sites.load("ncsa-delta")
    for content in (b"{", b"[]", b"{}", b'{"of": "another file", "site": {}}'):
        kept.write_bytes(content)
        assert sites.load("ncsa-delta") == first
    monkeypatch.setenv("XDG_CACHE_HOME", str(kept))
    assert sites.load("ncsa-delta") == first


def test_the_files_of_the_site_itself_stand_before_those_that_come_with_maple(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An administrator's file of the same name wins, and a new one is found."""
    mine = tmp_path / "site_configs"
    mine.mkdir()
    source = Path(sites.path("ncsa-delta")).read_text()
    (mine / "ncsa-delta.toml").write_text(source.replace("gpus = 4", "gpus = 5", 1))
    (mine / "mine.toml").write_text('id = "mine"\nname = "M"\nchecked = 2026-11-20\n[scheduler]\ntype = "slurm"\n')
    monkeypatch.setenv("MAPLE_ETC", str(tmp_path))
    assert sites.load("ncsa-delta").kinds[0].gpus == 5
    assert "mine" in sites.ids() and sites.load("mine") == Site("mine", sites.load("mine").revision, "slurm")


@pytest.mark.parametrize("name", ["nope", "../README", "", "example.toml"])
def test_a_site_that_is_not_there_is_one_line(name: str) -> None:
    """With those that are."""
    with pytest.raises(ValueError, match="there is no such site; known are [a-z0-9, -]*alcf-aurora, "):
        sites.load(name)
