"""A front installed in a folder of its own, before a double of sbatch; makes a call bare and with Maple."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from typing import Any, Mapping, NamedTuple, Optional, Sequence

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FRONT = os.path.join(ROOT, "submit_filter", "front")
LIB = os.path.join(ROOT, "submit_filter")
PYTHON = os.path.realpath("/usr/bin/python3")

ASKED = b"#!/bin/bash\n#SBATCH -N 2\nsrun python train.py\n"
PLAIN = b"#!/bin/bash\n#SBATCH -N 2\n./simulate input.dat\n"


class Seen(NamedTuple):
    """What the real command saw, and what its caller saw."""

    record: bytes
    stdout: bytes
    stderr: bytes
    exit: int

    def values(self, name: bytes) -> list[bytes]:
        """The values written under *name* ("argv", "env", "script", "wrap" ...)."""
        found, at = [], 0
        head = re.compile(rb"^(argv|env|environ|script|wrap) (\d+):", re.MULTILINE)
        while True:
            match = head.search(self.record, at)
            if match is None:
                return found
            at = match.end() + int(match.group(2))
            if match.group(1) == name:
                found.append(self.record[match.end() : at])

    @property
    def script(self) -> bytes:
        """The script that would be submitted."""
        return (self.values(b"script") or self.values(b"wrap") or [b"<none>"])[0]


def build(sanitized: bool = False) -> str:
    """Return the path of a built front."""
    target = "sanitized" if sanitized else "all"
    subprocess.run(["make", "-s", "-C", FRONT, target], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return os.path.join(FRONT, "build", "front-sanitized" if sanitized else "front")


class Stand:
    """A prefix with the front in `bin`, the double of sbatch in `real`, a home and a working directory."""

    def __init__(self, folder: str, front: str, recorder: str) -> None:
        self.folder = folder
        self.front = os.path.join(folder, "prefix", "bin", "sbatch")
        self.conf = os.path.join(folder, "prefix", "etc", "front.conf")
        self.real = os.path.join(folder, "real", "sbatch")
        self.home, self.work = os.path.join(folder, "home"), os.path.join(folder, "work")
        self.helpers = os.path.join(folder, "helpers")
        for path in (self.front, self.conf, self.real, self.home + "/x", self.work + "/x", self.helpers + "/x"):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        self._copy(front, self.front)
        self._copy(recorder, self.real)
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
        sound = {"real_sbatch": self.real, "python": PYTHON, "helper_ms": 20000}
        lines = ["%s=%s\n" % pair for pair in {**sound, **keys}.items()]
        self.write(self.conf, "".join(lines).encode())
        os.chmod(self.conf, 0o644)

    def helper(self, kind: str, **keys: object) -> None:
        """Let a double of the helper answer, of the kind named."""
        path = os.path.join(self.helpers, kind + ".py")
        if not os.path.exists(path):
            self._copy(os.path.join(HERE, "answerer.py"), path)
        self.configure(helper=path, **keys)

    def environment(self, **more: Optional[str]) -> dict[str, str]:
        """The environment of a call; None takes a variable away."""
        base: dict[str, Optional[str]] = {
            "PATH": "%s:/usr/bin:/bin" % os.path.dirname(self.front),
            "HOME": self.home,
            "RECORD": os.path.join(self.folder, "record"),
            "BASH_FUNC_module%%": '() {  eval $(modulecmd bash "$@")\n}',
            "EMPTY": "",
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
        process = subprocess.Popen(["sbatch", *words], executable=self.front if maple else self.real, env=env, **how)
        try:
            out, err = process.communicate(stdin, timeout=60)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            raise
        text = b""
        if os.path.exists(record):
            with open(record, "rb") as file:
                text = file.read()
        return Seen(text, out or b"", err or b"", process.returncode)

    def both(self, words: Sequence[Any], **how: Any) -> tuple[Seen, Seen]:
        """Make the call bare, then with Maple."""
        return self.run(False, words, **how), self.run(True, words, **how)
