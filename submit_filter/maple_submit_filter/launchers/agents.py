"""Every agent by its record. Whoever speaks of agents in general asks here, so that a new one is one file."""

from __future__ import annotations

from typing import Mapping, Tuple

from . import accelerate_options, deepspeed_options, torchrun_options
from .record import AgentRecord

RECORDS: Tuple[AgentRecord, ...] = (torchrun_options.RECORD, accelerate_options.RECORD, deepspeed_options.RECORD)
AGENTS: Tuple[str, ...] = tuple(one.name for one in RECORDS)
BY_NAME: Mapping[str, AgentRecord] = {one.name: one for one in RECORDS}
BY_MODULE: Mapping[bytes, bytes] = {module: one.called[0] for one in RECORDS for module in one.modules}
