"""torchrun, `python -m torch.distributed.run` and `torch.distributed.launch`: one agent, which starts its ranks.

With the static rendezvous the node rank decides and the agent of rank 0 must be the master; with c10d the agents meet
at the endpoint and agree on ranks themselves, so --node_rank does nothing (measured, torch 2.13.0).

Its options are compared with torch 2.13.0. Every one but --logs-specs and --numa-binding has a default in the
environment: PET_NNODES for --nnodes, and so on.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, List, Mapping, Optional, Tuple

from ..play.program_owner import PYTHON
from ..play.scene import Agent, Scene, Trail
from ..play.shell_state import Shell
from ..types.launch_plan import Link
from ..types.text import Text, number, plain
from .devices import NO_DEVICE, mask_of, seen
from .grammar import ARGPARSE, Table, extended, followed, link_of, lost_value, read, table
from .python_options import python_program
from .record import AgentOptions, Launcher

if TYPE_CHECKING:
    from ..play.scene import Starter

TABLE: Table = table(
    "torchrun",
    ARGPARSE,
    """
    -h --help 0
    --nnodes 1
    --nproc-per-node --nproc_per_node 1
    --rdzv-backend --rdzv_backend 1
    --rdzv-endpoint --rdzv_endpoint 1
    --rdzv-id --rdzv_id 1
    --rdzv-conf --rdzv_conf 1
    --standalone 0
    --max-restarts --max_restarts 1:int
    --monitor-interval --monitor_interval 1:float
    --start-method --start_method 1:spawn|fork|forkserver
    --event-log-handler --event_log_handler 1
    --role 1
    -m --module 0
    --no-python --no_python 0
    --run-path --run_path 0
    --log-dir --log_dir 1
    -r --redirects 1
    -t --tee 1
    --local-ranks-filter --local_ranks_filter 1
    --duplicate-stdout-filters --duplicate_stdout_filters 1
    --duplicate-stderr-filters --duplicate_stderr_filters 1
    --node-rank --node_rank 1:int
    --master-addr --master_addr 1
    --master-port --master_port 1:int
    --local-addr --local_addr 1
    --logs-specs --logs_specs 1
    --numa-binding --numa_binding 1:node|socket|exclusive|core-complex
    --signals-to-handle --signals_to_handle 1
    --shutdown-timeout --shutdown_timeout 1:int
    --virtual-local-rank --virtual_local_rank 0
    """,
)

LAUNCH_TABLE: Table = extended(TABLE, "torch.distributed.launch", "--use-env --use_env 0\n--logdir 1 only torch<1.9")

DEFAULTS: Mapping[str, bytes] = {
    "nnodes": b"1:1",
    "nproc-per-node": b"1",
    "rdzv-backend": b"static",
    "rdzv-endpoint": b"",
    "rdzv-id": b"none",
    "rdzv-conf": b"",
    "max-restarts": b"0",
    "node-rank": b"0",
    "master-addr": b"127.0.0.1",
    "start-method": b"spawn",
    "role": b"default",
}

_NOT_FROM_ENVIRONMENT = ("help", "logs-specs", "numa-binding", "use-env", "logdir")


def environment_name(option: str) -> Optional[bytes]:
    """Return the variable that gives the option's default, None where none does."""
    if option in _NOT_FROM_ENVIRONMENT:
        return None
    return b"PET_" + option.replace("-", "_").upper().encode()


_RANGE = re.compile(rb"(\d{1,6})(?::(\d{1,6}))?")
_ON_CPU = re.compile(rb"(^|[ =])(gloo|cpu|--cpu|--no[-_]cuda)( |$)")


def start(programs: Starter, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]) -> None:
    """Record the agent."""
    call = python_program(argv)
    words = call.arguments if call is not None else 1
    table = LAUNCH_TABLE if call is not None and call.module == b"torch.distributed.launch" else TABLE
    reading = read(table, argv, words)
    link = link_of("torchrun", argv, reading, words)
    trail = followed(trail, link, reading)
    record = agent(link, shell, programs.scene, argv[reading.program :])
    record = record._replace(empty=record.empty + lost_value(reading, trail))
    programs.agent(record, argv[reading.program :], shell, trail)


def option_text(link: Link, shell: Shell, name: str) -> Optional[Text]:
    """Return an option's text: from the line, from PET_*, or the default; None is unknown."""
    option = link.option(name)
    if option is not None:
        return option.value
    if link.open:
        return None
    variable = environment_name(name)
    if variable is not None:
        texts = shell.get(variable).texts()
        if texts:
            return texts[0]
    return plain(DEFAULTS.get(name, b""))


def agent(link: Link, shell: Shell, scene: Scene, program: List[Text]) -> Agent:
    """Return what this agent was told."""
    standalone = link.option("standalone") is not None
    backend = option_text(link, shell, "rdzv-backend")
    kind = b"c10d" if standalone else (backend.raw if backend is not None and backend.known else b"")
    master, port = _meeting(link, shell, kind)
    run_id = option_text(link, shell, "rdzv-id")
    visible = visible_devices(shell, scene)
    nnodes = nodes_range(option_text(link, shell, "nnodes"))
    return Agent(
        "torchrun",
        (1, 1) if standalone and link.option("nnodes") is None and not link.open else nnodes,
        workers(option_text(link, shell, "nproc-per-node"), visible),
        kind,
        run_id,
        number(option_text(link, shell, "node-rank")),
        master,
        port,
        standalone,
        None,
        visible,
        on_cpu(shell, program),
        shell.value(mask_of(scene.allocation.node_kinds)),
        tuple(name for name in empty_options(link) if name not in unread(link, shell, kind, nnodes)),
    )


def unread(link: Link, shell: Shell, kind: bytes, nnodes: Optional[Tuple[int, int]]) -> Tuple[str, ...]:
    """Return the options of a meeting place that may be passed over, so that an empty value harms nobody.

    Measured with torch 2.13.0: --standalone replaces both; --master-addr counts only with the static rendezvous, and
    only where no endpoint is given; an empty endpoint is none, which one node does without. From that version on a
    single node without a port takes localhost. What is no number where one is wanted is always refused.
    """
    endpoint, address = option_text(link, shell, "rdzv-endpoint"), option_text(link, shell, "master-addr")
    if link.option("standalone") is not None:
        return ("rdzv-endpoint", "master-addr")
    alone = nnodes is None or nnodes[1] == 1
    passed: Tuple[str, ...] = ()
    none = endpoint is not None and endpoint.known and not endpoint.raw
    if none and (alone or (kind == b"static" and address is not None and bool(address.raw))):
        passed += ("rdzv-endpoint",)
    if kind != b"static" or not none or (alone and link.option("master-port") is None):
        passed += ("master-addr",)
    return passed


def nodes_range(text: Optional[Text]) -> Optional[Tuple[int, int]]:
    """Return (least, most) nodes of `2` or `1:4`."""
    match = _RANGE.fullmatch(text.raw) if text is not None and text.literal else None
    return (int(match.group(1)), int(match.group(2) or match.group(1))) if match else None


def workers(text: Optional[Text], visible: Optional[Tuple[bytes, ...]]) -> Optional[int]:
    """Return the number of workers of `4`, `gpu` or `auto`; None where it depends on the node."""
    if text is None or not text.known:
        return None
    if text.raw in (b"gpu", b"auto"):
        return len(visible) if visible else None
    return number(text)


def _meeting(link: Link, shell: Shell, kind: bytes) -> Tuple[Optional[Text], Optional[Text]]:
    """Return host and port of the meeting place; an empty host is one that was left empty."""
    endpoint = option_text(link, shell, "rdzv-endpoint")
    if kind == b"static" and endpoint is not None and not endpoint.raw:
        port = option_text(link, shell, "master-port")
        return option_text(link, shell, "master-addr"), plain(b"29500") if port is None or not port.raw else port
    if endpoint is None or not kind:
        return None, None
    if not endpoint.raw:
        return plain(b"localhost"), plain(b"29400")  # c10d without an endpoint meets on its own host
    colon = _last_colon(endpoint.raw)
    if colon < 0:
        return endpoint, plain(b"29400")
    return endpoint.slice(0, colon), endpoint.slice(colon + 1)


def _last_colon(raw: bytes) -> int:
    """Return where the last colon outside a token stands, -1 for none."""
    at = len(raw)
    for index, part in reversed(list(enumerate(raw.split(b"\0")))):
        at -= len(part)
        if index % 2 == 0 and b":" in part:
            return at + part.rindex(b":")
        at -= 1
    return -1


def visible_devices(shell: Shell, scene: Scene) -> Optional[Tuple[bytes, ...]]:
    """Return the devices that a process started here would see."""
    return seen(shell.value, scene.allocation.node_kinds, shell.place.gpus)


def on_cpu(shell: Shell, program: List[Text]) -> bool:
    """Return whether the run says that it does not use GPUs."""
    words = b" ".join(text.raw for text in program)
    value = shell.value(b"CUDA_VISIBLE_DEVICES")
    hidden = value is not None and value.literal and value.raw in NO_DEVICE
    return hidden or _ON_CPU.search(words) is not None


def empty_options(link: Link) -> Tuple[str, ...]:
    """Return the options whose value surely came out empty: none of these launchers starts with that."""
    wanted = ("nnodes", "nproc-per-node", "node-rank", "master-addr", "master-port", "rdzv-endpoint", "num-processes",
              "num-machines", "machine-rank", "main-process-ip", "main-process-port", "num-gpus")  # fmt: skip
    out = []
    for option in link.options:
        value = option.value
        if option.name not in wanted or value is None or not value.known:
            continue
        if value.raw in (b"", b":") or (option.name == "rdzv-endpoint" and value.raw[:1] == b":"):
            out.append(option.name)
    return tuple(out)


LAUNCHER = Launcher(
    "torchrun",
    {b"torchrun": start, b"torchrun_jsc": start, b"torch.distributed.launch": start},
    PYTHON,
    modules={b"torch.distributed.run": b"torchrun", b"torch.distributed.launch": b"torch.distributed.launch"},
    table=TABLE,
    agent=AgentOptions(
        nodes="nnodes", ranks="nproc-per-node", node_rank="node-rank", spelled_node_rank=b"--node-rank",
        port="master-port", port_unsaid=b"29500", module=b"-m", no_python=b"--no-python",
        to_join="give it --nnodes and one --rdzv-endpoint",
        layout=("nnodes", "nproc-per-node", "node-rank", "master-addr", "master-port", "rdzv-backend", "rdzv-endpoint",
                "rdzv-id", "rdzv-conf", "standalone", "local-addr", "use-env"),
        numbers=("node-rank", "master-port", "max-restarts"),
        standalone="standalone", endpoint="rdzv-endpoint", ranged_nodes=True, named_ranks=True, one_unsaid=True,
        misplaced=rb"--(?:nnodes|nproc[-_]per[-_]node|node[-_]rank|rdzv[-_](?:backend|endpoint|id|conf)"
                  rb"|max[-_]restarts|master[-_](?:addr|port)|standalone)(?:=|\Z)",
    ),
)  # fmt: skip
