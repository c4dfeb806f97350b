"""On a real Slurm: what failed at once is taken back, and comes back when the script as it was written fails too."""

from __future__ import annotations

from maple_daemon.learn.lineages import Standing
from maple_daemon.store import open_store

from tests.daemon.events.test_events_lab import Site, hooked, site, start, until  # noqa: F401

SCRIPT = b"""#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=2 --nproc-per-node=2 --node_rank=$SLURM_NODEID --master_addr=$MASTER_ADDR train.py %d
"""


def standings(one: Site) -> list[Standing]:
    """What was learnt."""
    store = open_store(one.daemon.store, create=False)
    found = [Standing.read(known.standing) for known in store.standings()]
    store.close()
    return found


def verdicts(one: Site, number: int) -> list[str]:
    """Of so many submissions, the oldest first."""
    from tests.daemon.asking import written

    return [str(told["verdict"]) for told in written(one.daemon, number)]


def test_a_repair_whose_job_fails_at_once_is_taken_back_and_cleared(site: Site) -> None:  # noqa: F811
    """There is no torchrun: neither the repaired script nor the one that was written can run. It ends by itself."""
    states = ["taken-back", "cleared", "cleared"]
    for number, state in enumerate(states):
        process = start(site, SCRIPT % number)
        assert process.wait(60) == 0
        assert len(verdicts(site, number + 1)) == number + 1
        until(lambda state=state: [one.state for one in standings(site)] == [state])  # type: ignore[misc]
        ended(site, number + 1)
    assert verdicts(site, 3) == ["repaired", "taken-back", "repaired"]
    site.daemon.stop()
    store = open_store(site.daemon.store)
    assert sorted((one.verdict, one.state, one.jobs) for one in store.counted()) == [
        ("repaired", "failed", 2), ("taken-back", "failed", 1),
    ]  # fmt: skip
    store.close()


def ended(one: Site, number: int) -> None:
    """Wait until so many ends are counted, and a moment until what they came to is held in memory."""
    import time

    store = open_store(one.daemon.store, create=False)
    until(lambda: sum(row.jobs for row in store.counted() if row.state) == number)
    store.close()
    time.sleep(2.5)
