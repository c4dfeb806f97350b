"""Environment variables of the job: set, taken back, and what follows from the site or from how the shell works."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase

from maple_submit_filter.cures import exports
from maple_submit_filter.types.edits import Edit, Fix, Safety, Span
from maple_submit_filter.types.launch_plan import Step

from ....request.script.walk import given as assignments
from ....request.script.walk import simple_commands
from ..registry import Given, fix, whole
from .insertion import is_name, line, place

PLAIN = re.compile(r"[A-Za-z0-9_.,:/=+@%^-]*\Z")
_UNDER = re.compile(r"\$([A-Z][A-Z0-9_]*)(?=/|\Z)")  # a value may begin with a variable: `$SCRATCH/hf`
_DOWNLOADS = re.compile(rb"\b(?:huggingface-cli|hf)[ \t]+download\b|snapshot_download|HF_HUB_OFFLINE=0")
_INTERFACE = b"_SOCKET_IFNAME"
_GOOD = ("recommended", "default", "optional")


@fix("set-env")
def set_env(given: Given) -> Fix | None:
    """Set *name* to *value*: where the script assigns it, else on a line before the first launch.

    A value that begins with a variable is used only where that is known to be there.
    """
    value = given.word("value")
    under = _UNDER.match(value)
    if under and not _is_set(given, under[1]):
        return None
    return assigned(given, given.word("name"), value)


def _is_set(given: Given, name: str) -> bool:
    """Return whether the job has the variable, as far as its script, its submission or the user's own shell tell."""
    raw = name.encode()
    here = given.own and bool(os.environ.get(name))
    used = re.search(rb"\$\{?%s\b" % raw, given.first.source) is not None
    return here or used or bool(given.job.submission.environment.get(raw)) or raw in given.plan.assigned


@fix("unset-env")
def unset_env(given: Given) -> Fix | None:
    """Leave *name* unset: the line that exports it says `unset` instead, or one before the first launch does."""
    if not is_name(given.word("name")):
        return None
    names = [given.word("name").encode(), *_sisters(given, given.word("name").encode())]
    made = [_unset(given, name) for name in names]
    if made[0] is None:
        return None
    edits = tuple(dict.fromkeys(edit for part in made if part is not None for edit in part))
    shown = " and ".join(name.decode() for name, part in zip(names, made) if part is not None)
    return Fix(edits, Safety.ASK, "%s %s not set" % (shown, "is" if " and " not in shown else "are")) if edits else None


def _sisters(given: Given, name: bytes) -> list[bytes]:
    """Return the variables of other libraries that the script gives the same interface."""
    if not name.endswith(_INTERFACE):
        return []
    values = {other: _values(given, other) for other in given.plan.assigned if other.endswith(_INTERFACE)}
    return sorted(other for other, value in values.items() if other != name and value and value == values.get(name))


def _values(given: Given, name: bytes) -> set[bytes]:
    """Return what a script assigns to a variable, as it is written."""
    spans = given.plan.assigned.get(name, ())
    return {given.job.source[span.start : span.end].partition(b"=")[2].strip(b"\"'") for span in spans}


def _unset(given: Given, name: bytes) -> list[Edit] | None:
    """Return the edits that leave *name* unset, None where that cannot be said."""
    spans = given.plan.assigned.get(name, ())
    if not spans:
        edit = line(given, b"unset " + name, "unset-env")
        return [edit] if edit else None
    edits = [_emptied(given.job.source, span, name) for span in spans]
    if None in edits:
        return None
    more = [line(given, b"unset " + name, "unset-env")] if any(change and not change.new for change in edits) else []
    return [change for change in (*edits, *more) if change]


def _emptied(source: bytes, span: Span, name: bytes) -> Edit | None:
    """Turn a line that is this one assignment into `unset`; out of a line of several, take its words."""
    start, end = source.rfind(b"\n", 0, span.start) + 1, source.find(b"\n", span.start)
    end = len(source) if end < 0 else end
    value = name + rb"=(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s;&|\"'()`]*)"
    whole_line = re.match(rb"([ \t]*)((?:export[ \t]+)?" + value + rb")[ \t\r]*\Z", source[start:end])
    if whole_line:
        return Edit(Span(start + whole_line.start(2), start + whole_line.end(2)), b"unset " + name, "unset-env")
    one_of_many = re.compile(value + rb"[ \t]+(?=[\w./\"'$-])").match(source, span.start)
    if one_of_many is None and re.search(rb"\w=\S*[ \t]+\Z", source[start : span.start]):  # the last one of an export
        last = re.compile(rb"[ \t]+" + value + rb"(?=[ \t\r]*\Z)").search(source, max(start, span.start - 1), end)
        return Edit(Span(*last.span()), b"", "unset-env") if last else None
    return Edit(Span(*one_of_many.span()), b"", "unset-env") if one_of_many else None


@fix("interface-of-site")
def interface_of_site(given: Given) -> Fix | None:
    """Give *variable* (NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME, FI_PROVIDER …) what the site's file says of it.

    A variable that the site wants left alone is not set.
    """
    variable = given.word("variable") or "NCCL_SOCKET_IFNAME"
    value = _of_site(given, variable)
    return assigned(given, variable, value) if value else None


def _of_site(given: Given, variable: str) -> str:
    site = whole(given.site)
    rows = site.network.variables if site is not None and site.network is not None else []
    if any(
        transport_variable.status == "avoid"
        and fnmatchcase(variable, transport_variable.name)
        and variable not in transport_variable.except_for
        for transport_variable in rows
    ):
        return ""
    values = {
        transport_variable.value
        for transport_variable in rows
        if transport_variable.name == variable and transport_variable.status in _GOOD and transport_variable.value
    }
    if len(values) == 1:
        return values.pop()
    return given.site.interface if variable.endswith("_IFNAME") and not values else ""


@fix("offline-hub")
def offline_hub(given: Given) -> Fix | None:
    """Have Hugging Face's libraries take what is in their caches and ask nobody; not in a job that fills them."""
    if b"HF_HUB_OFFLINE=1" in given.job.source or _DOWNLOADS.search(given.job.source):
        return None
    edit = line(given, b"export HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 HF_DATASETS_OFFLINE=1", "offline-hub")
    says = "offline mode: models and data come from the cache"
    return Fix((edit,), Safety.ASK, says) if edit is not None else None


@fix("cpus-for-srun")
def cpus_for_srun(given: Given) -> Fix | None:
    """Give steps the CPUs that the job has for each task: since 22.05 srun does not take --cpus-per-task from it.

    Not where a step of more tasks than the job has on a node would then ask for more CPUs than there are, nor where one
    names its CPUs: those are of the node, and the job may have others.
    """
    if b"SRUN_CPUS_PER_TASK" in given.job.source or "cpus-per-task" not in given.job.settings:
        return None
    steps = [step for step in given.plan.steps if any(link.name == "srun" for link in step.links)]
    if not steps or any(_crowded(given, step) or _maps(step) for step in steps):
        return None
    edit = line(given, b"export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK", "cpus-for-srun")
    return Fix((edit,), Safety.ASK, "steps use the CPUs per task that the job requested") if edit else None


def _maps(step: Step) -> bool:
    """Return whether a step says by number or mask to which CPUs its tasks are bound."""
    bound = [link.option("cpu-bind") for link in step.links]
    return any(option is not None and option.value is not None and b"_cpu:" in option.value.raw for option in bound)


def _crowded(given: Given, step: Step) -> bool:
    """Return whether a step may have more tasks on a node than the job has there."""
    tasks = given.plan.allocation.tasks_per_node
    if any(link.option("cpus-per-task") is not None for link in step.links):
        return False
    return tasks is None or step.tasks_per_node is None or step.tasks_per_node > tasks


@fix("export-variable")
def export_variable(given: Given) -> Fix | None:
    """Export *name*, which the script sets for its own shell alone."""
    name = given.word("name")
    if not is_name(name) or exported(given, name):
        return None
    edits = exporting(given, name, "export-variable")
    return Fix(tuple(edits), Safety.ASK, "%s is exported" % name) if edits else None


def exporting(given: Given, name: str, because: str) -> list[Edit]:
    """Return the edits that put `export` in front of every assignment of *name*; [] where one is for one command.

    `NAME=value command` gives that command the variable, and behind `export` it would not run.
    """
    spans = given.plan.assigned.get(name.encode(), ())
    source = given.job.source
    alone = {
        each.span
        for each in assignments(source, simple_commands(source))
        if each.command and not each.command.command.words
    }
    if not set(spans) <= alone:
        return []
    return exports.exported(given.plan, source, [name.encode()], because) or []


def exported(given: Given, name: str) -> bool:
    """Return whether the script exports a variable anywhere."""
    return (
        re.search(
            rb"\b(?:export|declare -x|typeset -x)\b[^\n]*\b%s\b|^\s*set -a\b" % name.encode(), given.job.source, re.M
        )
        is not None
    )


def assigned(given: Given, name: str, value: str) -> Fix | None:
    """Return the fix that gives variable *name* a plain *value*; None where either could be more than that."""
    if not is_name(name) or not PLAIN.match(_UNDER.sub("", value, count=1) if value.startswith("$") else value):
        return None
    says, word = "%s=%s" % (name, value), value.encode()
    spans = given.plan.assigned.get(name.encode(), ())
    edits = [_value(given.job.source, span, name.encode(), word) for span in spans]
    if spans and None not in edits:
        return Fix(tuple(change for change in edits if change), Safety.ASK, says)
    at = place(given)
    if at is None or any(span.start >= at for span in spans):
        return None  # what the script does later would overrule it
    edit = line(given, b"export %s=%s" % (name.encode(), word), "set-env")
    return Fix((edit,), Safety.ASK, says) if edit else None


def _value(source: bytes, span: Span, name: bytes, value: bytes) -> Edit | None:
    """Change what is assigned at *span*, where it is one plain word."""
    match = re.compile(name + rb"=([\w.,:/+@%^-]*|\"[^\"$`\\\n]*\"|'[^'\n]*')(?=[\s;&|)]|\Z)").match(source, span.start)
    return Edit(Span(*match.span(1)), value, "set-env") if match else None
