"""Whether a fix helped is known from the service's memory: its job completed, with the script that the fix had made."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator

import pytest
from maple_agents.diagnose.earlier_cases import Earlier, digest, settled
from maple_daemon.store import open_store
from maple_submit_filter.types.job_records import Outcome

from tests.daemon.asking import written
from tests.daemon.serving import Daemon, request

FIXED = b"#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --mem=64G\nsrun python train.py\n"
ONE = Earlier("s" * 32, "host_oom", "e", "1", 1.0, "rule", "script_directive", "ask for 64G", digest(FIXED))


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    """One that has heard of the fixed script."""
    made = Daemon().start()
    monkeypatch.setenv("MAPLE_SOCKET", made.socket)
    made.ask(request(FIXED))
    written(made, 1)
    yield made
    made.stop(signal.SIGKILL)
    shutil.rmtree(made.folder)


def end(daemon: Daemon, state: str) -> None:
    """That submission was job 9, which ended so."""
    store = open_store(daemon.store, create=False)
    (record,) = store.records(os.getuid())
    store.join(record.id, os.getuid(), "9", "filter")
    store.keep_outcomes([Outcome("9", state, os.getuid(), "test")])
    store.close()


def test_a_job_that_completed_with_the_fix_says_that_it_helped(daemon: Daemon) -> None:
    """One that failed, or goes on, says nothing; nor does another script."""
    for state in ("running", "failed"):
        end(daemon, state)
        assert settled([ONE], ONE.signature)[0].helped is None
    end(daemon, "completed")
    (found,) = settled([ONE], ONE.signature)
    assert (found.helped, found.later) == (True, "9")
    other = Earlier("s" * 32, "host_oom", "e", "1", 1.0, fixed=digest(FIXED + b"#\n"))
    assert settled([other], other.signature) == [other]
