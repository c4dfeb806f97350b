"""Network interfaces that the nodes do not have."""

from __future__ import annotations

import re
from typing import Iterator

from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..program_text import files_read, line_of_file

_NAMES = (b"NCCL_SOCKET_IFNAME", b"GLOO_SOCKET_IFNAME", b"TP_SOCKET_IFNAME", b"UCX_NET_DEVICES_IFNAME")
_OF_OTHERS = (b"ib", b"eth", b"en", b"em", b"bond", b"hsn", b"p2p")  # how the interfaces of clusters are called
_INFINIBAND = re.compile(rb"=?ib(?:\d+(?::\d+)?)?")
_SET = re.compile(rb"(?m)^[ \t]*(?:export[ \t]+)?((?:NCCL|GLOO|TP)_SOCKET_IFNAME)=[\"']?=?(lo0?)\b")


@rule("MPL511", "a network interface that the nodes do not have")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """NCCL and gloo take the interface that the script names, and give up where there is none of that name.

    Wrong: export NCCL_SOCKET_IFNAME=ib0, on Frontier; NCCL_SOCKET_IFNAME=lo, on several nodes
    Right: export NCCL_SOCKET_IFNAME=hsn0,hsn1,hsn2,hsn3
    Why:   NCCL says "Bootstrap : no socket interface found", gloo "Unable to find address for". Nodes may have more
           interfaces than those that ranks are to meet over, so this is told, and the site's own names are offered.
           A host of Slingshot alone has no adapter for InfiniBand: there its names are proven wrong for torch's ranks.
    """
    yield from _beside(plan, job, site)
    if b"_SOCKET_IFNAME" not in job.source:
        return
    if any(step.groups and step.nodes and step.nodes > 1 for step in plan.steps):
        yield from _loopback(plan, job, site)
    if not site.interfaces:
        return
    for name in _NAMES:
        for span in plan.assigned.get(name, ()):
            value = job.source[span.start : span.end].partition(b"=")[2].strip(b"'\"")
            if (
                value
                and b"$" not in value
                and value[:1] != b"^"
                and not any(_is_there(part, site) for part in value.split(b","))
            ):
                yield _finding(name, value, span, site, _is_of_other_fabric(value, site) and _meet(plan))


def _loopback(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Yield that ranks of several nodes are to meet over lo, over which each node reaches itself alone."""
    for name in _NAMES:
        for span in plan.assigned.get(name, ()):
            value = job.source[span.start : span.end].partition(b"=")[2].strip(b"'\"")
            if value.lstrip(b"=") in (b"lo", b"lo0"):
                known = _site_s(name, site)
                new = name + b"=" + known if known else name + b"=^lo,docker"
                # NCCL alone takes a list of what it is not to use
                fix = (
                    Fix((Edit(span, new, "MPL511"),), Safety.ASK, new.decode())
                    if known or name[:4] == b"NCCL"
                    else None
                )
                says = "%s=lo: over lo each node reaches itself alone, and the job has several" % name.decode()
                yield Finding("MPL511", says, span, fixes=(fix,) if fix is not None else (),
                              help="name the interface of the network between the nodes")  # fmt: skip


def _beside(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Yield that a file which the script reads has set the loop-back for ranks of several nodes."""
    wide = next((step for step in plan.steps if step.groups and (step.nodes or 1) > 1), None)
    if wide is None:
        return
    for file, text in files_read(plan, job):
        match = _SET.search(text)
        if match is not None:
            parts = (file, *(part.decode() for part in match.groups()))
            says = "%s sets %s=%s: over it each node reaches itself alone, and the job has several" % parts
            new = _site_s(match.group(1), site) or (b"^lo,docker" if match.group(1)[:4] == b"NCCL" else b"")
            there = (line_of_file(file, text, Span(*match.span(2)), new),) if new else ()
            yield Finding("MPL511", says, wide.span, help="name the interface of the network between the nodes",
                          elsewhere=there)  # fmt: skip
            return


def _site_s(name: bytes, site: Site) -> bytes:
    names = site.interfaces if name.startswith(b"NCCL") else site.interfaces[:1]
    return ",".join(names).encode() or site.interface.encode()


def _is_there(item: bytes, site: Site) -> bool:
    """Return whether an item names an interface of the site, by its name or its beginning, or none that is known."""
    item = item.lstrip(b"=").split(b":")[0]
    known = [interface.encode() for interface in site.interfaces]
    if any(interface.startswith(item) for interface in known) or not item.startswith(_OF_OTHERS):
        return True
    return any(item.rstrip(b"0123456789") == interface.rstrip(b"0123456789") for interface in known)


def _finding(name: bytes, value: bytes, span: Span, site: Site, proven: bool) -> Finding:
    names = _site_s(name, site)
    safety = Safety.SAFE if proven else Safety.ASK
    fix = Fix((Edit(span, name + b"=" + names, "MPL511"),), safety, "name %s" % names.decode())
    says = "%s names %s, but ranks meet over %s here" % (
        name.decode(), value.decode("utf-8", "replace"), ", ".join(site.interfaces))  # fmt: skip
    return Finding("MPL511", says, span, proven, fixes=(fix,), help="take the site's own", site_fact="network")


def _is_of_other_fabric(value: bytes, site: Site) -> bool:
    """Return whether a value names InfiniBand's interfaces alone, on a site whose ranks meet over Slingshot's."""
    return all(_INFINIBAND.fullmatch(part) for part in value.split(b",")) and all(
        name.startswith("hsn") for name in site.interfaces
    )


def _meet(plan: LaunchPlan) -> bool:
    """Return whether processes of torch start, which open the interface to meet."""
    return any(process.binds_gpu for step in plan.steps for group in step.groups for process in group.processes)
