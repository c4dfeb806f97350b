"""A lab is a cluster: it has hosts, GPUs and refusals of its own, and it goes without a trace."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.lab import (
    GPU2X2,
    GPU4,
    WHOLE_NODE3,
    Lab,
    LabError,
    NodeGroup,
    PartitionShape,
    Refusal,
    Route,
    Shape,
    cleanup,
    processes,
)
from tests.lab.client import eventually
from tests.lab.config import Layout, slurm_conf
from tests.lab.lab import _claim_ports
from tests.lab.lua import job_submit
from tests.wanted import up

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def output(lab, tmp_path, *argv, script="#!/bin/bash\n"):
    """Submit, wait, and return how the job ended and what it wrote."""
    path = tmp_path / "job.sh"
    path.write_text(script)
    job = lab.sbatch(*argv, "-o", str(tmp_path / "out"), str(path), cwd=str(tmp_path))
    assert job.id is not None, job.stderr
    ended = lab.wait(job.id)
    return ended, (tmp_path / "out").read_text()


def test_each_node_has_a_host_name_of_its_own(small_lab, tmp_path):
    ended, text = output(small_lab, tmp_path, "-N2", "-n2", script="#!/bin/bash\nsrun hostname\n")
    assert ended.state == "COMPLETED"
    assert sorted(text.split()) == ["gpu-node-1", "gpu-node-2"]


def test_no_port_of_the_lab_is_one_that_a_script_counts_up_to(small_lab):
    conf = pathlib.Path(f"{small_lab.directory}/etc/slurm.conf").read_text(encoding="utf-8")
    ports = [int(port) for pair in re.findall(r"Port(?:Range)?=(\d+)(?:-(\d+))?", conf) for port in pair if port]
    assert len(ports) == 5  # the controller's, two nodes', srun's first and last
    assert min(ports) >= 61000  # scripts: 29500, 10000 + id, 49152 + id % 16384; kernels: 32768 to 60999


def test_nodes_find_each_other_by_name(small_lab, tmp_path):
    _, text = output(small_lab, tmp_path, "-N1", script="#!/bin/bash\ngetent hosts gpu-node-2\n")
    assert text.split() == [small_lab.layout.addresses[1], "gpu-node-2"]


def test_the_same_port_is_free_on_every_node_of_a_lab_with_networks(small_lab, tmp_path):
    if not small_lab.own_networks:
        pytest.skip("a plain user has no networks to give")
    listen = "import socket,time; s=socket.socket(); s.bind(('',29500)); s.listen(); time.sleep(.5); print('had it')"
    _, text = output(small_lab, tmp_path, "-N2", "-n2", script=f'#!/bin/bash\nsrun /usr/bin/python3 -c "{listen}"\n')
    assert text.split("\n")[:2] == ["had it", "had it"]


def test_a_job_gets_the_gpus_it_asks_for(small_lab, tmp_path):
    script = "#!/bin/bash\n#SBATCH --gpus-per-node=2\necho $CUDA_VISIBLE_DEVICES\n"
    assert output(small_lab, tmp_path, script=script)[1] == "0,1\n"


def test_more_gpus_than_a_node_has_are_refused(small_lab):
    job = small_lab.sbatch("--gpus-per-node=3", "--wrap", "true")
    assert (job.id, job.returncode) == (None, 1)
    assert "Requested node configuration is not available" in job.stderr


def test_an_exit_code_and_a_signal_are_told_apart(small_lab, tmp_path):
    assert output(small_lab, tmp_path, script="#!/bin/bash\nexit 3\n")[0][1:4] == ("FAILED", 3, 0)
    assert output(small_lab, tmp_path, script="#!/bin/bash\nkill -9 $$\n")[0][1:4] == ("FAILED", 0, 9)


def test_waiting_for_a_job_that_stays_ends(small_lab):
    job = small_lab.sbatch("--hold", "--wrap", "true")
    with pytest.raises(TimeoutError, match=str(job.id)):
        small_lab.wait(job.id, 0.1)
    small_lab.cancel(job.id)
    assert small_lab.wait(job.id).state == "CANCELLED"


def test_the_stored_script_comes_back_as_bytes(small_lab, tmp_path):
    content = b"#!/bin/bash\n# caf\xe9\ntrue\n"
    (tmp_path / "job.sh").write_bytes(content)
    job = small_lab.sbatch("--hold", str(tmp_path / "job.sh"))
    assert small_lab.script(job.id) == content
    small_lab.cancel(job.id)


def test_whole_nodes_refuse_gpu_options_in_the_clusters_own_words(lab_of):
    lab = lab_of(WHOLE_NODE3)
    assert "say the number of nodes with -N" in lab.sbatch("-p", "gpu-a100", "--wrap", "true").stderr
    refused = lab.sbatch("-N1", "--gres=gpu:3", "--wrap", "true")
    assert refused.id is None
    assert lab.sbatch("-N1", "-p", "gpu-a100", "-o", "/dev/null", "--wrap", "true").id


def test_a_limit_of_a_partition_is_refused_at_once(lab):
    assert "Requested time limit is invalid" in lab.sbatch("-p", "debug", "-t", "60", "--wrap", "true").stderr
    assert "Node count specification invalid" in lab.sbatch("-p", "debug", "-N3", "--wrap", "true").stderr


QOS = Shape(
    "qos",
    (NodeGroup("g", 1, gpus=1, features=("gpu", "big")), NodeGroup("c", 1, features=("cpu",))),
    (
        PartitionShape("regular-gpu", ("g",)),
        PartitionShape("debug-gpu", ("g",), max_time=600),
        PartitionShape("cpu", ("c",)),
    ),
    (
        Refusal(("constraint",), "missing", 'No architecture "100%" known.'),
        Refusal(("partition",), "present", "no policy"),
    ),
    (Route("regular-gpu", "regular", "gpu"), Route("debug-gpu", "debug", "gpu"), Route("cpu", "", "cpu")),
    default_qos="debug",
)


def test_a_qos_and_a_constraint_choose_the_partition(lab_of):
    lab = lab_of(QOS)
    for words, partition in (
        (["-C", "gpu", "-q", "regular"], "regular-gpu"),
        (["-C", "gpu&big"], "debug-gpu"),
        (["-C", "cpu", "-q", "anything"], "cpu"),
    ):
        job = lab.sbatch("--hold", *words, "--wrap", "true")
        assert lab.show(job.id)["Partition"] == partition
        lab.cancel(job.id)


def test_a_refusal_is_said_as_it_is_written(lab_of):
    refused = lab_of(QOS).sbatch("--wrap", "true")
    assert refused.stderr.startswith('sbatch: error: No architecture "100%" known.\n')
    assert "no policy" in lab_of(QOS).sbatch("-C", "gpu", "-p", "cpu", "--wrap", "true").stderr


def test_lua_text_cannot_escape_its_quotes():
    text = job_submit(Shape("x", (), (), (Refusal(("account",), "missing", 'a"b\\c\nd'),)))
    assert r'says = "a\"b\\c\nd"' in text


def test_two_labs_do_not_meet(small_lab):
    with Lab(GPU2X2) as other:
        assert other.directory != small_lab.directory
        job = other.sbatch("--hold", "--wrap", "true")
        assert other.run(["squeue", "-h", "-o", "%i"]).stdout.split() == [str(job.id)]
        assert small_lab.run(["squeue", "-h", "-j", str(job.id), "-o", "%T"]).stdout.strip() != "PENDING"


def test_a_stopped_lab_leaves_nothing():
    lab = Lab(GPU2X2).start()
    directory = lab.directory
    job = lab.sbatch("-N2", "-n2", "-o", "/dev/null", "--wrap", "srun env -i /bin/sleep 600")
    running(lab, job.id)
    lab.stop()
    assert left_over(directory) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "term"])
def test_a_lab_whose_owner_dies_leaves_nothing(number):
    text = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from tests.lab import GPU2X2, Lab\n"
        "lab = Lab(GPU2X2).start()\n"
        "lab.sbatch('-N2', '-n2', '-o', '/dev/null', '--wrap', 'srun env -i /bin/sleep 600')\n"
        "print(lab.directory, flush=True)\n"
        "input()\n"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", text, ROOT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    directory = owner.stdout.readline().strip()
    assert os.path.isdir(directory)
    owner.send_signal(number)
    owner.communicate(timeout=20)
    assert eventually(lambda: left_over(directory) == []), left_over(directory)


def test_the_next_lab_sweeps_what_a_dead_one_left(tmp_path):
    (tmp_path / "dead" / "etc").mkdir(parents=True)
    conf = str(tmp_path / "dead" / "etc" / "slurm.conf")
    daemon = subprocess.Popen(["sleep", "600"], env={"SLURM_CONF": conf, "PATH": os.environ["PATH"]})
    own = pathlib.Path(f"/proc/{daemon.pid}/environ")
    while conf.encode() not in own.read_bytes():  # shortly after exec the kernel shows none yet
        time.sleep(0.01)
    (tmp_path / "living").mkdir()
    lock = cleanup.locked(str(tmp_path / "living"))
    cleanup.sweep(str(tmp_path))
    assert daemon.wait(10) == -signal.SIGKILL
    assert sorted(os.listdir(tmp_path)) == ["living"]
    os.close(lock)


def test_what_is_missing_is_named_with_the_line_that_installs_it(monkeypatch):
    monkeypatch.setattr(processes, "OTHER", "")
    monkeypatch.setattr(processes.shutil, "which", lambda name, path: None if name == "munged" else f"/bin/{name}")
    with pytest.raises(LabError, match="needs munged: apt-get install -y .*munge"):
        processes.installed()


def test_a_lab_that_cannot_start_says_why_and_leaves_nothing():
    lab = Lab(Shape("x", (NodeGroup("a", 1),), (PartitionShape("p", ("nobody",)),)))
    with pytest.raises(LabError, match="did not start"):
        lab.start()
    assert lab.directory == ""


def test_in_ci_a_lab_that_cannot_start_fails_and_elsewhere_it_skips(monkeypatch):
    wrong = Shape("x", (NodeGroup("a", 1),), (PartitionShape("p", ("nobody",)),))
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="did not start"):
        up(Lab(wrong))
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match="did not start"):
        up(Lab(wrong))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_where_there_are_no_terminals_devices_are_made_for_the_gpus(monkeypatch):
    monkeypatch.setattr(processes, "_is_device", lambda path: False)
    with Lab(GPU2X2) as lab:
        assert lab.run(["srun", "--gpus-per-node=2", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES"]).stdout == "0,1\n"


def running(lab, job):
    assert eventually(lambda: lab.run(["squeue", "-h", "-j", str(job), "-o", "%t"]).stdout.strip() == "R")


def left_over(directory):
    """Return whatever is still there of a lab: processes, links, mounts, its folder."""
    name = os.path.basename(directory)
    with open("/proc/self/mounts", encoding="utf-8") as file:
        mounts = [line for line in file if directory in line]
    links = [link for link in os.listdir("/sys/class/net") if name in link]
    return [*cleanup.belonging(directory), *mounts, *links, *([directory] if os.path.exists(directory) else [])]


def test_another_slurm_is_run_from_its_own_folder_and_never_mixed_with_the_packaged_one(monkeypatch, tmp_path):
    commands, daemons = ("sbatch", "srun", "sinfo", "scancel"), ("slurmctld", "slurmd", "slurmstepd")
    for name in [*(f"bin/{one}" for one in commands), *(f"sbin/{one}" for one in daemons)]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("#!/bin/sh\necho slurm 99.5.1\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(processes, "OTHER", str(tmp_path))
    found = processes.installed()
    assert {found[name] for name in ("slurmctld", "slurmd", "sbatch")} == {
        f"{tmp_path}/{name}" for name in ("sbin/slurmctld", "sbin/slurmd", "bin/sbatch")
    }
    assert processes.version() == (99, 5)
    assert processes.environment_of_daemons("/lab")["PATH"].startswith(f"{tmp_path}/bin:{tmp_path}/sbin:")
    (tmp_path / "sbin/slurmd").unlink()
    with pytest.raises(LabError, match="has no slurmd in its bin/ and sbin/"):
        processes.installed()


def test_a_lab_of_moved_plugins_says_where_they_are():
    layout = Layout("/lab", "user", 10000, "127.0.0.1", ("127.0.0.11",) * 4, False)
    assert "PluginDir" not in slurm_conf(GPU4, layout)
    assert "PluginDir=/other/lib/slurm" in slurm_conf(GPU4, layout._replace(plugins="/other/lib/slurm")).splitlines()


def test_a_chroot_whose_root_is_no_mount_point_is_said_before_anything_starts(monkeypatch, tmp_path):
    (tmp_path / "unshare").write_text(
        "#!/bin/sh\necho 'unshare: cannot change root filesystem propagation: Invalid argument' >&2\nexit 1\n"
    )
    (tmp_path / "unshare").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(LabError, match="no mount point; outside: mount --bind ROOT ROOT"):
        Lab(GPU2X2).start()


def test_labs_that_start_at_the_same_moment_take_ports_of_their_own():
    claims = [_claim_ports(4) for _ in range(3)]
    for claim, _ in claims:
        claim.close()
    assert len({base for _, base in claims}) == 3
