"""The set-up of a bare machine, with stand-ins for the programs that would change this one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SETUP = Path(__file__).parents[2] / "packaging/setup"


@pytest.fixture
def machine(tmp_path):
    """Return a function that runs packages.sh on a machine made of stand-ins."""
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    for name in ("sh", "env", "mktemp", "rm", "tail", "chmod", "cat", "kill"):
        (bin_dir / name).symlink_to(next(p for p in (Path("/bin") / name, Path("/usr/bin") / name) if p.exists()))

    def stand_in(name, body):
        (bin_dir / name).write_text(f"#!/bin/sh\n{body}\n")
        (bin_dir / name).chmod(0o755)

    def run(missing=(), uid=0, fails=0, sudo=False, debian=True, while_installing=""):
        cases = "|".join(missing) or "none-is-missing"
        stand_in("id", f"echo {uid}")
        if debian:
            stand_in("dpkg-query", f'case "$3" in {cases}) exit 1;; *) printf installed;; esac')
            stand_in(
                "apt-get",
                f'echo "$DEBIAN_FRONTEND $*" >>{tmp_path}/calls\n'
                f'case "$*" in *" install "*) ;; *) exit 0;; esac\n'
                f"echo x >>{tmp_path}/tries\n"
                f"{while_installing}\n"
                f"[ $(wc -l <{tmp_path}/tries) -gt {fails} ] || {{ echo E: why; exit 100; }}",
            )
            (bin_dir / "wc").unlink(missing_ok=True)
            (bin_dir / "wc").symlink_to("/usr/bin/wc")
        if sudo:
            stand_in("sudo", f'echo "sudo $1" >>{tmp_path}/calls; shift; exec "$@"')
        said = subprocess.run(
            [SETUP / "packages.sh"],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env={"PATH": str(bin_dir), "MAPLE_POLICY_RC_D": str(tmp_path / "policy-rc.d")},
            timeout=60,
        )
        calls = tmp_path / "calls"
        return said, calls.read_text().splitlines() if calls.exists() else []

    return run


def test_a_machine_that_has_everything_is_left_alone(machine):
    said, calls = machine()
    assert (said.returncode, said.stdout, said.stderr, calls) == (0, "", "", [])


def test_only_what_is_missing_is_installed_and_said(machine):
    said, calls = machine(missing=("munge", "slurmd"))
    assert (said.returncode, said.stdout.splitlines()[0]) == (0, "installing Debian packages: munge slurmd")
    assert len(calls) == 1
    assert calls[0].startswith("noninteractive ") and calls[0].endswith("--no-install-recommends munge slurmd")


def test_stale_lists_are_refreshed_once(machine):
    said, calls = machine(missing=("munge",), fails=1)
    assert said.returncode == 0
    assert [call.split()[-1] for call in calls] == ["munge", "update", "munge"]


def test_a_package_that_cannot_be_had_is_said_with_apt_s_own_reason(machine):
    said, _ = machine(missing=("munge",), fails=9)
    assert said.returncode == 1
    assert "E: why" in said.stderr and "could not install: munge" in said.stderr and "help: " in said.stderr


def test_without_root_and_sudo_the_command_is_named(machine):
    said, calls = machine(missing=("munge",), uid=1000)
    assert (said.returncode, calls) == (1, [])
    assert said.stderr.endswith("help: as root, run: apt-get install --no-install-recommends munge\n")


def test_where_nobody_can_type_a_password_sudo_does_not_ask_for_one(machine):
    said, calls = machine(missing=("munge",), uid=1000, sudo=True)
    assert said.returncode == 0 and calls[0] == "sudo -n"


def test_where_there_is_no_apt_the_missing_commands_are_named(machine):
    said, _ = machine(debian=False)
    assert said.returncode == 1 and "this is no Debian" in said.stderr and "help: " in said.stderr


ASK_POLICY = 'echo "$(cat {0}/policy-rc.d)" >>{0}/policies; {0}/policy-rc.d munge start; echo $? >>{0}/asked'


def test_services_are_kept_from_starting_while_packages_are_installed(machine, tmp_path):
    """That is said before anything is done, and taken back afterwards."""
    said, _ = machine(missing=("munge",), while_installing=ASK_POLICY.format(tmp_path))
    assert said.returncode == 0 and (tmp_path / "asked").read_text() == "101\n"  # invoke-rc.d(8): forbidden
    assert "services in them are not started now" in said.stdout
    assert not (tmp_path / "policy-rc.d").exists()


@pytest.mark.parametrize("how", ["fails", "TERM", "HUP", "INT"])
def test_they_start_as_before_whatever_becomes_of_the_installation(machine, tmp_path, how):
    """It failed, or somebody ended it."""
    ends = "" if how == "fails" else f"kill -{how} $PPID"
    said, _ = machine(missing=("munge",), fails=9, while_installing=f"{ASK_POLICY.format(tmp_path)}; {ends}")
    assert said.returncode != 0 and (tmp_path / "asked").read_text().startswith("101\n")
    assert not (tmp_path / "policy-rc.d").exists()


def test_what_an_installation_that_was_killed_has_left_is_taken_away_by_the_next_run(machine, tmp_path):
    """Also where nothing is missing any more; the services' owner would look for it for long."""
    said, _ = machine(missing=("munge",), while_installing="kill -KILL $PPID")
    assert said.returncode < 0 and (tmp_path / "policy-rc.d").exists()
    said, calls = machine()
    assert said.returncode == 0 and "which a set-up that was killed has left" in said.stdout
    assert not (tmp_path / "policy-rc.d").exists()
    said, _ = machine()
    assert (said.returncode, said.stdout) == (0, "")


@pytest.mark.parametrize("policy", ["#!/bin/sh\nexit 0\n", "#!/bin/sh\n", "", "#!/bin/sh\nexit 101\n"])
def test_a_policy_that_is_there_is_kept_and_named(machine, tmp_path, policy):
    """Whatever it says: it is the administrator's."""
    (tmp_path / "policy-rc.d").write_text(policy)
    said, _ = machine(missing=("munge",))
    assert said.returncode == 0 and "is there already and stays" in said.stdout
    assert (tmp_path / "policy-rc.d").read_text() == policy


def test_of_two_set_ups_at_once_the_second_leaves_the_first_one_s_policy(machine, tmp_path):
    """It is in force, and the first one takes it away."""
    line = f"# Of maple's set-up: no service starts while packages are installed. Process {os.getpid()}\n"
    (tmp_path / "policy-rc.d").write_text("#!/bin/sh\n" + line + "exit 101\n")
    said, _ = machine(missing=("munge",))
    assert said.returncode == 0 and "is there already and stays" in said.stdout
    assert line in (tmp_path / "policy-rc.d").read_text()


def test_a_link_that_leads_nowhere_is_not_written_through(machine, tmp_path):
    """As root that would make a file anywhere."""
    (tmp_path / "policy-rc.d").symlink_to(tmp_path / "elsewhere")
    said, _ = machine(missing=("munge",))
    assert said.returncode == 0 and "is there already and stays" in said.stdout
    assert not (tmp_path / "elsewhere").exists()


@pytest.fixture
def checkout(tmp_path):
    """Return a checkout with a .venv of stand-ins that says what pip was called with."""
    (tmp_path / "packaging/setup").mkdir(parents=True)
    script = tmp_path / "packaging/setup/venv.sh"
    script.write_bytes((SETUP / "venv.sh").read_bytes())
    script.chmod(0o755)
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    (tmp_path / "packaging/setup/dev.lock").write_text("click==8.1\n")
    python = tmp_path / "python3"
    python.write_text(
        "#!/bin/sh\n"
        f'echo "$*" >>{tmp_path}/calls\n'
        'case "$*" in "-m venv .venv") mkdir -p .venv/bin; cp "$0" .venv/bin/python;; -V) echo Python 3.12;; esac\n'
    )
    python.chmod(0o755)

    def run() -> tuple[subprocess.CompletedProcess, list[str]]:
        (tmp_path / "calls").write_text("")
        said = subprocess.run(
            [script], capture_output=True, text=True, env={**os.environ, "PYTHON": str(python)}, timeout=60
        )
        return said, [line for line in (tmp_path / "calls").read_text().splitlines() if line.startswith("-m")]

    run.path = tmp_path
    return run


def test_a_second_run_does_nothing(checkout):
    said, calls = checkout()
    assert said.returncode == 0 and calls[0] == "-m venv .venv" and calls[1].startswith("-m pip install")
    said, calls = checkout()
    assert (said.returncode, said.stdout, calls) == (0, "", [])


def test_only_what_the_list_names_is_installed_byte_for_byte(checkout):
    """With hashes and nothing built from sources, whose own needs nobody has listed; then ours, and nothing with it."""
    _, calls = checkout()
    assert "--require-hashes --only-binary :all: --requirement packaging/setup/dev.lock" in calls[1]
    assert calls[2].endswith("--no-deps --no-build-isolation --editable .") and len(calls) == 3


def test_another_list_of_packages_installs_again(checkout):
    checkout()
    (checkout.path / "packaging/setup/dev.lock").write_text("click==8.2\n")
    assert [call for call in checkout()[1] if "--require-hashes" in call]


def test_another_pyproject_installs_again_in_the_same_venv(checkout):
    checkout()
    (checkout.path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    calls = checkout()[1]
    assert not [call for call in calls if "venv" in call.split()[1]]
    assert [call for call in calls if call.startswith("-m pip install")]


def test_without_a_fitting_python_it_says_what_to_do(checkout):
    for name in ("python3", "python3.14", "python3.13", "python3.12", "python3.11"):
        (checkout.path / name).write_text("#!/bin/sh\nexit 1\n")
        (checkout.path / name).chmod(0o755)
    script = (checkout.path / "packaging/setup/venv.sh").read_text().replace(" /usr/bin/python3", "")
    (checkout.path / "packaging/setup/venv.sh").write_text(script)
    environ = {"PATH": f"{checkout.path}:/usr/bin:/bin"}
    said = subprocess.run(
        [checkout.path / "packaging/setup/venv.sh"], capture_output=True, text=True, env=environ, timeout=60
    )
    assert said.returncode == 1
    assert "found no Python 3.11" in said.stderr and "help: apt-get install python3" in said.stderr
