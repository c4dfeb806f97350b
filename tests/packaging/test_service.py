"""The service's part of an installation: files written whole or not at all, nothing is started, no trace stays."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import pytest
from maple_daemon.base.settings import load
from maple_daemon.install import installation
from maple_daemon.install.release import releases
from maple_daemon.install.service import hooks, service_files
from maple_daemon.serve import identity, service
from maple_daemon.store import sqlite

from tests.daemon.serving import Daemon

UID = 4712
OWN = ("--daemon", "--service-uid", str(UID))


@pytest.fixture
def units(cluster):
    """The folder for units."""
    return cluster.root / "systemd"


@pytest.fixture
def served(cluster, units):
    """A cluster with Maple in front and the service's files; the service is not started."""
    result = cluster.install(*OWN, "--units", str(units))
    assert result.exit_code == 0, result.output
    return cluster


def conf(cluster):
    """What front.conf says."""
    lines = (cluster.release / "etc/front.conf").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def test_front_settings_and_units_name_one_another(served, units):
    """The front has the socket and whom to believe; the settings the front's own file; the units the settings."""
    settings = load(str(served.prefix / "daemon.toml"))
    assert settings.conf == str(served.prefix / "current/etc/front.conf")
    assert conf(served)["socket"] == settings.socket
    assert conf(served)["service_uid"] == str(UID)
    service, socket = ((units / name).read_text() for name in service_files.UNITS)
    command = f"{service_files.program()} --config {served.prefix}/daemon.toml"
    assert f"\nExecStart={command}\n" in service and f"\nExecStartPre={command} --check\n" in service
    assert f"ListenStream={settings.socket}\n" in socket
    if os.geteuid() == 0:
        assert f"\nUser={UID}\n" in service and "Group=" not in service
        assert "ProtectSystem=strict" in service


@pytest.mark.skipif(os.geteuid() != 0, reason="a user's own unit is not kept from any folder")
def test_the_unit_may_write_the_spool_that_was_named(cluster, units):
    """The service takes events away once they are read."""
    spool = cluster.root / "spool" / "events"
    assert cluster.install(*OWN, "--units", str(units), "--hooks", "--spool", str(spool)).exit_code == 0
    assert f"\nReadWritePaths=-{spool}\n" in (units / "maple-daemon.service").read_text()


def test_an_installation_says_in_which_mode_it_is(cluster):
    """Also where it stays as it was."""
    assert "\nmode observe: scripts go as they are" in cluster.install("--mode", "observe").output
    assert "\nmode observe: " in cluster.install(version="0.2.0").output


def test_nothing_is_started_but_the_line_is_said(cluster, units):
    """With units it is systemctl's, without systemd the program's own, which works as it stands."""
    said = cluster.install(*OWN, "--units", str(units)).output
    assert "daemon-reload && systemctl" in said and "enable --now maple-daemon.socket" in said
    assert not os.path.exists(conf(cluster)["socket"])
    line = service_files.start_line(None, cluster.prefix / "daemon.toml", str(os.getuid()))
    words = line.split()[4:] if os.geteuid() == 0 else line.split()
    assert words[0] == str(service_files.program()) and words[1:] == ["--config", f"{cluster.prefix}/daemon.toml"]


@pytest.mark.skipif(os.geteuid() != 0, reason="for root, who may give folders away")
def test_by_hand_the_line_makes_the_folders_that_a_unit_would_make(cluster, monkeypatch):
    """The service could not start without them. One that is there stays whose it is."""
    monkeypatch.setattr(service_files, "_folder", lambda *_: None)
    monkeypatch.setattr(service_files, "STORE", str(cluster.root / "var lib/maple/memory.db"))
    nobody, socket = pwd.getpwnam("nobody").pw_uid, cluster.root / "run/maple/daemon.sock"
    words = ("--daemon", "--service-uid", str(nobody), "--socket", str(socket))
    line = cluster.install(*words).output.partition("start it:\n")[2].splitlines()[0].strip()
    made, _, start = line.partition(" && ")
    assert start.startswith("runuser -u nobody -- ") and subprocess.run(made, shell=True, timeout=60).returncode == 0
    assert socket.parent.stat().st_uid == nobody == (cluster.root / "var lib/maple").stat().st_uid
    assert "install -d" not in cluster.install(*words).output and start in cluster.admin("doctor").output


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd")
def test_systemd_takes_the_units(served, units):
    """Every line is known to it."""
    command = ["systemd-analyze", "--man=no", "verify", *(str(units / name) for name in service_files.UNITS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert not [line for line in done.stderr.splitlines() if "maple-daemon" in line]


def test_without_a_word_an_update_keeps_what_there_is(served, units):
    """Socket, user and files; the second run changes nothing."""
    before = served.listing()
    assert "already there" in served.install().output
    assert served.listing() == before
    assert served.install(version="0.2.0").exit_code == 0
    assert conf(served)["socket"] == service_files.SOCKET or os.geteuid() != 0
    assert (units / "maple-daemon.service").exists()


@pytest.mark.parametrize("how", ["uninstall", "--no-daemon", "rollback"])
def test_the_service_goes_without_a_trace(cluster, units, how):
    """With everything, alone, or by going back to a release from before it."""
    before = cluster.listing()
    assert cluster.install().exit_code == 0
    without = cluster.listing()
    version = "0.2.0" if how == "rollback" else "0.1.0"
    assert cluster.install(*OWN, "--units", str(units), version=version).exit_code == 0
    assert (units / "maple-daemon.socket").exists()
    if how == "uninstall":
        said = cluster.admin("uninstall").output
        assert "left:" not in said and "the memory (/var/lib/maple/memory.db)" in said
        assert cluster.listing() == before
        return
    done = cluster.admin("rollback") if how == "rollback" else cluster.install("--no-daemon")
    assert done.exit_code == 0, done.output
    assert "socket" not in conf(cluster)
    left = set(cluster.listing()) - set(without)
    assert all("/releases/" in name or name == str(units) for name in left), left


def test_settings_that_were_changed_are_the_administrators(served):
    """No update writes them, and uninstall names them."""
    settings = served.prefix / "daemon.toml"
    settings.write_text(settings.read_text() + "workers = 3\n")
    assert served.install(version="0.2.0").exit_code == 0
    assert "workers = 3" in settings.read_text()
    assert f"left: {settings} was changed since it was written" in served.admin("uninstall").output
    assert "workers = 3" in settings.read_text()


def test_a_unit_that_is_not_ours_is_never_overwritten(cluster, units):
    """Nothing is built, nothing is touched."""
    units.mkdir(parents=True)
    (units / "maple-daemon.service").write_text("[Service]\nExecStart=/bin/true\n")
    before = cluster.listing()
    result = cluster.install(*OWN, "--units", str(units))
    assert result.exit_code == 2 and "is there and is not ours" in result.output
    assert cluster.listing() == before


@pytest.mark.parametrize(
    "step", [(hooks, "write"), (installation, "write_receipt"), (releases, "switch")], ids=lambda one: one[1]
)
def test_a_failure_midway_leaves_what_was_there(cluster, units, fails_at, step):
    """A full disk while the files are written: the former release, and none of them."""
    assert cluster.install().exit_code == 0
    before = cluster.listing()
    fails_at(*step)
    result = cluster.install(*OWN, "--units", str(units), version="0.2.0")
    assert result.exit_code == 2 and "No space left on device" in result.output
    assert cluster.listing() == before


def test_a_second_unit_that_cannot_be_written_takes_the_first_one_back(cluster, units):
    """All or nothing, also among the files themselves."""
    assert cluster.install().exit_code == 0
    before = cluster.listing()
    real, calls = hooks.write, []

    def once(*given):
        calls.append(given)
        if len(calls) == 3:
            raise OSError(28, "No space left on device", "unit")
        return real(*given)

    cluster.monkeypatch.setattr(hooks, "write", once)
    assert cluster.install(*OWN, "--units", str(units)).exit_code == 2
    assert len(calls) == 3 and cluster.listing() == before


@pytest.mark.skipif(os.geteuid() != 0, reason="a plain user runs it as himself")
def test_a_user_that_is_not_there_is_asked_for(cluster, units, monkeypatch):
    """One line says how to make it."""

    def nobody(name):
        raise KeyError(name)

    monkeypatch.setattr(pwd, "getpwnam", nobody)
    result = cluster.install("--daemon", "--units", str(units))
    assert result.exit_code == 2 and "there is no user maple" in result.output and "useradd --system" in result.output


@pytest.mark.parametrize("words", [["--no-daemon", "--socket", "/run/x"], ["--daemon", "--socket", "/" + "x" * 120]],
                         ids=["neither", "too long"])  # fmt: skip
def test_what_cannot_be_is_refused(cluster, words):
    """And nothing is touched."""
    before = cluster.listing()
    assert cluster.install(*words, "--service-uid", "0").exit_code == 2
    assert cluster.listing() == before


def checks(cluster):
    """Every check of the doctor by its name: state and text."""
    found = json.loads(cluster.admin("doctor", "--json").output)
    return {one["name"]: (one["state"], one["says"]) for one in found}


def test_the_doctor_says_that_nobody_answers_and_how_to_start(served):
    """The installation is whole without it: a note."""
    assert checks(served)["service"][0] == "note"
    assert "enable --now maple-daemon.socket" in served.admin("doctor").output
    (served.root / "systemd" / "maple-daemon.socket").write_text("")
    assert checks(served)["unit"][0] == "wrong"


@pytest.fixture
def running(cluster, compiled):
    """A cluster, and the service of its installation in a folder of its own."""
    daemon = Daemon(str(cluster.prefix / "current/etc/front.conf"))
    assert cluster.install("--socket", daemon.socket).exit_code == 0
    daemon.start()
    yield cluster, daemon
    daemon.stop(signal.SIGKILL)
    shutil.rmtree(daemon.folder)


def test_the_doctor_says_who_answers_and_that_it_decides_as_the_helper(running):
    """As whom it runs, its version, and its revision, which is that of the release in force."""
    cluster, daemon = running
    found = checks(cluster)
    name = pwd.getpwuid(os.getuid()).pw_name
    state, says = found["service"]
    assert state == "ok" and f"as {name} (uid {os.getuid()}), process {daemon.process.pid}" in says
    assert found["revision"][0] == "ok" and "ncsa-delta" in found["revision"][1]


def test_the_doctor_finds_a_service_that_decides_by_another_site_until_it_is_reloaded(running):
    """An update without a reload."""
    cluster, daemon = running
    assert cluster.install("--socket", daemon.socket, site="generic-slurm").exit_code == 0
    assert checks(cluster)["revision"][0] == "wrong"
    assert "systemctl reload maple-daemon" in cluster.admin("doctor").output
    daemon.process.send_signal(signal.SIGHUP)
    while "reloaded" not in daemon.said:
        time.sleep(0.02)
    assert checks(cluster)["revision"][0] == "ok"


def test_a_mode_holds_for_the_service_at_once_and_the_doctor_compares_them(running):
    """An administrator who switches repair off has to be sure of it."""
    cluster, daemon = running
    done = cluster.admin("mode", "observe")
    assert f"the service (process {daemon.process.pid}) goes by them" in done.output
    assert checks(cluster)["revision"][0] == "ok"
    conf = cluster.prefix / "current/etc/front.conf"
    conf.write_text(conf.read_text().replace("mode=observe", "mode=warn"))  # by hand
    assert checks(cluster)["revision"] == ("wrong", "the service goes by other modes than maple admin mode shows")
    assert "goes by them" in cluster.admin("mode", "off", "--rule", "MPL301").output
    assert checks(cluster)["revision"][0] == "ok"


def test_the_doctor_finds_a_service_whose_rules_are_not_those_installed(running):
    """Somebody updated the service's Maple, or a file of the release was changed."""
    cluster, _ = running
    with open(cluster.release / "lib/maple_submit_filter/rules/__init__.py", "a") as file:
        file.write("# another\n")
    assert checks(cluster)["revision"][0] == "wrong"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_the_doctor_finds_a_socket_of_somebody_whom_no_front_believes(running):
    """Whoever made it may answer what he likes, and is not asked."""
    cluster, daemon = running
    daemon.stop()
    os.unlink(daemon.socket)
    os.chmod(daemon.folder, 0o777)
    code = (
        "import socket, sys, time; one = socket.socket(socket.AF_UNIX); one.bind(sys.argv[1]); one.listen();"
        "print(flush=True); time.sleep(60)"
    )
    other = subprocess.Popen(["/usr/bin/python3", "-c", code, daemon.socket], user=UID, group=UID, extra_groups=[],
                             stdout=subprocess.PIPE)  # fmt: skip
    try:
        assert other.stdout.readline() == b"\n"
        said = f"{daemon.socket} is of {UID} (uid {UID}), whom no front believes"
        assert checks(cluster)["service"] == ("wrong", said)
    finally:
        other.kill()
        other.wait()
        daemon.start()


@pytest.mark.parametrize("says", [b"", b"HTTP/1.1 400\r\n\r\n", b"MPJ1\0\0\0\2{}", None], ids=repr)
def test_the_doctor_is_not_misled_by_what_is_no_service(cluster, says):
    """Hanging up, another protocol, another answer, none at all: the helper answers alone."""
    import socket
    import threading

    folder = tempfile.mkdtemp(dir="/tmp")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(folder + "/s")
        listening.listen()

        def serve():
            one, _ = listening.accept()
            one.recv(8)
            if says is None:
                time.sleep(3)
            else:
                one.sendall(says)
            one.close()

        thread = threading.Thread(target=serve)
        thread.start()
        assert cluster.install("--socket", folder + "/s").exit_code == 0
        found = checks(cluster)["service"]
        thread.join()
    shutil.rmtree(folder)
    assert found[0] == "note" and "the helper answers alone" in found[1]


@pytest.mark.skipif(os.geteuid() != 0, reason="as a plain user every other test shows this")
def test_a_plain_user_has_a_service_of_his_own(compiled, cluster, tmp_path):
    """Installed, started by the line that is printed, answering from memory the second time, and gone again."""
    cluster.install()  # imports all that the child cannot read as another user
    cluster.admin("uninstall")
    assert service and sqlite  # so does the service
    home = Path(tempfile.mkdtemp(dir="/tmp"))  # another run of pytest may close its own folder to others at any time
    cluster = _moved(cluster, home / "cluster")
    runtime = home / "run"
    runtime.mkdir()
    for path in (home, *home.rglob("*")):
        os.chown(path, UID, UID)
    said = os.open(tmp_path / "said", os.O_WRONLY | os.O_CREAT, 0o600)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setgroups([])
            os.setgid(UID)
            os.setuid(UID)
            os.environ |= {"XDG_RUNTIME_DIR": str(runtime), "HOME": str(cluster.root)}
            os.environ["XDG_CACHE_HOME"] = str(home / "cache")
            os.environ.pop("XDG_STATE_HOME", None)
            _own_service(cluster, runtime)
            status = 0
        except BaseException:
            os.write(said, traceback.format_exc().encode())
        finally:
            os._exit(status)
    os.close(said)
    status, left = os.waitpid(child, 0)[1], cluster.prefix.exists()
    shutil.rmtree(home)
    assert status == 0, (tmp_path / "said").read_text()
    assert not left


def _moved(cluster, root):
    """The same cluster in another folder."""
    shutil.copytree(cluster.root, root)
    moved = cluster._replace(root=root)
    moved.real.write_text(moved.real.read_text().replace(str(cluster.root), str(root)))
    moved.monkeypatch.setenv("PATH", moved.path)
    return moved


def _own_service(cluster, runtime):
    """What the user does. The program runs in a fork: he need not be able to reach the tests' interpreter."""
    cluster.monkeypatch.setattr(service_files, "_folder", lambda *_: None)  # as where there is no systemd
    done = cluster.install("--python", "/usr/bin/python3", "--daemon")
    assert done.exit_code == 0, done.output
    assert f"start it:\n    {service_files.program()} --config {cluster.prefix}/daemon.toml" in done.output, done.output
    settings = load(str(cluster.prefix / "daemon.toml"))
    assert (settings.socket, settings.store) == (
        str(runtime / "maple/daemon.sock"), str(cluster.root / ".local/state/maple/memory.db")
    )  # fmt: skip
    with open(cluster.release / "etc/front.conf", "a") as file:
        file.write("socket_ms=20000\nhelper_ms=20000\n")
    log = cluster.root / "log"
    log.touch()
    daemon = os.fork()
    if daemon == 0:
        _serve(cluster.prefix / "daemon.toml", log)
    try:
        _wait(lambda: '"event": "listening"' in log.read_text(), log)
        script = "#!/bin/bash\n#SBATCH --nodes=2\nsrun torchrun --nnodes=2 --nproc-per-node=4 train.py\n"
        (cluster.root / "job.sh").write_text(script)
        for _ in range(2):
            assert cluster.sbatch("job.sh").stdout == "Submitted batch job 7\n"
        found = checks(cluster)
        assert found["service"][0] == "ok" and f"(uid {UID})" in found["service"][1], (
            found["service"],
            log.read_text(),
        )
        assert found["revision"][0] == "ok", found
        _wait(lambda: log.read_text().count('"submission"') == 2, log)
        assert '"how": "memory"' in log.read_text(), log.read_text()
        assert os.stat(settings.store).st_mode & 0o777 == 0o600
    finally:
        os.kill(daemon, signal.SIGTERM)
        os.waitpid(daemon, 0)
    assert "left:" not in cluster.admin("uninstall").output


def _wait(until, log):
    """Until something is so, but not for ever."""
    end = time.monotonic() + 25
    while not until():
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.02)


def _serve(config, log):
    """Be the service, with workers of the system's Python."""
    from maple_daemon.cli import daemon

    sys.stdout = sys.stderr = open(log, "w", buffering=1)  # noqa: SIM115
    sys.executable, sys.argv = "/usr/bin/python3", ["maple-daemon", "--config", str(config)]
    try:
        daemon.main()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def test_words_of_systemd_are_said_only_where_there_are_units(cluster, units, monkeypatch):
    """Else the process is told, and nobody is sent to units that are not there."""
    monkeypatch.setattr(service_files, "_folder", lambda *_: None)
    first = cluster.install(*OWN).output
    assert "start it:\n" in first and "systemctl" not in first and "still runs the version before" not in first
    said = " ".join(cluster.install(*OWN, "--site", "ncsa-deltaai").output.split())
    assert "systemctl" not in said
    assert "it still runs the version before: end it (pkill -x maple-daemon), and start it so again" in said
    gone = cluster.admin("uninstall").output
    assert "systemctl" not in gone and "if the service is running: end it (pkill -x maple-daemon)" in gone


def test_a_memory_that_is_there_before_the_first_installation_is_told(cluster, units, tmp_path, monkeypatch):
    """It may be another service's; one that Maple has used itself is no news."""
    store = tmp_path / "memory.db"
    monkeypatch.setattr(service_files, "_usual_store", lambda _: str(store))
    store.write_bytes(b"")
    said = " ".join(cluster.install(*OWN, "--units", str(units)).output.split())
    assert f"{store} is there already, and now this service's; where another keeps it" in said
    assert "is there already" not in cluster.install(*OWN, "--units", str(units), version="0.2.0").output


def test_the_doctor_tells_of_changes_for_which_the_service_had_no_room(served, monkeypatch):
    """And of none where there were none."""
    said = []
    for lost in (0, 3):
        about = identity.About("1", "ncsa-delta", "r", "f", os.geteuid(), 1, "", lost)
        monkeypatch.setattr(identity, "ask", lambda path, about=about: identity.Listener(os.geteuid(), about))
        checks = json.loads(served.admin("doctor", "--json").output)
        said.append([check["says"] for check in checks if check["name"] == "memory"])
    assert said == [[], ["3 changes were dropped: there was no room for them"]]
