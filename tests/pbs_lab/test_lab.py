"""A PBS lab is a cluster: hosts with names and networks of their own, jobs as a mom starts them, and no trace."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.lab import cleanup
from tests.lab.client import eventually
from tests.pbs_lab import PAIR, LabError, PbsLab, programs

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TWO = "select=2:ncpus=8:ngpus=2"
# As measured on OpenPBS 23.06; MAIL and TZ follow where the submitter has them.
MEASURED = """HOME LOGNAME USER SHELL PATH PWD TMPDIR NCPUS OMP_NUM_THREADS ENVIRONMENT PBS_ACCOUNT PBS_ENVIRONMENT
    PBS_JOBCOOKIE PBS_JOBDIR PBS_JOBID PBS_JOBNAME PBS_MOMPORT PBS_NODEFILE PBS_NODENUM PBS_QUEUE PBS_TASKNUM PBS_O_HOME
    PBS_O_HOST PBS_O_LANG PBS_O_LOGNAME PBS_O_MAIL PBS_O_PATH PBS_O_QUEUE PBS_O_SHELL PBS_O_SYSTEM PBS_O_WORKDIR"""


def run(lab, folder, script, *words, env=None, timeout=20):
    """Submit, run, and return how it ended."""
    (folder / "job.sh").write_text(script)
    sent = lab.qsub(*words, "job.sh", cwd=str(folder), env=env)
    assert sent.id is not None, sent.stderr
    return lab.run(sent.id, timeout)


def test_the_environment_of_a_job_is_the_measured_one_and_no_more(pair, tmp_path):
    env = pair.environment(MAIL="/var/mail/x", SECRET="1")
    ended = run(pair, tmp_path, "env\n", "-A", "proj", "-l", TWO, env=env)
    names = {line.partition("=")[0] for line in ended.stdout.splitlines()}
    assert names - {"SHLVL", "_"} == set(MEASURED.split())


def test_variables_follow_by_v_and_by_capital_v_only(pair, tmp_path):
    env = pair.environment(A="1", B="2 3")
    show = "echo [$A][$B][$C]\n"
    assert run(pair, tmp_path, show, env=env).stdout == "[][][]\n"
    assert run(pair, tmp_path, show, "-v", "B,C=4", env=env).stdout == "[][2 3][4]\n"
    assert run(pair, tmp_path, show, "-V", env=env).stdout == "[1][2 3][]\n"
    assert pair.qsub("-v", "NOT_SET", "job.sh", cwd=str(tmp_path), env=env).stderr == (
        "qsub: cannot send environment with the job\n"
    )


def test_a_job_starts_in_its_home_on_the_first_host_from_a_copy(pair, tmp_path):
    ended = run(pair, tmp_path, "#!/bin/bash\npwd; hostname; echo $0 $PBS_O_WORKDIR\n", "-l", TWO)
    home, host, rest = ended.stdout.splitlines()
    assert (home, host) == (f"{pair.directory}/home", "node1")
    assert rest == f"{pair.directory}/jobs/{ended.id}.SC {tmp_path}"


def test_cpus_of_the_chunk_are_the_number_of_threads(pair, tmp_path):
    assert run(pair, tmp_path, "echo $NCPUS $OMP_NUM_THREADS\n", "-l", TWO).stdout == "8 8\n"


def test_the_shebang_of_the_copy_counts_and_S_names_the_shell(pair, tmp_path):
    assert run(pair, tmp_path, "#!/usr/bin/env -S cat\nwords\n").stdout.endswith("words\n")
    assert run(pair, tmp_path, "#!/no/such/shell\n").exit_code == 127
    missing = run(pair, tmp_path, "true\n", "-S", "/no/shell")
    assert (missing.exit_code, "exec of /no/shell failed" in missing.stderr) == (254, True)


def test_each_host_has_a_name_and_a_network_of_its_own(pair, tmp_path):
    listen = "import socket,time; s=socket.socket(); s.bind(('',29500)); s.listen(); time.sleep(.3); print('had it')"
    script = f'for h in node1 node2; do ssh $h hostname; ssh $h "/usr/bin/python3 -c \\"{listen}\\"" & done; wait\n'
    ended = run(pair, tmp_path, script, "-l", TWO)
    assert sorted(ended.stdout.split("\n")) == ["", "had it", "had it", "node1", "node2"]


def test_hosts_find_each_other_by_either_name(aurora, tmp_path):
    script = "getent hosts x4109c0s2b0n0 x4109c0s2b0n0.hsn.cm.aurora.alcf.anl.gov\n"
    words = ["-A", "p", "-q", "debug", "-l", "select=2,filesystems=home"]
    ended = run(aurora, tmp_path, script, *words)
    assert {line.split()[0] for line in ended.stdout.splitlines()} == {aurora.addresses["x4109c0s2b0n0"]}


def test_output_goes_where_the_job_says(pair, tmp_path):
    (tmp_path / "logs").mkdir()
    both = "echo out; echo err >&2\n"
    number = run(pair, tmp_path, both, "-N", "mine").id.split(".")[0]
    assert (tmp_path / f"mine.o{number}").read_text() == "out\n"
    assert (tmp_path / f"mine.e{number}").read_text() == "err\n"
    joined = run(pair, tmp_path, both, "-j", "oe", "-o", "host:/" + str(tmp_path / "logs/both")[1:])
    assert (tmp_path / "logs/both").read_text() == "out\nerr\n" == joined.stdout
    run(pair, tmp_path, both, "-o", "logs")
    assert [path.suffix for path in (tmp_path / "logs").iterdir() if path.name != "both"] == [".OU"]


def test_exit_codes_and_signals_are_told_apart(pair, tmp_path):
    assert run(pair, tmp_path, "exit 0\n")[1:3] == ("COMPLETED", 0)
    assert run(pair, tmp_path, "exit 7\n")[1:3] == ("FAILED", 7)
    assert run(pair, tmp_path, "kill -9 $$\n")[1:3] == ("FAILED", 137)


def test_members_of_an_array_know_their_number(pair, tmp_path):
    ended = run(pair, tmp_path, "#PBS -J 1-5:2\necho $PBS_ARRAY_INDEX $PBS_JOBID $PBS_ARRAY_ID\n")
    number = ended.id.split("[")[0]
    assert ended.stdout.splitlines() == [f"{i} {number}[{i}].pbs01 {number}[].pbs01" for i in (1, 3, 5)]
    assert (tmp_path / f"job.sh.o{number}.3").exists()


def test_a_job_that_stays_is_ended_on_every_host(pair, tmp_path):
    ended = run(pair, tmp_path, "ssh node2 'env -i setsid sleep 600' & sleep 600\n", "-l", TWO, timeout=1)
    assert ended.state == "HUNG"
    assert sleepers(pair.directory) == ["infinity", "infinity"]  # one holds each host


def test_what_a_job_leaves_behind_ends_with_it(pair, tmp_path):
    ended = run(pair, tmp_path, "setsid sleep 600 > /dev/null 2>&1 < /dev/null &\nssh -f node2 setsid sleep 600\n")
    assert ended.state == "COMPLETED"
    assert sleepers(pair.directory) == ["infinity", "infinity"]


def test_a_script_from_stdin_is_called_STDIN(pair, tmp_path):
    sent = pair.qsub(cwd=str(tmp_path), stdin=b"echo $PBS_JOBNAME\n")
    assert pair.run(sent.id).stdout == "STDIN\n"


def test_pbs_starts_programs_on_hosts_with_the_environment_the_job_began_with(pair, tmp_path):
    script = (
        "export LATE=1\npbs_tmrsh node2 'echo $(hostname) $PBS_JOBID [$LATE]'\npbsdsh -- sh -c 'echo $PBS_NODENUM'\n"
    )
    ended = run(pair, tmp_path, script, "-l", TWO)
    first, *rest = ended.stdout.splitlines()
    assert (first, sorted(rest)) == (f"node2 {ended.id} []", ["0", "1"])
    assert "not part of the job" in run(pair, tmp_path, "pbs_tmrsh node2 true\n").stderr


def test_ssh_brings_nothing_along_and_knows_the_hosts_only(pair, tmp_path):
    ended = run(pair, tmp_path, "export LATE=1\nssh -o X=y u@node2 'echo [$LATE][$PBS_JOBID] $PWD'; ssh nowhere true\n")
    assert ended.stdout == f"[][] {pair.directory}/home\n"
    assert (ended.exit_code, "Could not resolve hostname nowhere" in ended.stderr) == (255, True)


def test_pdsh_labels_its_lines_and_numbers_its_hosts(pair, tmp_path):
    ended = run(pair, tmp_path, "pdsh -S -f 4 -w node1,node2 'echo %n on %h; exit %n'\n")
    assert sorted(ended.stdout.splitlines()) == ["node1: 0 on node1", "node2: 1 on node2"]
    assert ended.exit_code == 1


def test_what_a_site_has_not_is_not_found(polaris, tmp_path):
    words = ["-A", "p", "-q", "debug", "-l", "select=1,filesystems=home"]
    for name in ("srun", "mpirun", "ibrun", "mpiexec.hydra"):
        ended = run(polaris, tmp_path, f"{name} true\n", *words)
        assert (ended.exit_code, f"{name}: command not found" in ended.stderr) == (127, True)


def test_hostile_names_and_scripts_are_only_bytes(pair, tmp_path):
    name = "a;touch hit $(touch hit)'\".sh"
    (tmp_path / name).write_bytes(b"#!/bin/sh\n# caf\xe9 \xff\necho ok\n")
    sent = pair.qsub("-N", "plain", name, cwd=str(tmp_path))
    assert pair.run(sent.id).stdout == "ok\n"
    assert not [path for path in (tmp_path, tmp_path.parent) if (path / "hit").exists()]


def test_a_stopped_lab_leaves_nothing(tmp_path):
    with PbsLab(PAIR) as lab:
        directory = lab.directory
        run(lab, tmp_path, "ssh -f node2 sleep 600\n")
    assert left_over(directory) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "term"])
def test_a_lab_whose_owner_dies_leaves_nothing(number):
    text = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from tests.pbs_lab import PAIR, PbsLab\n"
        "lab = PbsLab(PAIR).start()\n"
        "sent = lab.qsub(cwd='/tmp', stdin=b'#PBS -o /dev/null\\n#PBS -j oe\\nssh node2 sleep 600\\n')\n"
        "print(lab.directory, flush=True)\n"
        "lab.run(sent.id, 600)\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", text, ROOT], stdout=subprocess.PIPE, text=True)
    directory = owner.stdout.readline().strip()
    assert os.path.isdir(directory)
    assert eventually(lambda: "600" in sleepers(directory))
    owner.send_signal(number)
    owner.communicate(timeout=20)
    assert eventually(lambda: left_over(directory) == []), left_over(directory)


def test_two_labs_do_not_meet(pair, tmp_path):
    with PbsLab(PAIR) as other:
        assert set(other.addresses.values()).isdisjoint(pair.addresses.values())
        ended = run(other, tmp_path, f"ssh {pair.addresses['node1']} hostname\n")
        assert ended.exit_code == 255


def test_where_hydra_is_missing_the_line_that_installs_it_is_named(monkeypatch):
    monkeypatch.setattr(programs.shutil, "which", lambda name, path=None: None)
    lab = PbsLab(PAIR)
    with pytest.raises(LabError, match="apt-get install .*mpich"):
        lab.start()
    assert lab.directory == ""


def test_where_networks_are_not_allowed_the_lab_says_so(monkeypatch):
    monkeypatch.setattr("tests.pbs_lab.hosts.can_own_networks", lambda: False)
    with pytest.raises(LabError, match="takes root"):
        PbsLab(PAIR).start()


def test_settings_of_the_stand_ins_are_no_part_of_the_environment(pair, tmp_path):
    pair.tell(MAPLE_FACTS="/nowhere")
    with open(programs.settings(pair.directory), encoding="utf-8") as file:
        assert json.load(file)["MAPLE_FACTS"] == "/nowhere"
    assert "MAPLE" not in run(pair, tmp_path, "env\n").stdout


def sleepers(directory):
    """Return how long each sleep of the lab was told to sleep."""
    found = []
    for pid in cleanup.belonging(directory):
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
        if words[0].endswith(b"sleep"):
            found.append(words[1].decode())
    return sorted(found)


def left_over(directory):
    """Return whatever is still there of a lab: processes, links, its folder."""
    links = [link for link in os.listdir("/sys/class/net") if os.path.basename(directory) in link]
    return [*cleanup.belonging(directory), *links, *([directory] if os.path.exists(directory) else [])]
