"""`maple new` asked as a user asks it: a process of its own, with --json or at a terminal with answers to questions."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from tests import ready
from tests.new567.asked import Asked
from tests.new567.running import ROOT

MAPLE = os.path.join(ROOT, ".venv", "bin", "maple")
LIMIT = 90.0  # seconds for one request, on a machine that is busy
SILENT = 0.4  # seconds without a byte behind a question
AT_ONCE = 3
# what a question is about -> words that a question about it cannot do without, the narrower first
QUESTIONS = {
    "filesystems": r"file ?systems?",
    "walltime": r"wall ?time|how long|time limit|\bhh:mm",
    "paradigm": r"paradigm|sharded|fsdp|zero",
    "account": r"account|project|allocation|charge",
    "partition": r"partition|queue",
    "queue": r"queue",
    "qos": r"\bqos\b",
    "gpus_per_node": r"gpus per node",
    "gpu": r"kind of (node|gpu)|which gpu|gpu (type|kind)|type of gpu|\bgpu\b",
    "nodes": r"nodes?\b",
    "program": r"program|command",
}


class Made(NamedTuple):
    """What `maple new` answered. *document*: its JSON, {} at a terminal. *seconds*: the whole life of the process."""

    exit: int
    script: bytes | None
    document: Mapping[str, Any]
    said: str
    seconds: float
    asked: tuple[str, ...] = ()  # what it asked for at the terminal


def started(words: Sequence[str], folder: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    """Run `maple` as a shell does."""
    return subprocess.run([MAPLE, *words], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=LIMIT, check=False)  # fmt: skip


def forked(words: Sequence[str], folder: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    """Run `maple` out of a process that has its imports: the same answer, in a third of the time."""
    return ready.ran("maple", words, cwd=folder, environment=env, timeout=LIMIT)


Start = Callable[[Sequence[str], str, Mapping[str, str]], "subprocess.CompletedProcess[bytes]"]


def answer_all(asked: Sequence[Asked], cache: str, start: Start = started) -> list[Made]:
    """Return what each request got, in order. *cache*: the user's cache folder, the same for all."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda one: answer(one, cache, start), asked))


def answer(one: Asked, cache: str, start: Start = started) -> Made:
    """Return what one request got; *start* runs `maple` where there is no terminal."""
    with tempfile.TemporaryDirectory(prefix="maple-new-") as folder:
        words = [MAPLE, "new", *one.words]
        if one.script is not None:
            with open(os.path.join(folder, "theirs.sh"), "wb") as file:
                file.write(one.script)
            words += ["--from", "theirs.sh"]
        env = _environment(folder, cache)
        if one.way == "asked":
            return _at_terminal([*words, "-o", "job.sh"], folder, env, one.answers)
        return _by_json([*words[1:], "--json"], folder, env, start)


def command(one: Asked) -> str:
    """Return a line for a shell that asks the same; the script of --from is called theirs.sh."""
    import shlex

    return shlex.join(["maple", "new", *one.words, *(["--from", "theirs.sh"] if one.script else []), "--json"])


def _environment(folder: str, cache: str) -> dict[str, str]:
    left = ("SLURM", "SBATCH", "PBS", "MAPLE", "XDG", "TACC", "NERSC")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left)}
    return {**kept, "XDG_STATE_HOME": os.path.join(folder, "state"), "XDG_CACHE_HOME": cache, "TERM": "dumb",
            "COLUMNS": "200"}  # fmt: skip


def _by_json(words: Sequence[str], folder: str, env: Mapping[str, str], start: Start) -> Made:
    began = time.monotonic()
    try:
        done = start(words, folder, env)
    except subprocess.TimeoutExpired:
        return Made(-1, None, {}, f"no answer within {LIMIT:g} s", LIMIT)
    took = time.monotonic() - began
    said = done.stderr.decode(errors="replace")
    try:
        document = json.loads(done.stdout)
    except ValueError:
        return Made(done.returncode, None, {}, said or done.stdout.decode(errors="replace"), took)
    script = document.get("script")
    return Made(done.returncode, script.encode() if isinstance(script, str) else None, document, said, took)


def _at_terminal(words: Sequence[str], folder: str, env: Mapping[str, str], answers: Mapping[str, str]) -> Made:
    """Type the answer to each question, once the program has fallen silent behind it."""
    began = time.monotonic()
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execve(words[0], list(words), dict(env))
    told: list[str] = []
    text = unread = ""
    quiet = time.monotonic()
    code: int | None = None
    try:
        while time.monotonic() - began < LIMIT:
            ready, _, _ = select.select([terminal], [], [], 0.1)
            piece = _read(terminal) if ready else None
            if piece == b"":
                break
            if piece:
                text += piece.decode(errors="replace")
                unread += piece.decode(errors="replace")
                quiet = time.monotonic()
            elif unread.rstrip(" ").endswith((":", "?", "]", ">")) and time.monotonic() - quiet > SILENT:
                slot = _about(unread, answers)
                told.append(slot or "?")
                os.write(terminal, (answers.get(slot, "") + "\n").encode())
                unread = ""
                if len(told) > 12:
                    break
    finally:
        code = _ended(pid)
        os.close(terminal)
    path = os.path.join(folder, "job.sh")
    script = None
    if os.path.exists(path):
        with open(path, "rb") as file:
            script = file.read()
    return Made(code, script, {}, text, time.monotonic() - began, tuple(told))


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other side is closed
        return b""


def _about(text: str, answers: Mapping[str, str]) -> str:
    """Return the slot that the last question is about: the one whose word stands nearest to its end."""
    question = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text).rstrip().lower()
    for lines in (1, 2, 4, 40):
        near = "\n".join(question.splitlines()[-lines:])
        found = [(match.start(), slot) for slot, pattern in QUESTIONS.items() if slot in answers
                 for match in re.finditer(pattern, near)]  # fmt: skip
        if found:
            return min(found)[1]
    return ""


def _ended(pid: int) -> int:
    """Return the exit code; a program that still waits is ended."""
    for _ in range(50):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return -1
