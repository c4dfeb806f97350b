"""Which cluster a request is for: by the names of the site files, and by its role in the sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from ..base.near_names import near
from . import site_names
from .language.lexemes import FROM, NAMED, SAID, UNDESCRIBED, WEAK, Line, Reading
from .language.vocabulary import listed, texts
from .language.words import Token, joint, merged, spelt
from .site_names import SiteNames, centers

_WORDS = texts("clusters")
_ELSEWHERE = listed(_WORDS["elsewhere"])
_NO_NAME = listed(_WORDS["no_name"])
_CENTER = "".join("|%s " % re.escape(center) for center in sorted(centers()))
_FROM = re.compile(
    r" (?:from|off|away from|out of|leaving|left|not on|unlike|used on|wrote for|written "
    r"for|made for|works on|worked on|runs on|ran on|working on|running on|like on|back on"
    r"|than on) (?:my |our |the |a |an )?(?:old |existing |current |working %s)?$" % _CENTER
)
_SCRIPT = re.compile(
    r" (?:\w+ )?(?:script|job|batch|sbatch|submission|setup|config|file|version|run|one|jobs|scripts)\b"
)
_OF_SCRIPT = re.compile(r" (?:my|our|the|a|an|this|that|old|existing|working|his|her|colleague's|following|attached) $")
_TO = re.compile(r" (?:to|for|on|onto|into|at) (?:the )?(?:%s)?$" % _CENTER[1:])


def _squeezed(word: str) -> str:
    return re.sub(r"[^a-z0-9]", "", word.lower())


@cache
def _by_name(clusters: tuple[SiteNames, ...]) -> dict[str, str]:
    sites: dict[str, str] = {"genericslurm": "generic-slurm", "genericpbs": "generic-pbs"}
    for cluster in clusters:
        center = cluster.center.split()[0].lower() if cluster.center else ""
        for word in (
            cluster.id,
            cluster.name,
            *cluster.aliases,
            center + cluster.name,
            *(part + cluster.name for part in cluster.center.split()),
        ):
            sites[_squeezed(word)] = cluster.id
    for cluster in clusters:  # "lonestar", "bridges", "stampede": the name without its number, where no other has it
        stem = re.sub(r"\d+$", "", _squeezed(cluster.name))
        if len(stem) > 4 and sum(_squeezed(other.name).startswith(stem) for other in clusters) == 1:
            sites.setdefault(stem, cluster.id)
    return sites


def is_name(word: str, clusters: tuple[SiteNames, ...]) -> bool:
    """Tell whether a word alone is what people call one of the clusters."""
    return _squeezed(word) in _by_name(clusters)


def named(words: Sequence[Token], text: str, clusters: tuple[SiteNames, ...]) -> list[Token]:
    """Return the words with every cluster's name as one word `SITE`.

    Its text is the cluster's id, "?name" for one that nobody described.
    """
    table = _by_name(clusters)

    def taken(words: Sequence[Token], at: int) -> tuple[int, Token]:
        many, site = _longest(words, at, text, table)
        return many, joint("site", site, "SITE", words[at : at + (many or 1)])

    return merged(words, taken)


def _longest(words: Sequence[Token], at: int, text: str, table: dict[str, str]) -> tuple[int, str]:
    best, site, joined = 0, "", ""
    for taken, word in enumerate(words[at : at + 5], 1):
        if word.text in "-_/ " and taken > 1:
            continue
        joined += _squeezed(word.text)
        if not joined or len(joined) > 30 or word.kind == "sign":
            break
        hit = table.get(joined) or (("?" + joined) if joined in _ELSEWHERE else "")
        following = words[at + taken] if at + taken < len(words) else None
        number = (
            word.kind == "number" and following is not None and following.lex in ("node", "gpu", "hour", "x", "day")
        )
        if hit and not number and not _inside(words[at], word, text) and _stands(words, at, taken, joined, text, hit):
            best, site = taken, hit
    return best, site


def _inside(first: Token, last: Token, text: str) -> bool:
    """Tell whether a name is only a part of a longer one: "abc-delta-gpu"."""
    return bool(
        re.match(r"[\w/._-]", text[first.start - 1 : first.start])
        or re.match(r"[-_/]\w", text[last.end : last.end + 2])
    )


def _stands(words: Sequence[Token], at: int, taken: int, joined: str, text: str, hit: str) -> bool:
    """Tell whether the words that could be a cluster's name are meant as one."""
    if hit.startswith("?"):
        return site_names.stands_elsewhere(words, at, taken)
    if joined not in site_names.COMMON_WORDS:
        return True
    return site_names.stands_as_name(words, at, taken, joined, text[words[at].start].isupper())


def read(line: Line, clusters: tuple[SiteNames, ...]) -> Iterator[Reading]:
    """Yield the cluster that the job is for, and those that something comes from."""
    for at, word in enumerate(line.words):
        if word.lex == "SITE":
            role = _role(line, at)
            if word.text.startswith("?"):
                if role != FROM and not _target_follows(line, at):
                    yield _unknown(word.text[1:], clusters, word)
                continue
            yield Reading(role, word.text, word.start, word.end, _strength(line, at))
    yield from _centers(line, clusters)
    yield from _strangers(line, clusters)


def _role(line: Line, at: int) -> str:
    before, after = line.before(at, 5), line.after(at, 3)
    if _FROM.search(before) and not re.match(r" (?:'s|nodes?|partition|queue|account|gpu)\b", after):
        return FROM
    if re.match(r" (?:\w+ )?(?:- )?(?:>|to|into|onto) (?:\w+ )?SITE ", line.after(at, 5)):
        return FROM
    if (
        _SCRIPT.match(after)
        and (_OF_SCRIPT.search(before) or re.match(r" (?:\w+ )?(?:script|setup|config)\b", after))
        and not _TO.search(before)
    ):
        return FROM if _target_follows(line, at) else "site"
    return "site"


def _target_follows(line: Line, at: int) -> bool:
    """Tell whether another cluster is named as the target: "my Delta script on Anvil"."""
    return any(
        word.lex == "SITE" and _TO.search(line.before(other, 4)) for other, word in enumerate(line.words) if other != at
    )


def _strength(line: Line, at: int) -> int:
    before = line.before(at, 2)
    return NAMED if re.search(r" (?:cluster|site|system|machine|target) ?[:=] $| [:=] $", before) else SAID


def _unknown(name: str, clusters: tuple[SiteNames, ...], word: Token) -> Reading:
    known = [site_names.id for site_names in clusters]
    names = near(name, known)
    hint = "the nearest is " + " or ".join(names) if names else "there are " + ", ".join(known)
    return Reading(UNDESCRIBED, "no cluster %r is described here; %s" % (name, hint), word.start, word.end)


def _centers(line: Line, clusters: tuple[SiteNames, ...]) -> Iterator[Reading]:
    """Yield the cluster of a centre that has only one."""
    for at, word in enumerate(line.words):
        if len(word.text) < 3 or word.kind != "word":
            continue
        those = [site_names for site_names in clusters if word.text in site_names.center.lower().split()]
        if len(those) == 1 and line.words[at - 1].lex in ("at", "on", "from", "for", "the", "with") and at:
            yield Reading("site", those[0].id, word.start, word.end, WEAK)


def _strangers(line: Line, clusters: tuple[SiteNames, ...]) -> Iterator[Reading]:
    """Yield a complaint for a cluster that is named as one and not described: "cluster: foo", "on the Foo cluster"."""
    for match in line.find(
        r"(?:cluster|site|supercomputer)(?: (?:name|called|named))? (?::|=|called|named|is) "
        r"(?P<name>\S+)|on (?:the )?(?P<other>\S+) (?:cluster|supercomputer)"
    ):
        group = "name" if match.groups.get("name") else "other"
        first, _ = line.group(match, group)
        word = line.words[first]
        if word.lex in _NO_NAME or spelt(word.lex) or word.kind not in ("word", "name"):
            continue
        if group == "other" and word.kind == "word" and word.text == word.lex and not _capital(line, first):
            continue
        yield _unknown(word.text, clusters, word)


def _capital(line: Line, at: int) -> bool:
    return line.written[line.words[at].start : line.words[at].start + 1].isupper()


# How people call a cluster.
