"""A running service learns from the ends of jobs: what ran is made again, what failed at once is taken back."""

from __future__ import annotations

import os

import pytest
from maple_daemon.store import open_store
from maple_submit_filter.host.frames import Reply

from tests.daemon.asking import found, written
from tests.daemon.ending import ASKED, FIRST, Cluster, verdict_of
from tests.daemon.serving import WRONG


def test_what_the_user_said_yes_to_and_ran_is_made_unasked(cluster: Cluster) -> None:
    """At the next version of the job, after a restart too; of another edit it asks."""
    first = cluster.submit(ASKED)
    assert verdict_of(first) == "offered"
    cluster.end(first, "COMPLETED", 500, accepted=True)
    edited = ASKED.replace(b"--lr 0.1", b"--lr 0.2")
    again = cluster.until_answered(edited, "known-good")
    assert again.reply is not None and again.reply.change is not None
    assert b"--nproc-per-node=4" in (again.reply.change.script or b"")
    said = b" ".join(again.reply.say.replace(b"maple:", b"").split())
    assert said.startswith(
        b"job.sh: changed as in job 4711, which ran: MPL203 start 4 ranks per node show the change: "
    )
    cluster.daemon.stop()
    cluster.daemon.start()
    assert verdict_of(cluster.until_answered(edited + b"echo done\n", "known-good")) == "known-good"
    other = edited.replace(b"gpus-per-node=4", b"gpus-per-node=2")
    assert verdict_of(cluster.submit(other)) == "offered"


def test_what_was_refused_or_not_seen_to_run_is_asked_about_again(cluster: Cluster) -> None:
    """The job ran as it was written; or failed later, which says nothing."""
    cluster.end(cluster.submit(ASKED), "COMPLETED", 500)
    cluster.end(cluster.submit(ASKED), "FAILED", 1000, accepted=True)
    cluster.until_all_is_learnt()
    assert verdict_of(cluster.submit(ASKED)) == "offered"


@pytest.mark.parametrize("end, then", [("FAILED", "repaired"), ("COMPLETED", "taken-back")])
def test_what_failed_at_once_is_taken_back_until_the_bare_script_fails_too(
    cluster: Cluster, end: str, then: str
) -> None:
    """One line says so, and the script goes as written; where that runs, it stays so."""
    first = cluster.submit(WRONG)
    assert verdict_of(first) == "repaired"
    cluster.end(first, "FAILED", 20)
    bare = cluster.until_answered(WRONG + b"# edited\n", "taken-back")
    assert bare.reply is not None and bare.reply.change is None
    said = b" ".join(bare.reply.say.replace(b"maple:", b"").split())
    why = b"job 4711 failed at once with the change for MPL304. Why: maple-fix 4711"
    assert said == b"job.sh: submitted as written: " + why
    cluster.end(bare, end, 20)
    cluster.until_all_is_learnt()
    after = cluster.until_answered(WRONG, then)
    cluster.end(after, "FAILED", 20)
    cluster.until_all_is_learnt()
    assert verdict_of(cluster.submit(WRONG)) == then  # for good


@pytest.mark.skipif(os.getuid() != 0, reason="becomes other users")
def test_another_user_and_another_job_have_nothing_of_it(cluster: Cluster) -> None:
    """Neither of what ran nor of what failed."""
    cluster.end(cluster.submit(ASKED), "COMPLETED", 500, accepted=True)
    cluster.end(cluster.submit(WRONG), "FAILED", 20)
    cluster.until_answered(ASKED, "known-good")
    assert verdict_of(cluster.submit(ASKED, uid=12345)) == "offered"
    assert verdict_of(cluster.submit(WRONG, uid=12345)) == "repaired"
    job = b"#SBATCH --job-name=other\n" + b"".join(b"export V%d=1\n" % n for n in range(40))
    elsewhere = ASKED.replace(b"#SBATCH --nodes", job + b"#SBATCH --nodes", 1)
    assert verdict_of(cluster.submit(elsewhere)) == "offered"
    cluster.end(cluster.submit(ASKED, uid=12345), "COMPLETED", 500, accepted=True, uid=12345)
    assert b"4711" in (cluster.until_answered(ASKED, "known-good").reply or Reply(b"", b"")).say


def test_ends_are_in_the_sites_numbers_once(cluster: Cluster) -> None:
    """The sum of a day is the number of submissions."""
    accepted = cluster.submit(ASKED)
    cluster.end(accepted, "FAILED", 500, accepted=True)
    jobs = [cluster.submit(WRONG) for _ in range(4)]
    for job, state in zip(jobs[:3], ("COMPLETED", "FAILED", "COMPLETED"), strict=True):
        cluster.end(job, state, 500)
    cluster.daemon.stop()
    store = open_store(cluster.daemon.store)
    counted = {(one.code, one.verdict, one.state): one.jobs for one in store.counted()}
    store.close()
    ends = {("MPL304", "repaired", "completed"): 2, ("MPL304", "repaired", "failed"): 1, ("MPL304", "repaired", ""): 1}
    assert counted == {**ends, ("MPL203", "accepted", "failed"): 1}


def test_a_purge_reaches_what_the_service_holds_in_memory(cluster: Cluster) -> None:
    """Without a signal or a restart: decisions, versions, and what was learnt."""
    from click.testing import CliRunner
    from maple_daemon.cli.admin import admin

    cluster.end(cluster.submit(ASKED), "COMPLETED", 500, accepted=True)
    cluster.until_answered(ASKED, "known-good")
    decided = cluster.daemon.counted("maple_connections_total").get('how="decided"', 0)
    written(cluster.daemon, cluster.number - FIRST)  # none is under way that would be written down after the purge
    config = cluster.daemon.folder + "/daemon.toml"
    done = CliRunner().invoke(admin, ["purge", "--config", config, "--user", str(os.getuid())])
    assert done.exit_code == 0, done.output
    assert found(cluster.daemon, ask="records") == []
    cluster.until(lambda: "forgotten" in cluster.daemon.said)
    assert verdict_of(cluster.submit(ASKED)) == "offered"
    assert cluster.daemon.counted("maple_connections_total")['how="decided"'] == decided + 1
    cluster.until(lambda: len(found(cluster.daemon, ask="records")) == 1)
    (record,) = found(cluster.daemon, ask="records")
    assert [one["id"] for one in found(cluster.daemon, ask="versions")] == [record["version"]]
