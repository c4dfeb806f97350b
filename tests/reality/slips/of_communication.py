"""Slips of communication/: the master's address, its port, the id of a rendezvous, the network's name."""

from __future__ import annotations

import re

from tests.reality.slips.forms import assigned, on_line, option, swapped, unread
from tests.reality.slips.script import Script
from tests.reality.slips.slip import Slip

_HEAD = rb"(?m)^[ \t]*(?:export[ \t]+)?(MASTER_ADDR|MASTER|HEAD|HEAD_NODE|MAIN_ADDR)="
ENDPOINT = rb"--rdzv[-_]endpoint"
ADDRESS = rb"--master[-_]addr"
PORT = rb"--master[-_]port"
_IN_TASK = re.compile(rb"(?:ba)?sh -l?c '")


def _told_master(script: Script) -> bool:
    """Several nodes, whose launcher the script tells the master's address in a variable."""
    anew = re.search(rb"--container-|prolog|--environment", script.text)  # a hook may set it once more
    return (
        not anew
        and script.several_nodes
        and len(re.findall(_HEAD, script.text)) == 1
        and b"MASTER_ADDR=" in script.text
    )


def _says(names: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"[ \t]" + names + rb"[= ]")


def _on_several(names: bytes, *lacks: bytes):  # type: ignore[no-untyped-def]
    """Return whether a script of several nodes starts a launcher on each, told this option on its line."""
    said = _says(names)

    def where(script: Script) -> bool:
        launch = script.launch
        runs = script.line.launcher in (b"srun", b"mpiexec", b"mpirun")
        return script.several_nodes and runs and bool(said.search(launch)) and not any(one in launch for one in lacks)

    return where


def _one_node(form: bytes):  # type: ignore[no-untyped-def]
    return lambda script: script.before(form) if script.nodes == 1 else None


def _early(script: Script) -> bool:
    """Its tasks' own shell expands what it says between single quotes."""
    return script.several_nodes and bool(_IN_TASK.search(script.launch))


def _list(name: bytes) -> bytes:
    return b'$(scontrol show hostnames "$SLURM_JOB_NODELIST" | ' + name + b")"


def _slurm_master(script: Script) -> bool:
    return _told_master(script) and not script.is_pbs and b"c10d" not in script.text


def _pbs_master(script: Script) -> bool:
    return _told_master(script) and script.is_pbs


SLIPS = [
    Slip("localhost as MASTER_ADDR", ("MPL501",), _told_master, assigned(b"MASTER_ADDR", b"localhost"),
         {**unread(b"export MASTER_ADDR=localhost"), "one node": _one_node(b"export MASTER_ADDR=localhost\n")}),
    Slip("127.0.0.1 as MASTER_ADDR", ("MPL501",), _told_master, assigned(b"MASTER_ADDR", b"127.0.0.1")),
    Slip("localhost as the endpoint", ("MPL501",), _on_several(ENDPOINT), option(ENDPOINT, b"localhost:29500")),
    Slip("localhost as --master_addr", ("MPL501",), _on_several(ADDRESS), option(ADDRESS, b"localhost")),
    Slip("each task's own name as the endpoint", ("MPL502",),
         lambda script: _early(script) and bool(_says(ENDPOINT).search(script.launch)),
         {form.decode(): on_line(rb"(--rdzv[-_]endpoint[= ])\"?\$\{?\w+\}?", rb"\g<1>" + form)
          for form in (b"$(hostname)", b"$(hostname -s)", b"$HOSTNAME", b"$(hostname -i)", b"`hostname`",
                       b"$SLURMD_NODENAME", b"$(uname -n)")}),
    Slip("each task's own name as --master_addr", ("MPL502",),
         lambda script: _early(script) and bool(_says(ADDRESS).search(script.launch)),
         {form.decode(): on_line(rb"(--master[-_]addr[= ])\"?\$\{?\w+\}?\"?", rb"\g<1>" + form)
          for form in (b"$(hostname)", b"$(hostname -s)", b"$HOSTNAME", b"$(hostname -i)", b"`hostname`",
                       b"$SLURMD_NODENAME")}),
    Slip("another id of the run in each task", ("MPL503",),
         lambda script: _early(script) and bool(_says(rb"--rdzv[-_]id").search(script.launch)),
         {form.decode(): on_line(rb"(--rdzv[-_]id[= ])\"?[\w${}]+\"?", rb"\g<1>" + form)
          for form in (b"$RANDOM", b"$$", b"$(date +%N)", b"$(uuidgen)", b"$SLURM_PROCID", b"$((RANDOM))",
                       b"run-$SLURM_NODEID")}),
    Slip("a master that is not the first node", ("MPL504",), _slurm_master, {
        f"{way}: {spelling}": change
        for way, value in {
            "tail": _list(b"tail -n 1"), "tail -1": _list(b"tail -1"), "sed 2p": _list(b"sed -n 2p"),
            "second of head": _list(b"head -n 2 | tail -n 1"), "last of sort": _list(b"sort -r | head -n 1"),
            "the list": b"$SLURM_JOB_NODELIST", "the old list": b"$SLURM_NODELIST",
            "the whole output": b"$(scontrol show hostnames $SLURM_JOB_NODELIST)",
            "awk's last": _list(b"awk 'END{print}'"), "awk NR==2": _list(b"awk 'NR==2'"),
            "cut of the list": b"$(echo $SLURM_JOB_NODELIST | cut -d, -f1)",
        }.items()
        for spelling, change in assigned(b"MASTER_ADDR", value).items() if spelling in ("in place", "by another")
    }),
    Slip("a master that is not the first host", ("MPL504",), _pbs_master, {
        f"{way}: {spelling}": change
        for way, value in {
            "tail": b"$(tail -n 1 $PBS_NODEFILE)", "the file": b"$PBS_NODEFILE", "all of it": b"$(cat $PBS_NODEFILE)",
            "last of sort": b"$(sort -ru $PBS_NODEFILE | head -n 1)",
        }.items()
        for spelling, change in assigned(b"MASTER_ADDR", value).items() if spelling in ("in place", "by another")
    }),
    Slip("a port that is none", ("MPL508",), lambda script: script.several_nodes and b"MASTER_PORT=" in script.text, {
        f"{value.decode()}: {spelling}": change
        for value in (b"295000", b"$SLURM_JOBID", b"$((50000 + RANDOM))", b"80", b"auto")
        for spelling, change in assigned(b"MASTER_PORT", value).items() if spelling in ("in place", "by another")
    }),
    Slip("a port that nobody sets", ("MPL508",), _on_several(rb"--(?:master|main_process)[-_]port"), {
        "never set": on_line(rb"(--(?:master|main_process)[-_]port[= ])\"?[\w${}]+\"?", rb"\g<1>$PORT_OF_MINE"),
        "in quotes": on_line(rb"(--(?:master|main_process)[-_]port[= ])\"?[\w${}]+\"?", rb'\g<1>"$PORT_OF_MINE"'),
    }),
    Slip("another port in each task", ("MPL509",),
         lambda script: _early(script) and bool(_says(PORT).search(script.launch)),
         {form.decode(): on_line(rb"(--master[-_]port[= ])\"?[\w${}]+\"?", rb"\g<1>" + form)
          for form in (b"$RANDOM", b"$((20000 + RANDOM % 10000))", b"$((29500 + SLURM_PROCID))",
                       b"$((29500+$SLURM_NODEID))", b"$(shuf -i 20000-30000 -n 1)")}),
    Slip("an interface of no node", ("MPL511",),
         lambda script: script.several_nodes and b"SOCKET_IFNAME=" in script.text, {
             "lo": swapped(rb"(?<=SOCKET_IFNAME=)[^\s;]+", b"lo"),
             "lo in quotes": swapped(rb"(?<=SOCKET_IFNAME=)[^\s;]+", b'"lo"'),
             "eth9": swapped(rb"(?<=SOCKET_IFNAME=)[^\s;]+", b"eth9"),
         }),
]  # fmt: skip
