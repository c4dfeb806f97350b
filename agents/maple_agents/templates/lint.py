"""Whether the parts of the repository fit each other and the site files."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from maple_submit_filter.host import places

from ..ask import sites
from ..ask.sites import launch_templates as templates
from ..ask.sites.launch_templates import SLOTS, LaunchFile
from ..ask.sites.model import Load, SiteFile, TransportVariable
from ..base.near_names import nearest
from ..base.tables import Part, paths, read
from . import catalogue, environments, model_facts, paradigms, proofs
from .environments import Described, Environment, described
from .model_facts import fact
from .paradigms import Paradigm
from .proofs import composition_revision

MISSING = "environment/%s.toml: is missing; for a first one: maple templates draft %s > %s"
INTERNET = ("", "direct", "proxy", "none")
_URL = re.compile(r"https://\S+\Z")
_SLOT = re.compile(r"(?<!\$)\{([^{}]*)\}")
_KINDS: tuple[tuple[str, type[Part]], ...] = (
    (paradigms.KIND, paradigms.Paradigm),
    (environments.KIND, Environment),
    (model_facts.KIND, model_facts.Family),
)


def mistakes() -> list[str]:
    """Return a line for each mistake of the repository, with file and key path; none where all is right.

    A part that cannot be read is told of, and what depends on it is left out.
    """
    unread = [*_unread(), *_read_launches()]
    if unread:
        return unread
    return [*_phrases(), *_addresses(), *_orphans(), *_sites(), *_knowledge()]


def _unread() -> Iterator[str]:
    for kind, shape in _KINDS:
        for path in paths(kind).values():
            yield from _wrong(partial(read, shape, path))


def _read_launches() -> Iterator[str]:
    for path in templates.paths():
        with open(path, "rb") as file:
            source = file.read()
        yield from _wrong(partial(templates.parse, source, path))


def _wrong(tried: Callable[[], object]) -> list[str]:
    try:
        tried()
    except (ValueError, OSError) as error:
        return str(error).splitlines()
    return []


def _knowledge() -> list[str]:
    """What is known of causes is of another shape: its own loader checks it."""
    from . import knowledge

    return knowledge.mistakes()


def _phrases() -> Iterator[str]:
    """A phrase means one thing, and a model has one name."""
    owners: dict[str, str] = {}
    spoken = [("paradigm/%s.toml" % name, paradigms.load(name).phrases) for name in paradigms.names()]
    for name, path in paths(model_facts.KIND).items():
        family = read(model_facts.Family, path)
        spoken += [("models/%s.toml: %s" % (name, member.name), member.phrases) for member in family.members]
    for owner, phrases in spoken:
        for phrase in phrases:
            if phrase != phrase.lower().strip():
                yield "%s: phrases: %r is not in small letters" % (owner, phrase)
            if phrase in owners:
                yield "%s: phrases: %r means %s already" % (owner, phrase, owners[phrase])
            owners.setdefault(phrase, owner)


def _addresses() -> Iterator[str]:
    """Of what holds anywhere the sources are pages; of a site they may be ids of its own."""
    for kind, shape in ((paradigms.KIND, Paradigm), (model_facts.KIND, model_facts.Family)):
        for name, path in paths(kind).items():
            for source in read(shape, path).sources:
                if not _URL.match(source):
                    yield "%s/%s.toml: sources: %r is no address of a page" % (kind, name, source)


def _orphans() -> Iterator[str]:
    for name in environments.names():
        if name not in sites.ids():
            yield "environment/%s.toml: there is no such site%s" % (name, nearest(name, sites.ids()))


def _sites() -> Iterator[str]:
    known, launches = {name: paradigms.load(name) for name in paradigms.names()}, templates.load()
    for site_id in sites.ids():
        site = described(site_id)
        yield from _revisions(site, known, {launch.name: launch for launch in launches})
        if site.environment is None:
            yield MISSING % (site_id, site_id, shlex.quote(f"{places.etc()}/templates/environment/{site_id}.toml"))
        else:
            yield from ("environment/%s.toml: %s" % (site_id, line) for line in _environment(site, site.environment))
        for name, paradigm in known.items():
            if not catalogue.fitting(paradigm, site.site, site.file, among=launches):
                yield "launch: nothing starts %s on %s" % (name, site_id)


def _revisions(
    described: Described, known: Mapping[str, Paradigm], launches: Mapping[str, LaunchFile]
) -> Iterator[str]:
    """A part that is another than when it was run has another revision, so that people see that it is."""
    try:
        ran = proofs.load(described.site.id)
    except ValueError as error:
        yield str(error)
        return
    for name, proof in ran.items():
        paradigm, launch = known.get(name), launches.get(proof.launch)
        if paradigm is None or launch is None:
            yield "verified/%s.toml: %s: there is no such part any more" % (described.site.id, name)
            continue
        now = composition_revision(described.site, paradigm, launch, described.environment)
        revisions = (launch.revision, paradigm.revision, described.environment.revision if described.environment else 0)
        if proofs.unraised(proof, described.site, now, revisions):
            yield "verified/%s.toml: %s: a part has changed since it was run, but no revision was raised" % (
                described.site.id, name)  # fmt: skip


def _environment(described: Described, part: Environment) -> Iterator[str]:
    yield from _sources(described.file, part)
    yield from _references(described.file, part)
    yield from _directives(described, part)
    yield from _options(described, part)
    if part.internet not in INTERNET:
        yield "internet: %r is none of %s" % (part.internet, ", ".join(filter(None, INTERNET)))
    if part.internet == "proxy" and not (described.file.proxy and described.file.proxy.https):
        yield "internet: the site file names no proxy"


def _sources(file: SiteFile, part: Environment) -> Iterator[str]:
    for source in part.sources:
        if not _URL.match(source) and source not in file.sources:
            yield "sources: no %r in the site file's [sources]%s" % (source, nearest(source, file.sources))


def _references(file: SiteFile, part: Environment) -> Iterator[str]:
    """Yield what is wrong with the key paths: each is there, of the kind that is meant, and nothing to avoid."""
    for at, path in enumerate(part.modules):
        yield from _of_kind(file, path, Load, "modules[%d]" % at)
    for at, path in enumerate([*part.variables, *(part.variables_of_agents or ())]):
        yield from _of_kind(file, path, TransportVariable, "variables[%d]" % at)
        yield from _not_avoided(file, path, "variables[%d]" % at)
    references = [
        (key, reference.fact) for key in ("first", "lines", "directives", "options") for reference in getattr(part, key)
    ]
    for key, path in references:
        if path:
            yield from ("%s.fact: %s" % (key, line) for line in _wrong(partial(fact, file, path)))


def _of_kind(file: SiteFile, path: str, kind: type, key: str) -> list[str]:
    try:
        value = fact(file, path)
    except ValueError as error:
        return ["%s: %s" % (key, error)]
    return [] if isinstance(value, kind) else ["%s: %s is no %s" % (key, path, kind.__name__)]


def _not_avoided(file: SiteFile, path: str, key: str) -> list[str]:
    try:
        status = getattr(fact(file, path), "status", "")
    except ValueError:
        return []
    return [] if status in ("recommended", "") else ["%s: %s is %s, not recommended" % (key, path, status)]


def _directives(described: Described, part: Environment) -> Iterator[str]:
    refused = {
        option for refusal in described.site.refusals if refusal.effect == "refused" for option in refusal.options
    }
    for directive in part.directives:
        if directive.option.startswith("-"):
            yield "directives: %r is written without dashes" % directive.option
        if directive.option in refused:
            yield "directives: the site refuses %r" % directive.option
        yield from _slots("directives.%s" % directive.option, directive.value)


def _options(described: Described, part: Environment) -> Iterator[str]:
    for option in part.options:
        if option.over not in described.file.launcher:
            yield "options: no [launcher.%s] in the site file%s" % (
                option.over, nearest(option.over, described.file.launcher))  # fmt: skip
        yield from _slots("options.%s" % option.over, option.words)


def _slots(key: str, words: str) -> Iterator[str]:
    for slot in _SLOT.findall(words):
        if slot not in SLOTS:
            yield "%s: no such slot {%s}; there are %s" % (key, slot, ", ".join(sorted(SLOTS)))


def counted() -> str:
    """Return in words how many parts there are, and how many ways to start a paradigm on a site."""
    known, launches = [paradigms.load(name) for name in paradigms.names()], templates.load()
    ways = sum(
        len(catalogue.fitting(paradigm, site.site, site.file, among=launches))
        for site in map(described, sites.ids())
        for paradigm in known
    )
    parts = sum(len(paths(kind)) for kind, _ in _KINDS) + len(templates.paths())
    return "%d parts are right; %d sites start %d paradigms in %d ways" % (parts, len(sites.ids()), len(known), ways)
