"""`maple admin purge|backup|check`: an administrator keeps the memory of the service in order while it runs."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import time
from typing import Any

import pytest
from click.testing import CliRunner, Result
from maple_daemon.cli.admin import admin
from maple_daemon.store import open_store
from maple_daemon.store.protocol import Store

from tests.daemon.serving import WRONG, Daemon, request
from tests.daemon.store.jobs import record, version
from tests.json_shapes import fits

LATE = 4e9  # long after any clock


@pytest.fixture
def settings(tmp_path: Any) -> str:
    """A daemon.toml that names a store."""
    (tmp_path / "daemon.toml").write_text('store = "%s"\nkeep.versions_of_user = 2\n' % (tmp_path / "memory.db"))
    return str(tmp_path / "daemon.toml")


@pytest.fixture
def store(settings: str, memory: Store) -> Store:
    """That store, open as the daemon has it, with three versions of one user and one of another."""
    for number in range(3):
        memory.keep_version(version("v%d" % number, at=LATE + number))
    memory.keep_version(version("old", uid=1002, at=1.0))
    memory.keep_record(record(at=LATE))
    return memory


def run(*words: str) -> Result:
    """`maple admin WORDS`."""
    return CliRunner().invoke(admin, list(words))


def test_purge_does_what_the_service_does_each_hour(settings: str, store: Store) -> None:
    """By age and by number, as the settings say."""
    done = run("purge", "--config", settings)
    assert (done.exit_code, done.output) == (0, "removed: versions 2, submissions 0, decisions 0\n")
    assert [one.id for one in store.versions(1001)] == ["v2", "v1"] and store.versions(1002) == []


@pytest.mark.parametrize("command", ["purge", "check"])
def test_an_installation_is_named_as_for_every_other_command(settings: str, store: Store, command: str) -> None:
    """By --prefix: its daemon.toml says where the memory is; --config is for settings elsewhere."""
    assert run(command, "--prefix", os.path.dirname(settings)).exit_code == 0
    assert len(store.versions(1001)) == (2 if command == "purge" else 3)
    done = run(command, "--prefix", "/nowhere")
    assert done.exit_code != 0 and "/nowhere/daemon.toml" in done.output


def test_purge_by_age(settings: str, store: Store) -> None:
    """In days, of all users."""
    store.keep_version(version("young", uid=1003, at=4e9))
    done = run("purge", "--config", settings, "--older-than", "1")
    assert done.exit_code == 0 and store.versions(1002) == [] and len(store.versions(1003)) == 1


@pytest.mark.parametrize("user", ["1001", "name"])
def test_purge_of_a_user_leaves_nothing_of_him_and_all_of_others(settings: str, store: Store, user: str) -> None:
    """By uid or by name."""
    me = pwd.getpwuid(os.getuid())
    uid = 1001 if user == "1001" else me.pw_uid
    store.keep_version(version(uid=uid))
    done = run("purge", "--config", settings, "--user", user if user == "1001" else me.pw_name)
    assert done.exit_code == 0 and "of uid %d:" % uid in done.output
    assert store.versions(uid) == [] and store.records(uid) == []
    assert len(store.versions(1002)) == 1


def test_purge_of_a_user_tells_of_copies_that_were_laid_aside(settings: str, store: Store, tmp_path: Any) -> None:
    """They may hold rows of his."""
    (tmp_path / "memory.db.broken-20260101T000000Z").write_text("x")
    assert "broken-20260101T000000Z" in run("purge", "--config", settings, "--user", "1001").output
    assert "broken-20260101T000000Z" in run("check", "--config", settings).output


def test_backup_is_a_store_and_overwrites_nothing(settings: str, store: Store, tmp_path: Any) -> None:
    """A name without a folder lies where one stands."""
    copy = str(tmp_path / "copy.db")
    assert run("backup", "--config", settings, copy).exit_code == 0
    again = run("backup", "--config", settings, copy)
    assert again.exit_code == 2 and "exists" in again.output and len(again.output.splitlines()) == 1
    found = open_store(copy)
    assert found.versions(1001) == store.versions(1001)
    found.close()


def test_check_says_sound_or_what_is_wrong(settings: str, store: Store, tmp_path: Any) -> None:
    """With exit code 1; the file stays where it is."""
    assert run("check", "--config", settings).output == "%s: sound\n" % (tmp_path / "memory.db")
    for number in range(200):
        store.keep_version(version("w%d" % number, argv=("x" * 500,)))
    store.close()
    with open(tmp_path / "memory.db", "r+b") as file:
        file.seek(4096 * 8)
        file.write(b"\xa5" * 4096 * 20)
    done = run("check", "--config", settings, "--json")
    assert done.exit_code == 1
    told = json.loads(done.output)
    fits("memory", told)
    assert told["wrong"] and told["laid_aside"] == [] and told["store"] == str(tmp_path / "memory.db")
    assert (tmp_path / "memory.db").exists()


@pytest.mark.parametrize("words", [("purge",), ("backup", "copy.db"), ("check",)], ids=str)
@pytest.mark.parametrize(
    "told, says",
    [
        ('store = ""', "name no store"),
        ('store = "/nowhere/memory.db"', "no such file"),
        ("stor = 1", "stor"),
        ('store = "postgresql://a:hush@b/c"', "holds a password"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    tmp_path: Any, words: tuple[str, ...], told: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing is made."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "daemon.toml").write_text(told)
    done = run(words[0], "--config", str(tmp_path / "daemon.toml"), *words[1:])
    assert done.exit_code == 2 and says in done.output and len(done.output.splitlines()) == 1
    assert "hush" not in done.output and os.listdir(tmp_path) == ["daemon.toml"]


@pytest.mark.parametrize(
    "words, says",
    [
        (("--user", "no such user"), "no such user here"),
        (("--user", "1001", "--older-than", "3"), "whatever its age"),
        (("--older-than", "0"), "0"),
    ],
)
def test_a_purge_that_is_not_clear_removes_nothing(
    settings: str, store: Store, words: tuple[str, ...], says: str
) -> None:
    """A name that nobody has, or two wishes that contradict each other."""
    done = run("purge", "--config", settings, *words)
    assert done.exit_code == 2 and says in done.output
    assert len(store.versions(1001)) == 3 and len(store.versions(1002)) == 1


def test_all_of_it_works_while_the_service_runs(tmp_path: Any) -> None:
    """The service goes on, and remembers anew."""
    daemon = Daemon().start()
    try:
        config = daemon.folder + "/daemon.toml"
        daemon.ask(request())
        wait_for_decisions(daemon.store)  # it is kept behind the answer
        assert run("check", "--config", config).exit_code == 0
        assert run("backup", "--config", config, str(tmp_path / "copy.db")).exit_code == 0
        assert run("purge", "--config", config, "--user", str(os.getuid())).exit_code == 0
        assert daemon.ask(request(WRONG + b"# another\n")) is not None
        assert daemon.stop() == 0
        wait_for_decisions(daemon.store)
        assert "does not work" not in daemon.said
    finally:
        shutil.rmtree(daemon.folder)


def wait_for_decisions(path: str) -> None:
    """Until the store holds some; the test's own timeout ends a vain wait."""
    while not os.path.exists(path):
        time.sleep(0.02)
    store: Any = open_store(path)
    while store._run.rows("SELECT COUNT(*) FROM decisions") == [(0,)]:
        time.sleep(0.02)
    store.close()
