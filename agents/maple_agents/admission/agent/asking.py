"""The agent asked: three samples for what the readers left empty, and what of them is believed.

What it found before is remembered, so that it is asked again of what has changed and of nothing else. A value holds
while its key is set to it in its file, also where lines above it came or went. What was looked for and not found is
looked for again once a file that was read then has changed, or the script gives an option that is new.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ...ask.models.protocol import Limit, Model
from ...base.secrets.masking import masked_lines
from .judge import AGREE, NAMES, believed, key_of
from .samples import Claim, Folder, sample

SAMPLES = 3
USUAL = Limit()
_OPTION = re.compile(r"(?<![\w-])--?([A-Za-z][\w-]*)")


class Found(NamedTuple):
    """*claims* that were believed, with the key that each is set by. *silent*: names of which nothing was found.

    *files*: hashes of what was read for them, by path, but for the script, of which the *options* count.
    """

    claims: tuple[tuple[Claim, str], ...] = ()
    silent: tuple[str, ...] = ()
    files: Mapping[str, str] = {}
    options: tuple[str, ...] = ()


def to_ask(known: Iterable[str], before: Found, folder: Folder, script: str) -> tuple[str, ...]:
    """Return the names to ask for: what the readers do not know, and what does not hold any more. No model is asked."""
    holding = {claim.name for claim, _ in still(before, folder)}
    if _is_as_it_was(before, folder, script):
        holding |= set(before.silent)
    return tuple(name for name in NAMES if name not in holding and name not in set(known))


def still(before: Found, folder: Folder) -> list[tuple[Claim, str]]:
    """Return the claims whose key is set to the same value now, with the line where it is."""
    placed = ((_placed(claim, key, folder), key) for claim, key in before.claims)
    return [(claim, key) for claim, key in placed if claim is not None]


def _placed(claim: Claim, key: str, folder: Folder) -> Claim | None:
    folder.read(claim.file)
    count = len(folder.seen.get(claim.file, ()))
    places = [at for at in (claim.line, *range(1, count + 1)) if key_of(claim._replace(line=at), folder.seen) == key]
    return claim._replace(line=places[0]) if places and (places[0] == claim.line or len(places) == 1) else None


def findings(claims: Sequence[Claim], asked: Sequence[str], before: Found, folder: Folder, script: str) -> Found:
    """Return what is to be remembered now. *claims*: believed of the names that were *asked*."""
    kept = [*still(before, folder), *((claim, key_of(claim, folder.seen)) for claim in claims)]
    known = {claim.name for claim, _ in kept}
    silent = {*asked, *before.silent} - known
    texts = {path: "\n".join(lines) for path, lines in folder.seen.items()}
    files = {path: _digest(text) for path, text in texts.items() if text != masked_lines(script)}
    return Found(tuple(kept), tuple(sorted(silent)), {**before.files, **files} if not asked else files, options(script))


def options(script: str) -> tuple[str, ...]:
    """Return the names of the options that a script gives."""
    return tuple(sorted(set(_OPTION.findall(script))))


def written(record: Found) -> str:
    """Return it as JSON."""
    claims = [[*claim, key] for claim, key in record.claims]
    table = {"claims": claims, "silent": record.silent, "files": record.files, "options": record.options}
    return json.dumps(table, sort_keys=True)


def read(text: str) -> Found:
    """Return what was written, nothing where it is no such text."""
    try:
        table = json.loads(text)
        claims = tuple((Claim(str(name), str(value), str(file), int(line)), str(key))
                       for name, value, file, line, key in table["claims"])  # fmt: skip
        files = {str(path): str(digest) for path, digest in table["files"].items()}
        return Found(claims, tuple(map(str, table["silent"])), files, tuple(map(str, table["options"])))
    except (ValueError, TypeError, KeyError, AttributeError):
        return Found()


def _is_as_it_was(before: Found, folder: Folder, script: str) -> bool:
    """Return whether what was read then reads the same now, and no option is new."""
    if not before.silent or set(options(script)) - set(before.options):
        return False
    return all(_digest(_text(folder, path)) == digest for path, digest in before.files.items())


def _text(folder: Folder, path: str) -> str:
    folder.read(path)
    return "\n".join(folder.seen.get(path, ()))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _turned(names: tuple[str, ...], number: int) -> tuple[str, ...]:
    """Return the names in an order of its own for each sample, as some models give one question one answer."""
    first = number * len(names) // SAMPLES
    return names[first:] + names[:first]


class Answer(NamedTuple):
    """*claims* that hold, *asked*: the names that were asked for; *calls* of the model; *found*: to remember."""

    claims: tuple[Claim, ...]
    asked: tuple[str, ...]
    calls: int
    found: Found
    wrong: tuple[str, ...] = ()


def ask(
    model: Model | None, top: str, script: str, known: Iterable[str], before: Found, limit: Limit = USUAL
) -> Answer:
    """Return what is known of a job beyond what the readers *know*. *top*: its own folder; *before*: of the last time.

    Without a model, what was found before and still holds; so where fewer samples came to an answer than have to agree:
    then nobody knows what cannot be found, and it is asked for again. Raises nothing that a model or file could cause.
    """
    folder = Folder(top)
    wanted = to_ask(known, before, folder, script)
    if model is None or not wanted:
        return Answer(tuple(claim for claim, _ in still(before, folder)), (), 0, before)
    samples = [sample(model, folder, _turned(wanted, number), limit) for number in range(SAMPLES)]
    claims = believed([each.claims for each in samples], folder.seen, wanted)
    answered = sum(not each.wrong for each in samples)
    memory = findings(claims, wanted, before, folder, script) if answered >= AGREE else before
    wrong = tuple(dict.fromkeys(each.wrong for each in samples if each.wrong))
    holding = memory.claims if answered >= AGREE else still(before, folder)
    return Answer(tuple(claim for claim, _ in holding), wanted, sum(each.asked for each in samples), memory, wrong)
