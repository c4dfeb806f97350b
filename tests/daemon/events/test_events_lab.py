"""On a real Slurm: a job's id and its end are known by the scheduler's own hooks, and nobody is asked for them."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pytest
from maple_daemon.store import open_store
from maple_submit_filter.types.job_records import Outcome, Record

from tests.daemon.serving import WRONG, Daemon
from tests.doubles.stand import LIB, PYTHON, build
from tests.lab import GPU2X2, Lab
from tests.wanted import up

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
SLURM = ROOT + "/packaging/slurm/"
ASKED = b"#!/bin/bash\n#SBATCH --nodes=1\n: srun python %s\nexit %d\n"  # a launcher's word, so that the front asks


class HookedLab(Lab):
    """A lab whose administrator has pasted the lines of `docs/slurm-hooks.md`."""

    def _write(self, programs: Mapping[str, str]) -> None:
        super()._write(programs)
        etc = self.directory + "/etc/"
        os.mkdir(self.directory + "/events")
        os.chmod(self.directory + "/events", 0o1733)
        shutil.copy(SLURM + "job_ended", etc + "job_ended")
        self._file("etc/events.conf", "SPOOL=%s/events\nSTATE=%s/state\n" % (self.directory, self.directory))
        with open(SLURM + "cli_filter.lua", encoding="utf-8") as file:
            text = file.read()
        assert "/var/spool/maple/events" in text
        self._file("etc/cli_filter.lua", text.replace("/var/spool/maple/events", self.directory + "/events"))
        with open(etc + "job-ended", encoding="utf-8") as file:
            own = file.read().partition("\n")[2]
        self._file("etc/job-ended", "#!/bin/sh\n%sjob_ended\n%s" % (etc, own), 0o755)
        with open(etc + "slurm.conf", encoding="utf-8") as file:
            bare = file.read()
        self._file("etc/bare.conf", bare)
        self._file("etc/slurm.conf", bare + "\nCliFilterPlugins=lua\n")


class ElsewhereDaemon(Daemon):
    """A daemon that has the spool under another name, in a mount namespace of its own."""

    spool = ""

    def start(self, wait: bool = True) -> Daemon:
        """Start it there."""
        seen = self.folder + "/seen"
        os.makedirs(seen, exist_ok=True)
        program = "from maple_daemon.cli.daemon import main; main()"
        shell = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
        words = [sys.executable, "-c", program, "--config", self.folder + "/daemon.toml"]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                ["unshare", "-m", "sh", "-c", shell, "sh", self.spool, seen, *words], stdout=log, stderr=log
            )
        until(lambda: "listening" in self.said)
        return self


class Site(NamedTuple):
    """A lab, a daemon that watches its spool, and the front before its sbatch."""

    lab: HookedLab
    daemon: Daemon
    bin: str
    work: str


@pytest.fixture(scope="module")
def hooked() -> Iterator[HookedLab]:
    """One lab for all tests here."""
    made = up(HookedLab(GPU2X2))
    yield made
    made.stop()


@pytest.fixture
def site(hooked: HookedLab, tmp_path: object, request: pytest.FixtureRequest) -> Iterator[Site]:
    """A daemon of the test's own."""
    folder = str(tmp_path)
    if getattr(request, "param", "") == "elsewhere":
        daemon: Daemon = ElsewhereDaemon()
        daemon.spool = hooked.directory + "/events"  # type: ignore[attr-defined]
        with open(daemon.folder + "/daemon.toml", "a", encoding="utf-8") as file:
            file.write('spool = "%s/seen"\n' % daemon.folder)
    else:
        daemon = Daemon(spool=hooked.directory + "/events", per_user={"rate": 9999, "burst": 9999, "connections": 500})
    for name in ("bin", "etc", "work"):
        os.mkdir(folder + "/" + name)
    shutil.copy(build(), folder + "/bin/front")
    os.symlink("front", folder + "/bin/sbatch")
    told = {
        "real_sbatch": shutil.which("sbatch") or "", "python": PYTHON, "helper": LIB + "/maple_submit_filter/helper.py",
        "socket": daemon.socket, "service_uid": str(os.getuid()), "socket_ms": "20000", "helper_ms": "20000",
    }  # fmt: skip
    with open(folder + "/etc/front.conf", "w", encoding="utf-8") as file:
        file.write("".join("%s=%s\n" % pair for pair in told.items()))
    os.chmod(folder + "/etc/front.conf", 0o644)
    daemon.start()
    yield Site(hooked, daemon, folder + "/bin", folder + "/work")
    if daemon.process is not None and daemon.process.poll() is None:
        daemon.stop(signal.SIGKILL)
    hooked.quiet()
    shutil.rmtree(daemon.folder)
    for name in os.listdir(hooked.directory + "/events"):
        with contextlib.suppress(FileNotFoundError):  # a hook may be giving it its name right now
            os.unlink(hooked.directory + "/events/" + name)


def start(site: Site, script: bytes, *words: str, filtered: bool = True) -> subprocess.Popen[bytes]:
    """Begin a submission through the front."""
    with open(site.work + "/.job.sh", "wb") as file:
        file.write(script)
    os.replace(site.work + "/.job.sh", site.work + "/job.sh")  # others may read it right now
    env = site.lab.environment()
    if not filtered:
        env["SLURM_CONF"] = site.lab.directory + "/etc/bare.conf"
    argv = ["sbatch", *words, "job.sh"]
    return subprocess.Popen(
        argv, executable=site.bin + "/sbatch", env=env, cwd=site.work, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def number(submitting: subprocess.Popen[bytes]) -> str:
    """Return the id of the job that was submitted; the command's words are as ever."""
    out, err = submitting.communicate(timeout=120)
    found = re.fullmatch(rb"Submitted batch job (\d+)\n", out)
    assert found is not None and err == b"", (out, err)
    return found[1].decode()


def until(true: object, seconds: float = 120.0) -> None:
    """Wait for what is to come."""
    deadline = time.monotonic() + seconds
    while not true():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.02)


def records(site: Site) -> list[Record]:
    """What the store has."""
    store = open_store(site.daemon.store, lambda why: None)
    try:
        return store.records(os.getuid(), limit=1000)
    finally:
        store.close()


def outcomes_of(site: Site) -> list[Outcome]:
    """What the store knows of ends, also of those that no record is joined to."""
    store = open_store(site.daemon.store, lambda why: None)
    try:
        return [one for one in store.ended(("failed",), 0.0, 100) if one.output]
    finally:
        store.close()


def ended(site: Site, job: str) -> bool:
    """Whether the store knows how that job ended."""
    return any(one.job == job and one.outcome is not None and one.outcome.ended for one in records(site))


@pytest.mark.parametrize("site", ["here", "elsewhere"], indirect=True)
def test_a_jobs_end_is_known_by_the_hook(site: Site) -> None:
    """Its id by the filter, its end by the controller's hook; steps of the job leave nothing behind."""
    script = ASKED % (b"train.py", 3)
    job = number(start(site, script.replace(b"exit", b"srun true\nexit"), "--job-name=a name", "-o", "out-%x-%j"))
    site.lab.wait(int(job))
    began = time.monotonic()
    until(lambda: ended(site, job))
    print("known %.2f s after the hook" % (time.monotonic() - began))
    (one,) = records(site)
    assert one.outcome is not None
    assert (one.job, one.joined) == (job, "filter")
    assert (one.outcome.state, one.outcome.exit_code, one.outcome.source) == ("failed", 3, "jobcomp/script")
    assert one.outcome.output == "%s/out-a name-%s" % (os.path.realpath(site.work), job)
    until(lambda: os.listdir(site.lab.directory + "/events") == [])


def test_output_that_has_its_usual_name_is_known_by_the_hook(site: Site) -> None:
    """Whatever the release tells of it, the file is there; also of a task of an array, whose number is another."""
    plain = number(start(site, ASKED % (b"train.py", 3)))
    array = number(start(site, ASKED % (b"other.py", 3), "--array=1-2"))
    until(lambda: len([one for one in outcomes_of(site) if one.job in (plain, array + "_1", array + "_2")]) == 3)
    found = {one.job: one.output for one in outcomes_of(site)}
    assert found[plain] == "%s/slurm-%s.out" % (os.path.realpath(site.work), plain)
    for job in (plain, array + "_1", array + "_2"):
        assert os.path.isfile(found[job])


def test_fifty_equal_submissions_at_once_have_each_their_own_job(site: Site) -> None:
    """The process that submitted says which; nothing else could."""
    made = [start(site, ASKED % (b"same.py", 0), "--hold") for _ in range(50)]
    jobs = {one.pid: number(one) for one in made}
    until(lambda: sum(1 for one in records(site) if one.job) == 50)
    assert {one.pid: one.job for one in records(site)} == jobs


def test_what_ends_while_the_daemon_is_away_is_known_when_it_is_back(site: Site) -> None:
    """Also of a job that was cancelled before it began."""
    jobs = [number(start(site, ASKED % (b"one.py", 0), "--hold")) for _ in range(2)]
    until(lambda: sum(1 for one in records(site) if one.job) == 2)
    site.daemon.stop()
    site.lab.cancel(int(jobs[0]))
    site.lab.run(["scontrol", "release", jobs[1]])
    for job in jobs:
        site.lab.wait(int(job))
    site.daemon.start()
    until(lambda: all(ended(site, job) for job in jobs))
    assert {one.job: one.outcome.state for one in records(site) if one.outcome} == {
        jobs[0]: "cancelled", jobs[1]: "completed",
    }  # fmt: skip


def test_without_the_filter_the_script_says_which_job_it_is(site: Site) -> None:
    """A repaired script by its last line; another by its hash, time, name and folder; of equal ones none."""
    repaired = number(start(site, WRONG, "--hold", filtered=False))
    plain = number(start(site, ASKED % (b"plain.py", 0), "--hold", "-J", "plain", filtered=False))
    equal = [start(site, ASKED % (b"equal.py", 0), "--hold", "-J", "equal", filtered=False) for _ in range(3)]
    jobs = [repaired, plain, *map(number, equal)]
    until(lambda: len(records(site)) == 5)
    for job in jobs:
        site.lab.cancel(int(job))
        site.lab.wait(int(job))
    until(lambda: site.daemon.said.count("more than one submission") == 3)
    until(lambda: ended(site, plain) and ended(site, repaired))
    known = {one.job: one.joined for one in records(site)}
    assert known == {repaired: "record", plain: "times", "": ""}


def test_a_filter_that_cannot_write_is_not_noticed(site: Site) -> None:
    """No spool: the command says what it always says."""
    os.rename(site.lab.directory + "/events", site.lab.directory + "/away")
    try:
        job = number(start(site, ASKED % (b"quiet.py", 0)))
        assert site.lab.wait(int(job)).state == "COMPLETED"
    finally:
        os.rename(site.lab.directory + "/away", site.lab.directory + "/events")


def test_an_array_is_joined_and_fails_with_its_task(site: Site) -> None:
    """Each task tells its own end; the array is the job that was submitted."""
    script = b"#!/bin/bash\n: srun python a.py\nexit $((SLURM_ARRAY_TASK_ID == 2 ? 5 : 0))\n"
    job = number(start(site, script, "--array=1-3"))
    until(lambda: ended(site, job))
    (one,) = records(site)
    assert one.outcome is not None and (one.joined, one.outcome.state, one.outcome.exit_code) == ("filter", "failed", 5)


def test_a_requeued_job_goes_on(site: Site) -> None:
    """The word that it is back in its queue is no end."""
    job = number(start(site, b"#!/bin/bash\n: srun python r.py\nsleep 60\n", "--requeue"))
    until(lambda: site.lab.show(int(job)).get("JobState") == "RUNNING")
    until(lambda: site.lab.run(["scontrol", "requeuehold", job]).returncode == 0)
    until(lambda: any(one.outcome and one.outcome.state == "requeued" for one in records(site)))
    until(lambda: site.lab.show(int(job)).get("JobState") in ("PENDING", "REQUEUE_HOLD"))  # else it is lost on the way
    site.lab.cancel(int(job))
    until(lambda: ended(site, job))
    (one,) = records(site)
    assert one.outcome is not None and one.outcome.state == "cancelled"


def test_where_no_hook_is_the_scheduler_is_asked(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once for all jobs that the filter has named."""
    site.daemon.stop()
    with open(site.daemon.folder + "/daemon.toml", "a", encoding="utf-8") as file:
        file.write("polling_seconds = 0.5\n")
    monkeypatch.setenv("SLURM_CONF", site.lab.directory + "/etc/slurm.conf")
    conf = site.lab.directory + "/etc/events.conf"
    os.rename(conf, conf + ".away")
    try:
        site.daemon.start()
        jobs = [number(start(site, ASKED % (b"asked.py", code))) for code in (0, 4)]
        until(lambda: all(ended(site, job) for job in jobs))
    finally:
        os.rename(conf + ".away", conf)
    told = {one.job: one.outcome for one in records(site)}
    found = [(one.state, one.exit_code, one.source) for one in (told[job] for job in jobs) if one is not None]
    assert found == [("completed", 0, "slurm, asked"), ("failed", 4, "slurm, asked")]
