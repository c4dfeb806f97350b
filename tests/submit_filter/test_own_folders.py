"""The user's own state and cache: XDG's folder where it is absolute, else below the home, else nowhere."""

from __future__ import annotations

import os

import pytest
from maple_submit_filter.host import own_folders
from maple_submit_filter.host.own_folders import CACHE, STATE


@pytest.mark.parametrize(
    ("environ", "state", "cache"),
    [
        ({"HOME": "/h"}, "/h/.local/state/maple", "/h/.cache/maple"),
        ({"HOME": "/h", "XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/c"}, "/s/maple", "/c/maple"),
        ({"HOME": "/h", "XDG_STATE_HOME": "s", "XDG_CACHE_HOME": ""}, "/h/.local/state/maple", "/h/.cache/maple"),
        ({"XDG_STATE_HOME": "/s"}, "/s/maple", None),
        ({"HOME": "relative"}, None, None),
        ({}, None, None),
        ({"HOME": "/\udcff"}, "/\udcff/.local/state/maple", "/\udcff/.cache/maple"),
    ],
)
def test_the_folder_is_named_by_the_environment(environ, state, cache):
    """In text and in bytes the same; a relative path counts as not set."""
    assert (own_folders.state(environ), own_folders.cache(environ)) == (state, cache)
    raw = {os.fsencode(name): os.fsencode(value) for name, value in environ.items()}
    assert own_folders.path(STATE, raw) == (os.fsencode(state) if state else None)
    assert own_folders.path(CACHE, raw) == (os.fsencode(cache) if cache else None)


def test_a_folder_is_made_closed_to_others_and_another_kind_of_thing_is_refused(tmp_path):
    """Only what is missing is made, each closed; one that is open to others is closed; a link is no folder."""
    home = os.fsencode(tmp_path)
    made = own_folders.made(STATE, {b"HOME": home})
    assert made == home + b"/.local/state/maple" == own_folders.path(STATE, {b"HOME": home})
    assert [os.stat(tmp_path / name).st_mode & 0o777 for name in (".local", ".local/state")] == [0o700, 0o700]
    os.chmod(made, 0o755)
    assert own_folders.made(STATE, {b"HOME": home}) and os.stat(made).st_mode & 0o777 == 0o700
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache/maple").symlink_to(tmp_path / "elsewhere")
    assert own_folders.made(CACHE, {b"HOME": home}) is None
    assert own_folders.made(CACHE, {}) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a home away")
@pytest.mark.parametrize("there", ["", ".cache", ".cache/maple"])
@pytest.mark.parametrize("variable", ["HOME", "XDG_CACHE_HOME"])
def test_root_has_no_folder_in_another_s_home(tmp_path, variable, there):
    """As with `sudo maple`, which may keep HOME: neither to make one there, nor to believe what lies in it."""
    base = tmp_path / "home"
    (base / there).mkdir(parents=True)
    environ = {variable: str(base)}
    assert own_folders.cache(environ) == str(base / (".cache/maple" if variable == "HOME" else "maple"))
    os.chown(base, 42001, 42001)
    assert own_folders.cache(environ) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder away")
def test_root_has_no_folder_where_another_s_lies_on_the_way(tmp_path):
    """The home is root's own and the cache, or where it leads to, is not."""
    environ = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "link")}
    for name in (".cache", "theirs"):
        (tmp_path / name).mkdir()
        os.chown(tmp_path / name, 42001, 42001)
    (tmp_path / "link").symlink_to("theirs")
    assert own_folders.cache(environ) is None and own_folders.state(environ) is None
    (tmp_path / "link").unlink()
    assert own_folders.state(environ) == str(tmp_path / "link/maple")
