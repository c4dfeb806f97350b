"""Parsl: one Python app on a block of one node."""

import sys

import parsl
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.launchers import SrunLauncher
from parsl.providers import SlurmProvider


@parsl.python_app
def cube(number: int) -> int:
    """The work of the job."""
    return number**3


provider = SlurmProvider(
    partition=sys.argv[2], walltime="00:05:00", init_blocks=1, max_blocks=1, launcher=SrunLauncher()
)
executor = HighThroughputExecutor(
    label="htex",
    provider=provider,
    address=sys.argv[1],
    loopback_address=sys.argv[1],
    max_workers_per_node=1,
    encrypted=False,
)
with parsl.load(Config(executors=[executor], strategy="none", run_dir="runinfo", usage_tracking=0)):
    print(cube(7).result(timeout=120))
