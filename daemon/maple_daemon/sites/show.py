"""A site as a page of text.

What differs between two sites, fact by fact.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from maple_agents.ask.sites.model import Modules, SiteFile, Source
from maple_agents.base.output import is_bounded, width
from maple_submit_filter.site.facts import Demand, Partition, Site
from maple_submit_filter.site.snapshot import write


def page(site: Site, file: SiteFile | None = None) -> str:
    """Return what a rule knows of the site, for a person; a question mark stands for what is not known.

    *file*: what else there is to know, and where it is from.
    """
    return "\n".join([*_lines(site), *(_more(file) if file is not None else ())]) + "\n"


def _more(file: SiteFile) -> Iterator[str]:
    yield from _block("Modules", list(_modules(file.modules)) if file.modules else [])
    yield from _block("Sources", [_source(*pair) for pair in file.sources.items()])


def _modules(modules: Modules) -> Iterator[str]:
    named = (
        ("system", modules.system),
        ("back to the site's own", modules.reset),
        ("of the scheduler", modules.scheduler),
        ("environments", modules.environment),
    )
    yield from ("%s: %s" % (name, value) for name, value in named if value)
    for load in modules.pytorch:
        then = ", then %s" % load.then if load.then else ""
        yield "PyTorch: %s%s%s" % ("; ".join(load.load), then, "" if load.proves else " (not sure)")


def _source(name: str, source: Source) -> str:
    dated = ", ".join(filter(None, (source.kind, source.date)))
    return "%s: %s (%s): %s" % (name, source.title, dated, " ".join(source.where.split()))


def _lines(site: Site) -> Iterator[str]:
    version = " " + _version(site) if site.version else ", version not known"
    yield "%s   %s%s   revision %s" % (site.id, site.scheduler, version, site.revision[:12])
    yield from _section("Kinds of node", ("kind", "gpus", "model", "cores", "memory", "features"), _kinds(site))
    head = ("name", "by", "gpus", "nodes", "walltime", "shared", "kinds")
    yield from _section("Partitions, QOS and queues", head, [_place(partition) for partition in site.partitions])
    request = site.gpu_request
    must = "required: a GPU job is refused without it" if request.required else ""
    yield from _block(
        "GPU request", [", ".join(filter(None, (("%s %s" % (request.style, request.form)).strip(), must)))]
    )
    yield from _block("Must be said", [_demand(demand) for demand in site.demands])
    yield from _block("Must not be said", [_demand(demand) for demand in site.refusals])
    yield from _block(
        "Launchers",
        [
            "%s: %s" % (launcher_fact.name, _with(launcher_fact.state, launcher_fact.says))
            for launcher_fact in site.launchers
        ],
    )
    yield from _block("Not sure, so that they prove nothing", list(site.unsure))


def _version(site: Site) -> str:
    """Return it as the scheduler writes it: Slurm's second number, a month, has two digits."""
    return ".".join("%02d" % part if at == 1 and site.scheduler == "slurm" else str(part)
                    for at, part in enumerate(site.version))  # fmt: skip


def _kinds(site: Site) -> list[Sequence[str]]:
    return [
        (kind.name, _known(kind.gpus), kind.gpu_model or "-", _known(kind.cores), _gib(kind.memory_gib))
        + (" ".join(kind.features) or "-",)
        for kind in site.kinds
    ]


def _place(partition: Partition) -> Sequence[str]:
    shared = {None: "?", True: "yes", False: "no"}[partition.shared]
    hours = _known(None if partition.max_walltime is None else "%g h" % (partition.max_walltime / 3600))
    kinds = " ".join(partition.node_kinds) or "?"
    return (
        partition.name + ("" if partition.sure else " (unsure)"),
        partition.selector,
        _known(partition.gpus_per_node),
        _known(partition.max_nodes),
        hours,
        shared,
        kinds + (" if --constraint=%s" % partition.constraint if partition.constraint else ""),
    )


def _demand(demand: Demand) -> str:
    options = " or ".join("--%s" % option for option in demand.options)
    only = "=%s" % "|".join(demand.values) if demand.values else ""
    but = " other than %s" % "|".join(demand.except_values) if demand.except_values else ""
    effect = "effect unknown" if demand.effect == "unknown" else demand.effect
    return "%s%s%s (%s): %s" % (options, only, but, effect, demand.says)


def _known(value: object) -> str:
    return "?" if value is None else str(value)


def _gib(value: int | None) -> str:
    return "?" if value is None else "%d GiB" % value


def _with(state: str, says: str) -> str:
    return "%s. %s" % (state, says) if says else state


def _block(title: str, lines: Sequence[str], indent: int = 2) -> Iterator[str]:
    """Yield the lines below their title; what a terminal has no room for goes on *indent* columns further in."""
    if lines:
        yield from ("", title)
        for line in lines:
            yield from _folded("  " + line, 2 + indent)


def _folded(line: str, indent: int) -> list[str]:
    if not is_bounded() or len(line) <= width():
        return [line]
    head = line[:indent]  # whose blanks are columns
    rest = textwrap.wrap(line[indent:], max(12, width() - indent), break_long_words=False, break_on_hyphens=False)
    return [head + rest[0], *(" " * indent + more for more in rest[1:])]


def _section(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a table with columns as wide as they must be, without those that say nothing."""
    if not rows:
        return
    telling = [any(row[column] != "-" for row in rows) for column in range(len(head))]
    head, *rows = ([cell for cell, tells in zip(row, telling, strict=True) if tells] for row in (head, *rows))
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *rows)]
    yield from _block(title, [line.rstrip() for line in lines], sum(widths[:-1]) + 2 * len(widths[:-1]))


NO_FACTS = ("format", "revision", "elsewhere", "launch_templates", "key")


def differences(old: Site, new: Site) -> list[str]:
    """Return a line for each fact that differs: `+ key = new`, `- key = old` or `~ key: old -> new`, by key.

    What follows from other sites' files and from the templates is no fact of a site file.
    """
    before, after = dict(_facts(write(old), "")), dict(_facts(write(new), ""))
    lines = []
    for key in sorted(before.keys() | after.keys()):
        if key not in before:
            lines.append("+ %s = %s" % (key, after[key]))
        elif key not in after:
            lines.append("- %s = %s" % (key, before[key]))
        elif before[key] != after[key]:
            lines.append("~ %s: %s -> %s" % (key, before[key], after[key]))
    return lines


def _facts(value: Any, at: str) -> Iterator[tuple[str, str]]:
    """Yield every known fact with its key; an entry of a list goes by its name."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in NO_FACTS and not at.endswith(".%s" % item):  # an entry's own name stands in its key
                yield from _facts(item, "%s.%s" % (at, key) if at else key)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for item in value:
            yield from _facts(item, "%s.%s" % (at, item.get("key") or item["name"]))
    elif value not in ("", None, []):
        yield at, str(value)
