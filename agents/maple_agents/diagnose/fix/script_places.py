"""The lines of the submitted script that have a say in a failure: where an answer sends its reader.

The line that the shell named; else those that hold what the log named; else the directive that was refused; else those
that the class looks for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from maple_submit_filter.types.submission import Submission

from ...templates.knowledge import meanings
from ...templates.knowledge.entries_in_force import compiled
from ..read import cleaned
from ..values import Cause, Diagnosis, Evidence
from .kinds.insertion import without_footer

FEW = 2  # lines that are shown
LONGEST = 400  # characters of a line that are searched
SHORTEST = 3  # characters of a value that is looked for
_SHELL = re.compile(
    r"(?:slurm_script|\.SC|\.sh|\.sbatch|\.slurm|\.pbs|\.job|\.cmd): (?:line |Zeile |ligne |línea |riga )?(\d+): "
)
_SCRIPT = re.compile(r"slurm_script|/jobs/\S+\.SC\b")
_NOTE = re.compile(r"\s*(?:#(?!SBATCH|PBS|!)|$)")
_EDGE = r"(?<![\w./-])%s(?![\w-])"
_PLAIN = frozenset(("python", "python3", "bash", "srun", "torch", "train.py", "line", "rank", "true", "false", "none"))
REFUSED = ("invalid_partition_account_qos", "srun_step_request")
# What a refusal speaks of, and the options that ask for it: of directives and of launch lines.
_ASKED: Sequence[tuple[re.Pattern[str], re.Pattern[str]]] = [
    (re.compile("(?i)" + says), re.compile(r"(?:^|\s)(?:%s)(?![\w-])" % options))
    for says, options in (
        (r"time ?limit|walltime|\btime\b", r"--time|-t|.*\bwalltime"),
        (r"\bqos\b", r"--qos|-q"),
        (r"node name|exclude|nodelist", r"--exclude|-x|--nodelist|-w"),
        (r"constraint|feature", r"--constraint|-C"),
        (r"gres\b|\bgpus?\b|generic", r"--gres|--gpus(?:-per-\w+)?|-G|.*\bngpus"),
        (r"memory", r"--mem(?:-per-\w+)?|.*\bmem"),
        (r"node configuration", r"--gres|--gpus(?:-per-\w+)?|-G|--constraint|-C|--mem(?:-per-\w+)?|--exclusive"),
        (r"processors|\bcpus?\b|\btasks?\b", r"--ntasks(?:-per-\w+)?|-n|--cpus-per-task|-c|--nodes|-N"),
        (r"node count|more nodes|\bnodes?\b", r"--nodes|-N|.*\bselect"),
        (r"partition", r"--partition|-p"),
        (r"queue", r"-q"),
        (r"account|project|allocation|budget", r"--account|-A|-P"),
        (r"select|resource|filesystems", r"-l"),
    )
]

Rows = Sequence[tuple[int, str]]


def script_places(diagnosis: Diagnosis) -> tuple[Evidence, ...]:
    """Return those lines, at most two; () where there is no script, or the evidence stands in it already."""
    asked, cause = diagnosis.case.asked, diagnosis.causes[0]
    if asked is None or not asked.script or cause.cause == "none":
        return ()
    name = os.fsdecode(os.path.join(asked.cwd, asked.path)) if asked.path else "job.sh"
    if any(line.file == name for line in cause.evidence):
        return ()
    rows = _rows(asked.script)
    ways = (_of_shell(cause, rows, asked), _of_values(cause, rows), _of_refusal(cause, rows), _of_class(cause, rows))
    numbers = next(filter(None, map(list, ways)), [])
    texts = dict(rows)
    return tuple(Evidence(name, number, texts[number]) for number in sorted(set(numbers))[:FEW])


def _rows(script: bytes) -> Rows:
    """Return the lines that are more than a comment, by their numbers."""
    lines = enumerate(without_footer(script).split(b"\n"), 1)
    rows = ((number, cleaned(line)) for number, line in lines)
    return [(number, text) for number, text in rows if not _NOTE.match(text) and not text.startswith("#!")]


def _of_shell(cause: Cause, rows: Rows, asked: Submission) -> Iterator[int]:
    """Yield the line that the shell which read the script named itself."""
    own = os.fsdecode(os.path.basename(asked.path or b""))
    for line in cause.evidence[:1]:
        match = _SHELL.search(line.text)
        if match and (_SCRIPT.search(line.text) or own and own in line.text):
            yield from (number for number, _ in rows if number == int(match[1]))


def _of_values(cause: Cause, rows: Rows) -> Iterator[int]:
    """Yield the lines that hold what the log named; a word that stands in many tells nothing."""
    for value in _looked_for(cause):
        word = re.compile(_EDGE % re.escape(value))
        numbers = [number for number, text in rows if word.search(text[:LONGEST])]
        if 0 < len(numbers) <= FEW:
            yield from numbers
            return


def _looked_for(cause: Cause) -> Iterator[str]:
    """Yield what was named: whole, then a path without its folders, then an option with its dashes."""
    values = [value for value in (*cause.values.values(), *cause.named.values()) if value]
    values = [value for value in values if cause.cause == "port_in_use" or not value.isdigit()]
    forms = (form for value in values for form in _forms(value))
    yield from (form for form in forms if len(form) >= SHORTEST and form.lower() not in _PLAIN and not form.isspace())


def _forms(value: str) -> Iterator[str]:
    yield value
    if value.lstrip("-") != value:
        yield value.partition("=")[0].split()[0]
    elif re.fullmatch(r"[a-z][\w-]+", value):
        yield "--" + value
    if "/" in value:
        yield from (value[at + 1 :] for at, sign in enumerate(value) if sign == "/" and value[at + 1 :])


def _of_refusal(cause: Cause, rows: Rows) -> Iterator[int]:
    """Yield the lines that ask for what the refusal speaks of."""
    texts = [line.text for line in cause.evidence] if cause.cause in REFUSED else []
    for says, options in _ASKED:
        if any(says.search(text) for text in texts):
            numbers = [number for number, text in rows if options.search(text[:LONGEST])]
            yield from numbers
            if numbers:
                return


def _of_class(cause: Cause, rows: Rows) -> Iterator[int]:
    """Yield the lines that the first expression of the class that finds any, finds: the last of them."""
    meaning = meanings().get(cause.cause)
    for pattern in meaning.script if meaning is not None else ():
        numbers = [number for number, text in rows if compiled(pattern).search(text[:LONGEST])]
        yield from numbers[-1:]
        if numbers:
            return
