"""Right or broken: what a run's facts say, whatever its exit code was."""

from __future__ import annotations

import re
from collections import Counter
from typing import Optional

from tests.reality.field import Fact, Ran

# A launcher that gave up says so on stderr, also where the script's last command hides its exit code.
GAVE_UP = re.compile(
    r"^(?:srun: (?:error|fatal): .*|torch\.distributed\.\S*Error: .*|\w+Error: .*|mpirun: .*|mpiexec: .*"
    r"|\[mpiexec@\S+\] .*|.*BAD TERMINATION OF .*|.*: command not found)$",
    re.MULTILINE,
)


def why_broken(ran: Ran) -> Optional[str]:
    """Return what is broken, or None when every process of every world did what a right run does."""
    if ran.state == "REFUSED":
        return "refused: " + " ".join(ran.output.split())[:200]
    for fact in ran.facts:
        if not fact["ok"]:
            return f"rank {fact['rank']} on {fact['host']}: {fact['why']}"
    if ran.state != "COMPLETED" or ran.exit_code:
        return f"{ran.state} {ran.exit_code}: {_first_complaint(ran)}"
    if not ran.facts:
        return "no training process ran"
    return _shared_device(ran) or _other_world_than_declared(ran) or _complaint(ran)


def _first_complaint(ran: Ran) -> str:
    return (_complaint(ran) or " ".join(ran.output.split()[-20:]))[:200]


def _complaint(ran: Ran) -> Optional[str]:
    found = GAVE_UP.search(ran.output)
    return found.group(0)[:200] if found else None


def _shared_device(ran: Ran) -> Optional[str]:
    """Two worlds of one launch line on one GPU: each rank met its peers, and yet it is the fan-out product."""
    taken = Counter((_launch(fact), fact["host"], fact["device"]) for fact in ran.leaves if fact["device"] is not None)
    worlds = {fact["world_id"] for fact in ran.leaves}
    for (launch, host, device), count in taken.items():
        if count > 1 and launch[0] and len(worlds) > 1:
            return f"{count} ranks of one launch line on {host} device {device}"
    return None


def _launch(fact: Fact) -> tuple[str, str, str]:
    env = fact["env"]
    outer = fact["chain"][0] if fact["chain"] and "SLURM_STEP_ID" not in env else ""
    step = env.get("SLURM_STEP_ID", "") if env.get("SLURM_PROCID") is not None and "SLURM_STEP_ID" in env else outer
    return (step, fact["program"], " ".join(fact["arguments"]))


def _other_world_than_declared(ran: Ran) -> Optional[str]:
    """accelerate divides --num_processes by the machines and says nothing of the rest."""
    said = re.findall(rb"--num_processes[= ](\d+)", re.sub(rb"(?m)^\s*#.*$", b"", ran.case.script or b""))
    worlds = {
        fact["world_size"] for fact in ran.leaves if any(link.startswith("accelerate@") for link in fact["chain"])
    }
    if len(said) == 1 and len(worlds) == 1 and int(said[0]) not in worlds:
        return f"accelerate was told {int(said[0])} processes and made a world of {worlds.pop()}"
    return None
