"""`#PBS` and `#BSUB` lines as sbatch itself reads them (asked of 22.05.8), mapped to its own options."""

from __future__ import annotations

import re
from typing import Iterator, List, Tuple

from ..options import GivenOption, OptionTable, table

_PBS_VALUES = """
start_time/a account/A checkpoint/c working_dir/C error/e job_array/J keep/k resource_list/l mail_options/m
mail_user_list/M job_name/N out/o priority/p destination/q rerunable/r script_path/S array/t running_user/u
variable_list/v attributes/W
"""
PBS = table(_PBS_VALUES, "hold/h interactive/I all_env/V no_std/z", "join")
PBS.short[b"j"] = table("join", "", "").long[b"join"]
BSUB = table(
    "cwd/c error_file/e job_name/J hostname/m memory_limit/M ntasks/n output_file/o queue_name/q time/W",
    "exclusive/x",
    "",
)
TABLES: "dict[bytes, OptionTable]" = {b"#PBS": PBS, b"#BSUB": BSUB}

# Only the letters count: what sbatch knows but ignores is left out.
_PBS_NAMES = {
    "start_time": "begin", "account": "account", "error": "error", "hold": "hold", "job_array": "array",
    "array": "array", "mail_options": "mail-type", "mail_user_list": "mail-user", "job_name": "job-name",
    "out": "output", "priority": "nice", "destination": "partition", "variable_list": "export",
}  # fmt: skip
_BSUB_NAMES = {
    "cwd": "chdir", "error_file": "error", "job_name": "job-name", "hostname": "nodelist",
    "memory_limit": "mem-per-cpu", "ntasks": "ntasks", "output_file": "output", "queue_name": "partition",
    "time": "time", "exclusive": "exclusive",
}  # fmt: skip
_RESOURCE = re.compile(
    rb"(cput|mem|mpiprocs|naccelerators|ncpus|nodes|pcput|select|walltime|proc|nice|pmem|vmem|pvmem|arch|file|host|opsys"
    rb"|other|software)="
)
_UP_TO_COLON = (b"mpiprocs", b"ncpus", b"select")
_RESOURCE_NAMES = {
    b"cput": "time", b"pcput": "time", b"walltime": "time", b"mem": "mem", b"mpiprocs": "ntasks-per-node",
    b"ncpus": "mincpus", b"select": "nodes", b"proc": "constraint", b"nice": "nice", b"file": "tmp",
}  # fmt: skip


def translated(prefix: bytes, option: GivenOption) -> Tuple[Tuple[str, bytes, bool], ...]:
    """Return what one option of a foreign line says: (name, value, whether the value stands in the script as it is)."""
    if prefix == b"#BSUB":
        return _bsub(option)
    if option.name == "resource_list":
        return tuple(_resources(option.value))
    if option.name == "attributes":
        kind, _, value = option.value.partition(b"=")
        return (("dependency", value, False),) if kind.lower() == b"depend" else ()
    if option.name in ("error", "out") and option.value.lower() == b"none":
        return ((_PBS_NAMES[option.name], b"/dev/null", False),)
    name = _PBS_NAMES.get(option.name)
    return ((name, option.value, name != "mail-type"),) if name else ()


def _bsub(option: GivenOption) -> Tuple[Tuple[str, bytes, bool], ...]:
    value = option.value
    if option.name == "ntasks":
        value = value.rpartition(b",")[2]
    elif option.name == "hostname":
        value = value.replace(b" ", b",")
    return ((_BSUB_NAMES[option.name], value, value == option.value),)


def _resources(value: bytes) -> Iterator[Tuple[str, bytes, bool]]:
    """Read `-l`. Names are found wherever they begin, as sbatch looks for them byte by byte."""
    resources: "dict[bytes, bytes]" = {}
    at = 0
    while at < len(value):
        match = _RESOURCE.match(value, at)
        if not match:
            at += 1
            continue
        stop = value.find(b":" if match.group(1) in _UP_TO_COLON else b",", match.end())
        text = value[match.end() : stop if stop >= 0 else len(value)]
        at = stop + 1 if stop >= 0 else len(value)
        resources[match.group(1)] = text
        yield from _resource(match.group(1), text)
    yield from _cpus_per_task(resources)


def _resource(name: bytes, text: bytes) -> Iterator[Tuple[str, bytes, bool]]:
    if name == b"nodes":
        yield from _nodes(text)
    elif name == b"naccelerators":
        yield "gres", b"gpu:" + text, False
    elif name in (b"mem", b"file"):
        yield _RESOURCE_NAMES[name], text[:-1] if text[-1:] in b"bB" else text, False
    elif name in _RESOURCE_NAMES:
        yield _RESOURCE_NAMES[name], text, False


def _cpus_per_task(resources: "dict[bytes, bytes]") -> Iterator[Tuple[str, bytes, bool]]:
    """A chunk with more CPUs than MPI processes gives each process its share."""
    ncpus, mpiprocs = resources.get(b"ncpus", b""), resources.get(b"mpiprocs", b"")
    if b"select" in resources and ncpus.isdigit() and mpiprocs.isdigit() and int(ncpus) > int(mpiprocs) > 0:
        yield "cpus-per-task", b"%d" % (int(ncpus) // int(mpiprocs)), False


def _nodes(text: bytes) -> Iterator[Tuple[str, bytes, bool]]:
    """Read `nodes=2:ppn=4:gpus=1` or `nodes=host1+host2:ppn=2`: processes per node become tasks in all."""
    count, per_node, gpus = 0, 0, b""
    hosts: List[bytes] = []
    for part in re.split(rb"[+:]", text):
        digits = re.match(rb"\d{1,8}", part)
        if part.startswith(b"ppn="):
            per_node += _number(part[4:])
        elif part.startswith(b"gpus="):
            gpus = b"%d" % _number(part[5:])
        elif digits:
            count += int(digits.group())
        elif part[:1].isalpha():
            hosts.append(part)
    if count:
        yield "nodes", b"%d" % count, False
    if per_node:
        yield "ntasks", b"%d" % (per_node * max(count, 1)), False
    if gpus:
        yield "gpus-per-node", gpus, False
    if hosts:
        yield "nodelist", b",".join(hosts), False


def _number(text: bytes) -> int:
    digits = re.match(rb"\d{1,8}", text)
    return int(digits.group()) if digits else 0
