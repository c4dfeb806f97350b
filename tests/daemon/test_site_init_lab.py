"""`maple site init` on a real Slurm in the shape of each site: what it drafts is what the lab was made of."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from maple_agents.ask.sites.files import parse

from tests.daemon.site_init_truth import facts, has_gres
from tests.lab import Lab
from tests.lab.shape import GPU4, WHOLE_NODE3, NodeGroup, PartitionShape, Shape
from tests.lab.sites import shape_of_site, unlike_sites

MAPLE = str(Path(sys.executable).with_name("maple"))
MIXED = Shape(
    "mixed_2",
    (
        NodeGroup(
            "big", 3, gpus=8, gpu_type="h100", cores=96, threads_per_core=2, memory_gib=1024, features=("ib", "h100")
        ),
        NodeGroup("slice", 1, gpus=7, gpu_type="1g.5gb", cores=32, memory_gib=128),
        NodeGroup("plain", 2, cores=48, memory_gib=192, features=("ib",)),
        NodeGroup("fat", 1, cores=48, memory_gib=1536, features=("ib",)),
    ),
    (
        PartitionShape("gpu", ("big", "slice"), max_time=None, default=True),
        PartitionShape("wide", ("big", "plain", "fat"), max_time=3 * 86400, max_nodes=6, min_nodes=2),
        PartitionShape("alone", ("plain",), max_time=3600, exclusive=True),
    ),
)
SHAPES = {"GPU4": GPU4, "WHOLE_NODE3": WHOLE_NODE3, "MIXED": MIXED}


def shape(name: str) -> Shape:
    """Return one of ours, or that of a site."""
    return SHAPES[name] if name in SHAPES else shape_of_site(name)


@pytest.mark.parametrize("name", [*SHAPES, *unlike_sites()])
def test_what_is_drafted_is_what_the_lab_was_made_of(name: str, tmp_path: Path) -> None:
    """Nothing is wrong; left out is the default partition where a plug-in may choose another, and what GRES lacks."""
    made = shape(name)
    with Lab(made) as lab:
        done = lab.run([MAPLE, "site", "init"], timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    file = parse(done.stdout.encode(), "draft")
    found = list(facts(made, file))
    assert [one for one in found if one.verdict == "WRONG"] == []
    left = {one.what for one in found if one.verdict == "left out"}
    plugin = "(lua)" in done.stdout
    assert left <= ({"default"} if plugin else set()) | (set() if has_gres(made) else {"GPUs"})
    assert file.mode == "observe" and file.scheduler.node_kinds_complete
    assert file.scheduler.partitions_complete is not plugin
    default = next((one.name for one in made.partitions if one.default), None)
    if plugin and default:
        assert '# default_partition = "%s"' % default in done.stdout


def test_nodes_are_the_same_as_json_and_as_a_table(lab_of, tmp_path: Path) -> None:
    """A release without JSON gives the same file but for the command named, scontrol's (23.02 on) or sinfo's."""
    lab = lab_of(MIXED)
    json_too = lab.run([MAPLE, "site", "init"], timeout=60).stdout
    text_only = tmp_path / "bin"
    text_only.mkdir()
    own = lab.environment()["PATH"]
    for name in ("sinfo", "scontrol"):
        real = shutil.which(name, path=own)
        (text_only / name).write_text('#!/bin/sh\ncase "$*" in *--json*) exit 1;; esac\nexec %s "$@"\n' % real)
        (text_only / name).chmod(0o755)
    path = "%s:%s" % (text_only, own)
    table = lab.run([MAPLE, "site", "init"], env=lab.environment(PATH=path), timeout=60).stdout
    assert " --json" in json_too and " --json" not in table and "sinfo -a -N" in table
    kept = [line for line in json_too.splitlines() if "where =" not in line and "cpu_arch" not in line]
    assert kept == [line for line in table.splitlines() if "where =" not in line]


RIGHT = "#!/bin/bash\n#SBATCH --partition=gpu --nodes=2 --gpus-per-node=4 --ntasks-per-node=1\n"
TRAINS = "srun torchrun --nnodes=2 --nproc-per-node=%d --rdzv-backend=c10d --rdzv-endpoint=$HOSTNAME:29500 train.py\n"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (RIGHT + TRAINS % 4, set()),
        (RIGHT + TRAINS % 8, {"MPL203"}),
        (RIGHT.replace("=gpu ", "=nope ") + TRAINS % 4, {"MPL207"}),
        (RIGHT.replace("=gpu --nodes=2", "=debug --nodes=3") + TRAINS.replace("2 ", "3 ", 1) % 4, {"MPL206"}),
    ],
    ids=["right", "ranks", "partition", "limit"],
)
def test_a_draft_is_a_site_that_scripts_are_held_to(lab_of, tmp_path: Path, script: str, expected: set[str]) -> None:
    """A right script stays as it is, a wrong one is found out, before anybody has said more."""
    lab = lab_of(GPU4)
    (tmp_path / "site_configs").mkdir()
    file = tmp_path / "site_configs" / "drafted.toml"
    done = lab.run([MAPLE, "site", "init", "-o", str(file)], timeout=60)
    assert done.returncode == 0, done.stderr
    (tmp_path / "job.sh").write_text(script)
    environ = {**os.environ, "MAPLE_ETC": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    words = [MAPLE, "check", "--site", "drafted", "--json", str(tmp_path / "job.sh")]
    said = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=60)
    told = json.loads(said.stdout)
    assert {one["code"] for one in told["findings"] if one["proven"]} == expected, told["findings"]
    assert told["site"] == "drafted"


def test_what_only_a_person_knows_stands_ready_to_be_filled_in(lab_of) -> None:
    """With its # taken away it is a site file without mistakes, as it is before."""
    drafted = lab_of(GPU4).run([MAPLE, "site", "init"], timeout=60).stdout
    filled = parse(re.sub(r"(?m)^#(?=\S)", "", drafted).encode(), "draft")
    before = parse(drafted.encode(), "draft")
    assert not before.demand and before.gpu_request is None
    assert set(filled.demand) == {"account"} and filled.gpu_request is not None and filled.network is not None
    assert filled.sources["site"].kind == "center"
