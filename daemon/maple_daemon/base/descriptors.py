"""How many callers there are descriptors for: too many callers cost themselves an answer, not the service its own."""

from __future__ import annotations

import resource

OWN = 64  # of the service: store, log, metrics and whoever reads them, sockets that wait to be refused
OF_WORKER = 4
LEAST = 8


def for_callers(wanted: int, workers: int) -> int:
    """Raise the soft limit as far as *wanted* callers need and the hard one lets; return how many there may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    own = OWN + OF_WORKER * workers
    if soft != resource.RLIM_INFINITY and soft < wanted + own:
        soft = wanted + own if hard == resource.RLIM_INFINITY else min(hard, wanted + own)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return wanted if soft == resource.RLIM_INFINITY else max(LEAST, min(wanted, soft - own))
