"""A real PostgreSQL server on a unix socket in a folder of its own; ended by its process id."""

from __future__ import annotations

import glob
import os
import shutil
import signal
import subprocess
import tempfile
import time
from typing import Optional

NOBODY = "postgres"  # the server refuses to run as root


class NoServer(Exception):
    """PostgreSQL is not installed here, or does not start."""


class Server:
    """One server. *url*: where a fresh schema answers; *guarded*: a user `guarded` wants the password `secret`."""

    def __init__(self) -> None:
        self.programs = _programs()
        self.folder = tempfile.mkdtemp(prefix="maple-pg-", dir="/tmp")  # the path of a socket has to be short
        self.data = self.folder + "/data"
        self._user: Optional[str] = NOBODY if os.getuid() == 0 else None
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        os.chmod(self.folder, 0o755)
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._schemas = 0

    def start(self) -> "Server":
        """Make the data folder if it is not there, and start."""
        if not os.path.isdir(self.data):
            self._run("initdb", "-D", self.data, "-U", "maple", "-A", "trust", "-N", "--no-locale", "-E", "UTF8")
            self._guard()
        words = ["postgres", "-D", self.data, "-k", self.folder, "-c", "listen_addresses=", "-c", "fsync=off"]
        words += ["-c", "shared_buffers=16MB", "-c", "max_connections=40"]
        log = os.path.join(self.folder, "log")
        with open(log, "ab") as file:
            self._process = subprocess.Popen(
                [self.programs + "/" + words[0], *words[1:]], stdout=file, stderr=file, cwd=self.folder, **self._as()
            )
        for _ in range(600):
            if self._process.poll() is not None:
                break
            if self._ready():
                return self
            time.sleep(0.1)
        with open(log, encoding="utf-8") as file:
            raise NoServer("PostgreSQL does not start: " + file.read()[-500:])

    def stop(self, number: int = signal.SIGINT) -> None:
        """End it and all that are connected."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(60)
            self._process = None

    def remove(self) -> None:
        """End it, and leave nothing."""
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder)

    def url(self, user: str = "maple", **more: str) -> str:
        """The address of the database itself."""
        words = "&".join("%s=%s" % one for one in {"host": self.folder, **more}.items())
        return "postgresql://%s@/postgres?%s" % (user, words)

    def fresh(self) -> str:
        """The address of a schema where nothing is yet."""
        self._schemas += 1
        name = "t%d" % self._schemas
        self.sql("CREATE SCHEMA %s" % name)
        return self.url(options="-csearch_path%3D" + name)

    def sql(self, statement: str) -> str:
        """What psql answers."""
        return self._run("psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-U", "maple", "-c", statement,
                         "postgres")  # fmt: skip

    def _guard(self) -> None:
        """Let the user `guarded` in with a password alone."""
        name = self.data + "/pg_hba.conf"
        with open(name, encoding="utf-8") as file:
            rest = file.read()
        with open(name, "w", encoding="utf-8") as file:
            file.write("local all guarded scram-sha-256\n" + rest)

    def _ready(self) -> bool:
        try:
            return self.sql("SELECT 1").strip() == "1"
        except NoServer:
            return False

    def _run(self, program: str, *words: str) -> str:
        done = subprocess.run(
            [self.programs + "/" + program, *words], capture_output=True, text=True, cwd=self.folder, **self._as()
        )
        if done.returncode:
            raise NoServer("%s: %s" % (program, done.stderr))
        return done.stdout

    def _as(self) -> dict[str, object]:
        return {"user": self._user, "group": self._user, "extra_groups": []} if self._user else {}


def _programs() -> str:
    """The folder of the newest PostgreSQL that Debian or another system has installed."""
    found = glob.glob("/usr/lib/postgresql/*/bin") + glob.glob("/usr/pgsql-*/bin")
    on_path = shutil.which("postgres")
    found += [os.path.dirname(os.path.realpath(on_path))] if on_path else []
    usable = [folder for folder in found if os.path.exists(folder + "/initdb")]
    if not usable:
        raise NoServer("PostgreSQL is not installed here (Debian: postgresql)")
    return max(usable, key=lambda folder: [int(part) for part in "".join(
        letter if letter.isdigit() else " " for letter in folder).split()] or [0])  # fmt: skip
