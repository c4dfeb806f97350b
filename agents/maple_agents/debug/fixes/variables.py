"""Environment variables of the job: set, taken back, and what follows from the site or from how the shell works."""

from __future__ import annotations

import re

from maple_submit_filter.edits import Edit, Fix, Safety, Span

from .given import Given, fix
from .inserting import is_name, line, newline

PLAIN = re.compile(r"(\$[A-Z][A-Z0-9_]*(?=/|\Z))?[A-Za-z0-9_.,:/=+@%^-]*\Z")


@fix("set-env")
def set_env(given: Given) -> Fix | None:
    """Set *name* to *value*: where the script assigns it, else on a line before the first command."""
    return assigned(given, given.word("name"), given.word("value"), Safety.ASK)


@fix("unset-env")
def unset_env(given: Given) -> Fix | None:
    """Leave *name* unset: the line that exports it goes, or `unset` comes before the first command."""
    name = given.word("name").encode()
    if not is_name(given.word("name")):
        return None
    spans = given.plan.assigned.get(name, ())
    says = "%s is not set" % given.word("name")
    if not spans:
        edit = line(given, b"unset " + name, "unset-env")
        return Fix((edit,), Safety.ASK, says) if edit else None
    source = given.job.source
    edits = [_emptied(source, span, name) for span in spans]
    return None if None in edits else Fix(tuple(one for one in edits if one), Safety.ASK, says)


def _emptied(source: bytes, span: Span, name: bytes) -> Edit | None:
    """Turn a line that is this one assignment into `unset`; the line stays, so that numbers of lines do."""
    start, end = source.rfind(b"\n", 0, span.start) + 1, source.find(b"\n", span.start)
    end = len(source) if end < 0 else end
    whole = re.match(rb"[ \t]*(?:export[ \t]+)?" + name + rb"=[^\s;&|]*[ \t\r]*\Z", source[start:end])
    return Edit(Span(start, end), b"unset " + name, "unset-env") if whole else None


@fix("interface-of-site")
def interface_of_site(given: Given) -> Fix | None:
    """Name the interface that the site's nodes have, in *variable* (NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME …)."""
    variable = given.word("variable") or "NCCL_SOCKET_IFNAME"
    if not given.site.interface or not variable.endswith("_IFNAME"):
        return None
    return assigned(given, variable, given.site.interface, Safety.ASK)


@fix("offline-hub")
def offline_hub(given: Given) -> Fix | None:
    """Have Hugging Face's libraries take what is in their caches and ask nobody."""
    edit = line(given, b"export HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 HF_DATASETS_OFFLINE=1", "offline-hub")
    if edit is None or b"HF_HUB_OFFLINE=1" in given.job.source:
        return None
    return Fix((edit,), Safety.ASK, "the hub is not asked: models and data come from the cache")


@fix("cpus-for-srun")
def cpus_for_srun(given: Given) -> Fix | None:
    """Give steps the CPUs that the job has for each task: since 22.05 srun does not take --cpus-per-task from it."""
    if b"SRUN_CPUS_PER_TASK" in given.job.source or "cpus-per-task" not in given.job.settings:
        return None
    edit = line(given, b"export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK", "cpus-for-srun")
    return Fix((edit,), Safety.ASK, "steps get the CPUs for each task that the job asked for") if edit else None


def assigned(given: Given, name: str, value: str, safety: str) -> Fix | None:
    """Return the fix that gives variable *name* a plain *value*; None where either could be more than that."""
    if not is_name(name) or not PLAIN.match(value):
        return None
    says = "%s=%s" % (name, value)
    spans = given.plan.assigned.get(name.encode(), ())
    word = value.encode()
    if spans:
        edits = [_value(given.job.source, span, name.encode(), word) for span in spans]
        return None if None in edits else Fix(tuple(one for one in edits if one), safety, says)
    edit = line(given, b"export %s=%s" % (name.encode(), word), "set-env")
    return Fix((edit,), safety, says) if edit else None


def _value(source: bytes, span: Span, name: bytes, value: bytes) -> Edit | None:
    """Change what is assigned at *span*, where it is one plain word."""
    found = re.compile(name + rb"=([\w.,:/+@%^-]*|\"[^\"$`\\\n]*\"|'[^'\n]*')(?=[\s;&|)]|\Z)").match(source, span.start)
    return Edit(Span(*found.span(1)), value, "set-env") if found else None


__all__ = ["assigned", "newline"]
