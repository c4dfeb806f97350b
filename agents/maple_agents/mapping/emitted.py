"""A mapping file carried out: read, put on hosts, and written as it asks."""

from __future__ import annotations

from collections.abc import Iterator

from ..base.complaint import Complaint
from . import emit, language, topology, tuning
from .emit import Job, Written
from .language import Mapping, Mistake
from .question import hosts as listed
from .topology import Hardware, Network
from .tuning import Trial


def emitted(name: str, hosts: str, network: str, lstopo: str) -> Iterator[tuple[str, Written]]:
    """Yield each target that a mapping file names, written; raises `Complaint` where it cannot be."""
    try:
        mapping = language.read(_text(name))
        if not mapping.emits:
            raise Mistake("it says nothing to write; add: emit slurm-hostfile")
        job = Job(mapping, mapping.placement(), _hosts(mapping, hosts, network), _hardware(lstopo))
        for target in mapping.emits:
            yield target, emit.written(target, job)
    except Mistake as error:
        said, _, todo = str(error).partition("; ")
        raise Complaint(f"{name}: {said}", todo) from error


def tuned(name: str, hosts: str, network: str) -> tuple[list[Trial], float]:
    """Return every way of ordering and dealing, the best first, and the estimate of what the file says."""
    try:
        mapping = language.read(_text(name))
        leaves = _leaves(mapping, hosts, network)
        return tuning.trials(mapping, leaves), tuning.as_written(mapping, leaves)
    except Mistake as error:
        said, _, todo = str(error).partition("; ")
        raise Complaint(f"{name}: {said}", todo) from error


def _leaves(mapping: Mapping, hosts: str, network: str) -> tuple[str, ...]:
    """Return the leaf of each node: of the network that is told, else as the cluster has them, one after the other."""
    if not network:
        below = mapping.levels.get("node", 1)
        return tuple(f"leaf{node // below}" for node in range(mapping.nodes)) if "leaf" in mapping.levels else ()
    try:
        named = listed(hosts) if hosts else mapping.hosts
        known = topology.network_of(_text(network), named)
    except ValueError as error:
        raise Mistake(f"{network}: {error}; take what scontrol show topology prints") from error
    if len(known.leaves) != mapping.nodes:
        raise Mistake(f"{network} has {len(known.leaves)} of {mapping.nodes} hosts; say the job's own with --hosts")
    return known.leaves


def _hosts(mapping: Mapping, said: str, network: str) -> tuple[str, ...]:
    """Return the hosts in the order of the mapping's nodes; numbered ones where nobody names them."""
    named = listed(said) if said else mapping.hosts or tuple(f"node{index}" for index in range(mapping.nodes))
    if mapping.by != "leaf":
        return named
    if not network:
        raise Mistake("nodes by leaf wants the network; say --topology, with --hosts")
    try:
        known = topology.network_of(_text(network), named)
    except ValueError as error:
        raise Mistake(f"{network}: {error}; take what scontrol show topology prints") from error
    if known == Network():
        raise Mistake(f"not all hosts stand in {network}; say the job's own hosts with --hosts")
    return emit.ordered(named, known.leaves, "leaf")


def _hardware(name: str) -> Hardware:
    try:
        return topology.of_lstopo(_text(name)) if name else Hardware()
    except ValueError as error:
        raise Mistake(f"{name}: {error}; write it on a node of the job") from error


def _text(name: str) -> str:
    try:
        with open(name, errors="replace") as file:
            return file.read()
    except OSError as error:
        raise Mistake(f"{error.strerror}: {name}; name a file that can be read") from error
