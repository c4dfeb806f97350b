"""A front installed in a folder of its own, before a double of sbatch or qsub; makes a call bare and with Maple."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import termios
import time
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FRONT = os.environ.get("MAPLE_TEST_FRONT", os.path.join(ROOT, "submit_filter", "front"))  # of another build: tests/bugs
LIB = os.path.join(ROOT, "submit_filter")
PYTHON = os.path.realpath("/usr/bin/python3")

ASKED = b"#!/bin/bash\n#SBATCH -N 2\nsrun python train.py\n"
PLAIN = b"#!/bin/bash\n#SBATCH -N 2\n./simulate input.dat\n"
ASKED_OF_QSUB = b"#!/bin/bash\n#PBS -l select=2:ncpus=4\nmpiexec -n 8 python train.py\n"
PLAIN_FOR_QSUB = b"#!/bin/bash\n#PBS -l select=2:ncpus=4\n./simulate input.dat\n"
ACCEPTED = {"sbatch": b"Submitted batch job 7\n", "qsub": b"7.pbs01\n"}


class Seen(NamedTuple):
    """What the real command saw, and what its caller saw."""

    record: bytes
    stdout: bytes
    stderr: bytes
    exit: int

    def pieces(self) -> Iterator[tuple[bytes, bytes]]:
        """The record's values of any bytes, by the word before them, and with b"" what stands on lines between them."""
        head, at = re.compile(rb"^(argv|env|environ|script|wrap|executable) (\d+):", re.MULTILINE), 0
        while (match := head.search(self.record, at)) is not None:
            yield b"", self.record[at : match.start()]
            at = match.end() + int(match.group(2))
            yield match.group(1), self.record[match.end() : at]
        yield b"", self.record[at:]

    def values(self, name: bytes) -> list[bytes]:
        """The values written under *name* ("argv", "env", "script", "wrap" ...)."""
        return [value for word, value in self.pieces() if word == name]

    @property
    def script(self) -> bytes:
        """The script that would be submitted."""
        return (self.values(b"script") or self.values(b"wrap") or [b"<none>"])[0]

    def lines(self, word: bytes) -> list[bytes]:
        """What stands behind *word* on the lines that begin with it ("set", "name", "background" ...)."""
        between = b"".join(value for name, value in self.pieces() if not name)
        return re.findall(rb"^%s ?(.*)$" % word, between, re.MULTILINE)


def build(sanitized: bool = False) -> str:
    """Return the path of a built front."""
    target = "sanitized" if sanitized else "all"
    subprocess.run(["make", "-s", "-C", FRONT, target], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return os.path.join(FRONT, "build", "front-sanitized" if sanitized else "front")


def compiled(command: str, folder: str) -> str:
    """Compile the double of *command*, sbatch or qsub, into *folder*, and return its path."""
    parts = [os.path.join(HERE, "recorder.c")]
    if command == "qsub":
        parts = sorted(os.path.join(HERE, "qsub", name) for name in os.listdir(HERE + "/qsub") if name.endswith(".c"))
    path = os.path.join(folder, "double-of-" + command)
    subprocess.run(["cc", "-O1", "-static", "-o", path, *parts], check=True)
    return path


def on_terminal(
    path: str,
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: str,
    keys: bytes = b"",
    after: bytes = b"",
    pause: float = 0,
) -> tuple[bytes, int]:
    """Run a program on a terminal of its own, type *keys* once *after* is seen; return what was shown and the exit.

    *pause*: seconds between seeing and typing.

    What is typed is not echoed. The exit is as `Popen.returncode` has it.
    """
    pid, terminal = pty.fork()
    if pid == 0:
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # ignored by this Python since its start
            signal.signal(number, signal.SIG_DFL)
        os.chdir(cwd)
        os.execve(path, list(argv), dict(env))
    modes = termios.tcgetattr(terminal)
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, modes)
    shown, typed = b"", False
    while True:
        if not typed and after in shown:
            time.sleep(pause)
            os.write(terminal, keys)
            typed = True
        if not select.select([terminal], [], [], 30)[0]:
            os.kill(pid, signal.SIGKILL)
            break
        try:
            part = os.read(terminal, 4096)
        except OSError:  # nobody has the terminal open any more
            break
        if not part:
            break
        shown += part
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(terminal)
    return shown.replace(b"\r\n", b"\n"), status


class Stand:
    """A prefix with the front in `bin`, the double of a command in `real`, a home and a working directory."""

    def __init__(self, folder: str, front: str, double: str, command: str = "sbatch") -> None:
        self.folder, self.command, self.accepted = folder, command, ACCEPTED[command]
        self.front = os.path.join(folder, "prefix", "bin", command)
        self.conf = os.path.join(folder, "prefix", "etc", "front.conf")
        self.real = os.path.join(folder, "real", command)
        self.home, self.work = os.path.join(folder, "home"), os.path.join(folder, "work")
        self.helpers = os.path.join(folder, "helpers")
        self.cache, self.state = os.path.join(self.home, ".cache"), os.path.join(self.home, ".local", "state")
        for path in (
            self.front,
            self.conf,
            self.real,
            self.cache + "/x",
            self.state + "/x",
            self.work + "/x",
            self.helpers + "/x",
        ):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        self._copy(front, self.front)
        self._copy(double, self.real)
        self.write(os.path.join(self.helpers, "lib"), LIB.encode())
        self.helper("keeps")

    @staticmethod
    def _copy(source: str, target: str) -> None:
        with open(source, "rb") as one, open(target, "wb") as other:
            other.write(one.read())
        os.chmod(target, 0o755)

    def write(self, path: str, content: bytes) -> str:
        """Write a file, below the working directory if the path is not absolute."""
        whole = os.path.join(self.work, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "wb") as file:
            file.write(content)
        return whole

    def configure(self, **keys: object) -> None:
        """Write front.conf; what is not said is what a sound installation would have."""
        sound = {"real_" + self.command: self.real, "python": PYTHON, "helper_ms": 20000, "files_ms": 20000}
        lines = ["%s=%s\n" % pair for pair in {**sound, **keys}.items()]
        self.write(self.conf, "".join(lines).encode())
        os.chmod(self.conf, 0o644)

    def helper(self, kind: str, **keys: object) -> None:
        """Let a double of the helper answer, of the kind named."""
        path = os.path.join(self.helpers, kind + ".py")
        if not os.path.exists(path):
            self._copy(os.path.join(HERE, "answerer.py"), path)
        self.configure(helper=path, **keys)

    def setup(self, **lines: object) -> None:
        """Say what the server is like that the double of qsub speaks for (qsub/README.md has the names)."""
        text = "".join("%s=%s\n" % (name, str(value).replace("\n", "\\n")) for name, value in lines.items())
        self.write(os.path.join(self.folder, "server"), text.encode())

    def environment(self, **more: Optional[str]) -> dict[str, str]:
        """The environment of a call; None takes a variable away."""
        base: dict[str, Optional[str]] = {
            "PATH": "%s:/usr/bin:/bin" % os.path.dirname(self.front),
            "HOME": self.home,
            "XDG_CACHE_HOME": self.cache,  # both named: root has no home
            "XDG_STATE_HOME": self.state,
            "RECORD": os.path.join(self.folder, "record"),
            "BASH_FUNC_module%%": '() {  eval $(modulecmd bash "$@")\n}',
            "EMPTY": "",
            "QSUB_SETUP": os.path.join(self.folder, "server") if self.command == "qsub" else None,
            "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:exitcode=99",
            **more,
        }
        return {name: value for name, value in base.items() if value is not None}

    def run(self, maple: bool, words: Sequence[Any], *, stdin: Optional[bytes] = None, **how: Any) -> Seen:
        """Make one call. *how* goes to Popen; `environment` holds changes to the environment."""
        environment: Mapping[str, Optional[str]] = how.pop("environment", {})
        env = self.environment(**environment)
        record = os.path.join(self.folder, "record")
        if os.path.exists(record):
            os.unlink(record)
        how["stdin"] = how.pop("stdin_file", subprocess.PIPE if stdin is not None else subprocess.DEVNULL)
        how.setdefault("stdout", subprocess.PIPE)
        how.setdefault("stderr", subprocess.PIPE)
        how.setdefault("cwd", self.work)
        path = self.front if maple else self.real
        process = subprocess.Popen([self.command, *words], executable=path, env=env, **how)
        try:
            out, err = process.communicate(stdin, timeout=60)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            raise
        return Seen(self.record, out or b"", err or b"", process.returncode)

    @property
    def record(self) -> bytes:
        """What the double wrote down last, b"" if it was not started."""
        try:
            with open(os.path.join(self.folder, "record"), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return b""

    def both(self, words: Sequence[Any], **how: Any) -> tuple[Seen, Seen]:
        """Make the call bare, then with Maple."""
        return self.run(False, words, **how), self.run(True, words, **how)
