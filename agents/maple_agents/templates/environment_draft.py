"""A first environment part of a site that has none: what its file says of modules, variables and demands."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from ..ask.sites.model import Fact, SiteFile
from .site_description import Described

_WHY = "Drafted from the site file: look at every line, and say here why it is so."
_PAGES = {
    "slurm": "https://slurm.schedmd.com/sbatch.html",
    "pbs": "https://github.com/openpbs/openpbs/blob/master/doc/man1/qsub.1B",
}
_BEGINS_AT_HOME = "a PBS job begins in the home directory"
_UNKNOWN = (
    "# The site file names no module that brings PyTorch ([[modules.pytorch]]): users load their own environment."
)


def draft(one: Described) -> str:
    """Return the text of `environment/<site>.toml`: it passes `lint`, and names facts by their place in the site file.

    The first way to PyTorch is taken, every variable that the centre recommends, and a demand with one fixed value.
    """
    file = one.file
    modules = ["modules.pytorch.0"] if file.modules and file.modules.pytorch else []
    variables = [
        "network.variables.%d" % at
        for at, variable in enumerate(file.network.variables if file.network else ())
        if variable.status == "recommended"
    ]
    lines = [
        "# The environment part of %s: what a training job does there before its launch line." % file.id,
        "revision = 1",
        "why = %s" % _text(_WHY),
        "sources = [%s]" % ", ".join(map(_text, _sources(file))),
    ]
    if one.site.scheduler == "pbs":
        lines.append("first = [{ line = %s, why = %s }]" % (_text('cd "$PBS_O_WORKDIR"'), _text(_BEGINS_AT_HOME)))
    lines += ["modules = [%s]" % ", ".join(map(_text, modules)), *([] if modules else [_UNKNOWN])]
    if variables:
        lines.append("variables = [%s]" % ", ".join(map(_text, variables)))
    if file.proxy and file.proxy.https:
        lines.append('internet = "proxy"')
    return "\n".join([*lines, *_demands(file)]) + "\n"


def _demands(file: SiteFile) -> Iterator[str]:
    """A demand that nothing else of a script answers is shown, for an administrator to give it a value."""
    for name, demand in file.demand.items():
        if not demand.slot and demand.effect != "refused":
            yield from ("", "# The site wants %s: %s" % (", ".join(demand.options), _one_line(demand.says)))
            yield from ("# [[directives]]", "# option = %s" % _text(demand.options[0].lstrip("-")))
            yield from ('# value = ""', "# fact = %s" % _text("demand.%s" % name), '# why = ""')


def _sources(file: SiteFile) -> Sequence[str]:
    told: list[Fact] = [*(file.modules.pytorch[:1] if file.modules else ()), *([file.network] if file.network else ())]
    known = [source for fact in [*told, file.scheduler] for source in fact.source if source in file.sources]
    return list(dict.fromkeys(known)) or list(file.sources)[:1] or [_PAGES[file.scheduler.type]]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _text(words: str) -> str:
    return json.dumps(words, ensure_ascii=False)
