"""From nodes to kinds of node: equal ones together, with a name, and how sure their number of GPUs is."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from .draft_values import Seen

MOST = 24  # kinds; beyond that, features are labels of single racks rather than of kinds
_NEAR = 0.95  # of the memory of the largest: what Slurm counts differs by some MiB between equal nodes
# Words that speak of a maker wherever they stand. Those of a GPU's own kind may also be short, or the maker's name; a
# feature of that name is as often the processor, or a rack.
_WORDS = {
    "nvidia": r"nvidia|tesla|geforce|quadro|(?:gtx|rtx|titan)\w*|g[bh][23]00|[abhv][123]00[a-z]?|a[3-6]0|l40s?|p100",
    "amd": r"radeon|instinct|mi\d{2,3}[axp]?",
    "intel": r"pvc|ponte|vecchio|max1\d{3}|gpu_?max",
}
_SHORT = {
    "nvidia": r"a2|a10|a16|l4|p4|p40|t4|m60|k80|k40m?|m40|h20|[12]0[678]0(?:ti)?|\dg\.\d+gb",
    "amd": "amd",
    "intel": "intel",
}


def _forms(words: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
    """Return for each maker what finds its words, alone or behind `gpu`, and before a count as in `a100x4`."""
    form = r"(?:(?<![a-z0-9])|(?<=gpu)|(?<=gpu_))(?:%s)(?=$|[^a-z0-9]|x\d)"
    return {name: re.compile(form % these) for name, these in words.items()}


_ANYWHERE = _forms(_WORDS)
_OF_A_KIND = _forms({name: "%s|%s" % (words, _SHORT[name]) for name, words in _WORDS.items()})


class Kind(NamedTuple):
    """Equal nodes. *vendor*: of the GPUs, "" not told. *memory*: GiB, of the node that has most.

    *sure*: the GPUs are of a maker whose cards count as one device each, or there are none.
    """

    name: str
    nodes: tuple[Seen, ...]
    gpus: int | None
    gpu_type: str
    vendor: str
    memory: int | None
    features: tuple[str, ...]
    sure: bool

    @property
    def first(self) -> Seen:
        """Return the node that stands for all."""
        return self.nodes[0]


def kinds_of(nodes: Sequence[Seen]) -> list[Kind]:
    """Return the kinds of *nodes*, in the order of their first ones.

    Nodes differ in what they have, in features (`--constraint`), and in the partitions that were made of them. Where
    that makes too many kinds, partitions do not count, and then a feature that only some nodes of a kind have is left
    out, of every kind. GPUs that no node has are not known to be none.
    """
    counted = any(node.gpus for node in nodes)
    nodes = nodes if counted else [node._replace(gpus=None) for node in nodes]
    groups = _split(nodes, lambda node: (frozenset(node.features), frozenset(node.places)))
    if len(groups) > MOST:
        groups = _split(nodes, lambda node: (frozenset(node.features), _unlike(node)))
    if len(groups) > MOST:
        groups = _split(nodes, _unlike)
        partial = {feature for group in groups for feature in _some_have(group)}
        groups = [[node._replace(features=_without(node.features, partial)) for node in group] for group in groups]
    return _named([_kind(group) for group in groups])


def _split(nodes: Sequence[Seen], by: Callable[[Seen], object]) -> list[list[Seen]]:
    """Return the nodes in groups of equal hardware; memory that is nearly the same is the same."""
    groups: dict[object, list[Seen]] = {}
    for node in nodes:
        key = (node.gpus, node.gpu_types, node.cores, node.allocatable, node.threads, node.arch, by(node))
        groups.setdefault(key, []).append(node)
    order = {node.name: index for index, node in enumerate(nodes)}
    parts = [part for group in groups.values() for part in _by_memory(group)]
    return sorted(
        ([*sorted(part, key=lambda node: order[node.name])] for part in parts), key=lambda p: order[p[0].name]
    )


def _unlike(node: Seen) -> object:
    """Return what else tells a node from its likes: where GPUs are not told, the partitions that were made of them."""
    return None if node.gpus is not None else frozenset(node.places)


def _by_memory(group: Sequence[Seen]) -> Iterable[list[Seen]]:
    largest: int | None = None
    part: list[Seen] = []
    for node in sorted(group, key=lambda node: -(node.memory or 0)):
        if part and (node.memory or 0) < (largest or 0) * _NEAR:
            yield part
            part = []
        if not part:
            largest = node.memory
        part.append(node)
    yield part


def _some_have(group: Sequence[Seen]) -> set[str]:
    sets: list[set[str]] = [set(node.features) for node in group]
    return sets[0].union(*sets) - sets[0].intersection(*sets)


def _without(features: Sequence[str], partial: set[str]) -> tuple[str, ...]:
    return tuple(feature for feature in features if feature not in partial)


def _kind(group: Sequence[Seen]) -> Kind:
    first = group[0]
    vendor = (maker(first.gpu_types, _OF_A_KIND) or maker(first.features)) if first.gpus else ""
    around = vendor or maker((*first.places, *(node.name for node in group)))
    memory = max((node.memory for node in group if node.memory), default=None)
    return Kind(
        "",
        tuple(group),
        first.gpus,
        first.gpu_types[0] if len(first.gpu_types) == 1 else "",
        vendor,
        math.ceil(memory / 1024) if memory else None,
        first.features,
        sure=not first.gpus or around in ("nvidia", "amd"),
    )


def maker(words: Iterable[str], forms: Mapping[str, re.Pattern[str]] = _ANYWHERE) -> str:
    """Return the maker that *words* (features, names) speak of, "" where none or several."""
    small = [word.lower() for word in words]
    makers = {name for name, form in forms.items() for word in small if form.search(word)}
    return makers.pop() if len(makers) == 1 else ""


def _named(kinds: Sequence[Kind]) -> list[Kind]:
    """Return *kinds* with names of their own: what they are, then what tells them apart, then a number."""
    names = [_plain(kind) for kind in kinds]
    names = _apart(names, [str(kind.memory or "") + "g" for kind in kinds])
    names = _apart(names, ["%scores" % (kind.first.cores or "") for kind in kinds])
    names = _apart(names, [_own(kind, kinds, lambda node: node.features) for kind in kinds])
    names = _apart(names, [_own(kind, kinds, lambda node: node.places) for kind in kinds])
    named: list[Kind] = []
    for index, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        alone = names.count(name) == 1
        named.append(kind._replace(name=name if alone else "%s-%d" % (name, names[: index + 1].count(name))))
    return named


def _plain(kind: Kind) -> str:
    if kind.gpus is None:
        return _slug(kind.first.places[0] if kind.first.places else "") or "node"
    if not kind.gpus:
        return "cpu"
    return "%sx%d" % (_slug(kind.gpu_type) or "gpu", kind.gpus)


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _apart(names: Sequence[str], by: Sequence[str]) -> list[str]:
    """Return *names*, those that several have with what tells them apart behind them, where it tells anything apart."""
    longer = []
    for name, word in zip(names, by, strict=True):
        words = {other for same, other in zip(names, by, strict=True) if same == name}
        longer.append("%s-%s" % (name, word) if len(words) > 1 and word else name)
    return longer


def _own(kind: Kind, kinds: Sequence[Kind], words: Callable[[Seen], Sequence[str]]) -> str:
    """Return the first of the words of a kind that none of its likes has, "" where there is none."""
    alike = [other for other in kinds if other is not kind and _plain(other) == _plain(kind)]
    others = {word for other in alike for node in other.nodes for word in words(node)}
    return next((slug for word in words(kind.first) if word not in others and (slug := _slug(word))), "")
