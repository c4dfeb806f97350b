"""Network interfaces that the nodes do not have."""

from __future__ import annotations

from typing import Iterator

from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule

_NAMES = (b"NCCL_SOCKET_IFNAME", b"GLOO_SOCKET_IFNAME", b"TP_SOCKET_IFNAME", b"UCX_NET_DEVICES_IFNAME")
_OF_OTHERS = (b"ib", b"eth", b"en", b"em", b"bond", b"hsn", b"p2p")  # how the interfaces of clusters are called


@rule("MPL511", "a network interface that the nodes do not have")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """NCCL and gloo take the interface that the script names, and give up where there is none of that name.

    Wrong: export NCCL_SOCKET_IFNAME=ib0, on Frontier
    Right: export NCCL_SOCKET_IFNAME=hsn0,hsn1,hsn2,hsn3
    Why:   NCCL says: Bootstrap : no socket interface found. Maple only reports it, with the names that the site file
           has: nodes may have more interfaces than the ones that ranks are to meet over.
    """
    if not site.interfaces or b"_SOCKET_IFNAME" not in job.source:
        return
    for name in _NAMES:
        for span in plan.assigned.get(name, ()):
            said = job.source[span.start : span.end].partition(b"=")[2].strip(b"'\"")
            if (
                said
                and b"$" not in said
                and said[:1] != b"^"
                and not any(_is_there(part, site) for part in said.split(b","))
            ):
                yield _finding(name, said, span, site)


def _is_there(said: bytes, site: Site) -> bool:
    """Return whether an item names an interface of the site, by its name or its beginning, or none that is known."""
    said = said.lstrip(b"=").split(b":")[0]
    known = [interface.encode() for interface in site.interfaces]
    if any(one.startswith(said) for one in known) or not said.startswith(_OF_OTHERS):
        return True
    return any(said.rstrip(b"0123456789") == one.rstrip(b"0123456789") for one in known)


def _finding(name: bytes, said: bytes, span: Span, site: Site) -> Finding:
    names = ",".join(site.interfaces if name.startswith(b"NCCL") else site.interfaces[:1])
    fix = Fix((Edit(span, name + b"=" + names.encode(), "MPL511"),), Safety.ASK, "name %s" % names)
    says = "%s names %s, but ranks meet over %s here" % (
        name.decode(), said.decode("utf-8", "replace"), ", ".join(site.interfaces))  # fmt: skip
    return Finding("MPL511", says, span, fixes=(fix,), help="take the site's own", site_fact="network")
