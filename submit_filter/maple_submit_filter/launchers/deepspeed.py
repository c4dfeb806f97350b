"""deepspeed's runner: on this machine alone, or with --no_ssh once on every node of a hostfile.

Without it, it reaches the nodes of its hostfile by itself, and starts one agent on each, as pdsh does; its other ways
(openmpi, slurm ...) are not followed. Its options are compared with deepspeed
0.19.8: underscores only, and they may be shortened.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, List, Mapping, Optional, Tuple

from ..play.outputs import node_of
from ..play.program_owner import PYTHON
from ..play.scene import MOST_TASKS, Agent, Scene, StepShape, Trail
from ..play.shell_state import Shell
from ..types.launch_plan import Link, device_numbers
from ..types.text import Text, number, plain
from ..types.text import host as host_token
from .devices import mask_of
from .grammar import ARGPARSE, Table, followed, link_of, lost_value, read, table
from .python_options import python_program
from .record import AgentOptions, Launcher
from .remote import arrived
from .torchrun import empty_options, on_cpu, visible_devices

if TYPE_CHECKING:
    from ..play.scene import Starter

TABLE: Table = table(
    "deepspeed",
    ARGPARSE,
    """
    -h --help 0
    -H --hostfile 1
    -i --include 1
    -e --exclude 1
    --num_nodes 1:int
    --num_gpus --num_accelerators 1:int
    --master_port 1:int
    --master_addr 1
    --node_rank 1:int
    --launcher 1
    --launcher_args 1
    --module 0
    --no_python 0
    --no_local_rank 0
    --no_ssh 0
    --no_ssh_check 0
    --force_multi 0
    --save_pid 0
    --enable_each_rank_log 1
    --autotuning 1:tune|run
    --bind_cores_to_rank 0
    --bind_core_list 1
    --ssh_port 1:int
    --venv_script 1
    --log_level 1:debug|info|warning|error|critical
    -q --quiet 0
    --elastic_training 0 only other releases
    --min_elastic_nodes 1 only other releases
    --max_elastic_nodes 1 only other releases
    """,
)

DEFAULTS: Mapping[str, bytes] = {
    "hostfile": b"/job/hostfile",
    "include": b"",
    "exclude": b"",
    "num-nodes": b"-1",
    "num-gpus": b"-1",
    "master-port": b"29500",
    "master-addr": b"",
    "node-rank": b"-1",
    "launcher": b"pdsh",
}

_SLOTS = re.compile(rb"^(\S+)[ \t]+slots=(\d+)", re.MULTILINE)
TWICE = "deepspeed refuses its hostfile: a host stands in it more than once"
REFUSED = "deepspeed refuses its hostfile: it has a line without slots=N"


def start(programs: Starter, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]) -> None:
    """Record the agent."""
    call = python_program(argv)
    words = call.arguments if call is not None else 1
    reading = read(TABLE, argv, words)
    link = link_of("deepspeed", argv, reading, words)
    trail = followed(trail, link, reading)
    program = argv[reading.program :]
    refused = _refused(programs, link, shell)
    if refused:
        programs.scene.shapes[trail.key] = (trail, StepShape(None, None, None, False, refused))
        return
    hosts = _hosts(programs, link, shell)
    doubt = _doubt(link, hosts)
    agent = _agent(link, shell, programs.scene, hosts, program)
    agent = agent._replace(empty=agent.empty + lost_value(reading, trail))
    nodes = _reached(link, hosts, trail) if doubt else None
    if nodes and agent.workers is not None:
        _on_each(programs, agent, nodes, program, shell, trail)
        return
    if doubt:
        programs.scene.hidden = True
        trail = trail._replace(doubts=trail.doubts + (doubt,))
    programs.agent(agent, program, shell, trail)


def _reached(link: Link, hosts: Optional[List[Tuple[bytes, int]]], trail: Trail) -> Optional[List[int]]:
    """Return the nodes on which one runner starts the ranks by its own means, None where that is not known."""
    count = link.option("num-nodes")
    if (
        link.open
        or not hosts
        or trail.links[:-1]
        or link.option("no-ssh", "include", "exclude", "launcher", "force-multi")
    ):
        return None
    most = number(count.value) if count is not None else len(hosts)
    nodes = [node_of(plain(host)) for host, _ in hosts[: most or 0]]
    known = [node for node in nodes if node is not None]
    alike = len(set(known)) == len(nodes) > 1 and len({slots for _, slots in hosts}) == 1
    return known if alike and len(known) <= MOST_TASKS else None


def _on_each(
    programs: Starter, agent: Agent, nodes: List[int], program: List[Text], shell: Shell, trail: Trail
) -> None:
    """Record an agent on each node: the runner tells each its number, and the first node for the master."""
    many = len(nodes)
    programs.scene.shapes[trail.key] = (trail, StepShape(many, many, None, False, ""))
    for rank, node in enumerate(nodes):
        there = arrived(programs, shell, node, programs.scene.login, rank)
        master = agent.master or plain(host_token(nodes[0]))
        numbered = agent._replace(nnodes=(many, many), node_rank=rank, master=master, rankless=False)
        programs.agent(numbered, program, there, trail)


def _refused(programs: Starter, link: Link, shell: Shell) -> str:
    """Return why the runner ends at its hostfile (0.19.8: "bad entry", "multiple entries"), "" where it does not."""
    named = link.option("hostfile")
    if link.open or named is None or named.value is None:
        return ""
    content = programs.scene.content(named.value, shell.cwd)
    if content is None or content.open:
        return ""
    lines = [line.strip() for line in content.raw.split(b"\n")]
    if any(line and not line.startswith(b"#") and not _SLOTS.match(line) for line in lines):
        return REFUSED
    hosts = [host for host, _ in _SLOTS.findall(content.raw) if not host.startswith(b"#")]
    twice = len(set(hosts)) < len(hosts) and not any(b"vary:" in host for host in hosts)
    return TWICE if twice else ""


def _hosts(programs: Starter, link: Link, shell: Shell) -> Optional[List[Tuple[bytes, int]]]:
    """Return (host, slots) of the hostfile; [] when there is none, None when it could not be read."""
    named = link.option("hostfile")
    if named is None or named.value is None:
        return None if link.open else []
    content = programs.scene.content(named.value, shell.cwd)
    if content is None:
        return None
    return [(host, int(slots)) for host, slots in _SLOTS.findall(content.raw)]


def _doubt(link: Link, hosts: Optional[List[Tuple[bytes, int]]]) -> str:
    if hosts is None:
        return "deepspeed's hostfile could not be read"
    if len(hosts) > 1 and link.option("no-ssh") is None:
        return "deepspeed reaches the nodes of its hostfile by itself"
    if link.option("include") or link.option("exclude") or link.option("launcher"):
        return "deepspeed is told which devices or launcher to use"
    return ""


def _text(link: Link, name: str) -> Optional[Text]:
    option = link.option(name)
    if option is not None:
        return option.value
    return None if link.open else plain(DEFAULTS[name])


def _agent(
    link: Link, shell: Shell, scene: Scene, hosts: Optional[List[Tuple[bytes, int]]], program: List[Text]
) -> Agent:
    option = link.option("include") or link.option("exclude")
    visible = None if option else visible_devices(shell, scene)
    address, port = _text(link, "master-addr"), _text(link, "master-port")
    asked = number(_text(link, "num-gpus")) if link.option("num-gpus") else None
    slots = hosts[0][1] if hosts and len({count for _, count in hosts}) == 1 else None
    workers = asked if asked is not None else slots if hosts else len(visible) if visible else None
    if workers is not None and not option and (asked is not None or slots is not None):
        # Told how many, the runner makes CUDA_VISIBLE_DEVICES itself; whether they are there the site's cgroups say.
        visible = device_numbers(min(workers, 64))
    nodes = len(hosts) if hosts is not None and len(hosts) > 1 else 1 if hosts is not None else None
    if nodes == 1 and address is not None and not address.raw:
        address = plain(b"127.0.0.1")
    return Agent(
        "deepspeed",
        (nodes, nodes) if nodes and not _doubt(link, hosts) else None,
        workers,
        b"static",
        plain(b"none"),
        number(_text(link, "node-rank")) if link.option("node-rank") else (0 if nodes == 1 else None),
        address if address is not None and address.raw else None,
        port,
        False,
        None,
        visible,
        on_cpu(shell, program),
        shell.value(mask_of(scene.allocation.node_kinds)),
        tuple(name for name in empty_options(link) if name != "master-addr"),  # empty by default: it looks it up
        bool(nodes and nodes > 1) and link.option("node-rank") is None and not link.open,
    )


LAUNCHER = Launcher(
    "deepspeed",
    {b"deepspeed": start},
    PYTHON,
    modules={b"deepspeed.launcher.runner": b"deepspeed"},
    table=TABLE,
    agent=AgentOptions(
        nodes="num-nodes", ranks="num-gpus", node_rank="node-rank", spelled_node_rank=b"--node_rank",
        port="master-port", port_unsaid=b"29500", module=b"--module", no_python=b"--no_python", takes_m=False,
        to_join="start one deepspeed with a --hostfile of all nodes", hosts_by_file=True,
        layout=("hostfile", "num-nodes", "num-gpus", "include", "exclude", "node-rank", "no-ssh", "master-addr",
                "master-port", "launcher", "launcher-args", "force-multi", "no-ssh-check"),
        numbers=("num-gpus", "num-nodes", "master-port"),
    ),
)  # fmt: skip
