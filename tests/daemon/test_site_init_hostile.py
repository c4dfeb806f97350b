"""`maple site init` where commands hang, flood, lie or print what a terminal would obey."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tomllib
from hypothesis import given, settings
from hypothesis import strategies as st
from maple_agents.ask.sites.files import parse
from maple_daemon.sites import draft_kinds
from maple_daemon.sites.draft_command import NothingHere, draft, interfaces, machine, modules_of, pytorch
from maple_daemon.sites.draft_kinds import kinds_of, maker
from maple_daemon.sites.draft_slurm import gres_gpus, node_of, nodes_said, partitions, qos, system
from maple_daemon.sites.draft_tables import text_of
from maple_daemon.sites.draft_values import Asking, Machine, Place, Seen, System, version

from tests.agents.schedulers.conftest import Recorded

TODAY = datetime.date(2026, 11, 22)
MAPLE = str(Path(sys.executable).with_name("maple"))
CONFIG = "Configuration data\nClusterName = ours\nSLURM_VERSION = 23.11.7\nSelectType = select/cons_tres\n"
PARTITION = "PartitionName=gpu Default=YES DefaultTime=NONE MaxNodes=4 MaxTime=1-00:00:00 OverSubscribe=NO State=UP\n"


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path / "bin")


def slurm(recorded: Recorded, config: str = CONFIG, parts: str = PARTITION, nodes: str = "", qos_: str = "") -> Asking:
    """Let Slurm's commands answer; *nodes* as JSON."""
    recorded.answer("scontrol", ("show?config", config, "", 0), ("*partition", parts, "", 0), ("*", "", "no", 1))
    recorded.answer("sinfo", ("*json*", nodes, "", 0 if nodes else 1), ("*", "", "", 0))
    recorded.answer("sacctmgr", ("*", qos_, "", 0))
    return Asking({"PATH": "%s:/usr/bin:/bin" % recorded.folder}, seconds=5)


HOSTILE = "\x1b]0;owned\x07\u202e\x00\n[scheduler]\ntype = \"pbs\" # '''"


@given(
    words=st.lists(st.text(max_size=60) | st.just(HOSTILE), min_size=8, max_size=8), number=st.integers(-(2**70), 2**70)
)
@settings(max_examples=150, deadline=None)
def test_any_text_in_any_place_gives_a_file_that_lint_passes(words: list[str], number: int) -> None:
    """Nothing of it ends a comment or a string, and nothing of it reaches a terminal as it is."""
    row = {"name": "n1", "gres": words[0], "features": [words[1]], "partitions": [words[2], "gpu"], "cores": number}
    node = node_of({**row, "real_memory": number, "threads": words[3], "architecture": words[4]})
    assert node is not None
    place = Place("gpu", "partition", access=words[5], notes=(words[6],))
    here = Machine(host=words[7], os=words[5], modules=words[6], modules_name=words[0], pytorch=("module load x",))
    text = text_of(System("slurm", nodes=(node,), places=(place,), notes=(words[1],)), here, "ours", TODAY, [words[2]])
    file = parse(text.encode("utf-8"), "ours.toml")
    assert file.scheduler.type == "slurm" and file.mode == "observe"
    assert all(line.isprintable() for line in text.splitlines())


def of_22_05(name: str, *partitions: str) -> dict[str, object]:
    """A node as `sinfo --json` of 22.05 has it, and `scontrol show nodes --json` of later releases."""
    return {
        "name": name, "partitions": list(partitions), "boards": 1, "sockets": 2, "cores": 64, "threads": 2,
        "real_memory": 1547680, "gres": "gpu:l40s:4(S:0-1)", "features": "ib,l40s",
    }  # fmt: skip


def of_24_11(partition: str, *nodes: str, memory: int = 1547680) -> dict[str, object]:
    """A group of nodes as `sinfo --json` has them since 23.11; with -N each is a group of its own."""
    two = {"minimum": 2, "maximum": 2}
    return {
        "partition": {"name": partition, "nodes": {"configured": "n[1-2]", "total": 2}}, "node": {"state": ["IDLE"]},
        "nodes": {"allocated": 0, "idle": 1, "other": 0, "total": 1, "hostnames": [], "nodes": list(nodes)},
        "cpus": {"total": 256, "minimum": 256, "maximum": 256}, "sockets": two, "threads": two,
        "cores": {"minimum": 64, "maximum": 64}, "memory": {"minimum": 1547680, "maximum": memory},
        "gres": {"total": "gpu:l40s:4(S:0-1)", "used": "gpu:l40s:0(IDX:N/A)"}, "reason": "",
        "features": {"total": "ib,l40s", "active": "ib"}, "cluster": "ours",
    }  # fmt: skip


def test_nodes_are_the_same_in_every_form_that_sinfo_gives_them(recorded: Recorded, tmp_path: Path) -> None:
    """One list of nodes, or a group for each partition; nothing but the form differs."""
    older = {"nodes": [of_22_05("n1", "gpu", "wide"), of_22_05("n2", "gpu", "wide")]}
    alone = [of_24_11(place, node) for node in ("n1", "n2") for place in ("gpu", "wide")]
    newer = {"sinfo": alone, "errors": [], "warnings": []}
    grouped = {"sinfo": [of_24_11("gpu", "n1", "n2"), of_24_11("wide", "n1", "n2")], "meta": {}}
    found = [nodes_said(slurm(recorded, nodes=json.dumps(form))) for form in (older, newer, grouped)]
    assert found[0] == found[1] == found[2]
    (first, second), complete, command = found[0]
    assert (first.name, first.places, first.gpus, first.gpu_types) == ("n1", ("gpu", "wide"), 4, ("l40s",))
    assert (first.cores, first.threads, first.memory) == (128, 2, 1547680)
    assert (second.name, first.features, complete, command) == ("n2", ("ib", "l40s"), True, "sinfo -a -N --json")
    mixed = {"sinfo": [of_24_11("gpu", "n1", "n2", memory=9)]}
    (first, _), _, _ = nodes_said(slurm(recorded, nodes=json.dumps(mixed)))
    assert first.memory is None, "it is not the same on all of the group"


@pytest.mark.parametrize(
    ("said", "shared"),
    [
        ("OverSubscribe=NO", True),
        ("OverSubscribe=EXCLUSIVE", False),
        ("Exclusive=NO OverSubscribe=NO", True),
        ("Exclusive=NODE OverSubscribe=NO", False),
        ("Exclusive=TOPO OverSubscribe=YES:3", False),
        ("Exclusive=USER OverSubscribe=FORCE:2", True),
    ],
)
def test_a_partition_whose_nodes_are_one_jobs_own_is_drafted_so(said: str, shared: bool) -> None:
    """As releases until 25.11 say it, and as 26.05.5 does."""
    (place,), all_of_them = partitions("PartitionName=gpu Default=YES %s State=UP\n" % said, "select/cons_tres")
    assert (place.shared, all_of_them) == (shared, True)


@pytest.mark.parametrize(
    "form", [{"sinfo": 3}, {"sinfo": [3, {}]}, {"sinfo": [{"nodes": {"nodes": "n1"}}]}, {"sinfo": []}, {}], ids=str
)
def test_a_form_that_nobody_knows_is_read_as_a_table(recorded: Recorded, form: object) -> None:
    """As where there is no JSON."""
    assert nodes_said(slurm(recorded, nodes=json.dumps(form)))[2].startswith("sinfo -a -N -o")


def test_a_command_that_hangs_or_floods_is_left_out(recorded: Recorded, tmp_path: Path) -> None:
    """One line says which did not answer; the others are believed."""
    asking = slurm(recorded)
    for name, body in (("sinfo", "exec sleep 60"), ("sacctmgr", "exec cat /dev/zero")):
        (recorded.folder / name).write_text("#!/bin/sh\n%s\n" % body)
    asking = Asking(asking.environ, seconds=0.5)
    text = draft(asking, "ours", TODAY, str(tmp_path))
    file = parse(text.encode(), "ours.toml")
    assert file.partition["gpu"].max_nodes == 4 and file.node == {}
    assert "  - no answer: sinfo" in text and "no answer after 0.5 s" in text


def test_output_that_is_not_utf_8_gives_no_value(recorded: Recorded, tmp_path: Path) -> None:
    """The rest of the answer stays."""
    raw = b"\xff\xfe\x00 garbage\n\x1b[31mPartitionName=b\xffd\n".decode("utf-8", "surrogateescape")
    file = parse(draft(slurm(recorded, parts=raw + PARTITION), "ours", TODAY, str(tmp_path)).encode(), "ours.toml")
    assert list(file.partition) == ["gpu"]
    assert not file.scheduler.partitions_complete


def test_nothing_that_answers_is_one_line(recorded: Recorded, tmp_path: Path) -> None:
    """Not an empty draft."""
    for name in ("scontrol", "sinfo", "sacctmgr"):
        recorded.answer(name, ("*", "", "slurm_load_ctl_conf error: Unable to contact slurm controller\n", 1))
    with pytest.raises(NothingHere, match="Unable to contact"):
        draft(Asking({"PATH": "%s:/usr/bin:/bin" % recorded.folder}), "ours", TODAY, str(tmp_path))


def run(tmp_path: Path, path: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `maple site init` as an administrator does."""
    environ = {**os.environ, "PATH": path, "PBS_CONF_FILE": str(tmp_path / "none")}
    return subprocess.run(
        [MAPLE, "site", "init", *words], env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=60
    )


def test_a_machine_without_a_scheduler_is_told_so(tmp_path: Path) -> None:
    """One line, and what to do."""
    done = run(tmp_path, str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "run it on a login node" in done.stderr


def test_nothing_is_overwritten_and_the_name_fits_the_id(recorded: Recorded, tmp_path: Path) -> None:
    """The id is the file's name, or else it says so; a link that leads nowhere is there, too."""
    path = slurm(recorded).environ["PATH"]
    done = run(tmp_path, path, "-o", "ours.toml")
    assert done.returncode == 0, done.stderr
    file = parse((tmp_path / "ours.toml").read_bytes(), "ours.toml")
    assert (file.id, file.name) == ("ours", "ours")
    assert subprocess.run([MAPLE, "site", "lint", "./ours.toml"], cwd=tmp_path, timeout=60).returncode == 0
    (tmp_path / "dangling.toml").symlink_to(tmp_path / "elsewhere")
    for words in (["-o", "ours.toml"], ["-o", "dangling.toml"], ["--id", "a", "-o", "b.toml"], ["--id", "A b"]):
        before = (tmp_path / "ours.toml").read_bytes()
        refused = run(tmp_path, path, *words)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1), refused.stderr
        assert (tmp_path / "ours.toml").read_bytes() == before
    assert not (tmp_path / "elsewhere").exists() and not (tmp_path / "b.toml").exists()


@pytest.mark.parametrize(
    ("gres", "expected"),
    [
        ("gpu:4", (4, ())),
        ("gpu:a100:4(S:0-1)", (4, ("a100",))),
        ("gpu:a100:2(S:0),gpu:v100:1(S:1),shard:8,craynetwork:4", (3, ("a100", "v100"))),
        ("gpu:1g.5gb:7", (7, ("1g.5gb",))),
        ("gpu:h100-80:8(IDX:0-7)", (8, ("h100-80",))),
        ("gres/gpu:4", (4, ())),
        ("craynetwork:4", (0, ())),
        ("", (0, ())),
        ("(null)", (0, ())),
        ("gpu", (None, ())),
        ("gpu:a100:4K", (None, ())),
        ("gpu:-4", (None, ())),
        (None, (None, ())),
    ],
)
def test_gpus_of_a_gres(gres: object, expected: object) -> None:
    """A form that is not known is no number."""
    assert gres_gpus(gres) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["a100"], "nvidia"),
        (["NVIDIA-H100-80GB"], "nvidia"),
        (["gpuA40x4"], "nvidia"),
        (["gpu-a100-small"], "nvidia"),
        (["gpuMI100x8"], "amd"),
        (["pvc"], "intel"),
        (["amd", "rome"], ""),  # of the processor
        (["intel"], ""),
        (["rack-a10"], ""),
        (["a1001"], ""),
        (["a100", "mi250x"], ""),
    ],
)
def test_whose_gpus_a_name_speaks_of(words: list[str], expected: str) -> None:
    """A word of a processor or a rack says nothing of GPUs."""
    assert maker(words) == expected


def node(name: str, **facts: object) -> Seen:
    known = {"gpus": 4, "gpu_types": ("a100",), "cores": 64, "threads": 1, "memory": 256000, **facts}
    return Seen(name, **known)  # type: ignore[arg-type]


def test_equal_nodes_are_one_kind_though_slurm_counts_some_mib_less() -> None:
    """The memory is that of the largest; half of it is another kind."""
    kinds = kinds_of([node("a"), node("b", memory=255500), node("c", memory=128000)])
    assert [(kind.name, len(kind.nodes), kind.memory) for kind in kinds] == [
        ("a100x4-250g", 2, 250),
        ("a100x4-125g", 1, 125),
    ]


def test_labels_of_racks_make_no_kinds() -> None:
    """A feature of some nodes of a kind is left out everywhere, or it would select too few."""
    nodes = [node("n%d" % at, features=("ib", "rack%d" % (at // 2))) for at in range(80)]
    (kind,) = kinds_of(nodes)
    assert (kind.features, len(kind.nodes)) == (("ib",), 80)
    assert len(kinds_of(nodes[: 2 * draft_kinds.MOST])) == draft_kinds.MOST


@pytest.mark.parametrize(
    ("kind", "vendor", "sure"),
    [
        ("1g.5gb", "nvidia", True),
        ("t4", "nvidia", True),
        ("mi250x", "amd", True),
        ("pvc", "intel", False),
        ("", "", False),
    ],
)
def test_cards_whose_devices_are_not_known_prove_nothing(kind: str, vendor: str, sure: bool) -> None:
    """Those of Intel may be two devices each, and so may those of which nobody says whose they are."""
    (found,) = kinds_of([node("a", gpu_types=(kind,) if kind else ())])
    assert (found.vendor, found.sure) == (vendor, sure)


def test_two_kinds_of_gpu_in_one_node_have_no_type() -> None:
    """Their number is known."""
    (kind,) = kinds_of([node("a", gpus=3, gpu_types=("a100", "v100"))])
    assert (kind.gpus, kind.gpu_type, kind.name) == (3, "", "gpux3")


def test_a_plug_in_private_data_and_dynamic_nodes_make_a_list_incomplete(recorded: Recorded) -> None:
    """Each of them for what it touches."""
    nodes = '{"nodes": [{"name": "n1", "gres": "gpu:a100:4", "partitions": ["gpu"]}]}'
    plain = system(slurm(recorded, nodes=nodes))
    assert (plain.nodes_complete, plain.places_complete, plain.default_sure) == (True, True, True)
    plugin = system(slurm(recorded, CONFIG + "JobSubmitPlugins = lua\n", nodes=nodes))
    assert (plugin.nodes_complete, plugin.places_complete, plugin.default_sure) == (True, False, False)
    private = system(slurm(recorded, CONFIG + "PrivateData = nodes\n", nodes=nodes))
    assert (private.nodes_complete, private.places_complete) == (False, False)
    assert not system(slurm(recorded, CONFIG + "MaxNodeCount = 20\n", nodes=nodes)).nodes_complete


QOS = "normal||||||\nlong||7-00:00:00|gres/gpu=8,node=4|node=2|3|10\nbig|DenyOnLimit,PartitionMaxNodes||||||\n|||||||\n"
ENFORCED = (
    CONFIG + "AccountingStorageType = accounting_storage/slurmdbd\nAccountingStorageEnforce = associations,limits,qos\n"
)


def test_qos_have_their_limits() -> None:
    """In the fields that sacctmgr was asked for."""
    found, bends = qos(QOS.replace("||||||\n|", "|||||\n|"))
    assert [one.name for one in found] == ["normal", "long", "big"] and bends == {"nodes"}
    long = found[1]
    assert (long.max_walltime, long.max_nodes, long.min_nodes, long.max_gpus) == (7 * 86400, 4, 2, 8)
    assert (long.max_running, long.max_submitted) == (3, 10)


def test_a_limit_that_is_not_enforced_or_that_a_qos_exceeds_is_not_drafted(recorded: Recorded, tmp_path: Path) -> None:
    """It stands in a comment."""
    text = draft(slurm(recorded, ENFORCED, qos_="long||7-00:00:00|node=4||3|10\n"), "ours", TODAY, str(tmp_path))
    file = parse(text.encode(), "ours.toml")
    assert (file.qos["long"].max_nodes, file.partition["gpu"].max_nodes) == (4, 4)
    loose = ENFORCED.replace(",limits", "")
    text = draft(slurm(recorded, loose, qos_="long||7-00:00:00|node=4||3|10\n"), "ours", TODAY, str(tmp_path))
    assert parse(text.encode(), "ours.toml").qos["long"].max_nodes is None
    text = draft(
        slurm(recorded, ENFORCED, qos_="big|PartitionMaxNodes,PartitionTimeLimit|||||\n"), "ours", TODAY, str(tmp_path)
    )
    gpu = parse(text.encode(), "ours.toml").partition["gpu"]
    assert (gpu.max_nodes, gpu.max_walltime) == (None, None) and "# some QOS may exceed max_nodes = 4" in text


def test_of_a_partition_the_first_word_counts() -> None:
    """Whole nodes, or shared ones, as the configuration has it."""
    (one,), complete = partitions(PARTITION.strip() + " MaxNodes=99\n", "select/linear")
    assert complete and (one.max_nodes, one.shared, one.default_walltime, one.max_walltime) == (4, False, None, 86400)
    assert partitions(PARTITION, "select/cons_tres")[0][0].shared is True
    assert partitions(PARTITION, "")[0][0].shared is None
    assert partitions("PartitionName=\x1b[31m\n" + PARTITION)[1] is False


LISTED = """/apps/modulefiles:
pytorch/
pytorch/2.1.0(default)
pytorch/2.10.0
py-torch/1.13
torchvision/0.15
openmpi/4.1.6
$(reboot)
a b
"""


def test_modules_are_listed_by_lmod(recorded: Recorded, tmp_path: Path) -> None:
    """As it prints them on stderr; what is no module's name is no line of a script."""
    recorded.answer("lmod", ("bash?-t?avail", "", LISTED, 0))
    recorded.answer("mpiexec", ("--version", "HYDRA build details:\n", "", 0))
    environ = {"PATH": "%s:/usr/bin:/bin" % recorded.folder, "LMOD_CMD": str(recorded.folder / "lmod")}
    name, listed = modules_of(Asking({**environ, "LMOD_VERSION": "8.7.14"}))
    assert name == "Lmod 8.7.14" and "$(reboot)" not in listed
    assert list(pytorch(listed)) == [
        "module load pytorch/2.10.0",
        "module load pytorch/2.1.0",
        "module load py-torch/1.13",
    ]
    here = machine(Asking(environ), str(tmp_path))
    assert next(one.implementation for one in here.launchers if one.name == "mpiexec") == ""  # openmpi is a module
    alone = machine(Asking({"PATH": environ["PATH"]}), str(tmp_path))
    assert next(one.implementation for one in alone.launchers if one.name == "mpiexec") == "Hydra"


def test_interfaces_of_a_fast_network_are_known_by_their_type(tmp_path: Path) -> None:
    """Or by Slingshot's own name; an Ethernet of another name is none."""
    for name, kind in (("eth0", "1"), ("ib0", "32"), ("bond0", "1"), ("hsn0", "1"), ("mlx", "32"), ("lo", "772")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "type").write_text(kind + "\n")
    assert list(interfaces(str(tmp_path))) == ["hsn0", "ib0", "mlx"]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("23.11.7-2", "23.11.7"),
        ("25.05.0-0rc1", "25.05.0"),
        ("2022.1.1.20220926110806", "2022.1.1"),
        ("x", ""),
        ("", ""),
    ],
)
def test_a_version_is_its_numbers(said: str, expected: str) -> None:
    """As far as a site file takes them."""
    assert version(said) == expected


def test_the_text_is_toml_without_our_reader() -> None:
    """Another judge reads the same."""
    text = text_of(System("slurm", nodes=(node("n1"),)), Machine(), "ours", TODAY)
    assert tomllib.loads(text)["node"]["a100x4"]["gpus"] == 4


def test_a_node_as_later_releases_write_it() -> None:
    """Features are a list there, and CPUs kept for the system are said."""
    row = {"name": "n1", "gres": "gpu:h100:4(S:0-1)", "features": ["ib", "h100"], "partitions": ["gpu", "all"]}
    later = {**row, "boards": 1, "sockets": 2, "cores": 32, "threads": 2, "cpus": 128, "effective_cpus": 120}
    found = node_of({**later, "real_memory": 515000, "architecture": "x86_64"})
    assert found == Seen("n1", ("gpu", "all"), 4, ("h100",), 64, 60, 2, 515000, ("ib", "h100"), "x86_64")
    text = text_of(System("slurm", nodes=(found,)), Machine(), "ours", TODAY)
    kind = parse(text.encode(), "ours.toml").node["h100x4"]
    assert (kind.cores, kind.cores_allocatable, kind.memory_gib, kind.gpu_vendor) == (64, 60, 503, "nvidia")
