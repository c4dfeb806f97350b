"""What the front does, in Python, for hosts without a compiler: look at the script, decide in a child, change the call.

It asks no daemon, whatever `socket` front.conf names, and offers nothing: both need the front. Nothing is lost by that
but time: each submission is decided anew, and the daemon remembers no version of a job that came this way.
"""

from __future__ import annotations

import os
import select
import time
from typing import Callable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .host import audit_file, own_folders, script_source
from .host.files_in_time import Files, end, let_go
from .host.frames import REPLY, Change, Reply, Request, pack_reply, send, size_of, unpack_reply
from .host.script_source import Source
from .request.pbs import command_line as qsub_words
from .request.slurm import command_line as sbatch_words
from .request.slurm.command_line import Words
from .types.submission import Submission, travels

LAUNCHER_WORDS = (
    b"srun", b"torch", b"accelerate", b"deepspeed", b"mpirun", b"mpiexec", b"ibrun", b"horovodrun", b"jsrun",
    b"aprun", b"prun", b"python", b"gpu", b"GPU", b"apptainer", b"singularity", b"shifter", b"podman",
    b"lightning", b"composer", b"colossalai", b"NODE_RANK", b"MASTER_ADDR", b"pbsdsh",
)  # fmt: skip  # the same as front/launcher_words.h, which says what they are for; a test compares the two
NO_SCRIPT = "there is no single script that can be read, of at most 4 MiB"
MOST_SEARCHED_FOR = 256 << 20  # bytes of script times variables that are looked for in it: a tenth of a second


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
    why = why_unasked(source.script, len(environment)) if words and source else NO_SCRIPT
    if words is None or source is None or why:
        say(why, environment)
        return argv
    request = _request(command.scheduler, words, source, argv, environment)
    deadline = time.monotonic() + int(conf.get("helper_ms", "250")) / 1000
    reply = _ask(request, conf, deadline)
    files = Files(int(conf.get("files_ms", "500")) / 1000)
    if reply is None:
        say("no answer in time", environment)
        if time.monotonic() >= deadline:
            audit_file.keep(_late(request, "helper"), started, environment, conf, files)
        return argv
    if reply.say and request.terminal:
        os.write(2, bytes(byte if byte >= 32 or byte in b"\n\t" else 63 for byte in reply.say))
    new = _carry_out(command, words, source, argv, reply.change, environment, files) if reply.change else None
    audit = reply.change.audit if reply.change and new else reply.audit
    if new is None and files.late:
        audit = _late(request, "files")
    if audit:
        audit_file.keep(audit, started, environment, conf, files)
    else:
        audit_file.count_untouched(conf, files)
    return new or argv


def why_unasked(script: bytes, variables: int = 0) -> str:
    """Return why a script is not asked about, as the front says it; "" where it is."""
    if not script:
        return "the script is empty, or could not be read whole"
    if variables * len(script) > MOST_SEARCHED_FOR:
        return "the script and the environment are too large to be searched"
    lines = (line.strip() for line in script.split(b"\n")) if b"maple:" in script else ()
    if any(line[:1] == b"#" and line[1:].split() == [b"maple:", b"off"] for line in lines):
        return "the script says # maple: off"
    return "" if any(word in script for word in LAUNCHER_WORDS) else "no launcher is named in the script"


def say(why: str, environment: Mapping[bytes, bytes]) -> None:
    """With MAPLE=verbose, say why the submission is left as it is."""
    if b"verbose" in environment.get(b"MAPLE", b"").split(b","):
        os.write(2, b"maple: submitted as written: %s\n" % why.encode())


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


def _late(request: Request, who: str) -> bytes:
    """Return the audit line of a submission for which *who* came too late."""
    from .answer.audit_line import AuditLine, audit_line, host, now

    submission, record = request.submission, request.nonce[:8].hex()
    told = AuditLine(now(), host(), submission.uid, record, request.hash.hex(), "late", "", (), "", "", submission.came)
    return audit_line(told._replace(late=(who,)))


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
        end(child)
    reply = unpack_reply(frame) if frame else None
    good = reply is not None and reply.nonce == request.nonce and reply.hash == request.hash
    return reply if good else None


def _decide(request: Request, conf: Mapping[str, str], into: int) -> int:
    try:
        from .answer import reply as answer
        from .host import configuration

        into = let_go(into)

        gids = {os.getegid(), *os.getgroups()}
        send(into, pack_reply(answer.answer(request, configuration.site(conf), configuration.policy(conf), gids)))
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
    files: Files,
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
    if words.came != "file":
        return None
    script, name = made.script, source.path.rpartition(b"/")[2]
    path = files.in_time(lambda: place(script, name, environment))
    if not path:
        return None
    new[now.word] = path
    return new


# The private copy of a changed script, where there is no C front; `front/copy.c` has the same folders and sweeps.


def place(script: bytes, name: bytes, environment: Mapping[bytes, bytes]) -> Optional[bytes]:
    """Write the script under its base name in a folder named by its hash; return the path, None where unsafe."""
    import hashlib

    own = _folder(environment) if name not in (b"", b".", b"..") else None
    if own is None:
        return None
    submit = os.path.join(own, b"submit")
    folder = os.path.join(submit, hashlib.sha256(script).hexdigest()[:32].encode())
    if not own_folders.private(submit) or not own_folders.private(folder):
        return None
    path, passing = os.path.join(folder, name), os.path.join(folder, b".new.%d" % os.getpid())
    fd = os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(fd, "wb") as file:
        file.write(script)
    os.rename(passing, path)
    os.utime(folder)
    return path


def _folder(environment: Mapping[bytes, bytes]) -> Optional[bytes]:
    """Return the first folder of the user's own below which nobody else can change anything, as copy.c finds it."""
    uid = b"%d" % os.geteuid()
    wanted = own_folders.on_submit(own_folders.CACHE, environment)
    places: Tuple[Tuple[Callable[[], Optional[bytes]], bytes], ...] = (
        (lambda: own_folders.made_base(own_folders.CACHE, wanted), b"maple"),
        (lambda: b"/run/user/" + uid, b"maple"),
        (lambda: b"/tmp", b"maple-" + uid),
        (lambda: b"/tmp", b"maple-%s.%s" % (uid, os.urandom(8).hex().encode())),
    )
    for base, name in places:
        try:
            found = base()
            folder = os.path.realpath(found) if found else b""
            if folder and own_folders.guarded(folder) and own_folders.private(os.path.join(folder, name)):
                return os.path.join(folder, name)
        except OSError:
            continue
    return None
