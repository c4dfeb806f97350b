"""What the front does, in Python, for hosts without a compiler: look at the script, decide in a child, change the call.

It asks no daemon, whatever `socket` front.conf names, and offers nothing: both need the front. Nothing is lost by that
but time: each submission is decided anew, and the daemon remembers no version of a job that came this way.
"""

from __future__ import annotations

import os
import select
import signal
import time
from typing import Callable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from . import own_folders, private_copy, qsub_words, sbatch_words, script_source
from .frames import REPLY, Change, Reply, Request, pack_reply, send, size_of, unpack_reply
from .sbatch_words import Words
from .script_source import Source
from .submission import Submission, travels

LAUNCHER_WORDS = (
    b"srun", b"torch", b"accelerate", b"deepspeed", b"mpirun", b"mpiexec", b"ibrun", b"horovodrun", b"jsrun",
    b"aprun", b"prun", b"python", b"gpu", b"GPU", b"apptainer", b"singularity", b"shifter", b"podman",
    b"lightning", b"composer", b"colossalai", b"NODE_RANK", b"MASTER_ADDR", b"pbsdsh",
)  # fmt: skip  # the same as front/launcher_words.h, which says what they are for; a test compares the two


class Command(NamedTuple):
    """A command that the entry stands in for, and how its words are read."""

    scheduler: str
    read: Callable[[Sequence[bytes]], Optional[Words]]


COMMANDS = {b"sbatch": Command("slurm", sbatch_words.read), b"qsub": Command("pbs", qsub_words.read)}


def change(argv: Sequence[bytes], environment: Mapping[bytes, bytes], conf: Mapping[str, str]) -> Sequence[bytes]:
    """Return the argv to run; *argv* itself where nothing is to be changed. May raise: then nothing was changed.

    argv[0] is the name of the command.
    """
    started = time.monotonic()
    command = COMMANDS[argv[0]]
    words = command.read(argv)
    source = script_source.read(words, argv, environment) if words else None
    if words is None or source is None or not worth_asking(source.script):
        return argv
    request = _request(command.scheduler, words, source, argv, environment)
    deadline = time.monotonic() + int(conf.get("helper_ms", "250")) / 1000
    reply = _ask(request, conf, deadline)
    if reply is None:
        if time.monotonic() >= deadline:
            _keep_timed(_late(request), started, environment, conf)
        return argv
    if reply.say and request.terminal:
        os.write(2, bytes(byte if byte >= 32 or byte in b"\n\t" else 63 for byte in reply.say))
    new = _carry_out(command, words, source, argv, reply.change, environment) if reply.change else None
    audit = reply.change.audit if reply.change and new else reply.audit
    _keep_timed(audit, started, environment, conf)
    return new or argv


def worth_asking(script: bytes) -> bool:
    """Return whether the script may start distributed training and does not say `# maple: off`."""
    if not any(word in script for word in LAUNCHER_WORDS):
        return False
    lines = (line.strip() for line in script.split(b"\n")) if b"maple:" in script else ()
    return not any(line[:1] == b"#" and line[1:].split() == [b"maple:", b"off"] for line in lines)


def _request(
    scheduler: str, words: Words, source: Source, argv: Sequence[bytes], environment: Mapping[bytes, bytes]
) -> Request:
    import hashlib

    try:
        cwd = os.getcwdb()
    except OSError:
        cwd = b""
    watched = {name: value for name, value in environment.items() if travels(name, source.script)}
    submission = Submission(scheduler, tuple(argv), source.script, source.came, source.path, cwd, os.getuid(), watched)
    seen = os.isatty(2) or b"verbose" in environment.get(b"MAPLE", b"").split(b",")
    digest = hashlib.sha256(source.script).digest()
    return Request(os.urandom(16), digest, submission, words.word, words.offset, False, seen)


def _late(request: Request) -> bytes:
    """Return the audit line of a submission that nobody answered in time."""
    from .records import AuditLine, audit_line, host, now

    submission, record = request.submission, request.nonce[:8].hex()
    told = AuditLine(now(), host(), submission.uid, record, request.hash.hex(), "late", "", (), "", "", submission.came)
    return audit_line(told._replace(late=("helper",)))


def _ask(request: Request, conf: Mapping[str, str], deadline: float) -> Optional[Reply]:
    """Let a child decide until the deadline; a child that fails, hangs or dies has said nothing."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os._exit(_decide(request, conf, into))
    os.close(into)
    try:
        frame = _collect(out, deadline)
    finally:
        os.close(out)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    reply = unpack_reply(frame) if frame else None
    good = reply is not None and reply.nonce == request.nonce and reply.hash == request.hash
    return reply if good else None


def _decide(request: Request, conf: Mapping[str, str], into: int) -> int:
    try:
        from . import answer, settled

        gids = {os.getegid(), *os.getgroups()}
        send(into, pack_reply(answer.answer(request, settled.site(conf), settled.policy(conf), gids)))
        return 0
    except BaseException:
        return 1


def _collect(out: int, deadline: float) -> Optional[bytes]:
    parts: List[bytes] = []
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([out], [], [], left)[0]:
            return None
        part = os.read(out, 1 << 16)
        if not part:
            frame = b"".join(parts)
            return frame if frame and size_of(frame[:8], REPLY, 20 << 20) == len(frame) - 8 else None
        parts.append(part)


def _carry_out(
    command: Command,
    words: Words,
    source: Source,
    argv: Sequence[bytes],
    made: Change,
    environment: Mapping[bytes, bytes],
) -> Optional[List[bytes]]:
    """Return the new argv, with the new script where the real command will read it; None: as written."""
    new = list(made.argv or argv)
    now = command.read(new) if made.argv else words
    if now is None or now.came != words.came or new[0] != argv[0]:
        return None
    if words.came == "file" and new[now.word] != argv[words.word]:
        return None
    if made.script is None:
        return new
    if source.came in ("stdin", "fd"):
        if source.end >= 0:
            os.lseek(source.target, source.end, os.SEEK_SET)
        return new if script_source.give(source.target, made.script) else None
    path = (
        private_copy.place(made.script, source.path.rpartition(b"/")[2], environment) if words.came == "file" else None
    )
    if path is None:
        return None
    new[now.word] = path
    return new


def _keep_timed(audit: bytes, started: float, environment: Mapping[bytes, bytes], conf: Mapping[str, str]) -> None:
    """Keep an audit line, if it is one, with the time since the start."""
    if audit[:1] == b"{" and audit[-1:] == b"}":
        _keep(b'%s,"ms":%d}\n' % (audit[:-1], (time.monotonic() - started) * 1000), environment, conf)


def _keep(line: bytes, environment: Mapping[bytes, bytes], conf: Mapping[str, str]) -> None:
    """Append the audit line to the user's file and to the site's spool."""
    own = own_folders.made(own_folders.STATE, environment)
    spool = os.fsencode(conf.get("audit", ""))
    places: Tuple[Tuple[Optional[bytes], bytes], ...] = (
        (own, b"audit.jsonl"),
        (spool or None, b"%d.jsonl" % os.getuid()),
    )
    for folder, name in places:
        if folder is None or not os.path.isdir(folder):
            continue
        fd = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        if os.fstat(fd).st_uid == os.geteuid():
            os.write(fd, line)
        os.close(fd)
