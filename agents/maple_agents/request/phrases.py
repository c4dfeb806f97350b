"""Names in a request that the templates know, and those of GPUs: models, paradigms, launchers, wishes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import tomllib
from maple_submit_filter.host import places

from .language.lexemes import SAID, WEAK, WISH, Reading
from .language.vocabulary import listed, pattern, table, texts
from .language.words import NAME, NUMBER, NUMERALS, SIGN, WORD, Token, joint, merged

_WORDS = texts("phrases")
_WINDOW = 10
_INSIDE = frozenset("-,+x*/&_#")
_VARIANTS = tuple(_WORDS["variants"].split())
_UNITS = listed(_WORDS["units"])
_LIBRARIES = {"accelerate", "deepspeed"}  # as bare words: a library as well as a paradigm
_LAUNCHERS = table(_WORDS["launchers"])
_OTHER_PARADIGMS = table(_WORDS["other_paradigms"])
_WISHES = table(_WORDS["wishes"])
_GPU = re.compile(
    r"(?:nvidia|amd|intel)?(?:tesla|instinct|geforce|quadro|datacentergpu|datacenter)?(?:(?:%s)"
    r"(?:sxm\d?|pcie|nvl|nvlink|hbm\d?e?)?(?:\d{2,3}g(?:i?b)?)?(?:sxm\d?|pcie)?)(?:s|gpus?)?\Z"
    % pattern(_WORDS["gpus"])
)
KIND_X = re.compile(r"(?i)([a-z]{1,2}\d{2,3}[a-z]?) ?x ?(\d{1,2})\Z")  # a kind and how many, or a node's name
_ENDED = re.compile(
    r"([a-z]{6,})(?:a|u|y|em|om|ie|ę|'?[dt][ea])\Z"
)  # "Megatrona", "torchrun'da": other languages' cases
_SIZED = re.compile(r"(?:[a-z][\w.]*[-_])*[a-z][\w.]*[-_]?\d{1,4}(?:\.\d+)?(?:x\d+)?[bm](?:[-_][\w.]+)*\Z")
_BARE_SIZE = re.compile(r"\d{1,4}(?:\.\d+)?[bm]\Z")
_FILE = re.compile(r"\.(?:py|sh|json|ya?ml|sif|txt|csv|toml|tar|gz|parquet)\Z")
_NO_MODEL = listed(_WORDS["no_model"])  # "10B tokens"
_MODEL_WORDS = listed(_WORDS["model_words"])
_HUB = re.compile(r"[a-z0-9][\w.-]{1,40}/[\w.-]{2,80}\Z")


_ACTS = listed(_WORDS["acts"])
_ACTED_ON = listed(_WORDS["acted_on"])


class Phrase(NamedTuple):
    """What a phrase names. *name*: "model", "paradigm", "launcher" or `WISH`."""

    name: str
    value: str
    strength: int = SAID


def squeezed(words: str) -> str:
    """Return what is left of a phrase without blanks, dashes and case: "Llama-3.1 8B" and "llama 3.1-8b" are one."""
    return re.sub(r"[^a-z0-9.]", "", words.lower().replace("×", "x")).strip(".")


@cache
def known() -> dict[str, Phrase]:
    """Return every phrase, squeezed. A file that is wrong is left out: `maple templates lint` tells of it."""
    meanings: dict[str, Phrase] = {}
    for name, phrases in (("launcher", _LAUNCHERS), (WISH, _WISHES), ("paradigm", _OTHER_PARADIGMS)):
        meanings.update({squeezed(words): Phrase(name, value) for words, value in phrases.items()})
    for _, part in _parts("models"):
        for member in part.get("members", ()):
            for words in (member["name"], member.get("hub", "").rpartition("/")[2], *member["phrases"]):
                meanings.setdefault(squeezed(words), Phrase("model", member["name"]))
    for stem, part in _parts("paradigm"):
        for words in (stem, *part.get("phrases", ())):
            weak = squeezed(words) in _LIBRARIES
            if squeezed(words) not in meanings and words not in NUMERALS:
                meanings[squeezed(words)] = Phrase("paradigm", stem, WEAK if weak else SAID)
    meanings.pop("", None)
    return meanings


@cache
def _lengths() -> tuple[int, frozenset[str]]:
    """Return the length of the longest phrase, and every beginning of three characters."""
    return max(map(len, known())), frozenset(phrase[:3] for phrase in known())


def _parts(kind: str) -> Iterator[tuple[str, dict]]:  # type: ignore[type-arg]
    seen: set[str] = set()
    for folder in places.folders(os.path.join("templates", kind)):
        for name in sorted(os.listdir(folder)):
            if name.endswith(".toml") and name not in seen:
                seen.add(name)
                try:
                    with open(os.path.join(folder, name), "rb") as file:
                        yield name[:-5], tomllib.load(file)
                except (OSError, ValueError):
                    continue


def replaced(words: Sequence[Token], text: str) -> tuple[list[Token], list[Reading]]:
    """Return the words with every known name as one word (`MODEL`, `GPU` ...), and the readings. *text* as written."""
    readings: list[Reading] = []

    def taken(words: Sequence[Token], at: int) -> tuple[int, Token]:
        many, phrase = _longest(words, at, text)
        run = words[at : at + (many or 1)]
        written = text[run[0].start : run[-1].end]
        if phrase.name != "":
            value = _of_gpu(written) if phrase.name == "gpu" else phrase.value
            readings.append(Reading(phrase.name, value, run[0].start, run[-1].end, phrase.strength))
        return many, joint(NAME, written, phrase.name.upper(), run)

    return merged(words, taken), readings


def is_gpu(name: str) -> bool:
    """Tell whether a word is what a GPU is called."""
    return bool(_GPU.match(squeezed(name)))


def _of_gpu(written: str) -> str:
    """Return a GPU's name as written, in the singular."""
    name = re.sub(r"(?i)[ -]*gpus?$", "", " ".join(written.split()))
    return name[:-1] if re.search(r"(?i)(?:\d|[^l]40|gb|\dx|hopper)s$", name) and name.lower()[-4:] != "l40s" else name


def _longest(words: Sequence[Token], at: int, text: str) -> tuple[int, Phrase]:
    """Return how many words from *at* on name something, and what; 0 words for nothing."""
    longest, beginnings = _lengths()
    best, phrase, joined, listed = (
        0,
        Phrase("", ""),
        "",
        False,
    )  # listed: several names, as "tensor, pipeline and data parallel"
    for taken, word in enumerate(words[at : at + _WINDOW], 1):
        if word.kind == SIGN:
            if word.text not in _INSIDE or taken == 1:
                break
            joined += "x" if word.text == "x" and joined[-1:].isdigit() else ""
            listed = listed or word.text not in "-_"
            continue
        hub = taken == 1 and _HUB.match(word.text) and _named(squeezed(word.text)) is None
        letters = squeezed(word.text.rpartition("/")[2] if hub else word.text)
        if not letters:
            break  # the sign of a command that was read before: it is no part of a name
        joined += letters
        if len(joined) > longest + 24 or taken == 1 and word.kind == WORD and not _begins(joined, beginnings):
            break
        hit = None if hub and _alternatives(word.text) else _named(joined)
        if hit is not None and (not listed or hit.value == "3d") and _stands(words, at, taken, hit, text):
            best, phrase = taken, hit
    return (best, phrase) if best else _by_shape(words, at, text)


def _alternatives(name: str) -> bool:
    """Tell whether a name with a slash leaves two strategies open: "fsdp/ddp"."""
    first, second = (_named(squeezed(part)) for part in (name.rpartition("/")[0], name.rpartition("/")[2]))
    return first is not None and second is not None and first.name == "paradigm" == second.name and first != second


_MAKERS = ("nvidia", "amd", "intel", "tesla", "instinct", "geforce", "quadro", "ponte", "grace", "rtx", "pvc", "max")


def _begins(joined: str, beginnings: frozenset[str]) -> bool:
    """Tell whether a phrase, or the name of a GPU, may begin with these letters: few words do."""
    return len(joined) < 3 or joined[:3] in beginnings or joined in _MAKERS or joined.startswith(("pvc", "rtx"))


def _named(joined: str) -> Phrase | None:
    hit = known().get(joined)
    if hit is None:
        for variant in _VARIANTS:
            if joined.endswith(variant):
                base = known().get(joined[: -len(variant)])
                if base is not None and base.name == "model":
                    hit = base
    if hit is None and (bare := _ENDED.match(joined)):
        phrase = known().get(bare[1])
        hit = phrase if phrase is not None and phrase.name in ("paradigm", "launcher") else None
    if hit is None and (_GPU.match(joined) or (kind := KIND_X.match(joined)) and _GPU.match(kind[1])):
        hit = Phrase("gpu", joined)
    return hit


def _stands(words: Sequence[Token], at: int, taken: int, hit: Phrase, text: str) -> bool:
    """Tell whether the words may be that name here: a number before its unit is none of it, "3d" may be days."""
    last, after = words[at + taken - 1], words[at + taken : at + taken + 1]
    following = after[0].lex if after else ""
    if last.kind == NUMBER and taken > 1 and (following in _UNITS or following == "x"):
        return False
    spelling = text[words[at].start : last.end]
    before = words[at - 1].lex if at else ""
    if hit.name == "gpu" and taken > 1 and any(word.lex == "x" for word in words[at + 1 : at + taken]):
        return False  # "a100 x4" counts them, "A100x4" is how a site may call a node
    if hit.name == "gpu" and taken > 1 and words[at].kind == WORD and len(words[at].text) < 3:
        return False  # "a 2-node job" names no A2
    if squeezed(spelling) == "3d" and "D" not in spelling:
        return following in ("parallel", "parallelism")
    if squeezed(spelling) == "accelerate":
        return not (before in _ACTS or following in _ACTED_ON)
    if (
        hit.name == WISH
        and spelling.lower() in ("debug", "development", "interactive", "preempt", "preemptable")
        and _is_place(words, at + taken, before)
    ):
        return False
    if hit.name == WISH and spelling.lower() == "debugging":
        return before in ("for", "a", "quick", "short")
    return not (hit.name == "model" and taken == 1 and last.kind == WORD and spelling.islower() and len(spelling) < 4)


def _is_place(words: Sequence[Token], after: int, before: str) -> bool:
    return (
        after < len(words)
        and words[after].lex in ("queue", "partition", "qos")
        or before in ("queue", "partition", "qos", ":", "=")
    )


def _of_kind(name: str) -> bool:
    """Tell whether a name is put together of a GPU's and what goes with it: "gpu-a100-80", "gpu-h100"."""
    parts = re.split("[-_]", name)
    return any(_GPU.match(part) for part in parts) and all(
        _GPU.match(part) or part == "gpu" or re.fullmatch(r"\d+s?", part) or part.startswith("sxm") for part in parts
    )


def _by_shape(words: Sequence[Token], at: int, text: str) -> tuple[int, Phrase]:
    """Return what no file knows by the shape of its name: a model ("mpt-7b", "org/name-13b", "a 7B model"), a GPU."""
    word = words[at]
    spelling = text[word.start : word.end]
    if word.kind != NAME:
        return 0, Phrase("", "")
    if _of_kind(word.text):
        return 1, Phrase("gpu", spelling.rstrip("s"))
    before = " ".join(token.lex for token in words[max(0, at - 3) : at])
    after = words[at + 1].lex if at + 1 < len(words) else ""
    return (1, Phrase("model", spelling)) if _is_model(word.text, before, after) else (0, Phrase("", ""))


def _is_model(name: str, before: str, after: str) -> bool:
    """Tell whether a name is that of a model: it says how large it is, and no unit of something else does."""
    if _BARE_SIZE.match(name):
        return (
            after in _MODEL_WORDS
            or name.endswith("b")
            and after not in _NO_MODEL
            and name.rstrip("b") not in ("0", "1")
        )
    stem = name.rpartition("/")[2]
    if "/" in name:
        match = re.search(r"(?:model|tune|finetune)(?: a| the| of| is| :| =)?$", before)
        return bool(_HUB.match(name)) and not _FILE.search(name) and bool(_SIZED.match(stem) or match)
    if not _SIZED.match(name) or not re.search(r"[a-z]{2}", name) or not re.search(r"\d[bm](?:\b|[-_])", name):
        return False
    return not name.endswith("m") or bool(re.search(r"(?:model|tune|finetune|train|pretrain)(?: a| the)?$", before))
