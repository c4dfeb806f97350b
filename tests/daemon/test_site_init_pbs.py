"""`maple site init` on PBS: the commands answer in the form of a real OpenPBS 23.06."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from typing import Any

import pytest
from maple_agents.ask.sites.files import parse
from maple_agents.ask.sites.model import SiteFile
from maple_daemon.sites.draft_command import draft
from maple_daemon.sites.draft_pbs import printed_by_qmgr
from maple_daemon.sites.draft_values import Asking

from tests.agents.schedulers.conftest import Recorded

TODAY = datetime.date(2026, 11, 22)


def vnode(host: str, ngpus: int | None, mem: str = "512gb", **more: Any) -> dict[str, Any]:
    own = {
        "arch": "linux",
        "host": host,
        "mem": mem,
        "ncpus": 64,
        "vnode": host,
        **({} if ngpus is None else {"ngpus": ngpus}),
    }
    own |= {key.removeprefix("res_"): value for key, value in more.items() if key.startswith("res_")}
    rest = {key: value for key, value in more.items() if not key.startswith("res_")}
    return {"Mom": host, "state": "free", "pcpus": 64, "resources_available": own, "sharing": "default_shared", **rest}


NODES = {
    "node1": vnode("node1", 4, res_gputype="A100"),
    "node2": vnode("node2", 4, mem="527000000kb", res_gputype="A100"),
    "node3": vnode("node3", 4, res_gputype="A100", queue="debug"),
    "node4[0]": vnode("node4", 2, mem="256gb", res_ncpus=32, res_gputype="A100"),
    "node4[1]": vnode("node4", 2, mem="256gb", res_ncpus=32, res_gputype="A100"),
    "login1": vnode("login1", 0, mem="128gb"),
}
QUEUES = {
    "prod": {"queue_type": "Route", "route_destinations": "small,large", "enabled": "True", "started": "True"},
    "small": {
        "queue_type": "Execution",
        "from_route_only": "True",
        "enabled": "True",
        "started": "True",
        "resources_max": {"nodect": 2, "walltime": "03:00:00"},
        "resources_min": {"nodect": 1},
        "resources_default": {"walltime": "00:30:00"},
        "max_run": "[u:PBS_GENERIC=5]",
    },
    "large": {"queue_type": "Execution", "from_route_only": "True", "enabled": "True", "started": "False"},
    "debug": {
        "queue_type": "Execution",
        "enabled": "True",
        "started": "True",
        "resources_max": {"walltime": "1:00:00"},
    },
    "staff": {"queue_type": "Execution", "acl_group_enable": "True", "acl_groups": "ops,admin", "enabled": "True"},
}
SERVER = {"default_queue": "prod", "pbs_version": "23.06.06", "server_host": "pbs01"}
QMGR = """\
#
# Create resources and set their properties.
#
create resource ngpus
set resource ngpus type = long
set resource ngpus flag = hn
create queue debug
set queue debug queue_type = Execution
set queue debug resources_max.walltime = 01:00:00
set queue debug enabled = True
set queue debug started = True
create queue prod
set queue prod queue_type = Route
set queue prod route_destinations = small
set queue prod route_destinations += large
set server default_queue = prod
set server acl_roots = root@*
"""


def text(entries: dict[str, Any], head: str) -> str:
    """Return entries as the commands print them without `-F json`."""
    lines = []
    for name, values in entries.items():
        lines.append(head % name)
        for key, value in values.items():
            for full, one in (
                [("%s.%s" % (key, k), v) for k, v in value.items()] if isinstance(value, dict) else [(key, value)]
            ):
                lines.append("    %s = %s" % (full, one))
        lines.append("")
    return "\n".join(lines)


def cluster(recorded: Recorded, nodes: dict[str, Any] = NODES, with_json: bool = True) -> Recorded:
    """Let the commands answer for a cluster."""
    head = {"timestamp": 1, "pbs_version": "23.06.06", "pbs_server": "pbs01"}

    def said(group: str, entries: dict[str, Any], form: str) -> tuple[tuple[str, str, str, int], ...]:
        told = json.dumps({**head, group: entries}) if with_json else ""
        usage = "" if with_json else "usage: ...\n"
        return ("*json*", told, usage, 0 if with_json else 2), ("*", text(entries, form), "", 0)

    recorded.answer("pbsnodes", *said("nodes", nodes, "%s"))
    server, queues = said("Server", {"pbs01": SERVER}, "Server: %s"), said("Queue", QUEUES, "Queue: %s")
    first = [("-B*" + one[0][1:] if one[0] != "*" else "-B*", *one[1:]) for one in server]
    recorded.answer("qstat", *first, *queues)
    recorded.answer("qmgr", ("-c?p?s", QMGR, "", 0))
    return recorded


def drafted(recorded: Recorded, tmp_path: Path) -> tuple[SiteFile, str]:
    """Return the draft, checked as lint does, and its text."""
    made = draft(
        Asking({"PATH": str(recorded.folder) + ":/usr/bin:/bin", "PBS_CONF_FILE": "/proc/nowhere"}),
        "ours",
        TODAY,
        str(tmp_path),
    )
    return parse(made.encode(), "ours.toml"), made


def test_the_server_s_name_is_the_site_s_and_tells_it(pbs_first: Recorded, tmp_path: Path) -> None:
    """By it the site is detected from then on, as on Slurm by ClusterName."""
    conf = tmp_path / "pbs.conf"
    conf.write_text("PBS_EXEC=/opt/pbs\nPBS_SERVER=pbs-7.example.org\n")
    asking = Asking({"PATH": f"{cluster(pbs_first).folder}:/usr/bin:/bin", "PBS_CONF_FILE": str(conf)})
    site = parse(draft(asking, "", TODAY, str(tmp_path)).encode(), "pbs-7.toml")
    assert (site.id, site.detection.cluster_name) == ("pbs-7", "pbs-7.example.org")


@pytest.fixture
def pbs_first(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    """A machine that has PBS alone: Slurm's commands of the test machine are not asked."""
    monkeypatch.setattr("maple_daemon.sites.draft_command.scheduler_here", lambda asking: "pbs")
    return recorded


@pytest.fixture(autouse=True)
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path / "bin")


@pytest.mark.parametrize("with_json", [True, False], ids=["json", "text"])
def test_nodes_queues_and_server_are_as_they_are_said(pbs_first: Recorded, tmp_path: Path, with_json: bool) -> None:
    """Vnodes of one host are one node; a host kept for a queue serves that one alone."""
    file, made = drafted(cluster(pbs_first, with_json=with_json), tmp_path)
    assert (file.scheduler.type, file.scheduler.version, file.scheduler.default_partition) == (
        "pbs",
        "23.06.06",
        "prod",
    )
    gpu, kept = (next(name for name in file.queue[queue].node_kinds if "a100" in name) for queue in ("small", "debug"))
    assert gpu != kept
    assert [(file.node[one].gpus, file.node[one].gpu_type, file.node[one].count) for one in (gpu, kept)] == [
        (4, "A100", 3),
        (4, "A100", 1),
    ]
    assert (file.node[gpu].memory_gib, file.node[gpu].gpu_vendor, file.node[gpu].confidence) == (512, "nvidia", None)
    assert file.node[gpu].cores is None and "ncpus = 64" in file.node[gpu].says  # threads or cores: not told
    assert file.node["cpu"].gpus == 0
    assert file.scheduler.node_kinds_complete and not file.scheduler.partitions_complete


def test_what_only_a_person_knows_stands_ready_to_be_filled_in(pbs_first: Recorded, tmp_path: Path) -> None:
    """With its # taken away it is a site file without mistakes; unfilled it proves nothing."""
    _, text = drafted(cluster(pbs_first), tmp_path)
    filled = parse(re.sub(r"(?m)^#(?=\S)", "", text).encode(), "ours.toml")
    assert set(filled.demand) == {"account", "filesystems"} and filled.gpu_request is not None
    assert {one.effect for one in filled.demand.values()} == {"unknown"}


def test_queues_have_their_limits_and_their_nodes(pbs_first: Recorded, tmp_path: Path) -> None:
    """A routing queue has the nodes of its destinations."""
    queues = drafted(cluster(pbs_first), tmp_path)[0].queue
    small, large, prod = queues["small"], queues["large"], queues["prod"]
    assert (small.kind, small.min_nodes, small.max_nodes, small.max_walltime) == ("execution-only", 1, 2, "03:00:00")
    assert (small.default_walltime, small.max_running_jobs) == ("00:30:00", 5)
    assert (prod.kind, prod.node_kinds) == ("routing", small.node_kinds) and large.node_kinds == small.node_kinds
    assert len(queues["debug"].node_kinds) == 1 and queues["debug"].max_walltime == "01:00:00"
    assert queues["staff"].access == "acl_groups=ops,admin"


def test_two_tiles_of_a_card_prove_nothing(pbs_first: Recorded, tmp_path: Path) -> None:
    """Six cards that nobody names may be twelve devices."""
    nodes = {"x1000c0": vnode("x1000c0", 6), "x1000c1": vnode("x1000c1", 6)}
    file, made = drafted(cluster(pbs_first, nodes), tmp_path)
    (kind,) = file.node.values()
    assert (kind.gpus, kind.confidence) == (6, "low")
    assert "whose GPUs these are, and devices" in made


def test_nodes_behind_another_server_are_not_known(
    pbs_first: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the kinds are not all, and the routing queue has none."""
    monkeypatch.setitem(QUEUES, "prod", {**QUEUES["prod"], "route_destinations": "small,big@pbs02"})
    file, _ = drafted(cluster(pbs_first), tmp_path)
    assert not file.scheduler.node_kinds_complete and file.queue["prod"].node_kinds == []


def test_without_qstat_the_print_of_qmgr_tells_of_the_queues(pbs_first: Recorded, tmp_path: Path) -> None:
    """And nothing but a print was asked of it."""
    cluster(pbs_first).answer("qstat", ("*", "", "Connection refused\n", 162))
    file, made = drafted(pbs_first, tmp_path)
    assert file.queue["debug"].max_walltime == "01:00:00" and file.queue["prod"].kind == "routing"
    assert file.scheduler.default_partition == "prod"
    assert "no answer: qstat -B -f: Connection refused" in made
    assert [line for line in pbs_first.called() if line.startswith("qmgr")] == ["qmgr [-c] [p s]"]


def test_what_is_added_to_a_setting_is_part_of_it() -> None:
    """qmgr prints the second value of a list as `+=`."""
    assert printed_by_qmgr(QMGR)["prod"]["route_destinations"] == "small,large"
    assert printed_by_qmgr(QMGR)[""]["default_queue"] == "prod"
