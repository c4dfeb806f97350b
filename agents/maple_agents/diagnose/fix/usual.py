"""What cures most jobs of a class: tried where no remedy of the entry changes the script."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Usual(NamedTuple):
    """A typed fix with its arguments, and the kind of fix that it is."""

    how: str
    kind: str
    give: Mapping[str, str] = {}


USUAL: Mapping[str, tuple[Usual, ...]] = {
    "port_in_use": (Usual("port-of-job", "script_env"),),
    "rendezvous_timeout_master_unreachable": (
        Usual("master-of-job", "script_env"),
        Usual("first-node", "script_env"),
    ),
    "hostname_resolution": (Usual("first-node", "script_env"),),
    "wrong_world_size_or_rank": (
        Usual("ranks-of-tasks", "script_launch_line"),
        Usual("near-variable", "script_launch_line"),
    ),
    "srun_step_request": (Usual("step-of-whole-allocation", "script_launch_line"),),
    "deepspeed_hostfile_or_ssh": (Usual("deepspeed-over-srun", "script_launch_line"),),
    "invalid_partition_account_qos": (Usual("correct-value", "script_directive"),),
    "launcher_bad_option": (Usual("near-variable", "script_launch_line"),),
    "code_error": (Usual("near-variable", "script_launch_line"),),
    "data_or_config_error": (Usual("near-variable", "script_launch_line"),),
    "dos_line_endings": (Usual("unix-line-endings", "script_launch_line"),),
    "file_not_found": (
        Usual("near-path", "script_launch_line", {"what": "{path}"}),
        Usual("correct-value", "script_directive", {"what": "output"}),
    ),
    "permission_denied": (Usual("correct-value", "script_launch_line", {"what": "{path}"}),),
    "wrong_interpreter_or_env": (Usual("replace-python", "script_env"),),
    "missing_python_module": (Usual("replace-python", "script_env"),),
    "launcher_not_found": (Usual("module-of-site", "script_env", {"what": "{name}"}),),
}
