"""The scheduler's hooks are placed with this installation's folders, and whether they are heard is looked at."""

from __future__ import annotations

import json
import os
import stat
import subprocess

import pytest
from maple_daemon.base.settings import load
from maple_daemon.install import trials
from maple_daemon.install.service import hooks

REFUSES = """#!/bin/sh
test "$1" = --version && exec echo slurm 24.11
echo no account >&2
exit 1
"""
QSUB = '#!/bin/sh\ntest "$1" = --version && exec echo pbs_version = 23.06.06\necho 7.server\n'


@pytest.fixture
def words(cluster):
    """Options of an installation with hooks, everything below the cluster's root."""
    return (
        "--daemon", "--service-uid", str(os.getuid()), "--units", str(cluster.root / "units"), "--hooks",
        "--socket", f"/tmp/maple-none-{os.getpid()}", "--spool", str(cluster.root / "spool" / "events"),
    )  # fmt: skip


def wrong(cluster):
    """What doctor finds wrong of the hooks."""
    said = json.loads(cluster.admin("doctor", "--json").output)
    return [one["says"] for one in said if one["name"] == "hooks" and one["state"] == "wrong"]


def test_on_slurm_they_tell_the_folder_that_the_service_looks_at(cluster, words):
    """And are programs where they have to be."""
    assert cluster.install(*words).exit_code == 0
    spool = cluster.root / "spool" / "events"
    assert load(str(cluster.prefix / "daemon.toml")).spool == str(spool)
    placed = cluster.prefix / "hooks"
    assert f'local SPOOL = "{spool}"' in (placed / "cli_filter.lua").read_text()
    assert f"SPOOL={spool}\n" in (placed / "events.conf").read_text()
    assert (
        os.access(placed / "job_ended", os.X_OK) and subprocess.run(["sh", "-n", placed / "job_ended"]).returncode == 0
    )
    assert stat.S_IMODE(spool.stat().st_mode) == (0o1733 if os.geteuid() == 0 else 0o700)
    assert wrong(cluster) == []


def test_on_pbs_it_is_one_hook(cluster, words):
    """With the lines for qmgr."""
    cluster.real.with_name("qsub").write_text(QSUB)
    cluster.real.with_name("qsub").chmod(0o755)
    cluster.monkeypatch.setenv("PATH", cluster.path)
    done = cluster.install(*words, site="alcf-polaris")
    assert done.exit_code == 0 and "import hook maple application/x-python default" in done.output
    text = (cluster.prefix / "hooks" / "maple_job_end.py").read_text()
    assert f'SPOOL = "{cluster.root}/spool/events"' in text and 'SOCKET = ""' in text
    compile(text, "maple_job_end.py", "exec")


@pytest.mark.parametrize(
    ("site", "hook", "line"),
    [
        ("alcf-polaris", "maple_job_end.py", "PBS goes by a copy, so renew it:\n    qmgr -c 'import hook maple "),
        ("ncsa-delta", "cli_filter.lua", "each login node goes by a copy, so renew it:\n    install -m 0644 "),
    ],
)
def test_an_update_says_which_copy_of_a_hook_is_an_old_one(cluster, words, site, hook, line):
    """It is made already, so the lines that make it would fail; where the hook is the same they are said again."""
    cluster.real.with_name("qsub").write_text(QSUB)
    cluster.real.with_name("qsub").chmod(0o755)
    cluster.monkeypatch.setenv("PATH", cluster.path)
    first = cluster.install(*words, site=site).output
    assert cluster.install(*words, site=site, version="0.2.0").output.count("hooks: on") == first.count("hooks: on") > 0
    shipped = hooks._shipped
    cluster.monkeypatch.setattr(hooks, "_shipped", lambda *of: shipped(*of) + b"\n")
    said = cluster.install(*words, site=site, version="0.3.0").output
    assert line in said and hook in said and "hooks: on" not in said


def test_an_update_keeps_them_and_no_hooks_takes_them_away(cluster, words):
    """What the administrator changed in events.conf stays his."""
    cluster.install(*words)
    own = cluster.prefix / "hooks" / "events.conf"
    own.write_text(own.read_text() + "# mine\n")
    cluster.install("--daemon", "--service-uid", str(os.getuid()), version="0.2.0")
    assert (cluster.prefix / "hooks" / "job_ended").is_file() and "# mine" in own.read_text()
    assert cluster.install("--no-hooks", version="0.2.0").exit_code == 0
    assert not (cluster.prefix / "hooks" / "job_ended").exists()


def test_without_a_service_they_are_refused(cluster):
    """There is nobody to tell."""
    done = cluster.install("--hooks")
    assert done.exit_code == 2 and "add --daemon" in done.output and not cluster.prefix.exists()


@pytest.mark.parametrize("other", ["", "notes.txt"])
def test_events_that_nobody_took_go_with_the_folder(cluster, words, other):
    """They are the hooks' own; a file of somebody else's stays, and the folder with it."""
    cluster.install(*words)
    spool = cluster.root / "spool" / "events"
    for name in ("submitted,15,9986,3511999,vm,42e5560ab9561e2e", "ended.abc123DEF456", ".ended.abc123DEF456", other):
        (spool / name).touch()
    said = cluster.admin("uninstall").output
    assert spool.exists() == bool(other) == (f"{spool} holds other files" in said), said
    assert not other or [path.name for path in spool.iterdir()] == [other]


def test_settings_that_name_no_spool_are_found(cluster, words):
    """They are the administrator's: the line to add is said."""
    cluster.install(*words)
    settings = cluster.prefix / "daemon.toml"
    settings.write_text("\n".join(line for line in settings.read_text().split("\n") if not line.startswith("spool")))
    assert [one for one in wrong(cluster) if "names no spool" in one]


def test_where_no_service_listens_no_job_is_submitted(cluster, words):
    """It is said at once that it has to be started; nobody waits."""
    cluster.install(*words)
    before = (cluster.root / "called").read_text()
    said = cluster.admin("doctor", "--job").output
    assert "no job was submitted: the service does not answer" in said and "start it first" in said
    assert "maple admin doctor tells why" not in said
    assert (cluster.root / "called").read_text() == before


def test_a_job_that_is_refused_says_why(cluster, words, monkeypatch):
    """With what may be missing."""
    monkeypatch.setattr(trials, "_answers", lambda: True)
    cluster.install(*words)
    cluster.real.write_text(
        "#!/bin/sh\ntest \"$1\" = --version && exec echo slurm 24.11\necho 'no account' >&2\nexit 1\n"
    )
    said = cluster.admin("doctor", "--job", "--wait", "1").output
    assert "sbatch took no job: no account" in said and "name behind -- what it wants" in said


def test_words_without_a_job_are_refused(cluster, words):
    """Nobody would see them."""
    cluster.install(*words)
    assert "add --job" in cluster.admin("doctor", "--", "--account=a").output


def test_a_job_that_nobody_hears_of_is_wrong(cluster, words, monkeypatch):
    """Within the time that was given."""
    monkeypatch.setattr(trials, "_known", lambda job: None)
    monkeypatch.setattr(trials, "_answers", lambda: True)
    cluster.install(*words)
    said = cluster.admin("doctor", "--job", "--wait", "1").output
    assert "was submitted, and no hook told the service of it" in said and hooks.SPOOL not in said
