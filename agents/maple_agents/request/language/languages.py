"""Whether a text can be read as a request at all: its length, signs and language, and whether it is about a job."""

from __future__ import annotations

import re
import unicodedata

from . import translation
from .vocabulary import listed, texts

_WORDS = texts("languages")
MOST = 8_000  # characters; a request is a few sentences
_ENGLISH = listed(_WORDS["English"])
_FOREIGN = {name: text for name, text in _WORDS.items() if name != "English"}
_ABOUT = re.compile(
    r"(?i)(?:\b(?:re-?)?(?:train|fine-?tun|finetun|pre-?train|submit|sbatch|qsub|slurm|pbs"
    r"|gpu|job|script|launch|walltime|epoch|infer(?:ence)?\b|benchmark|distributed|parallel"
    r"|llm|neural|deep learning|checkpoint|batch|"
    r"node|cluster|srun|torchrun|mpi|python|pytorch|deepspeed|accelerate launch|ddp|fsdp|zero-?3"
    r"|model|partition|queue|allocation|\w+\.py\b))"
)
_UNSEEN = frozenset("\u202a\u202b\u202d\u202e\u2066\u2067\u2068")


def refusal(text: str) -> str | None:
    """Return in one line why *text* cannot be read as a request, None where its form is right. Takes bounded time."""
    if len(text) > MOST:
        return "the request has %d characters, more than %d; say it in a few sentences" % (len(text), MOST)
    if not text.strip():
        return 'the request is empty; say for example "train.py with DDP on 2 nodes, 4 hours, account abc123"'
    odd = next(
        (
            sign
            for sign in text
            if unicodedata.category(sign) in ("Cc", "Cs", "Co", "Cn") and sign not in "\t\n\r" or sign in _UNSEEN
        ),
        "",
    )
    if odd:
        return "the request holds the character U+%04X, which is no text; write it in plain words" % ord(odd)
    return _language(text) or (
        None
        if translation.known(text) or re.search(r"[A-Za-z]", text)
        else "the request holds no words; say what to run and on how many nodes"
    )


def about_a_job(text: str) -> bool:
    """Tell whether any word of the text speaks of a job."""
    return bool(_ABOUT.search(text))


def _language(text: str) -> str | None:
    if translation.known(text):
        return None
    letters = [sign for sign in text if sign.isalpha()]
    strange = sum(not _latin(sign) for sign in letters)
    if letters and strange * 3 > len(letters):
        return "the request is not in English; requests are read in English"
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", re.sub(r"`[^`]*`|\S*[/=._]\S*", " ", text.lower()))
    english = sum(word in _ENGLISH for word in words)
    name, many = max(((name, _hits(words, table)) for name, table in _FOREIGN.items()), key=lambda pair: pair[1])
    if many >= 2 and many > english:
        return "the request looks like %s; requests are read in English" % name
    return None


def _hits(words: list[str], table: str) -> int:
    known = frozenset(table.split()) - {"a", "i", "o", "script-fr"}
    return len({word for word in words if word in known and word not in _ENGLISH})


def _latin(sign: str) -> bool:
    return sign.isascii() or "LATIN" in unicodedata.name(sign, "") or sign in "µμΩ"
