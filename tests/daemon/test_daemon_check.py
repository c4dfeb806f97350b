"""`maple-daemon --check` says all that is wrong in one go; what only makes the service less does not stop it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from maple_daemon.base import settings, telemetry
from maple_daemon.cli.daemon import main
from maple_submit_filter.site import snapshot
from maple_submit_filter.site.facts import GENERIC_SLURM


def check(folder: Path, text: str) -> Result:
    """What `--check` says of settings."""
    (folder / "daemon.toml").write_text(text)
    return CliRunner().invoke(main, ["--check", "--config", str(folder / "daemon.toml")])


@pytest.fixture
def conf(tmp_path: Path) -> str:
    """The front's own file of a sound installation."""
    (tmp_path / "site.json").write_text(json.dumps(snapshot.write(GENERIC_SLURM)))
    path = tmp_path / "front.conf"
    path.write_text("mode=warn\nsnapshot=%s\n" % (tmp_path / "site.json"))
    return str(path)


def sound(folder: Path, conf: str) -> str:
    """Settings of which nothing is to be said."""
    return 'conf = "%s"\nsocket = "%s/s"\nstore = "%s/m.db"\nevents_users = ["root"]\n' % (conf, folder, folder)


def test_sound_settings_are_said_in_one_line(tmp_path: Path, conf: str) -> None:
    """Site, mode and socket; nothing is made."""
    before = sorted(tmp_path.iterdir())
    done = check(tmp_path, sound(tmp_path, conf))
    assert (done.exit_code, done.output) == (
        0,
        "settings are right: generic-slurm, mode warn, socket %s/s (%s/daemon.toml)\n" % (tmp_path, tmp_path),
    )
    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "daemon.toml"])


def test_everything_wrong_is_said_at_once(tmp_path: Path) -> None:
    """Keys that are not known, values out of bounds, files that are not there: a line each, and each names its key."""
    text = 'conf = "/proc/nowhere/front.conf"\nsocket = "%s"\nmetrics = "0.0.0.0:80"\nworkers = -1\nlgo = "text"\n' % (
        "/" + "x" * 120
    )
    done = check(tmp_path, text + 'events_users = ["nobody-of-this-name"]\n[keep]\ndays = 0\n')
    assert done.exit_code == 2
    lines = done.output.splitlines()
    for word in ("workers: ", "lgo: ", "keep.days: ", "conf: /proc/nowhere/front.conf: no such file", "socket: ",
                 "metrics: ", "events_users: "):  # fmt: skip
        assert [line for line in lines if word in line and line.startswith("maple-daemon: ")], (word, lines)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('conf = ""', "no `conf`"),
        ('store = "/proc/1/nowhere/m.db"', "store: /proc/1/nowhere/m.db: its folder is not ours to write"),
        ('store = "/proc"', "store: /proc: not a file that we may write"),
        ('spool = "/proc/nowhere"', "spool: /proc/nowhere: no such folder"),
        ('roles = ["events"]', "neither a spool nor an events_socket"),
        ('events_users = ["nobody-of-this-name"]', "there is no user nobody-of-this-name"),
    ],
)
def test_what_only_makes_it_less_is_said_and_does_not_stop_it(tmp_path: Path, conf: str, more: str, said: str) -> None:
    """A service without memory still answers."""
    lines = [line for line in sound(tmp_path, conf).splitlines() if line.split()[0] != more.split()[0]]
    done = check(tmp_path, "\n".join([*lines, more]))
    assert done.exit_code == 0 and said in done.output and "settings are right" in done.output


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("socket = [", "not TOML"),
        ('socket = "\\u0000"', "not a path from the root"),
        ('socket = "run/s"', "not a path from the root"),
        ('socket = "/etc/passwd"', "is there and no socket"),
        ('metrics = "127.0.0.1:http"', "name a socket's path, a port (1 to 65535), or 127.0.0.1:PORT"),
        ("metrics = 0", "name a socket's path, a port"),
        ("metrics = true", "metrics: "),
        ('metrics = "10.0.0.1:9100"', "name a socket's path, a port"),
    ],
)
def test_a_mistake_ends_with_two_and_no_traceback(tmp_path: Path, text: str, said: str) -> None:
    """In one line."""
    done = check(tmp_path, text)
    assert done.exit_code == 2 and said in done.output and "Traceback" not in done.output


@pytest.mark.parametrize("told", ["9100", '"9100"', '":9100"', '"127.0.0.1:9100"'])
def test_a_port_alone_is_one_of_this_host(tmp_path: Path, told: str) -> None:
    """As a number, too."""
    path = tmp_path / "daemon.toml"
    path.write_text("metrics = %s\n" % told)
    found, wrong = settings.examined(str(path))
    assert not wrong and telemetry.place_of(found.metrics) == ("127.0.0.1", 9100)


def test_without_a_name_the_settings_are_those_of_the_installation_on_path(
    tmp_path: Path, conf: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`maple-daemon --check` after `maple admin install --daemon`: no file in /etc, one beside the releases."""
    prefix, commands = tmp_path / "opt", tmp_path / "bin"
    for folder in (prefix / "current" / "etc", prefix / "current" / "bin", commands):
        folder.mkdir(parents=True)
    (prefix / "current" / "etc" / "front.conf").write_text("")
    (prefix / "current" / "bin" / "front").write_text("")
    (prefix / "current" / "bin" / "front").chmod(0o755)
    (commands / "sbatch").symlink_to(prefix / "current" / "bin" / "front")
    (prefix / "daemon.toml").write_text(sound(tmp_path, conf))
    monkeypatch.setenv("MAPLE_ETC", str(tmp_path / "etc"))
    monkeypatch.setenv("PATH", str(commands))
    done = CliRunner().invoke(main, ["--check"])
    assert done.exit_code == 0 and done.output.endswith("(%s/daemon.toml)\n" % prefix)
