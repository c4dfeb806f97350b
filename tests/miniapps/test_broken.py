"""Set-ups that cannot work, with torch: every rank reports within its time limit, and nothing is left running.

All are started at once and share one wait: torch takes seconds to import, and each waits for its limit.
"""

from __future__ import annotations

import socket
from typing import Iterator, Mapping

import pytest

from tests.miniapps.schema import wrong
from tests.miniapps.started import Bench, Ended, bench, frameworks, free_port, world

LIMIT = 4  # seconds a rank may wait
Setups = Mapping[str, list[Ended]]


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setups]:
    """Every set-up's ranks, ended by themselves."""
    python = frameworks() / "python"
    with bench(tmp_path_factory.mktemp("broken")) as ranks, socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        started = {
            name: [ranks.app("ddp", env, python) for env in envs]
            for name, envs in setups(stranger.getsockname()[1]).items()
        }
        yield {name: [_ended(ranks, number) for number in numbers] for name, numbers in started.items()}


def setups(taken: int) -> dict[str, list[dict[str, str]]]:
    """Return the variables of each rank of each set-up."""
    missing = world(3, free_port(), LIMIT)[:2]
    twice = world(2, free_port(), LIMIT)
    unreachable = world(2, free_port(), LIMIT)[1:]
    port_taken = world(2, taken, LIMIT)[:1]
    nobody = [{"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}]
    only_env = [{"PMI_RANK": "0", "PMI_SIZE": "2", "MAPLE_MINIAPP_ENV_ONLY": "1"}]
    return {
        "missing": missing, "twice": [twice[0], twice[0]], "unreachable": unreachable, "taken": port_taken,
        "nobody": nobody, "only env": only_env, "no such device": [{"MAPLE_MINIAPP_DEVICE": "tpu"}],
    }  # fmt: skip


def _ended(ranks: Bench, number: int) -> Ended:
    ended = ranks.wait(number)
    assert ended.code == 1 and ended.facts in ranks.files() and not wrong(ended.facts)
    return ended


def test_a_missing_rank_ends_the_wait_of_those_who_came(broken):
    for one in broken["missing"]:
        assert (one.facts["phase"], one.facts["ok"], one.facts["world_size"]) == ("rendezvous", False, 3)
        assert one.facts["error"] and "group" not in one.facts
        assert one.facts["seconds"]["import"] > 0


def test_two_that_claim_rank_0_are_both_heard(broken):
    one, other = (ended.facts for ended in broken["twice"])
    assert one["rank"] == other["rank"] == 0 and one["pid"] != other["pid"]
    assert any("EADDRINUSE" in facts["error"]["says"] for facts in (one, other))


def test_a_master_out_of_reach_is_an_error_and_no_hang(broken):
    (one,) = broken["unreachable"]
    assert one.facts["phase"] == "rendezvous" and one.facts["error"]["class"] in ("TimedOut", "DistNetworkError")


def test_a_port_that_is_taken_is_said(broken):
    (one,) = broken["taken"]
    assert "EADDRINUSE" in one.facts["error"]["says"]


def test_a_rank_that_nobody_numbered_is_told_before_torch_is(broken):
    (one,) = broken["nobody"]
    assert one.facts["error"] == {
        "class": "NoPlace",
        "says": "RANK is not set: start the ranks with srun, torchrun or mpiexec, and export it",
    }


def test_a_device_that_torch_does_not_know_is_an_error(broken):
    (one,) = broken["no such device"]
    assert one.facts["phase"] == "device" and one.facts["error"]["class"] == "AttributeError"


def test_what_only_mpi_said_is_not_enough_where_torchs_own_count(broken):
    (one,) = broken["only env"]
    assert (one.facts["rank"], one.facts["given"]["PMI_RANK"]) == (None, "0")
    assert "environment variable RANK expected, but not set" in one.facts["error"]["says"]


def test_a_library_that_is_missing_is_named(ranks):
    """This Python has no torch."""
    facts = ranks.wait(ranks.app("ddp")).facts
    assert facts["phase"] == "import" and facts["versions"]["torch"] is None
    assert facts["error"] == {"class": "ModuleNotFoundError", "says": "No module named 'torch'"}


def test_a_library_that_hangs_while_it_is_imported_ends_at_the_limit(ranks):
    """The wait is inside a module, and SIGALRM and the like are not at hand."""
    (ranks.folder / "torch.py").write_text("import time\ntime.sleep(600)\n")
    env = {"PYTHONPATH": str(ranks.folder), "MAPLE_MINIAPP_IMPORT_TIMEOUT": "0.1"}
    facts = ranks.wait(ranks.app("ddp", env), 60).facts
    assert facts["error"]["class"] == "TimedOut" and facts["phase"] == "import"
