"""Installing puts Maple in front of sbatch whole, or not at all; uninstalling leaves no trace."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import traceback
from functools import partial
from pathlib import Path

import pytest
from maple_agents.ask import sites
from maple_daemon.install import installation, place, settings, wishes
from maple_daemon.install.release import build, layout, releases, sources

from tests.doubles import stand

SITES = Path(__file__).parents[2] / "site_configs"


def test_the_submission_goes_through_the_front_to_the_real_command(compiled, installed):
    """After installing, sbatch on PATH is the front, and the real command gets the user's words."""
    done = installed.sbatch("--nodes=2", "job.sh", "one word")
    assert (done.returncode, done.stdout) == (0, "Submitted batch job 7\n")
    assert (installed.root / "called").read_text() == "--nodes=2 job.sh one word\n"
    assert os.readlink(installed.bin / "sbatch") == str(installed.prefix / "current/bin/front")


def test_installing_twice_changes_nothing(installed):
    """The second run finds the release there and leaves every byte as it is."""
    before = installed.listing()
    result = installed.install()
    assert "already there" in result.output
    assert installed.listing() == before


def test_an_update_is_a_new_release_and_keeps_the_mode(installed):
    """Another version is put beside the old one; the mode that was set goes along."""
    assert installed.admin("mode", "observe").exit_code == 0
    old = installed.release
    assert installed.install(version="0.2.0").exit_code == 0
    assert installed.release != old and installed.release.name.startswith("0.2.0-")
    assert old.is_dir()
    assert "mode=observe\n" in (installed.release / "etc/front.conf").read_text()


def test_only_a_few_old_releases_are_kept(installed):
    """Old releases do not pile up, and the one in force is never the one that goes."""
    for number in range(2, 8):
        assert installed.install(version=f"0.{number}.0").exit_code == 0
    names = sorted(path.name.partition("-")[0] for path in (installed.prefix / "releases").iterdir())
    assert names == ["0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0"]
    assert installed.release.name.startswith("0.7.0-")


def test_a_draft_is_installed_by_its_file_and_found_by_its_id_from_then_on(cluster):
    """Without a copy of it below /etc/maple, and after an update too, though the file itself is gone by then."""
    draft = cluster.root / "ours.toml"
    draft.write_text(re.sub("(?m)^id = .*", 'id = "ours"', (SITES / "ncsa-delta.toml").read_text()))
    assert cluster.install(site=str(draft)).exit_code == 0
    draft.unlink()
    assert "ours" in sites.ids() and sites.load("ours").id == "ours"
    before = cluster.release
    assert cluster.install(version="0.2.0", site="ours").exit_code == 0 and cluster.release != before
    assert sites.path("ours") == str(cluster.prefix / "current/share/maple/site_configs/ours.toml")
    missing = cluster.install(site=str(draft))
    assert missing.exit_code == 2 and "there is no such file" in missing.output
    assert cluster.admin("uninstall").exit_code == 0 and not cluster.prefix.exists() and "ours" not in sites.ids()


@pytest.mark.parametrize("form", ["--copy", "--no-compiler", "link"])
def test_uninstalling_leaves_no_trace(cluster, form):
    """Whatever was placed in whatever form, the listing afterwards is the one of before."""
    before = cluster.listing()
    result = cluster.install(*([] if form == "link" else [form]))
    assert result.exit_code == 0, result.output
    assert cluster.admin("mode", "warn", "--partition", "gpu").exit_code == 0
    assert cluster.sbatch("job.sh").stdout == "Submitted batch job 7\n"
    assert cluster.install(version="0.2.0").exit_code == 0
    (cluster.prefix / "audit" / "0.jsonl").write_text("{}\n")
    done = cluster.admin("uninstall")
    assert done.exit_code == 0 and "left:" not in done.output
    # What the command was called with, and the user's own audit line where a busy machine answered too late.
    beside = ("called", "state/maple")
    after = {name: facts for name, facts in cluster.listing().items() if not any(word in name for word in beside)}
    assert after == {name: facts for name, facts in before.items() if not any(word in name for word in beside)}


def test_uninstalling_leaves_what_others_put_there(installed):
    """A file that is not ours stays, and is named; so does a command that somebody replaced."""
    (installed.bin / "other").write_text("mine")
    (installed.bin / "sbatch").unlink()
    (installed.bin / "sbatch").write_text("somebody's own")
    done = installed.admin("uninstall")
    assert done.exit_code == 0
    assert f"left: {installed.bin / 'sbatch'} is not ours any more" in done.output
    assert (installed.bin / "other").read_text() == "mine"
    assert (installed.bin / "sbatch").read_text() == "somebody's own"


def test_a_foreign_command_is_never_overwritten(cluster):
    """Something else called sbatch in the folder stops the installation before anything is built."""
    cluster.bin.mkdir(parents=True)
    (cluster.bin / "sbatch").write_text("#!/bin/sh\nexec something\n")
    before = cluster.listing()
    result = cluster.install()
    assert result.exit_code == 2 and "is there and is not ours" in result.output
    assert cluster.listing() == before


def test_another_installation_is_not_overwritten(installed):
    """A front that belongs to another prefix is not taken over."""
    before = installed.listing()
    other = installed.root / "opt" / "other"
    result = installed.admin("install", "--bin", str(installed.bin), "--site", "ncsa-delta", "--prefix", str(other))
    assert result.exit_code == 2 and "another installation of Maple" in result.output
    assert installed.listing() == before


STEPS = [(installation.releases, "switch"), (installation.place, "place"), (installation, "write_receipt"),
         (build.Build, "copy_package"), (build.Build, "make_front"), (build.releases, "listing"),
         (os, "rename")]  # fmt: skip


@pytest.mark.parametrize(("module", "step"), STEPS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_first_installation_that_fails_midway_leaves_nothing(cluster, fails_at, module, step):
    """A full disk at any step leaves the folders as they were."""
    before = cluster.listing()
    fails_at(module, step)
    result = cluster.install()
    assert result.exit_code == 2 and "No space left on device" in result.output
    assert cluster.listing() == before


@pytest.mark.parametrize("form", ["link", "--copy"])
@pytest.mark.parametrize(("module", "step"), STEPS, ids=lambda value: value if isinstance(value, str) else "")
def test_an_update_that_fails_midway_leaves_the_former_release(cluster, fails_at, module, step, form):
    """The release of before stays in force, byte for byte, and answers."""
    words = [] if form == "link" else [form]
    assert cluster.install(*words).exit_code == 0
    before = cluster.listing()
    fails_at(module, step)
    result = cluster.install(*words, version="0.2.0")
    assert result.exit_code == 2
    assert cluster.listing() == before


@pytest.mark.parametrize("step", ["switch", "place", "write_receipt"])
def test_a_killed_update_leaves_a_command_that_submits_and_can_be_mended(installed, monkeypatch, step):
    """Killed at any moment, sbatch works at once; the next run mends the rest, and uninstall still finds everything."""
    module = {"switch": releases, "place": place, "write_receipt": installation}[step]
    child = os.fork()
    if child == 0:
        monkeypatch.setattr(module, step, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        installed.install(version="0.2.0")
        os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    assert installed.sbatch("job.sh").stdout == "Submitted batch job 7\n"
    assert installed.install(version="0.2.0").exit_code == 0
    assert installed.admin("doctor").exit_code == 0, installed.admin("doctor").output
    assert "left:" not in installed.admin("uninstall").output
    assert not installed.prefix.exists()


@pytest.mark.parametrize("broken", ["dangling", "no config", "garbage", "not a file"])
def test_a_broken_installation_submits_with_the_next_command_on_path(installed, broken):
    """Whatever becomes of the release, the real command is found."""
    config = installed.release / "etc" / "front.conf"
    if broken == "dangling":
        (installed.prefix / "current").unlink()
        (installed.prefix / "current").symlink_to("releases/gone")
    elif broken == "no config":
        config.unlink()
    elif broken == "garbage":
        config.write_bytes(b"\0\xff" * 40000)
    else:
        config.unlink()
        config.mkdir()
    done = installed.sbatch("job.sh")
    assert (done.returncode, done.stdout) == (0, "Submitted batch job 7\n")


def test_a_copy_finds_its_configuration_and_submits_when_the_prefix_is_gone(cluster, compiled):
    """A copied front reads the configuration of its prefix, and does without it when there is none."""
    assert cluster.install("--copy").exit_code == 0
    nobody_at = cluster.sbatch("job.sh", path=f"{cluster.bin}:/usr/bin:/bin")
    assert nobody_at.stdout == "Submitted batch job 7\n"  # found by front.conf, not by PATH
    (cluster.prefix / "current").unlink()
    done = cluster.sbatch("job.sh")
    assert (done.returncode, done.stdout) == (0, "Submitted batch job 7\n")


def test_the_release_can_be_read_by_everybody_and_changed_by_nobody_else(cluster):
    """Even under a tight umask of the administrator."""
    old = os.umask(0o077)
    try:
        assert cluster.install().exit_code == 0
    finally:
        os.umask(old)
    for path in (cluster.prefix, *cluster.release.rglob("*")):
        mode = path.stat().st_mode & 0o7777  # set-user-id and set-group-id among them
        assert mode == (0o755 if path.is_dir() or path.name == "front" else 0o644), path


def test_byte_code_is_there_for_the_pinned_interpreter(compiled, installed):
    """The helper never compiles: each module has its byte code, made by the interpreter in front.conf."""
    config = settings.values(layout.Release(installed.release))
    assert os.path.realpath(config["python"]) == config["python"]
    package = installed.release / "lib" / "maple_submit_filter"
    for source in package.rglob("*.py"):
        compiled = list(source.parent.glob(f"__pycache__/{source.stem}.*.pyc"))
        assert len(compiled) == 1 and compiled[0].read_bytes()[4] & 0b11 == 0b01, source  # unchecked


def set_deadlines(cluster, text):
    """Write lines into front.conf, as an administrator does."""
    with open(cluster.release / "etc/front.conf", "a") as file:
        file.write(text)


def test_deadlines_survive_an_update_a_repair_and_a_rollback(installed):
    """They are settings of the machine, not of a release; the file says so."""
    set_deadlines(installed, "helper_ms=900\nsocket_ms=120\nfiles_ms=2000\n")
    first = installed.release.name

    def deadlines():
        return settings.deadlines(layout.Release(installed.release))

    wanted = {"socket_ms": "120", "helper_ms": "900", "files_ms": "2000"}
    for step in (lambda: installed.install(), lambda: installed.install(version="0.2.0")):
        assert step().exit_code == 0 and deadlines() == wanted
    text = (installed.release / "etc/front.conf").read_text()
    set_deadlines(installed, "helper_ms=1500\n")
    assert installed.admin("rollback").exit_code == 0 and installed.release.name == first
    assert deadlines() == {**wanted, "helper_ms": "1500"}
    assert "helper_ms (250)" in text and text.count("helper_ms=") == 1


@pytest.mark.parametrize("value", ["", "0", "60001", "-5", "1e3", "999999", "٣"])
def test_a_deadline_that_the_front_would_not_take_is_not_carried_on(installed, value):
    """A slip of the pen ends with the next installation."""
    set_deadlines(installed, f"helper_ms={value}\n")
    assert installed.install(version="0.2.0").exit_code == 0
    assert "helper_ms=" not in (installed.release / "etc/front.conf").read_text()


def test_rollback_goes_back_and_forth_and_keeps_the_mode(installed):
    """Without a version: the release before; with one: that; the mode in force stays."""
    first = installed.release.name
    assert installed.install(version="0.2.0").exit_code == 0
    second = installed.release.name
    assert installed.admin("mode", "warn").exit_code == 0
    assert installed.admin("rollback").exit_code == 0
    assert installed.release.name == first
    assert "mode=warn\n" in (installed.release / "etc/front.conf").read_text()
    assert installed.admin("rollback", "--to", "0.2.0").exit_code == 0
    assert installed.release.name == second
    assert f"* {second}" in installed.admin("rollback", "--list").output
    assert installed.admin("rollback", "--to", "9.9").exit_code == 2


def test_rollback_of_a_copied_front_puts_the_older_copy_back(cluster):
    """Front and release always belong together."""
    assert cluster.install("--copy").exit_code == 0
    (cluster.bin / "sbatch").read_bytes()
    assert cluster.install("--copy", version="0.2.0").exit_code == 0
    assert cluster.admin("rollback").exit_code == 0
    assert (cluster.bin / "sbatch").read_bytes() == (cluster.release / "bin/front").read_bytes()
    assert cluster.admin("doctor").exit_code == 0


def test_a_damaged_release_is_not_rolled_back_to(installed):
    """Going back to something broken would be no help."""
    old = installed.release
    assert installed.install(version="0.2.0").exit_code == 0
    (old / "lib/maple_submit_filter/answer/decision.py").write_text("broken(")
    result = installed.admin("rollback")
    assert result.exit_code == 2 and "decision.py was changed" in result.output


def test_path_order_is_pointed_out_with_what_to_do(cluster, monkeypatch):
    """Where a shell would find the real command first, the lines for profile.d and Lmod are printed."""
    monkeypatch.setenv("PATH", f"{cluster.real.parent}:{cluster.bin}:/usr/bin:/bin")
    result = cluster.install()
    assert result.exit_code == 0
    assert "warning: PATH does not find" in result.output and f'prepend_path("PATH", "{cluster.bin}")' in result.output


def test_a_site_of_pbs_gets_a_front_for_qsub(cluster):
    """The command follows from the site's scheduler."""
    qsub = cluster.real.with_name("qsub")
    qsub.write_text("#!/bin/sh\necho 7.server\n")
    qsub.chmod(0o755)
    assert cluster.install(site="alcf-polaris").exit_code == 0
    assert (cluster.bin / "qsub").is_symlink() and not (cluster.bin / "sbatch").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="as a plain user every other test shows this")
def test_a_plain_user_installs_below_the_home_folder(compiled, cluster, tmp_path):
    """No privilege is needed for an installation of one's own."""
    cluster.install()  # imports all that the child cannot read as another user
    cluster.admin("uninstall")
    for folder in (tmp_path, *tmp_path.parents[:-1]):
        if folder != Path("/tmp"):
            folder.chmod(folder.stat().st_mode | 0o011)
    for path in (tmp_path, *tmp_path.rglob("*")):
        os.chown(path, 4711, 4711)
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(4711)
            os.setuid(4711)
            results = [cluster.install("--python", "/usr/bin/python3"), cluster.admin("doctor")]
            ran = cluster.sbatch("job.sh").stdout == "Submitted batch job 7\n"
            results.append(cluster.admin("uninstall"))
            (tmp_path / "said").write_text("\n".join(one.output for one in results))
            os._exit(0 if ran and all(one.exit_code == 0 for one in results) else 1)
        except BaseException:
            (tmp_path / "said").write_text(traceback.format_exc())
        finally:  # whatever is raised: the other tests are not the child's
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0, (tmp_path / "said").read_text()
    assert not cluster.prefix.exists()


REFUSALS = {
    "an unknown site": (["--site", "ncsa-detla"], "did you mean ncsa-delta?"),
    "a relative prefix": (["--prefix", "opt"], "opt is a relative path"),
    "a relative folder": (["--bin", "bin"], "bin is a relative path"),
    "no such mode": (["--mode", "repare"], "choose one of off, observe, warn, repair"),
    "the folder of the real command": (["--bin", "REAL"], "holds the real sbatch"),
    "a folder others may write": (["--prefix", "OPEN"], "is writable by everybody"),
    "a real command that is not there": (["--real-sbatch", "/proc/nowhere/sbatch"], "is not there or not executable"),
    "no Python": (["--python", "/bin/true"], "does not answer as Python"),
    "a relative Python": (["--python", "python3"], "is a relative path"),
    "a Python others may write": (["--python", "OPEN/python"], "is writable by everybody"),
    "a copy without a compiler": (["--copy", "--no-compiler"], "a copy has to be compiled for its prefix"),
    "a folder inside a release": (["--bin", "PREFIX/current/bin"], "lies inside"),
}


@pytest.mark.parametrize("case", REFUSALS, ids=str)
def test_what_cannot_be_is_refused_in_one_line_and_nothing_is_touched(cluster, case):
    """One clear line, exit code 2, no file made."""
    shared = cluster.root / "open"
    shared.mkdir()
    shared.chmod(0o777)
    (shared / "python").write_text("#!/bin/sh\n")
    (shared / "python").chmod(0o755)
    before = cluster.listing()
    names = {"REAL": cluster.real.parent, "OPEN": shared, "PREFIX": cluster.prefix}
    words = [re.sub("REAL|OPEN|PREFIX", lambda found: str(names[found[0]]), word) for word in REFUSALS[case][0]]
    result = cluster.install(*words)
    assert result.exit_code == 2 and REFUSALS[case][1] in result.output
    assert len(result.output.strip().splitlines()) == 1
    assert cluster.listing() == before


def test_the_front_is_never_taken_for_the_real_command(installed):
    """Neither by name nor as the first on PATH: two fronts would call each other for ever."""
    result = installed.install("--real-sbatch", str(installed.bin / "sbatch"))
    assert result.exit_code == 2 and "is Maple itself" in result.output
    assert json.loads((installed.release / "manifest.json").read_text())["real"] == {"sbatch": str(installed.real)}


def test_two_administrators_at_once_do_not_mix(installed):
    """The second is told to wait."""
    from maple_daemon.install.release import layout

    with layout.alone(installed.prefix):
        result = installed.install(version="0.2.0")
    assert result.exit_code == 2 and "another maple admin is running here" in result.output


def test_the_interpreter_of_the_tests_would_do(compiled, cluster):
    """--python pins any interpreter by its real path."""
    result = cluster.install("--python", sys.executable)
    assert result.exit_code == 0, result.output
    assert f"python={os.path.realpath(sys.executable)}\n" in (cluster.release / "etc/front.conf").read_text()


def test_without_a_compiler_the_front_that_came_built_stands_there(cluster, monkeypatch):
    """It submits the same, and the doctor finds it whole; one that does not run here is refused, as none at all is."""
    assert cluster.install("--no-compiler").exit_code == 0
    assert (cluster.release / "bin/front").read_bytes() == Path(stand.build()).read_bytes()
    done = cluster.sbatch("--nodes=2", "job.sh")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Submitted batch job 7\n", "")
    assert cluster.admin("doctor").exit_code == 0
    foreign = cluster.root / "front"
    foreign.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(11) + b"\xf3\x00")
    for built, says in ((foreign, "does not run here"), (None, "came without a built front")):
        monkeypatch.setattr(wishes, "sources", partial(_without_compiler, built))
        result = cluster.install()
        assert result.exit_code == 2 and says in result.output and "install cc" in result.output


def _without_compiler(built, *words):
    return sources.sources(*words)._replace(compiler="", built=built)


def test_a_wrapper_that_calls_the_front_again_is_refused(cluster):
    """It would be taken for the real command; nothing is left of the installation."""
    cluster.real.write_text(f'#!/bin/bash\nPATH=${{PATH/":{cluster.real.parent}:"/:}}\nexec sbatch "$@"\n')
    before = cluster.listing()
    result = cluster.install()
    assert result.exit_code != 0
    assert "finds the front through PATH" in result.output and "--real-sbatch" in result.output
    assert {path for path in cluster.listing() if "/bin/" in path} == {path for path in before if "/bin/" in path}
