"""`dry` meets over TCP, checks both collectives, and says in words what kept the ranks apart."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
from typing import Any, Iterator, Mapping

import pytest
from maple_miniapps import dry, phases

from tests.miniapps.schema import wrong
from tests.miniapps.started import APPS, Bench, Ended, bench, free_port, world

SOON = 3  # seconds that ranks wait where they are to wait in vain; all such set-ups wait together


def together(ranks: Bench, envs: list[dict[str, str]]) -> list[Ended]:
    """Start a rank with each environment and wait for all."""
    started = [ranks.app("dry", env) for env in envs]
    return [ranks.wait(number, 60) for number in started]


def says(ended: Ended) -> str:
    assert ended.code == 1 and ended.facts["ok"] is False and not wrong(ended.facts)
    return str(ended.facts["error"]["says"])


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_ranks_that_come_together_check_both_collectives(ranks, size):
    ended = together(ranks, world(size, free_port()))
    assert [one.code for one in ended] == [0] * size
    assert [one.facts["group"] for one in ended] == [{"rank": n, "world_size": size} for n in range(size)]
    for one in ended:
        assert not wrong(one.facts)
        assert [c["name"] for c in one.facts["collectives"]] == ["all_reduce", "all_gather"] * 2
        assert all((c["bytes_per_second"] is None) == (size == 1) for c in one.facts["collectives"])
        onward = [(link["to"], link["to_host"]) for link in one.facts.get("links", [])]
        assert onward == ([((one.facts["rank"] + 1) % size, one.facts["host"])] if size > 1 else [])
    assert ranks.files() == [one.facts for one in ended]
    assert ended[0].facts["rendezvous"]["arrived"] == ("0" if size == 1 else f"0-{size - 1}")


def test_a_process_alone_needs_no_variables(ranks):
    (one,) = together(ranks, [{}])
    assert one.code == 0 and one.facts["group"] == {"rank": 0, "world_size": 1}


def test_mpiexec_starts_it_and_the_rank_comes_from_mpi(ranks):
    hydra = shutil.which("mpiexec.hydra") or shutil.which("mpiexec")
    assert hydra, "packages: mpich"
    master = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    argv = [hydra, "-launcher", "fork", "-hosts", "a,b", "-n", "4", "-ppn", "2", sys.executable, APPS / "dry.py"]
    ended = ranks.wait(ranks.start(argv, master))
    assert ended.code == 0, ended.err
    assert sorted(one["rank"] for one in ended.lines) == [0, 1, 2, 3]
    assert sorted(one["local_rank"] for one in ended.lines) == [0, 0, 1, 1]
    assert {one["from"]["rank"] for one in ended.lines} == {"PMI_RANK"}


@pytest.fixture(scope="module")
def in_vain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, list[Ended]]]:
    """Set-ups in which ranks wait until their time is over."""
    with bench(tmp_path_factory.mktemp("in-vain")) as ranks, socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        alone = world(2, free_port(), SOON)
        setups = {
            "missing": world(4, free_port(), SOON)[:3],
            "stranger": world(2, stranger.getsockname()[1], SOON),
            "refused": alone[1:],
            "unknown": [{**alone[1], "MASTER_ADDR": "no-such-host.invalid"}],
            "elsewhere": [{**world(2, free_port(), SOON)[0], "MASTER_ADDR": "198.51.100.7"}],  # nobody's, RFC 5737
        }
        started = {name: [ranks.app("dry", env) for env in envs] for name, envs in setups.items()}
        yield {name: [ranks.wait(number, 60) for number in numbers] for name, numbers in started.items()}


def test_a_missing_rank_is_named_by_all_who_came(in_vain):
    ended = in_vain["missing"]
    assert {says(one) for one in ended} == {"only ranks 0-2 of 4 came within 3 s, missing 3"}
    assert ended[0].facts["rendezvous"]["missing"] == "3"


def test_ranks_that_believe_in_other_worlds_are_named_at_once(ranks):
    port = free_port()
    ended = together(ranks, [world(2, port)[0], world(3, port)[1]])
    assert "rank 1 on" in says(ended[0]) and "world of 3, rank 0 on" in says(ended[0])
    assert says(ended[0]) == says(ended[1])


def test_a_world_that_is_too_small_is_told_by_those_it_has_no_place_for(ranks):
    envs = world(2, free_port())
    ended = together(ranks, [*envs, {**envs[0], "RANK": "2"}])
    assert [one.code for one in ended] == [0, 0, 1]
    assert says(ended[2]) == "rank 2 cannot be in a world of 2"


def test_two_that_claim_one_rank_are_both_named(ranks):
    envs = world(3, free_port())
    started = [ranks.app("dry", env) for env in (envs[0], envs[1], envs[1])]
    ended = [ranks.wait(number, 60) for number in started]
    assert "rank 1 is claimed twice" in says(ended[0])
    assert all(str(ranks.pid(number)) in says(ended[0]) for number in started[1:])
    assert len({one["pid"] for one in ranks.files() if one["rank"] == 1}) == 2


def test_a_second_rank_0_finds_the_port_taken(ranks):
    envs = world(2, free_port(), SOON)
    first = ranks.app("dry", envs[0])
    ranks.until("rendezvous")
    ranks_0 = ranks.wait(ranks.app("dry", envs[0]), 60)
    assert "cannot listen" in says(ranks_0) and "in use" in says(ranks_0)
    assert "missing 1" in says(ranks.wait(first, 60))


def test_a_stranger_on_the_port_is_told_from_rank_0(in_vain):
    first, second = in_vain["stranger"]
    assert "cannot listen on port" in says(first)
    assert "found no rank 0 at 127.0.0.1" in says(second)


def test_strangers_who_talk_nonsense_to_rank_0_are_ignored(ranks):
    envs = world(2, free_port())
    first = ranks.app("dry", envs[0])
    ranks.until("rendezvous")
    port = int(envs[0]["MASTER_PORT"])
    for nonsense in (
        b"GET / HTTP/1.0\r\n\r\n",
        b"\xff" * 9000,
        b'{"token": 1}\n',
        b"[]\n",
        b"7\n",
        b'{"token": "x"}\n',
        b"",
    ):
        _shout(port, nonsense)
    second = ranks.wait(ranks.app("dry", envs[1]), 60)
    assert second.code == 0 and ranks.wait(first, 60).code == 0


def _shout(port: int, text: bytes) -> None:
    for _ in range(500):
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=10) as one:
                one.sendall(text)
                return
        except ConnectionRefusedError:
            signal.sigtimedwait([], 0.02)
        except OSError:
            return
    pytest.fail("rank 0 does not listen")


def test_a_master_out_of_reach_is_named(in_vain):
    refused, unknown = (says(in_vain[name][0]) for name in ("refused", "unknown"))
    assert "found no rank 0 at 127.0.0.1:" in refused and "refused" in refused
    assert "found no rank 0 at no-such-host.invalid:" in unknown


def test_a_master_address_of_another_host_is_told(in_vain):
    (one,) = in_vain["elsewhere"]
    assert "MASTER_ADDR 198.51.100.7 is not rank 0's host" in says(one)
    assert one.facts["rendezvous"]["master_is_here"] is False


def test_a_rank_without_a_place_says_so_and_keeps_its_file(ranks):
    (one,) = together(ranks, [{"WORLD_SIZE": "4"}])
    assert one.facts["error"]["class"] == "NoPlace" and ranks.files() == [one.facts]


def test_a_process_alone_is_an_error_where_torchs_own_variables_count(ranks):
    (one,) = together(ranks, [{"MAPLE_MINIAPP_ENV_ONLY": "1", "PMI_RANK": "0", "PMI_SIZE": "1"}])
    assert "RANK is not set" in says(one)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_rank_that_is_stopped_says_how_far_it_came(ranks, number):
    started = ranks.app("dry", world(2, free_port())[0])
    ranks.until("rendezvous")
    os.kill(ranks.pid(started), number)
    ended = ranks.wait(started, 60)
    assert ended.code == 128 + number and ended.facts["phase"] == "rendezvous"
    assert ended.facts["error"] == {"class": "Stopped", "says": f"stopped by signal {number:d} during rendezvous"}


def test_a_rank_that_is_killed_leaves_how_far_it_came(ranks):
    started = ranks.app("dry", world(2, free_port())[0])
    ranks.until("rendezvous")
    os.kill(ranks.pid(started), signal.SIGKILL)
    assert not ranks.wait(started, 60).lines
    (left,) = ranks.files()
    assert (left["rank"], left["phase"], left["ok"]) == (0, "rendezvous", None) and not wrong(left)


def test_a_rank_that_dies_on_the_ring_is_missed_by_its_neighbours(ranks):
    """The one after it hears the connection end; nobody waits for longer than the limit."""
    envs = world(3, free_port(), 5, MAPLE_MINIAPP_OUT=str(ranks.out))
    dies = f"import os, sys; sys.path.insert(0, {str(APPS.parent)!r})\n" + (
        "from maple_miniapps import dry, phases, ring\n"
        "ring.Ring.all_reduce = lambda *_: os._exit(9)\n"
        "phases.run('dry', dry.body)\n"
    )
    started = [ranks.app("dry", env) for env in envs[:2]]
    killed = ranks.start([sys.executable, "-c", dies], envs[2])
    assert ranks.wait(killed, 60).code == 9
    ended = [ranks.wait(number, 60) for number in started]
    assert all(one.facts["phase"] == "collectives" for one in ended)
    assert any("left by the rank before" in says(one) for one in ended)


class _Liar:
    """A ring that gives wrong answers."""

    def __init__(self, size: int) -> None:
        self.size = size

    def all_reduce(self, mine: bytes) -> bytes:
        return mine

    def all_gather(self, mine: bytes) -> list[bytes]:
        return [mine] * self.size


def test_wrong_results_of_a_collective_are_noticed():
    liar: Any = _Liar(2)
    with pytest.raises(phases.CheckFailed, match="wrong sum"):
        dry.check_all_reduce(liar, 0, 2, 1 << 10)
    with pytest.raises(phases.CheckFailed, match="other blocks"):
        dry.check_all_gather(liar, 0, 2, 1 << 10)
