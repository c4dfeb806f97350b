"""Words that the scheduler takes, and that do not work at a site."""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple, Optional, Tuple

from ...cures.launch_edits import drop
from ...cures.option_edits import at, restate, say
from ...site.facts import Site, Unfit
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job, joined
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..limits import judged
from ..program_text import named_values, place_of

_LOADED = rb"(?m)^[^#\n]*?\b(?:module[ \t]+(?:load|add|swap)|ml(?:[ \t]+load)?)\b[^\n#]*?[ \t](%s(?:/\S+)?)(?=[\s;&]|$)"


class _Place(NamedTuple):
    """Where such words stand, and the cures that the place itself allows."""

    span: Optional[Span]
    fixes: Tuple[Fix, ...] = ()


@rule("MPL410", "words that do not work at this site")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A site's own pages say of some options, wrappers, backends and modules that they fail there.

    Wrong: module load frameworks ... mpiexec --gpu-bind list:0.0:0.1, on Aurora, whose module sets the FLAT hierarchy
    Wrong: module load conda, on Polaris, without module use /soft/modulefiles
    Right: mpiexec without --gpu-bind, each rank taking the device of its local rank; module use, and then module load
    Why:   the line fails with the words of the site's page. The rows stand in the site's file as [unfit.NAME]; Maple
           only shows the change: a script may set up something else first.
    """
    if not site.unfit or not judged(job, site):
        return
    text = re.sub(rb"(?m)(?:^|[ \t])#(?!SBATCH|PBS).*$", b"", job.source)
    for unfit in site.unfit:
        if unfit.unless and any(_says(words.encode(), text) for words in unfit.unless.split("|")):
            continue
        if unfit.after and not any(words.encode() in text for words in unfit.after.split("|")):
            continue
        if unfit.loads and not _load_of(unfit.loads, job.source):
            continue
        place = _place(unfit, plan, job)
        if place is not None:
            yield Finding(
                "MPL410",
                "%s does not work here" % _shown(unfit, place, job),
                place.span,
                fixes=place.fixes,
                help=unfit.says,
                site_fact=unfit.key,
            )


def _shown(unfit: Unfit, place: _Place, job: Job) -> str:
    """Return the words that do not work; of several commands the one that is there."""
    if unfit.what.partition(" ")[0] not in ("command", "word") or place.span is None:
        return unfit.what.removeprefix("set ")
    return job.source[place.span.start : place.span.end].decode("utf-8", "replace")


def _says(words: bytes, script: bytes) -> bool:
    """Return whether words stand in a script; a variable must be given a value there, and not only be shown."""
    if words not in script or not re.fullmatch(rb"[A-Za-z]+(?:_[A-Za-z]+)+", words):
        return words in script  # an expression is made where there is something to look for, here and below
    return re.search(rb"\b%s=|\bfor[ \t]+%s\b" % (words, words), script) is not None


def _load_of(module: str, source: bytes) -> "Optional[re.Match[bytes]]":
    return re.search(_LOADED % re.escape(module.encode()), source) if module.encode() in source else None


def _place(unfit: Unfit, plan: LaunchPlan, job: Job) -> Optional[_Place]:
    """Return where the words of a row stand, None where nowhere."""
    first, _, rest = unfit.what.partition(" ")
    if first == "module":
        return _module(unfit, rest, job)
    if first == "command":
        return _command(unfit, rest, job)
    if first == "set":
        return _variable(unfit, rest, job)
    if first == "word":
        return _word(unfit, rest, job)
    if first == "-l":
        return _asked(unfit, rest, job)
    if rest:
        return _option(unfit, first, rest, plan, job)
    return _argument(unfit, plan, job) if first.startswith("-") else _file(unfit, plan, job)


def _module(unfit: Unfit, name: str, job: Job) -> Optional[_Place]:
    match = _load_of(name, job.source)
    return _in_front(unfit, match, job) if match is not None else None


def _variable(unfit: Unfit, words: str, job: Job) -> Optional[_Place]:
    """A variable that is given one of these values: `NAME=value|other`; any, where none stands there."""
    name, _, values = words.partition("=")
    if name.encode() + b"=" not in job.source:
        return None
    value = b"|".join(map(re.escape, values.encode().split(b"|"))) if values else rb"[^\s;'\"]+"
    match = re.search(
        rb"(?m)^(?![ \t]*#)[^\n]*?(?<![\w$])%s=[\"']?(%s)(?![\w.])" % (re.escape(name.encode()), value), job.source
    )
    if match is None:
        return None
    edit = (Edit(Span(*match.span(1)), unfit.instead.encode(), "MPL410"),)
    return _Place(Span(*match.span(1)), _offer(edit, "%s=%s" % (name, unfit.instead)) if unfit.instead else ())


def _may_stand(words: str, source: bytes) -> bool:
    """Return whether a script has all words of one of those between bars."""
    return any(all(word in source for word in name.encode().split()) for name in words.split("|"))


def _word(unfit: Unfit, words: str, job: Job) -> Optional[_Place]:
    """Words that stand somewhere on a command line, one of several behind bars: `singularity exec|singularity run`."""
    if not _may_stand(words, job.source):
        return None
    names = b"|".join(rb"[ \t]+".join(map(re.escape, name.encode().split())) for name in words.split("|"))
    shown = rb"(?:#|(?:echo|printf)\b)"
    match = re.search(rb"(?m)^(?![ \t]*%s)(?:[^#\n]*?[\s\"'=(;&|])?(%s)(?![\w-])" % (shown, names), job.source)
    return _in_front(unfit, match, job) if match is not None else None


_COMMAND = rb"(?m)^(?![ \t]*#)(?:[^#\n]*?(?:[;&|(][ \t]*|\b(?:then|do|else)[ \t]+))??[ \t]*(%s)(?=\s)"


def _command(unfit: Unfit, words: str, job: Job) -> Optional[_Place]:
    """A command of the batch shell, one of several behind bars: `wget|git clone`."""
    if not _may_stand(words, job.source):
        return None
    names = b"|".join(rb"[ \t]+".join(map(re.escape, name.encode().split())) for name in words.split("|"))
    match = re.search(_COMMAND % names, joined(job.source))
    return _in_front(unfit, match, job) if match is not None else None


def _in_front(unfit: Unfit, match: "re.Match[bytes]", job: Job) -> _Place:
    """Return the place of the words, and what is to be said in front of their line."""
    line = job.source.rfind(b"\n", 0, match.start(1)) + 1
    start = line + len(job.source[line:]) - len(job.source[line:].lstrip(b" \t"))  # on its line: line numbers stay
    if unfit.before.startswith("#"):
        directive = say(job, unfit.before.split(" ", 1)[1].encode(), "MPL410")
        return _Place(Span(*match.span(1)), (directive.fix(Safety.ASK, "add " + unfit.before.split(" ", 1)[1]),))
    edit = Edit(Span(start, start), unfit.before.encode() + b"; ", "MPL410")
    fix = Fix((edit,), Safety.ASK, unfit.before)
    return _Place(Span(*match.span(1)), (fix,) if unfit.before else ())


def _asked(unfit: Unfit, resource: str, job: Job) -> Optional[_Place]:
    """A value of a resource of PBS, one of several behind colons."""
    name, _, value = resource.partition("=")
    setting = job.settings.get(name)
    if setting is None or value.encode() not in setting.value.split(b":"):
        return None
    values = [unfit.instead.encode() if word == value.encode() else word for word in setting.value.split(b":")]
    made = restate(job, setting, b":".join(dict.fromkeys(values)), "MPL410") if unfit.instead else None
    return _Place(at(setting), (made.fix(Safety.ASK, "%s=%s" % (name, b":".join(values).decode())),) if made else ())


def _option(unfit: Unfit, launcher: str, name: str, plan: LaunchPlan, job: Job) -> Optional[_Place]:
    for step in plan.steps:
        for link in step.links if not step.maybe else ():
            option = link.option(name.lstrip("-")) if link.name == launcher else None
            if option is not None:
                edits = drop(job.source, option, "MPL410") if unfit.remove else None
                return _Place(option.span or step.span, _offer(tuple(edits), "remove " + name) if edits else ())
    return None


def _argument(unfit: Unfit, plan: LaunchPlan, job: Job) -> Optional[_Place]:
    name, _, value = unfit.what.lstrip("-").partition("=")
    for step in plan.steps:
        for named in named_values(step.program) if not step.maybe else ():
            if ("_" + named.last).endswith("_" + name) and named.value == value.encode():
                span = place_of(named, step)
                return _Place(span or step.span, _written(unfit, value.encode(), span, job))
    return None


def _written(unfit: Unfit, value: bytes, span: Optional[Span], job: Job) -> Tuple[Fix, ...]:
    end = job.source.rfind(value, span.start, span.end) if span is not None and unfit.instead else -1
    if end < 0:
        return ()
    return _offer((Edit(Span(end, end + len(value)), unfit.instead.encode(), "MPL410"),), unfit.instead)


def _file(unfit: Unfit, plan: LaunchPlan, job: Job) -> Optional[_Place]:
    """A file that stands as a word of a launch line, by any folder."""
    if unfit.what.encode() not in job.source:
        return None
    pattern = re.compile(rb"(?:[^\s\"']*/)?" + re.escape(unfit.what.encode()) + rb"(?=[\s\"']|$)")
    for step in plan.steps:
        match = pattern.search(job.source, step.span.start, step.span.end)
        if match is not None and not step.maybe:
            end = match.end() + (job.source[match.end() : match.end() + 1] == b" ")
            edits = (Edit(Span(match.start(), end), b"", "MPL410"),)
            return _Place(Span(*match.span()), _offer(edits, "without " + unfit.what) if unfit.remove else ())
    return None


def _offer(edits: Tuple[Edit, ...], says: str) -> Tuple[Fix, ...]:
    return (Fix(edits, Safety.ASK, says),)
