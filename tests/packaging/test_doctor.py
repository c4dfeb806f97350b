"""The doctor finds what is wrong with an installation, and says what to do."""

from __future__ import annotations

import json
import os
import shlex

import maple_submit_filter
import pytest
from maple_agents.base.terminal import copied
from maple_daemon.install import doctor
from maple_daemon.install.refusals import Check
from maple_daemon.install.release import releases, sources

from tests.json_shapes import fits


def states(cluster, *words):
    """Return the names of all checks by state."""
    result = cluster.admin("doctor", "--json", *words)
    found: dict[str, set[str]] = {"ok": set(), "wrong": set(), "note": set()}
    for check in json.loads(result.output):
        found[check["state"]].add(check["name"])
    assert result.exit_code == (1 if found["wrong"] else 0)
    return found


def test_a_fresh_installation_is_whole(installed):
    """Everything is ok, the self-test included, and the doctor leaves nothing behind."""
    before = installed.listing()
    found = states(installed)
    assert found["wrong"] == set() and {"files", "PATH", "site", "sbatch"} <= found["ok"]
    assert "self-test" in found["ok"] | found["note"]  # late on a busy machine
    assert installed.listing() == before


def test_nothing_installed_is_said(cluster):
    """A prefix without an installation is one wrong line."""
    assert states(cluster)["wrong"] == {"receipt"}
    (check,) = json.loads(cluster.admin("doctor", "--json").output)
    assert check["todo"] == "name the prefix that install was given with --prefix"


def replace(path, old, new):
    """Change a file's text."""
    path.write_text(path.read_text().replace(old, new))


def change(path, mode):
    """Change a file's mode."""
    path.chmod(mode)


def silence(release):
    """Make the helper end without a word, as if it had been installed so."""
    (release / "lib/maple_submit_filter/helper.py").write_text("raise SystemExit(1)\n")
    manifest = json.loads((release / "manifest.json").read_text())
    manifest["files"] = releases.listing(release)
    (release / "manifest.json").write_text(json.dumps(manifest))


def wrap(cluster):
    """Put a wrapper in the real command's place that takes its folder out of PATH and calls the next."""
    cluster.real.write_text(f'#!/bin/bash\nPATH=${{PATH/":{cluster.real.parent}:"/:}}\nexec sbatch "$@"\n')


OTHER_HELPER = os.path.join(os.path.dirname(maple_submit_filter.__file__), "helper.py")
A_HELPER = "lib/maple_submit_filter/helper.py"
A_MODULE = "lib/maple_submit_filter/answer/decision.py"
FAULTS = {
    "the real command calls the front": (wrap, {"chain"}),
    "the link is gone": (lambda c: (c.prefix / "current").unlink(), {"current"}),
    "a module was changed": (lambda c: (c.release / A_MODULE).write_text("x"), {"files"}),
    "a module is missing": (lambda c: (c.release / A_MODULE).unlink(), {"files"}),
    "a module was added": (lambda c: (c.release / "lib/json.py").write_text("x"), {"files"}),
    "byte code was changed": (
        lambda c: next((c.release / "lib").rglob("decision*.pyc")).write_bytes(b"x"),
        {"files"},
    ),
    "the manifest is gone": (lambda c: (c.release / "manifest.json").unlink(), {"files"}),
    "the front may not be run": (lambda c: change(c.release / "bin/front", 0o644), {"files"}),
    "others may change the release": (lambda c: change(c.release / "lib", 0o777), {"permissions"}),
    "others may change the prefix": (lambda c: change(c.prefix, 0o777), {"permissions"}),
    "front.conf is gone": (
        lambda c: (c.release / "etc/front.conf").unlink(),
        {"front.conf", "python", "audit", "site"},
    ),
    "front.conf may be changed by others": (
        lambda c: change(c.release / "etc/front.conf", 0o666),
        {"front.conf", "permissions"},
    ),
    "there is no such mode": (
        lambda c: replace(c.release / "etc/front.conf", "mode=repair", "mode=on"),
        {"front.conf"},
    ),
    "the helper is a checkout's": (
        lambda c: replace(c.release / "etc/front.conf", str(c.release / A_HELPER), OTHER_HELPER),
        {"front.conf"},
    ),
    "the interpreter is gone": (
        lambda c: replace(c.release / "etc/front.conf", "python=/", "python=/proc/nowhere/"),
        {"python"},
    ),
    "the real command is gone": (lambda c: c.real.unlink(), {"sbatch"}),
    "the real command is Maple": (
        lambda c: replace(c.release / "etc/front.conf", f"={c.real}", f"={c.bin / 'sbatch'}"),
        {"sbatch", "PATH"},
    ),
    "the facts cannot be read": (lambda c: (c.release / "etc/site.json").write_text("{"), {"files", "site"}),
    "the exceptions cannot be read": (lambda c: (c.prefix / "policy.json").write_text("[]"), {"policy"}),
    "the audit folder is gone": (lambda c: (c.prefix / "audit").rmdir(), {"audit"}),
    "the audit folder is open to be read": (lambda c: change(c.prefix / "audit", 0o1777), {"audit"}),
    "the command was replaced": (
        lambda c: ((c.bin / "sbatch").unlink(), (c.bin / "sbatch").write_text("#!/bin/sh\n")),
        {"command"},
    ),
    "the command is gone": (lambda c: (c.bin / "sbatch").unlink(), {"command"}),
    "PATH finds the real one first": (lambda c: c.monkeypatch.setenv("PATH", "/usr/bin:/bin"), {"PATH"}),
    "the receipt is garbage": (lambda c: (c.prefix / "install.json").write_text("{"), {"receipt"}),
    "the helper does not answer": (lambda c: silence(c.release), {"self-test"}),
}


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_each_fault_is_found_and_only_it(installed, fault):
    """The checks that fail are those that the fault touches; each says what to do; the table says the same."""
    break_it, expected = FAULTS[fault]
    break_it(installed)
    assert states(installed)["wrong"] == expected
    checks = json.loads(installed.admin("doctor", "--json").output)
    fits("doctor", checks)
    assert all(check["todo"] for check in checks if check["state"] == "wrong")
    table = installed.admin("doctor")
    assert table.exit_code == 1 and table.output.count("WRONG") >= len(expected)


def test_a_helper_that_is_late_is_no_fault_but_pointed_out(installed):
    """A busy machine makes it late: the installation is whole, and the doctor says what that means for users."""
    replace(installed.release / "etc/front.conf", "mode=repair", "mode=repair\nhelper_ms=1")
    found = states(installed)
    assert found["wrong"] == set() and "self-test" in found["note"]


def test_facts_that_were_changed_since_are_pointed_out(installed, monkeypatch):
    """An installation holds a snapshot: the site file may have gone on."""
    real = sources.site
    monkeypatch.setattr(sources, "site", lambda name: real(name)._replace(revision="another"))
    assert states(installed)["wrong"] == {"site"}


MENDED = ("the link is gone", "a module was changed", "a module was added", "the manifest is gone",
          "front.conf is gone", "the front may not be run", "there is no such mode", "the facts cannot be read",
          "the audit folder is gone", "the command is gone", "the interpreter is gone",
          "the real command is Maple", "the helper is a checkout's")  # fmt: skip


@pytest.mark.parametrize("fault", MENDED, ids=str)
def test_installing_again_mends_it(installed, fault):
    """What the doctor advises works."""
    FAULTS[fault][0](installed)
    assert installed.install().exit_code == 0
    assert states(installed)["wrong"] == set()


def test_the_table_breaks_no_word_and_a_command_can_be_copied(capsys, monkeypatch):
    """At 80 columns: a long path breaks behind a slash, a long command goes on behind a backslash."""
    command = "runuser -u maple -- /opt/maple/venv/bin/maple-daemon --config '/opt/my maple/daemon.toml'"
    long = "/opt/maple/releases/0.1.0-083ab382854e/reader/maple_agents/admission/child.py, by /usr/bin/python3.11"
    monkeypatch.setenv("COLUMNS", "80")
    doctor.table([Check("reader", "ok", long), Check("service", "note", "silent", f"start it:\n    {command}")])
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert long.replace(" ", "") in "".join(shown.split()) and all(
        row.endswith("/") for row in shown.splitlines() if "reader/" in row
    )
    pasted = shown.split("start it:\n")[1]
    assert shlex.split(pasted.replace("\\\n", "")) == shlex.split(command)


def test_what_is_no_command_stays_in_one_piece():
    """Backslashes would be part of a line of Lua."""
    line = '    prepend_path("PATH", "/opt/%s/bin")' % ("x" * 80)
    assert copied(line, 80) == [line]
