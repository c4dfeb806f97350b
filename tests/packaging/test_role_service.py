"""Ansible's role with service and hooks, whole: in a root of its own over this machine's, twice, and the way back.

Everything is real there, the service too, but systemd and qmgr: doubles that remember what they were told, of which
systemctl starts and ends what the written unit names.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.test_recipes import PLAYBOOK, ROOT

PREFIX, KEPT = "/opt/maple", "/run/double"
SLURM = "ClusterName=x\nSlurmctldHost=here\n"
SYSTEMCTL = r"""#!/bin/bash
[[ $1 == daemon-reload ]] && exit 0
kept=/run/double word=$1 name=${2//\'/} unit=/etc/systemd/system
mkdir -p $kept; echo "$word $name" >>$kept/told
started() { [[ -s $kept/pid ]] && kill -0 "$(cat $kept/pid)" 2>/dev/null; }
begin() {
    started && return
    install -d -o maple /run/maple /var/lib/maple
    sh -c "$(sed -n s/^ExecStartPre=//p $unit/maple-daemon.service)" >&2 || exit 1
    user=$(sed -n s/^User=//p $unit/maple-daemon.service)
    setsid runuser -u "$user" -- $(sed -n s/^ExecStart=//p $unit/maple-daemon.service) >$kept/log 2>&1 </dev/null &
    echo $! >$kept/pid
    for _ in {1..300}; do [[ -S /run/maple/daemon.sock ]] && return; sleep 0.1; done
    exit 1
}
end() { started && kill -- -"$(cat $kept/pid)"; rm -f $kept/pid; }
case $word in
    show)
        echo "Id=$name"
        [[ -e $unit/$name || $name == slurmctld.service ]] && echo LoadState=loaded || echo LoadState=not-found
        [[ $name == slurmctld.service ]] || started && echo ActiveState=active || echo ActiveState=inactive ;;
    is-enabled) [[ -e $kept/on.$name ]] && echo enabled || { echo disabled; exit 1; } ;;
    enable) touch "$kept/on.$name" ;;
    disable) rm -f "$kept/on.$name" ;;
    start) begin ;;
    stop) end ;;
    restart) [[ $name == slurmctld.service ]] || { end; begin; } ;;
esac
"""
QMGR = r"""#!/bin/sh
hook=/run/double/hook
mkdir -p /run/double; echo "qmgr $2" >>/run/double/told
case $2 in
    "create hook maple") : >$hook ;;
    "import hook maple application/x-python default "*) cp "${2##* }" $hook ;;
    "export hook maple application/x-python default") cat $hook ;;
    "delete hook maple") rm $hook ;;
    "list hook maple") [ -e $hook ] ;;
esac
"""


class Host:
    """This machine under a layer of its own, which goes with the process that holds it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        layers = "mount -t tmpfs none %s && cd %s && mkdir up work root && " % (folder, folder)
        layers += (
            "mount -t overlay overlay -o lowerdir=/,upperdir=up,workdir=work root && mount --rbind /dev root/dev && "
        )
        layers += "mount -t proc proc root/proc && mount -t tmpfs run root/run && mkdir -p root/run/systemd/system && "
        words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", layers + "echo up && exec sleep 1500"]
        self.held = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.held.stdout is not None and self.held.stdout.readline() == "up\n", self.held.communicate()[1]
        self.run("chmod o+rx /root /work 2>/dev/null; mkdir -p /etc/slurm")  # the service's Python may lie there
        self.write("/usr/bin/systemctl", SYSTEMCTL, 0o755)
        self.write("/usr/local/bin/qmgr", QMGR, 0o755)
        self.write("/usr/local/bin/sbatch", "#!/bin/sh\nexit 0\n", 0o755)
        self.write("/etc/slurm/slurm.conf", SLURM)
        play = "- {hosts: localhost, connection: local, gather_facts: false, roles: [{role: maple}]}\n"
        self.write("/root/play.yml", play)

    def run(self, line: str, *, must: bool = True) -> str:
        """What a line prints there."""
        words = ["nsenter", "--mount", "-t", str(self.held.pid), "chroot", str(self.folder / "root"), "sh", "-c", line]
        environ = {
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root", "LC_ALL": "C.UTF-8",
            "ANSIBLE_ROLES_PATH": str(ROOT / "packaging/ansible/roles"), "ANSIBLE_LOCALHOST_WARNING": "False",
            "ANSIBLE_NOCOLOR": "1",
        }  # fmt: skip
        done = subprocess.run(words, capture_output=True, text=True, timeout=560, env=environ, check=False)
        assert not must or done.returncode == 0, line + "\n" + done.stdout[-6000:] + done.stderr
        return done.stdout

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """Put a file there."""
        words = ["nsenter", "--mount", "-t", str(self.held.pid), "chroot", str(self.folder / "root")]
        line = "mkdir -p $(dirname %s) && rm -f %s && cat >%s && chmod %o %s" % (path, path, path, mode, path)
        subprocess.run([*words, "sh", "-c", line], input=text, text=True, check=True)

    def play(self, *words: str, **variables: object) -> int:
        """Run the role; return how many tasks changed something."""
        always = {
            "ansible_python_interpreter": "/usr/bin/python3", "maple_site": "ncsa-delta", "maple_mode": "observe",
            "maple_venv": sys.prefix, "maple_service": True, "maple_hooks": True,
        }  # fmt: skip
        self.write("/root/told.json", json.dumps({**always, **variables}))
        said = self.run("%s -i localhost, /root/play.yml -e @/root/told.json %s" % (PLAYBOOK, " ".join(words)))
        changed = re.search(r"changed=(\d+) .*failed=0", said)
        assert changed is not None, said
        return int(changed[1])

    def told(self) -> list[str]:
        """What systemctl and qmgr were told since the last time, questions left out."""
        lines = self.run("cat %s/told; rm -f %s/told" % (KEPT, KEPT), must=False).split("\n")
        return [line for line in lines if line and not re.match(r"show|is-enabled|qmgr (list|export)", line)]

    def files(self) -> set[str]:
        """What lies there of Maple, or was made for it."""
        where = "/opt /etc /var/spool /usr/local/bin /var/lib/maple /run"
        aside = "-path /run/double -prune -o -path /run/maple -prune -o -path /var/lib/maple -prune -o"
        return set(self.run("find %s -xdev %s -print 2>/dev/null || true" % (where, aside)).split("\n"))

    def close(self) -> None:
        """Let it go, with all that runs there."""
        self.run("systemctl stop maple-daemon.service", must=False)
        self.held.kill()
        self.held.communicate()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    """A host on which nothing is installed; only root can have one."""
    if os.geteuid() != 0 or not os.environ.get("MAPLE_TEST_WHOLE"):
        pytest.skip("make try-packages runs it, as root: minutes")
    made = Host(tmp_path)
    yield made
    made.close()


def _ends(host: Host) -> bool:
    """Return whether no service is left; the stand-in of systemctl does not wait for one that is told to end."""
    until = time.monotonic() + 20
    while host.run("pgrep -u maple -f maple-daemon", must=False):
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


@pytest.mark.timeout(1500)
def test_service_and_hooks_of_slurm_are_put_there_twice_and_taken_away(host: Host) -> None:
    """The service answers, slurm.conf keeps what is the site's, slurmctld begins anew once, and nothing is left."""
    before = host.files()
    slurm = {"maple_slurm_conf": "/etc/slurm/slurm.conf", "maple_cli_filter": "/etc/slurm/cli_filter.lua"}
    assert host.play("--check", "--diff", **slurm) and host.files() == before and host.told() == []
    assert host.play(**slurm)
    told = host.told()
    assert told.count("restart slurmctld.service") == 1 and "enable maple-daemon.socket" in told
    conf = host.run("cat /etc/slurm/slurm.conf")
    assert conf.startswith(SLURM) and "JobCompLoc=%s/hooks/job_ended" % PREFIX in conf
    assert "maple" in host.run("cat /etc/slurm/cli_filter.lua")
    checks = json.loads(
        host.run(
            "PATH=%s/bin:$PATH %s/bin/maple admin doctor --prefix %s --json" % (PREFIX, sys.prefix, PREFIX), must=False
        )
    )
    assert {check["state"] for check in checks if check["name"] in ("service", "hooks", "settings")} <= {"ok", "note"}
    assert host.run("runuser -u nobody -- test -S /run/maple/daemon.sock && pgrep -u maple -f maple-daemon")

    assert host.play(**slurm) == 0 and host.play("--check", **slurm) == 0
    assert [line for line in host.told() if line.startswith(("restart", "start", "enable"))] == []

    assert host.play("--check", maple_state="absent", **slurm) and host.run("cat /etc/slurm/slurm.conf") == conf
    assert host.play(maple_state="absent", **slurm)
    assert host.run("cat /etc/slurm/slurm.conf") == SLURM and "restart slurmctld.service" in host.told()
    left = {
        path for path in host.files() - before if not re.match(r"/etc/(passwd|group|g?shadow|subuid|subgid)-?$", path)
    }
    assert {path for path in left if not re.search(r"slurm\.conf\.|/run/lock|ansible", path)} == set()
    assert _ends(host)
    assert host.play(maple_state="absent", **slurm) == 0


@pytest.mark.timeout(900)
def test_the_hook_of_pbs_is_loaded_again_where_it_has_changed(host: Host) -> None:
    """And taken out of the server."""
    pbs = {"maple_site": "alcf-polaris", "maple_pbs_hooks": True, "maple_service": True}
    host.write("/usr/local/bin/qsub", "#!/bin/sh\nexit 0\n", 0o755)
    assert host.play(**pbs) and host.run("cmp %s/hook %s/hooks/maple_job_end.py" % (KEPT, PREFIX)) == ""
    assert host.play(**pbs) == 0
    host.run("echo 'an earlier one' >%s/hook" % KEPT)
    assert host.play(**pbs) == 1 and host.run("cmp %s/hook %s/hooks/maple_job_end.py" % (KEPT, PREFIX)) == ""
    host.told()
    assert host.play(maple_state="absent", **pbs) and "qmgr delete hook maple" in host.told()


@pytest.mark.timeout(900)
def test_a_filter_of_the_site_s_own_is_left_alone(host: Host) -> None:
    """The play says so, and stops there."""
    own = textwrap.dedent("function slurm_cli_pre_submit() return slurm.SUCCESS end\n")
    host.write("/etc/slurm/cli_filter.lua", own)
    with pytest.raises(AssertionError, match="Whose is it"):
        host.play(maple_cli_filter="/etc/slurm/cli_filter.lua")
    assert host.run("cat /etc/slurm/cli_filter.lua") == own
