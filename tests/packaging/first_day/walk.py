"""A first day: one cluster, with one user, who is its administrator too, and what they type."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

COMMANDS = os.path.dirname(sys.executable)


class Walk:
    """A day in *folder*. *conf* and *service*: what is in force, and who runs."""

    def __init__(self, folder: str) -> None:
        self.folder, self.prefix = folder, folder + "/opt/maple"
        self.home, self.work = folder + "/home", folder + "/work"
        for one in (self.home, self.home + "/state", self.work, folder + "/opt"):
            os.mkdir(one)
        self.service: subprocess.Popen[bytes] | None = None

    def login(self) -> dict[str, str]:
        """The environment of a shell on this cluster, without Maple."""
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        """A shell of this day: the front first, once it is there."""
        own = {"HOME": self.home, "XDG_CACHE_HOME": self.home + "/.cache", "XDG_STATE_HOME": self.home + "/state"}
        made = {**self.login(), **own, "XDG_RUNTIME_DIR": self.folder, "MAPLE_ETC": self.folder + "/etc"}
        made["PATH"] = ":".join((self.prefix + "/bin", made["PATH"]))
        return made

    def run(self, *words: str) -> tuple[int, str]:
        """Return the exit code of a command and what it prints, both streams."""
        program = [os.path.join(COMMANDS, words[0]) if words[0].startswith("maple") else words[0], *words[1:]]
        done = subprocess.run(program, env=self.environment(), cwd=self.work, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=180)  # fmt: skip
        assert "Traceback" not in done.stdout
        return done.returncode, done.stdout

    def types(self, *words: str, code: int = 0) -> str:
        """Return what a command prints that ends with *code*."""
        found, said = self.run(*words)
        assert found == code, said
        return said

    def admin(self, command: str, *words: str, code: int = 0) -> str:
        return self.types("maple", "admin", command, "--prefix", self.prefix, *words, code=code)

    def starts_service(self) -> None:
        """Start what the units would."""
        words = [os.path.join(COMMANDS, "maple-daemon"), "--config", self.prefix + "/daemon.toml"]
        log = open(self.folder + "/service.log", "ab")  # noqa: SIM115
        self.service = subprocess.Popen(words, env=self.environment(), stdout=log, stderr=log)
        until = time.monotonic() + 60
        while "listening" not in Path(log.name).read_text():
            assert time.monotonic() < until and self.service.poll() is None, Path(log.name).read_text()
            time.sleep(0.05)

    def installs(self, site: str, *more: str) -> str:
        """Install with service and hooks, everything below the day's folder, and start what the units would."""
        said = self.admin(
            "install", "--bin", self.prefix + "/bin", "--site", site, "--daemon", "--hooks", "--spool",
            self.folder + "/spool/events", "--service-uid", str(os.getuid()), "--socket", self.folder + "/sock",
            "--units", self.folder + "/units", *more,
        )  # fmt: skip
        settings, front = Path(self.prefix, "daemon.toml"), Path(self.prefix, "current/etc/front.conf")
        settings.write_text(re.sub(r"(?m)^store = .*$", f'store = "{self.folder}/memory.db"', settings.read_text()))
        front.write_text(front.read_text() + "helper_ms=20000\nsocket_ms=20000\n")  # a busy machine is no stumble
        return said

    def history_tells(self, name: str, word: str) -> None:
        """Wait until the history of a script, or of all of them, holds the word."""
        until = time.monotonic() + 60
        while word not in (
            found := self.run("maple", "history", *filter(None, [name]))[1]
        ):  # it may not be looked at yet
            assert time.monotonic() < until, found
            time.sleep(0.5)

    def ends(self) -> None:
        """End what was started."""
        if self.service is not None and self.service.poll() is None:
            self.service.send_signal(signal.SIGTERM)
            self.service.wait(60)
