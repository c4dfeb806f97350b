"""The training mini-apps under the real torchrun, accelerate and deepspeed, on CPUs with gloo."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.miniapps.schema import wrong
from tests.miniapps.started import APPS, Bench, Ended, frameworks, free_port

TRAINING = ("ddp", "fsdp", "zero3", "accelerate_ddp", "three_d")


def torchrun(ranks: Bench, size: int, app: Any) -> Ended:
    """Run a program in so many ranks on this host."""
    argv = [frameworks() / "torchrun", "--nnodes=1", f"--nproc_per_node={size}", f"--master_port={free_port()}", app]
    return ranks.wait(ranks.start([*argv, "--epochs", "3"]))


def all_well(ended: Ended, ranks: Bench, size: int) -> list[dict[str, Any]]:
    """Check what must hold of every good run, and return the facts by rank."""
    assert ended.code == 0, ended.err[-3000:].decode("utf-8", "replace")
    lines = sorted(ended.lines, key=lambda facts: facts["rank"])
    assert [line["group"] for line in lines] == [{"rank": n, "world_size": size} for n in range(size)]
    assert lines == ranks.files()
    for facts in lines:
        assert not wrong(facts)
        assert (facts["ok"], facts["phase"], facts["backend"]) == (True, "done", "gloo")
        assert [one["name"] for one in facts["collectives"]] == ["all_reduce", "all_gather"] * 2
        onward = [(link["to"], link["to_host"]) for link in facts["links"]]
        assert onward == ([((facts["rank"] + 1) % size, facts["host"])] if size > 1 else [])
        assert facts["training"]["losses"] == pytest.approx(facts["training"]["expected"], rel=5e-4)
        assert facts["device"]["kind"] == "cpu" and facts["versions"]["torch"]
    return lines


# Each start costs seconds of imports: every strategy with two ranks, and the ends of the scale where they differ.
SIZES = [*((app, 2) for app in TRAINING), ("ddp", 1), ("zero3", 1), ("fsdp", 4), ("three_d", 4)]


@pytest.mark.parametrize(("app", "size"), SIZES)
def test_every_strategy_trains_as_one_process_would(ranks, app, size):
    facts = all_well(torchrun(ranks, size, APPS / f"{app}.py"), ranks, size)
    assert {one["from"]["rank"] for one in facts} == {"RANK"}
    assert [one["local_rank"] for one in facts] == list(range(size))
    if app == "fsdp":
        assert {one["strategy"] for one in facts} == {"fsdp2"}


def test_eight_ranks_have_all_three_dimensions(ranks):
    facts = all_well(torchrun(ranks, 8, APPS / "three_d.py"), ranks, 8)
    places = [tuple(one["mesh"][name][0] for name in ("data", "pipeline", "tensor")) for one in facts]
    assert sorted(set(places)) == [(n >> 2, n >> 1 & 1, n & 1) for n in range(8)]
    assert {size for one in facts for _, size in one["mesh"].values()} == {2}


def test_dry_meets_beside_the_store_that_torchrun_keeps_on_the_port(ranks):
    ended = torchrun(ranks, 4, APPS / "dry.py")
    assert ended.code == 0, ended.err
    assert sorted(one["group"]["rank"] for one in ended.lines) == [0, 1, 2, 3]
    assert ended.lines[0]["given"]["TORCHELASTIC_USE_AGENT_STORE"] == "True"


def accelerate(ranks: Bench, *options: str) -> Ended:
    main = ["--mixed_precision=no", "--dynamo_backend=no", f"--main_process_port={free_port()}"]
    argv = [frameworks() / "accelerate", "launch", *options, *main, APPS / "accelerate_ddp.py"]
    return ranks.wait(ranks.start(argv))


def test_accelerate_launch_starts_it(ranks):
    all_well(accelerate(ranks, "--multi_gpu", "--num_processes=2"), ranks, 2)


def test_accelerate_that_silently_starts_one_process_is_seen(ranks):
    """Exit 0, nothing on stderr that says so: the world that was asked for is not there."""
    ended = accelerate(ranks, "--num_processes=2")
    assert ended.code == 0
    assert (ended.facts["group"], ended.facts["world_size"], ended.facts["ok"]) == (None, None, True)


def test_deepspeed_starts_it(ranks):
    (ranks.folder / "hosts").write_text("localhost slots=2\n")
    argv = [
        frameworks() / "deepspeed", "--hostfile=hosts", "--no_ssh", "--node_rank=0", "--master_addr=127.0.0.1",
        f"--master_port={free_port()}", APPS / "zero3.py", "--deepspeed",
    ]  # fmt: skip
    facts = all_well(ranks.wait(ranks.start(argv)), ranks, 2)
    assert [one["local_rank"] for one in facts] == [0, 1]


OLDER = """
import torch.distributed.fsdp as newer
del newer.fully_shard
from maple_miniapps import fsdp, phases
phases.run("fsdp", fsdp.body)
"""


def program(ranks: Bench, text: str) -> Path:
    """Write a program that uses the parts of the mini-apps."""
    path = ranks.folder / "program.py"
    path.write_text(f"import sys\nsys.path.insert(0, {str(APPS.parent)!r})\n{text}")
    return path


def test_fsdp_goes_the_older_way_where_torch_has_no_newer(ranks):
    facts = all_well(torchrun(ranks, 2, program(ranks, OLDER)), ranks, 2)
    assert {one["strategy"] for one in facts} == {"fsdp1"}


ONE_GPU = """
import json, types, torch
gpu = types.SimpleNamespace(name="H200", uuid="5e8f-77", pci_domain_id=0, pci_bus_id=59, pci_device_id=0)
torch.cuda.is_available, torch.cuda.device_count = (lambda: True), (lambda: 1)
torch.cuda.set_device, torch.cuda.get_device_properties = (lambda index: None), (lambda index: gpu)
from maple_miniapps import devices
for local_rank in (0, 1):
    device = devices.choose(local_rank)
    print(json.dumps([devices.facts(device), devices.backend(device.type)]))
"""


def test_two_ranks_that_see_one_gpu_are_known_by_its_uuid(ranks):
    """torch.cuda is a stand-in here: there is no GPU."""
    ended = ranks.wait(ranks.start([frameworks() / "python", program(ranks, ONE_GPU)]))
    (one, nccl), (other, _) = (json.loads(line) for line in ended.out.splitlines())
    assert one == other and nccl == "nccl"
    assert (one["uuid"], one["pci"], one["index"], one["count"]) == ("5e8f-77", "0000:3b:00.0", 0, 1)


WRONG = """
import os
from maple_miniapps import phases, process_group

def nobody_averages(run, world):
    net = model.gpt(world.device)
    training.train(run, world, training.plain_step(net), net, world.rank, world.size)

def nobody_sums(run, world):
    dist.all_reduce = lambda values: None
    collectives.check(run, world)

def in_the_wrong_order(run, world):
    dist.all_reduce, dist.all_gather = sums, lambda parts, mine: gathers(parts[::-1], mine)
    collectives.check(run, world)

def body(run):
    global collectives, dist, gathers, model, sums, training
    world = process_group.join(run)
    import torch.distributed as dist
    from maple_miniapps import collectives, model, training
    sums, gathers = dist.all_reduce, dist.all_gather
    for wrong in (nobody_averages, nobody_sums, in_the_wrong_order):
        try:
            wrong(run, world)
        except phases.CheckFailed as error:
            os.write(1, f"NOTICED {error}\\n".encode())  # whole, beside the lines of other ranks

phases.run("ddp", body)
"""


def test_what_comes_out_wrong_is_noticed_on_every_rank(ranks):
    ended = torchrun(ranks, 2, program(ranks, WRONG))
    noticed = sorted(line for line in ended.out.decode().splitlines() if line.startswith("NOTICED"))
    assert len(noticed) == 6, ended.err
    noticed.sort(key=lambda line: "losses" not in line)
    assert all("ranks end with different losses" in line for line in noticed[:2])
    assert noticed[2:4] == ["NOTICED the all-gather over 2 ranks gave the blocks of [1, 0]"] * 2
    assert noticed[4:] == [f"NOTICED the all-reduce over 2 ranks gave {n}.0, not 3" for n in (1, 2)]
