"""What lines say that look like directives and are not read.

Scripts that were written for the other scheduler: no small edit carries them over, but they can be written anew.

Whether a comment was plausibly meant as a directive: by how its word is spelled, and by what follows.

People write much into the head of a script that begins like a directive and is none: how to call it (`# sbatch
job.sh`), lines of other programs (`#YBATCH -r a100_4`), ones that they switched off (`##SBATCH`, `#XSBATCH`), a form
to be filled in (`--nodes=<number>`), prose. A directive has options only, and all of them are the command's.
"""

from __future__ import annotations

import re
from typing import Iterator, List, Mapping, Optional, Sequence, Tuple

from ..site.modes import silenced
from ..types.edits import Span
from ..types.findings import Finding
from ..types.job import Job
from .options import OptionTable, read_options
from .scheduler_words import is_pbs
from .slurm.options import SBATCH

SLURM, PBS = "slurm", "pbs"
CODE = "MPL104"
# Compiled only when wanted, for every submission reads this module.
_OF_PBS = rb"(?m)^(?![ \t]*#).*?\$(?:(PBS_\w+)|\{(PBS_\w+)\})"
_ASKED = rb"(?m)^(?![ \t]*#).*(?:\[|\btest[ \t]|\bcase[ \t]).*\bPBS_"
_PLAIN = rb"[\w./:@%+,=-]+\Z"

_HEAD = re.compile(rb"[ \t]*#[ \t]*!?[ \t]*[A-Za-z]{2,7}:?[ \t]*")


def said_on(job: Job, line: bytes) -> Iterator[Tuple[str, bytes, bytes]]:
    """Yield (name, value, words) of each setting on a line like `# SBATCH -t 1:00:00` or `# PBS -l walltime=1:00:00`.

    None where the line has quotes. What *words* say is one setting, also where the line says it in a list of several.
    """
    match = _HEAD.match(line)
    words = (line[match.end() :] if match else b"").split(b" #")[0].split()
    if any(quote in line for quote in (b'"', b"'", b"\\")):
        return
    if is_pbs(job):
        yield from _said_to_qsub(words)
        return
    for option in read_options(SBATCH, words, 0).options:
        yield option.name, option.value, b" ".join(words[option.at : option.at + option.words])


def _said_to_qsub(words: List[bytes]) -> Iterator[Tuple[str, bytes, bytes]]:
    from .pbs.options import QSUB, RESOURCES, resources  # not on the way of a Slurm job

    for option in read_options(QSUB, words, 0).options:
        if option.name != RESOURCES:
            yield option.name, option.value, b" ".join(words[option.at : option.at + option.words])
            continue
        for item in resources(option.value).items:
            yield item.name.decode("utf-8", "surrogateescape"), item.value, b"-l %s=%s" % (item.name, item.value)


def unheeded(job: Job, span: Span) -> bool:
    """Return whether the line at *span* says something that does not hold anyway."""
    settings = list(said_on(job, job.source[span.start : span.end]))
    return not settings or any(job.settings.value(name) != value for name, value, _ in settings)


def says_anew(job: Job, span: Span) -> bool:
    """Return whether the line at *span* says something that nobody else says.

    One beside a directive that says the same thing otherwise is a value that was tried before, and switched off.
    """
    settings = list(said_on(job, job.source[span.start : span.end]))
    return not settings or any(name not in job.settings for name, _, _ in settings)


def unknown_option(refused: str) -> bool:
    """Return whether sbatch itself does not know an option; a plug-in of the site may (Shifter's --image does)."""
    return refused.startswith(("unrecognized option", "invalid option"))


def other_scheduler(job: Job) -> str:
    """Return the scheduler that all directives of the script speak to where the job goes to another one, else ""."""
    if job.submission.scheduler == PBS:
        foreign = [oddity for oddity in job.script.oddities if oddity.kind == "other-scheduler"]
        of_slurm = any(job.source.startswith(b"#SBATCH", oddity.span.start) for oddity in foreign)
        return SLURM if of_slurm and not job.script.directives else ""
    prefixes = {directive.prefix for directive in job.script.directives}
    return PBS if prefixes == {b"#PBS"} else ""


def unset_here(job: Job, assigned: Mapping[bytes, Tuple[object, ...]]) -> Optional[bytes]:
    """Return the first variable that qsub's jobs have and this script reads as a job of Slurm, None if there is none.

    A script that asks whether it is one of PBS knows both; a name that is *assigned*, or set where one submits, is set.
    """
    if job.submission.scheduler == PBS or re.search(_ASKED, job.source):
        return None
    names = (match.group(1) or match.group(2) for match in re.finditer(_OF_PBS, job.source))
    return next((name for name in names if name not in assigned and name not in job.submission.environment), None)


def is_beyond_edits(job: Job, findings: Sequence[Finding], cured: bool) -> bool:
    """Return whether the script is one of another scheduler and wrong here, so that writing it anew is what helps.

    *cured*: small edits make it whole, as far as anything is proven. A user who silenced the rule about directives of
    another scheduler has them there on purpose.
    """
    wrong = any(finding.code == CODE or (finding.proven and not cured) for finding in findings)
    return wrong and other_scheduler(job) != "" and not silenced(job.source).covers(CODE, 0)


def command(path: bytes) -> bytes:
    """Return what a user types to have the script of that path written for the site; b"" where it is no file."""
    if not path:
        return b""
    quoted = path if re.match(_PLAIN, path) else b"'" + path.replace(b"'", b"'\\''") + b"'"
    return b"maple new --from " + (b"./" + quoted if quoted.startswith(b"-") else quoted)


_WORD = re.compile(rb"(?:\"[^\"]*\"|'[^']*'|[^\s\"'])+")
_FORM = re.compile(rb"<[^<>]*>|\.\.\.|\xe2\x80\xa6")  # something to be filled in
# Who misses a key hits one beside it.
_BESIDE = {
    b"S": b"AWEDXZ", b"B": b"VGHN", b"A": b"QWSZ", b"T": b"RFGY", b"C": b"XDFV", b"H": b"GYUJNB", b"P": b"OL",
}  # fmt: skip


def misspelled(word: bytes, wanted: bytes) -> bool:
    """Return whether *word*, in capitals, is *wanted* with one slip of the fingers.

    A letter left out, doubled, exchanged with the next, or taken from the key beside. The first one stands: another
    there makes the name of another program, or is how a line is switched off.
    """
    if word == wanted:
        return True
    size = len(wanted)
    if len(word) == size:
        apart = [at for at in range(size) if word[at] != wanted[at]]
        if len(apart) == 1:
            at = apart[0]
            return at > 0 and word[at] in _BESIDE.get(wanted[at : at + 1], b"")
        swapped = len(apart) == 2 and apart[1] == apart[0] + 1
        return swapped and word[apart[0]] == wanted[apart[1]] and word[apart[1]] == wanted[apart[0]]
    if len(word) == size - 1:
        return any(wanted[:at] + wanted[at + 1 :] == word for at in range(size))
    return len(word) == size + 1 and any(wanted[: at + 1] + wanted[at:] == word for at in range(size))


def says_options_only(rest: bytes, known: OptionTable) -> bool:
    """Return whether what stands behind the word are options of the command, and nothing else."""
    words = words_of(rest)
    if not words or words[-1].endswith(b"\\") or any(_FORM.search(word) for word in words):
        return False
    reading = read_options(known, words, 0)
    command = any(option.name == "wrap" for option in reading.options)
    return not reading.problem and reading.end == len(words) and not command


def words_of(rest: bytes) -> List[bytes]:
    """Return the words up to a comment, with their quotes."""
    words: List[bytes] = _WORD.findall(rest)
    ends = next((at for at, word in enumerate(words) if word.startswith(b"#")), len(words))
    return words[:ends]
