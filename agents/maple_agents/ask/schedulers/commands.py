"""Runs a scheduler's command: an argument vector, a time limit, bounded output, the C locale.

A time limit for calls that cannot be interrupted, such as those of libpbs.

The calls are made by a thread of their own, one after the other. One that is late is given up: its thread is left to
itself, and ends when the call does.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import IO, Any, ClassVar, Generic, NamedTuple, TypedDict, TypeVar

from .protocol import SchedulerError

Answer = TypeVar("Answer")
_GIVEN_UP_AT_MOST = 4  # threads that hang in the library; a fifth would hang as well

LIMIT = 64 * 1024 * 1024  # bytes of stdout and of stderr; 50,000 jobs of `qstat -f` are about that
_LINGER = 1.0  # seconds for what is left in the pipes when the command has ended: a child of it may hold them open


class Output(NamedTuple):
    """What a command said. Bytes that are no UTF-8 are lone surrogates."""

    code: int  # negative: minus the signal that ended it
    out: str
    err: str


def quiet_environment(environ: Mapping[str, str], **more: str) -> dict[str, str]:
    """Return *environ* without what would change the form of an answer."""
    shaping = ("SQUEUE_", "SACCT_", "SINFO_", "SCONTROL_", "SLURM_CLUSTERS", "SLURM_TIME_FORMAT", "LC_", "LANGUAGE")
    kept = {name: value for name, value in environ.items() if not name.startswith(shaping)}
    return {**kept, "LC_ALL": "C", **more}


class How(TypedDict, total=False):
    """How commands are called, beside their folder: as `Commands` has it."""

    submit: str
    environ: Mapping[str, str] | None
    timeout: float
    submit_timeout: float


class Commands:
    """Calls a scheduler's commands.

    *folder*: where they lie, None: in PATH. *submit*: the one that submits, "": that of the class. *environ*: what they
    run in, None: our own. *timeout*, *submit_timeout*: seconds.
    """

    submits: ClassVar[str]
    quiet: ClassVar[Mapping[str, str]]  # variables that shape an answer as we read it

    def __init__(
        self,
        folder: str | None = None,
        *,
        submit: str = "",
        environ: Mapping[str, str] | None = None,
        timeout: float = 30.0,
        submit_timeout: float = 60.0,
    ) -> None:
        self._folder = folder
        self._submit = submit or self._command(self.submits)
        self._environ = environ
        self._timeout = timeout
        self._submit_timeout = submit_timeout

    def _run(self, command: str, words: Sequence[str], stdin: bytes = b"") -> Output:
        return run([self._command(command), *words], timeout=self._timeout, env=self._quiet(), stdin=stdin)

    def _command(self, name: str) -> str:
        return os.path.join(self._folder, name) if self._folder else name

    def _base(self) -> Mapping[str, str]:
        return os.environ if self._environ is None else self._environ

    def _quiet(self) -> dict[str, str]:
        return quiet_environment(self._base(), **self.quiet)


def run(
    argv: Sequence[str],
    *,
    timeout: float,
    env: Mapping[str, str],
    cwd: str | None = None,
    stdin: bytes = b"",
    limit: int = LIMIT,
) -> Output:
    """Run *argv* and return what it said, whatever its exit code.

    *stdin* must fit a pipe (64 KiB). Raises `SchedulerError` when the command is not there, is not done after *timeout*
    seconds, or says more than *limit* bytes; its process group is ended then.
    """
    try:
        child = subprocess.Popen(
            list(argv),
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SchedulerError(argv[0], "cannot be run: %s" % why, "is the scheduler's client installed here?") from None
    with child:
        try:
            _give(child.stdin, stdin)
            out, err = _collect(child, time.monotonic() + timeout, limit, argv[0], timeout)
            return Output(child.returncode, _text(out), _text(err))
        except BaseException:
            _end(child)  # before `with` waits for it
            raise


def _give(pipe: IO[bytes] | None, stdin: bytes) -> None:
    if pipe is not None:
        with contextlib.suppress(BrokenPipeError):
            pipe.write(stdin)
        with contextlib.suppress(BrokenPipeError):
            pipe.close()


def _collect(
    child: subprocess.Popen[bytes], deadline: float, limit: int, command: str, timeout: float
) -> tuple[bytes, bytes]:
    """Read both pipes until the command has ended. Raises `SchedulerError` when it is late or says too much."""
    assert child.stdout is not None and child.stderr is not None
    output = {child.stdout: bytearray(), child.stderr: bytearray()}
    until = deadline
    with selectors.DefaultSelector() as selector:
        for pipe in output:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(min(0.05, max(0.0, until - time.monotonic())))
            for key, _ in ready:
                pipe = child.stdout if key.fileobj is child.stdout else child.stderr
                block = os.read(key.fd, 65536)
                output[pipe] += block
                if not block:
                    selector.unregister(pipe)
                if len(output[pipe]) > limit:
                    raise SchedulerError(command, "said more than %d bytes" % limit, "ask for fewer jobs at once")
            if child.poll() is not None and until == deadline:
                until = min(deadline, time.monotonic() + _LINGER)
            if not ready and time.monotonic() >= until:
                break
    try:
        child.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise SchedulerError(
            command, "no answer after %g s" % timeout, "try again later; the server may be busy", transient=True
        ) from None
    return bytes(output[child.stdout]), bytes(output[child.stderr])


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the command and what it started; it has a process group of its own."""
    if child.poll() is None:
        with contextlib.suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


class Worker:
    """Makes calls in one thread, each within a time limit. After a fork the child gets a thread of its own."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._current: _Thread | None = None
        self._given_up: list[_Thread] = []

    def call(self, function: Callable[[], Answer], seconds: float) -> Answer:
        """Return what *function* returns, or raise what it raises.

        Raises `SchedulerError` after *seconds*, waiting for earlier calls included, and at once while too many calls
        hang.
        """
        deadline = time.monotonic() + seconds
        if self._process != os.getpid():  # the lock and the thread stayed with the parent
            self._begin()
        with self._lock:
            thread = self._alive()
            call: _Call[Answer] = _Call(function)
            thread.calls.put(call)
        try:
            return call.future.result(max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            if not call.future.cancel() and call.future.done():  # one that is still in the queue is never made
                return call.future.result()  # just in time, or a TimeoutError of its own
            with self._lock:
                self._give_up(thread)
            raise self._late("no answer after %g s" % seconds) from None

    def _alive(self) -> _Thread:
        self._given_up = [thread for thread in self._given_up if thread.thread.is_alive()]
        if len(self._given_up) >= _GIVEN_UP_AT_MOST:
            raise self._late("%d earlier questions are still unanswered" % len(self._given_up))
        if self._current is None:
            self._current = _Thread(self.what)
        return self._current

    def _give_up(self, thread: _Thread) -> None:
        thread.calls.put(None)
        if self._current is thread:
            self._current = None
            self._given_up.append(thread)

    def _late(self, text: str) -> SchedulerError:
        return SchedulerError(self.what, text, "try again later; the server may be busy", transient=True)


class _Call(Generic[Answer]):
    """One call, and what will come of it."""

    def __init__(self, function: Callable[[], Answer]) -> None:
        self.function = function
        self.future: Future[Answer] = Future()

    def make(self) -> None:
        if self.future.set_running_or_notify_cancel():
            try:
                self.future.set_result(self.function())
            except BaseException as error:
                self.future.set_exception(error)


class _Thread:
    """A thread that makes calls until it finds None; it never keeps the interpreter from ending."""

    def __init__(self, what: str) -> None:
        self.calls: SimpleQueue[_Call[Any] | None] = SimpleQueue()
        self.thread = threading.Thread(target=self._work, name=what, daemon=True)
        self.thread.start()

    def _work(self) -> None:
        while (call := self.calls.get()) is not None:
            call.make()
            del call  # while waiting for the next nothing of this one is held
