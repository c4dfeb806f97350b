"""Writes the tables of the front that Python has too: `make docs`; a test compares them with what is written here.

`service_words.h` and `sha256_constants.h` have no counterpart in Python and are kept by hand.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from pathlib import Path

from maple_submit_filter.host import frames
from maple_submit_filter.launchers.registry import registry
from maple_submit_filter.request.options import NO, OPTIONAL, REQUIRED
from maple_submit_filter.request.slurm.options import SBATCH
from maple_submit_filter.types.submission import MOST_SEARCHED, SECRET_WORDS, WATCHED_NAMES, WATCHED_PREFIXES

FRONT = Path(__file__).resolve().parents[2] / "submit_filter" / "front"
WIDE = 120
GLUE = "\0"  # a blank at which no line ends
BY = "Written by packaging/docs/headers.py (make docs)."
REMOTE_SHELLS = {"ssh", "rsh", "pbs_tmrsh"}  # they start nothing without one of the others
# What starts processes, or tells of GPUs and ranks, and is no launcher that plans know by that name.
BESIDES = (
    "torch", "aprun", "prun", "python", "gpu", "GPU", "apptainer", "singularity", "shifter",
    "podman", "lightning", "composer", "colossalai", "NODE_RANK", "MASTER_ADDR",
)  # fmt: skip
ARITY = {NO: 0, REQUIRED: 1, OPTIONAL: 2}
# Options that newer releases have no more, or take otherwise: Slurm 17.11 to 20.02, and requeue's value from 24.11 on.
OTHERWISE = {"share": 0, "workdir": 1, "jobid": 1, "checkpoint": 1, "checkpoint-dir": 1, "requeue": 2}
REQUEST = (
    "NONCE", "HASH", "SCHEDULER", "ARGV", "CWD", "UID", "ENVIRONMENT", "SCRIPT", "CAME", "PATH", "FLAGS", "WORD",
    "OFFSET", "DEADLINE", "EARLIER",
)  # fmt: skip
REPLY = (
    "NONCE", "HASH", "VERDICT", "SCRIPT", "ARGV", "SAY", "AUDIT", "QUESTION", "OFFER_SCRIPT", "OFFER_ARGV",
    "OFFER_AUDIT", "CONDITION", "LEARNT", "READ", "READ_UNLESS", "EARLIER",
)  # fmt: skip
RENAMED = {"SCRIPT": "_NEW_SCRIPT", "ARGV": "_NEW_ARGV", "EARLIER": "_REPLY_EARLIER"}  # of a reply, in frames.py


def headers() -> dict[str, str]:
    """Return each table's text by its name."""
    return {
        "watched.h": _watched(),
        "launcher_words.h": _launcher_words(),
        "slurm_options.h": _slurm_options(),
        "frame_tags.h": _frame_tags(),
    }


def _watched() -> str:
    return (
        _comment(
            f"Variables of the caller that travel in the request; types/submission.py says what for. {BY} "
            "Of PBS each by its name: PBS_JOBCOOKIE is a secret."
        )
        + _words("WATCHED_PREFIXES", (one.decode() for one in WATCHED_PREFIXES))
        + _words("WATCHED_NAMES", (one.decode() for one in WATCHED_NAMES))
        + _comment(
            "A variable that the script names travels as well. None does for its beginning or the script whose own "
            "name says that it is a secret, as SLURM_JWT."
        )
        + _words("SECRET_WORDS", (one.decode() for one in SECRET_WORDS))
        + f"enum {{ MOST_SEARCHED = {MOST_SEARCHED} }};\n"
    )


def _launcher_words() -> str:
    names = {name.decode() for name in registry()} - REMOTE_SHELLS
    every = [*sorted(names, key=lambda name: (len(name), name)), *BESIDES]
    least = [one for one in every if not any(other != one and other in one for other in every)]
    return _comment(
        f"A script that holds none of these words starts no distributed training that Maple could read: it is "
        f"submitted at once. {BY} The words hold for Slurm and PBS alike; what a site demands of the request alone (an "
        "account) could only be told, and sbatch and qsub tell that themselves. Words are found anywhere in the "
        "bytes, comments included: too many hits cost a question, a missing word costs a repair. python is here "
        "because `python train.py` on four nodes starts on the first alone, and gpu because a wrong GPU request "
        "needs no launcher."
    ) + _words("LAUNCHER_WORDS", least)


def _slurm_options() -> str:
    letters = {option.name: letter.decode() for letter, option in SBATCH.short.items()}
    read = {name.decode(): (ARITY[one.value], one.name) for name, one in SBATCH.long.items()}
    rows = {name: (arity, letters.get(name, "") if name == shown else "") for name, (arity, shown) in read.items()}
    rows |= {name: (arity, rows.get(name, (0, ""))[1]) for name, arity in OTHERWISE.items()}
    text = [
        f'OPTION("{name}", {arity}, {repr(letter) if letter else 0})' for name, (arity, letter) in sorted(rows.items())
    ]
    return _comment(
        "Options of sbatch, from Slurm 17.11 to 26.05 taken together. The front needs one thing from them: which word "
        "of the command line is the script. An option that is not here makes the front leave the submission alone. "
        "OPTION(name, arity, letter): arity 0 takes no value, 1 takes one, 2 takes one only when it is attached. "
        f"letter 0: none. {BY} Tests compare the list with the table of a real sbatch."
    ) + "".join(one + "\n" for one in text)


def _option(name: str, arity: int, letter: str) -> str:
    return f"""OPTION("{name}", {arity}, {f"'{letter}'" if letter else 0})"""


def _frame_tags() -> str:
    request = [(f"Q_{name}", getattr(frames, f"_{name}")) for name in REQUEST]
    reply = [(f"R_{name}", getattr(frames, RENAMED.get(name, f"_{name}"))) for name in REPLY]
    rows = ", ".join(f"{name}{GLUE}={GLUE}{number}" for name, number in (*request, *reply)) + ","
    ways = ", ".join(f'"{one}"' for one in frames.CAME)
    return (
        _comment(f"The numbers and words of the frames, from host/frames.py. Q_: of a request, R_: of a reply. {BY}")
        + f"enum {{\n{_folded(rows)}\n}};\n\nconst char *const WAYS[] = {{{ways}}};\n"
    )


def _words(name: str, words: Iterable[str]) -> str:
    text = " ".join(f'"{one}",' for one in words)
    return f"static const char *const {name}[] = {{\n{_folded(text)}\n}};\n"


def _comment(text: str) -> str:
    return _filled(text + " */", "/* ", " * ") + "\n"


def _folded(text: str) -> str:
    return _filled(text, "    ", "    ")


def _filled(text: str, first: str, later: str) -> str:
    rows = textwrap.fill(text, WIDE, initial_indent=first, subsequent_indent=later, break_on_hyphens=False)
    return rows.replace(GLUE, " ")


if __name__ == "__main__":
    for name, text in headers().items():
        (FRONT / name).write_text(text)
