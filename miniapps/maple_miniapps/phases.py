"""The life of a mini-app: phases with a time limit each, and a report however it ends.

The report is saved when a phase begins, so a rank that is killed has said how far it came. A second thread keeps the
limits and hears SIGTERM while the first one waits inside a library, where Python's own signal handlers never run.
"""

import contextlib
import copy
import json
import os
import re
import select
import signal
import socket
import sys
import threading
import time
from typing import Any, Callable, Dict, Iterator, Optional

from maple_miniapps import machine, ranks

SCHEMA = 1
LOADING = ("import", "model")  # phases that load libraries: minutes, on a cold parallel file system
_STOPS = (signal.SIGTERM, signal.SIGINT)


class CheckFailed(Exception):
    """Something came out otherwise than arithmetic says."""


class Run:
    """One rank's run: its `place`, its `facts` so far, and the seconds it may wait for others (`timeout`)."""

    def __init__(self, miniapp: str) -> None:
        env = os.environ
        self.timeout = seconds(env.get("MAPLE_MINIAPP_TIMEOUT"), 60.0)
        self._loading = seconds(env.get("MAPLE_MINIAPP_IMPORT_TIMEOUT"), 300.0)
        self.env_only = env.get("MAPLE_MINIAPP_ENV_ONLY") == "1"
        self.place = ranks.place(env, self.env_only, _nodefile(env.get("PBS_NODEFILE", "")))
        self._began = time.time()
        self._ending = threading.Lock()
        self._over = False
        self.facts: Dict[str, Any] = {
            "schema": SCHEMA,
            "miniapp": miniapp,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "started_at": round(self._began, 3),
            "executable": sys.executable,
            **{name: value for name, value in self.place._asdict().items() if name not in ("origin", "problems")},
            "from": self.place.origin,
            "given": ranks.given(env),
            "machine": machine.facts(env),
            "versions": machine.versions(),
            "seconds": {},
            "phase": "started",
            "ok": None,
            "error": None,
        }
        self._path = path_of(env.get("MAPLE_MINIAPP_OUT", ""), self.facts)
        self._watch = _Watch(self._overdue, self._stopped)
        self.save()

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Name what happens within, time it, and end the process with a report where it takes too long."""
        self.facts["phase"] = name
        self.save()
        self._watch.allow(self._limit(name) + 1)
        began = time.perf_counter()
        yield
        self.facts["seconds"][name] = round(time.perf_counter() - began, 4)

    def save(self) -> None:
        """Put what is known into the file."""
        save(self._path, self.facts)

    def end(self, error: Optional[Dict[str, str]]) -> None:
        """Report for the last time, well if there is no *error*; only the first call counts, and others wait for it."""
        with self._ending:
            if self._over:
                return
            self._over = True
            self.facts = _copy(self.facts)
            self.facts["seconds"]["total"] = round(time.time() - self._began, 4)
            self.facts.update(ok=error is None, error=error)
            if error is None:
                self.facts["phase"] = "done"
            self.save()
            say(self.facts)

    def _limit(self, phase: str) -> float:
        return self._loading if phase in LOADING else self.timeout

    def _overdue(self) -> None:
        phase = self.facts["phase"]
        self._give_up("TimedOut", "%s was not over after %g s" % (phase, self._limit(phase)), 1)

    def _stopped(self, number: int) -> None:
        says = "stopped by signal %d during %s" % (number, self.facts["phase"])
        self._give_up("Stopped", says, 128 + number)

    def _give_up(self, kind: str, says: str, code: int) -> None:
        self.end({"class": kind, "says": says})
        os._exit(0 if self.facts["ok"] else code)


def run(miniapp: str, body: Callable[[Run], None]) -> None:
    """Run *body*, report, and end the process: exit 0 if all went well, else 1. Words on the command line are ignored.

    The report comes before libraries tidy up, because some of them abort then.
    """
    this = Run(miniapp)
    try:
        body(this)
        this.end(None)
    except BaseException as error:
        this.end(error_facts(error))
    _tidy(this)
    os._exit(0 if this.facts["ok"] else 1)


def seconds(text: Any, default: float) -> float:
    """Return a positive number of seconds, at most a day, or *default* where *text* is none."""
    try:
        value = float(text)
    except (TypeError, ValueError):
        return default
    return min(value, 86400.0) if value > 0 else default


def _copy(facts: Dict[str, Any]) -> Dict[str, Any]:
    """The other thread may be adding to the facts this moment; a copy is whole or is made again."""
    while True:
        with contextlib.suppress(RuntimeError):  # dictionary changed size during iteration
            return copy.deepcopy(facts)


def _tidy(this: Run) -> None:
    """Leave the process group in order where all went well; else others may be gone, and it would wait for them."""
    distributed = sys.modules.get("torch.distributed")
    if this.facts["ok"] and distributed is not None and distributed.is_initialized():
        this._watch.allow(this.timeout)
        with contextlib.suppress(Exception):
            distributed.destroy_process_group()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def _nodefile(path: str) -> str:
    try:
        with open(path) as file:
            return file.read(4096)
    except (OSError, UnicodeDecodeError):
        return ""


class _Watch:
    """A thread that calls *overdue* after the time allowed, and *stopped* on a signal."""

    def __init__(self, overdue: Callable[[], None], stopped: Callable[[int], None]) -> None:
        self._overdue, self._stopped = overdue, stopped
        self._deadline = time.monotonic() + 3600
        heard, wake = os.pipe()
        os.set_blocking(wake, False)
        for number in _STOPS:
            signal.signal(number, lambda *_: None)  # the byte below is what is listened to
        signal.set_wakeup_fd(wake)
        self._heard = heard
        threading.Thread(target=self._listen, daemon=True).start()

    def allow(self, limit: float) -> None:
        """Let *limit* seconds pass from now."""
        self._deadline = time.monotonic() + limit

    def _listen(self) -> None:
        while True:
            left = self._deadline - time.monotonic()
            if left <= 0:
                self._overdue()
            ready, _, _ = select.select([self._heard], [], [], max(0.0, min(left, 0.2)))
            numbers = os.read(self._heard, 64) if ready else b""
            for number in numbers:
                if number in _STOPS:
                    self._stopped(number)


PREFIX = "MAPLE-FACTS "
WHOLE = 4096  # PIPE_BUF on Linux: ranks that share a pipe do not cut into a line up to this size, newline included
FIRST_TO_GO = ("given", "versions", "machine", "collectives", "links")


def path_of(folder: str, facts: Dict[str, Any]) -> Optional[str]:
    """Return a path in *folder* that no other process has, or None without a folder.

    Two processes may carry one rank, and two containers one host name and one pid: hence the random end.
    """
    if not folder:
        return None
    host = re.sub(r"[^A-Za-z0-9._-]", "_", socket.gethostname())[:64]
    rank = "none" if facts["rank"] is None else facts["rank"]
    name = "%s-rank%s-%s-%d-%s.json" % (facts["miniapp"], rank, host, os.getpid(), os.urandom(3).hex())
    return os.path.join(folder, name)


def save(path: Optional[str], facts: Dict[str, Any]) -> None:
    """Put the facts into the file, whole or not at all; what goes wrong stands in the facts as `file_error`."""
    if path is None:
        return
    new = os.path.join(os.path.dirname(path), "." + os.path.basename(path) + ".new")
    try:
        with open(new, "w") as file:
            json.dump(facts, file, sort_keys=True)
        os.rename(new, path)
    except OSError as error:
        facts["file_error"] = _one_line(error)


def line(facts: Dict[str, Any]) -> bytes:
    """Return the facts as one line of at most `WHOLE` bytes; what was left out to fit is named in `left_out`."""
    kept = dict(facts)
    for name in ("",) + FIRST_TO_GO:
        if name and name in kept:
            del kept[name]
            kept["left_out"] = kept.get("left_out", []) + [name]
        text = (PREFIX + json.dumps(kept, sort_keys=True, separators=(",", ":")) + "\n").encode("ascii")
        if len(text) <= WHOLE:
            break
    return text


def say(facts: Dict[str, Any]) -> None:
    """Write the line with one call, past Python's own buffer; a closed output harms nothing."""
    with contextlib.suppress(OSError):
        os.write(1, line(facts))


def error_facts(error: BaseException) -> Dict[str, str]:
    """Return an error as a class and one line of at most 300 characters."""
    return {"class": type(error).__name__, "says": _one_line(error)}


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
