"""`accelerate launch`: one agent a machine; --num_processes is the total over all machines.

Measured, accelerate 1.15.0: 3 processes on 2 machines start one on each and nobody complains. What is not on the line
comes from a configuration file (--config_file, or the user's default), so without it a value is unknown.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Dict, List, Optional, Tuple

from ..play.scene import Agent, Scene, Trail
from ..play.shell_state import Shell
from ..types.launch_plan import Link
from ..types.text import Text, number, plain
from .accelerate_options import TABLE
from .devices import mask_of
from .grammar import followed, link, lost_value, read
from .python_options import python_program
from .torchrun import empty_options, on_cpu, visible_devices

if TYPE_CHECKING:
    from ..play.starter import Starter

_KEYS = {
    "num-processes": b"num_processes",
    "num-machines": b"num_machines",
    "machine-rank": b"machine_rank",
    "main-process-ip": b"main_process_ip",
    "main-process-port": b"main_process_port",
    "rdzv-backend": b"rdzv_backend",
}
_LINE = re.compile(rb"^([a-z_]+):[ \t]*([^\n#]*)", re.MULTILINE)


def start(programs: Starter, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]) -> None:
    """Record the agent of `accelerate launch`; other subcommands start nothing."""
    if len(argv) < 2 or argv[1].raw != b"launch":
        return
    _record(programs, argv, 2, shell, trail)


def start_direct(programs: Starter, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text]) -> None:
    """Record the agent of `accelerate-launch` and `python -m accelerate.commands.launch`."""
    call = python_program(argv)
    _record(programs, argv, call.arguments if call is not None else 1, shell, trail)


def _record(programs: Starter, argv: List[Text], words: int, shell: Shell, trail: Trail) -> None:
    reading = read(TABLE, argv, words)
    one = link("accelerate", argv, reading, words)
    trail = followed(trail, one, reading)
    program = argv[reading.program :]
    config = _config(programs, one, shell)
    if config is None:
        trail = trail._replace(doubts=trail.doubts + ("accelerate's configuration file could not be read",))
    told = _agent(one, shell, programs.scene, config, program)
    told = told._replace(empty=told.empty + lost_value(reading, trail))
    programs.agent(told, program, shell, trail)


def _config(programs: Starter, one: Link, shell: Shell) -> Optional[Dict[bytes, bytes]]:
    """Return the configuration file's plain keys; {} when there is none, None when it is there and unread."""
    named = one.option("config-file")
    path = named.value if named is not None else None
    if path is None:
        home = shell.value(b"HOME")
        if home is None or not home.literal:
            return {}
        path = plain(home.raw + b"/.cache/huggingface/accelerate/default_config.yaml")
    content = programs.scene.content(path, shell.cwd)
    if content is None:
        return None if named is not None else {}
    return {key: value.strip().strip(b"'\"") for key, value in _LINE.findall(content.raw)}


def _value(one: Link, config: Optional[Dict[bytes, bytes]], name: str, default: Optional[bytes]) -> Optional[Text]:
    found = one.option(name)
    if found is not None:
        return found.value
    if one.open or config is None:
        return None
    raw = config.get(_KEYS[name])
    if raw in (b"null", b"None", b"~", b""):
        raw = None
    raw = default if raw is None else raw
    return plain(raw) if raw is not None else None


def _agent(one: Link, shell: Shell, scene: Scene, config: Optional[Dict[bytes, bytes]], program: List[Text]) -> Agent:
    visible = visible_devices(shell, scene)
    machines = number(_value(one, config, "num-machines", b"1"))
    alone = b"%d" % len(visible) if visible and machines == 1 else None
    total = number(_value(one, config, "num-processes", alone))
    each = total // machines if total is not None and machines else None
    address = _value(one, config, "main-process-ip", b"127.0.0.1")
    port = _value(one, config, "main-process-port", b"29500")
    backend = _value(one, config, "rdzv-backend", b"static")
    rank = _value(one, config, "machine-rank", None if machines != 1 else b"0")
    unread = (
        one.option("use-deepspeed") is not None or one.option("deepspeed-hostfile") is not None or one.option("tpu")
    )
    cpu = one.option("cpu") is not None or on_cpu(shell, program)
    return Agent(
        "accelerate",
        (machines, machines) if machines and not unread else None,
        each,
        backend.raw if backend is not None else b"",
        plain(b"none"),
        number(rank),
        address,
        port,
        False,
        total,
        visible,
        cpu,
        shell.value(mask_of(scene.allocation.node_kinds)),
        _empty(one, machines),
        _rankless(one, config, machines, backend),
    )


def _empty(one: Link, machines: Optional[int]) -> Tuple[str, ...]:
    """One machine asks for nobody's address (accelerate 1.15.0)."""
    alone = machines is None or machines == 1
    return tuple(name for name in empty_options(one) if not (alone and name == "main-process-ip"))


def _rankless(
    one: Link, config: Optional[Dict[bytes, bytes]], machines: Optional[int], backend: Optional[Text]
) -> bool:
    """accelerate 1.15 ends with a TypeError when several machines meet statically and no rank is said anywhere."""
    if one.open or config is None or machines is None or machines < 2 or backend is None or backend.raw != b"static":
        return False
    return one.option("machine-rank") is None and not config.get(b"machine_rank")
