"""What a submission is, in words that may be kept: its parts, its values, and what was decided; secrets masked.

What the process that reads is asked.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Optional

from maple_agents.ask.submission import Answer
from maple_agents.base.secrets.masking import masked
from maple_agents.cli.answers import checked
from maple_submit_filter.answer import decision as decide
from maple_submit_filter.answer import packing, reply
from maple_submit_filter.answer.decision import Decision
from maple_submit_filter.host import frames
from maple_submit_filter.host.frames import Request
from maple_submit_filter.site.facts import Site
from maple_submit_filter.types.job import Settings
from maple_submit_filter.types.job_records import Part, Value
from maple_submit_filter.types.submission import Submission

from .sections import parts_of, values_of
from .versions import SubmittedJob, is_from

SIZES = struct.Struct(">III")  # of the request, of the decision, and of the list of parts

MOST_VALUE = 1000  # characters


class Place(NamedTuple):
    """A script's path, the job's name, whether the user gave it, and the work dir; secrets masked."""

    path: str
    name: str
    named: bool
    cwd: str


def answer(question: Question, site: Site) -> dict[str, Any]:
    """Return what is asked, as JSON has it: {"told", "shown"}, or {"values"} of the parts that are wanted."""
    request = frames.unpack_request(question.frame)
    submission = reply.whole(request.submission)
    if question.wanted is not None:
        return {"values": [list(value) for value in values(submission, request, question.wanted, site)]}
    decision = packing.unpack(question.decision)[0] if question.decision else None
    job = described(request, site)
    return {
        "told": {**job._asdict(), "script": job.script.decode("latin-1")},
        "shown": as_json(submission, decision, site) if decision else None,
    }


def read_described(data: dict[str, Any]) -> SubmittedJob:
    """Return what `answer` tells. Raises `KeyError`, `TypeError` and `ValueError` where it is not so."""
    parts = tuple(Part(kind, name, digest, (lines[0], lines[1])) for kind, name, digest, lines in data["parts"])
    return SubmittedJob(
        **{**data, "parts": parts, "argv": tuple(data["argv"]), "script": data["script"].encode("latin-1")}
    )


def described(request: Request, site: Site) -> SubmittedJob:
    """Return the submission as it is kept; what is read of it may depend on the site."""
    submission = reply.whole(request.submission)
    script = submission.script or b""
    settings = _settings(submission)
    place = _place(submission, settings)
    partition = settings.value("partition") or settings.value("queue") or b""
    return SubmittedJob(
        submission.uid, submission.scheduler, *place,
        _masked_words(request), _masked(script).encode("utf-8", "surrogateescape"),
        hashlib.sha256(script).hexdigest(), parts_of(request, script), _masked(partition),
        "%s %s" % (reader(), site.revision),
    )  # fmt: skip


def place_of(submission: Submission) -> Place:
    """Return what a job is called and where, as `told` has it."""
    return _place(submission, _settings(submission))


def path_of(submission: Submission) -> str:
    """Return where the script lies, as `told` has it."""
    path = os.path.normpath(os.path.join(submission.cwd, submission.path)) if submission.path else b""
    return _masked(path)


def _place(submission: Submission, settings: Settings) -> Place:
    name, named = _name(submission, settings)
    cwd = os.path.normpath(os.path.join(submission.cwd or b"/", settings.value("chdir") or b""))
    return Place(path_of(submission), _masked(name), named, _masked(cwd))


def as_json(submission: Submission, decision: Decision, site: Site) -> dict[str, Any]:
    """Return what was decided as `maple check --json` has it, with the plan; no secret is in it."""
    here = decide.at_home(submission, site) or site
    job = decide.understood(submission, None)
    if job is not None and submission.script and len(submission.script) <= decide.MOST_READ:
        decision = decision._replace(plan=decide.examined(job, here).plan)
    name = os.fsdecode(os.path.basename(submission.path)) or submission.came
    made: dict[str, Any] = _clean(checked(Answer(name, submission, here, decision), ""))
    for rewritten in ("repaired", "offered"):
        if made[rewritten]:
            del made[rewritten]["diff"]  # of masked text it is made again where it is shown
            rewrite = getattr(decision, rewritten)
            made[rewritten]["says"] = [masked(says) for says in rewrite.says]
    return made


def values(submission: Submission, request: Request, wanted: Sequence[str], site: Site) -> Iterator[Value]:
    """Yield what is read of the parts with these hashes, masked; a value is the same whichever parts are asked for."""
    parts = parts_of(request, submission.script or b"")
    asked = [part for part in parts if part.hash in wanted]
    for value in values_of(submission, parts, site) if asked else ():
        if any(is_from(value, part, parts) for part in asked):
            yield value._replace(value=masked(value.value)[:MOST_VALUE])


def is_clean(packed: bytes) -> bool:
    """Return whether a decision, as `learnt` packs it, holds no secret."""
    decision, _ = packing.unpack(packed)
    made = [rewritten for rewritten in (decision.repaired, decision.offered) if rewritten is not None]
    texts = [
        _text(word)
        for rewritten in made
        for word in (rewritten.script or b"", b" ".join(rewritten.argv), *rewritten.argv)
    ]
    texts += [
        decision.why,
        *(says for rewritten in made for says in rewritten.says),
        *(finding.says for finding in decision.findings),
    ]
    texts += [text for finding in decision.findings for text in (finding.help, finding.site_fact)]
    return all(masked(text) == text for text in (*texts, *(why for _, why in decision.held_back)))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


@lru_cache(1)
def reader() -> str:
    """Return the hash of the code that reads."""
    import maple_submit_filter

    from . import sections

    made = hashlib.sha256()
    for top in (os.path.dirname(maple_submit_filter.__file__), *_own_files(os.path.dirname(sections.__file__))):
        for path in sorted(_python(top)):
            with open(path, "rb") as file:
                made.update(b"%s:%s" % (os.fsencode(os.path.basename(path)), hashlib.sha256(file.read()).digest()))
    return made.hexdigest()[:16]


def _own_files(folder: str) -> list[str]:
    import maple_agents

    admission = os.path.join(os.path.dirname(maple_agents.__file__), "admission")
    return [admission, *(os.path.join(folder, name) for name in ("sections.py", "description.py"))]


def _python(top: str) -> list[str]:
    if top.endswith(".py"):
        return [top]
    return [os.path.join(at, name) for at, _, names in os.walk(top) for name in names if name.endswith(".py")]


def _settings(submission: Submission) -> Settings:
    job = decide.understood(submission, None)
    return job.settings if job is not None else Settings()


def _name(submission: Submission, settings: Settings) -> tuple[bytes, bool]:
    """Return the job's name as the scheduler will have it, and whether the user gave it."""
    name = settings.value("job-name")
    if name:
        return name, True
    unnamed = {"wrap": b"wrap", "stdin": b"STDIN" if submission.scheduler == "pbs" else b"sbatch"}
    return unnamed.get(submission.came) or os.path.basename(submission.path), submission.came == "file"


def _masked(text: bytes) -> str:
    return masked(_text(text))


def _masked_words(request: Request) -> tuple[str, ...]:
    """Return the words; a secret may stand in the word behind its name. The script of `--wrap` stands elsewhere."""
    argv = list(request.submission.argv)
    if request.submission.came == "wrap" and request.word < len(argv):
        argv[request.word] = argv[request.word][: request.offset] + b"..."
    words = [word.decode("utf-8", "surrogateescape") for word in argv]
    pairs = zip(words, ["", *words], strict=False)
    return tuple(_behind(before, masked(word)) for word, before in pairs)


def _behind(before: str, word: str) -> str:
    """Return a word without the secret that the option before it says it is."""
    if not before.startswith("-") or "=" in before or word.startswith("-"):
        return word
    whole = masked("%s %s" % (before, word))
    return whole[len(before) + 1 :] if whole.startswith(before + " ") else "[masked]"


def _clean(value: Any) -> Any:
    """Return JSON with every text in it masked."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, dict):
        return {key: _clean(value) for key, value in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value


class Question(NamedTuple):
    """*decision*: as `packing` packs it, b"" for none. *wanted*: hashes of parts to read, None: tell what it is."""

    frame: bytes
    decision: bytes = b""
    wanted: Optional[tuple[str, ...]] = None


def pack(question: Question) -> bytes:
    """Return the question as bytes."""
    wanted = json.dumps(question.wanted).encode()
    sizes = SIZES.pack(len(question.frame), len(question.decision), len(wanted))
    return sizes + question.frame + question.decision + wanted
