"""Every place where text is stored, shown or sent, in one table, and every secret of another: none stands in any."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from maple_agents.cli.how_far.notify import letter
from maple_agents.progress import notices
from maple_agents.progress.answers import shown
from maple_agents.progress.values import Alarm, Course, Estimate, Progress, Run

from tests.agents.models.served import Server, saying, served
from tests.daemon.asking import ask, written
from tests.daemon.ending import Cluster, Job
from tests.daemon.serving import WRONG
from tests.daemon.test_told_failures import said
from tests.ready import ran
from tests.secrets import SECRETS, leaked

SAYS = json.dumps({"slots": [], "causes": [], "quotes": [], "says": ""})


def script(before: bytes = WRONG) -> bytes:
    """A job whose text holds every secret: as remarks, variables, words of a program."""
    lines = ["# %s" % one for one in SECRETS.values()]
    lines += ["export %s" % one for one in SECRETS.values() if one.split("=")[0].isupper()]
    lines += ["echo '%s' > login.json" % one for one in SECRETS.values() if one.startswith("{")]
    head, line, rest = before.partition(b"export MASTER")
    words = " ".join("--token %s" % one for one in SECRETS.values() if " " not in one and "{" not in one)
    return head + "\n".join(lines).encode() + b"\n" + line + rest.rstrip(b"\n") + b" " + words.encode() + b"\n"


LOG = "\n".join(
    ["[rank0]: ValueError: cannot log in with %s" % one for one in SECRETS.values()]
    + ["Traceback (most recent call last):", '  File "train.py", line 3, in <module>']
    + ["RuntimeError: login failed for %s" % one for one in SECRETS.values()]
    + ["torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB", ""]
)


class World:
    """A service that every secret has gone through, a folder with a job and its log, and a model that writes down."""

    def __init__(self, folder: Path, model: Server) -> None:
        self.folder, self.model = folder, model
        (folder / "home").mkdir()
        (folder / "spool").mkdir()
        self.cluster = Cluster(str(folder / "spool"))
        self.daemon = self.cluster.daemon
        (folder / "job.sh").write_bytes(script())
        (folder / "slurm-4711.out").write_text(LOG)
        (folder / "train.py").write_text("import torch\n" + "".join("# %s\n" % one for one in SECRETS.values()))
        self.jobs = list(self._submitted())
        written(self.daemon, len(self.jobs))
        self.cluster.end(self.jobs[0], "FAILED", 60)

    def _submitted(self) -> Iterator[Job]:
        """As a script; in the words, the name and the folder; as another version."""
        yield self.cluster.submit(script(), cwd=os.fsencode(self.folder))
        for secret in SECRETS.values():
            said = secret.encode()
            argv = (b"sbatch", b"--comment=" + said, b"-J", said, b"--export=ALL," + said, b"job.sh")
            variables = {b"SBATCH_COMMENT": said, b"MASTER_ADDR": said}
            yield self.cluster.submit(WRONG + b"# %d\n" % len(said), argv=argv, environment=variables)
            if b"\n" not in said:
                yield self.cluster.submit(WRONG, path=b"/data/" + said + b"/job.sh", cwd=b"/data/" + said)
        yield self.cluster.submit(script() + b"echo done\n")

    def maple(self, *words: str, model: str = "off") -> bytes:
        """What a command says, on both ways."""
        environment = {
            "PATH": "/usr/bin:/bin", "HOME": str(self.folder / "home"), "MAPLE_SOCKET": self.daemon.socket,
            "XDG_STATE_HOME": str(self.folder / "home/state"), "XDG_CACHE_HOME": str(self.folder / "home/cache"),
            "MAPLE_MODEL": model, "TERM": "dumb",
        }  # fmt: skip
        done = ran("maple", words, cwd=str(self.folder), environment=environment)
        return done.stdout + done.stderr

    def fix(self, *words: str) -> bytes:
        """What `maple fix` says of the job by its files."""
        files = ("--log", "slurm-4711.out", "--script", "job.sh", "--site", "ncsa-delta", "--state", "failed")
        return self.maple("fix", *files, *words)

    def said_to_the_model(self, *words: str) -> bytes:
        """What a command sent, and what it says."""
        del self.model.asked[:]
        said = self.maple(*words, "--model", self.model.url + "#tiny")
        assert self.model.asked, said
        return b"\n".join(one.raw for one in self.model.asked) + said


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One for all."""
    with served(saying(SAYS)) as model:
        made = World(tmp_path_factory.mktemp("world"), model)
        yield made
        if made.daemon.process is not None:
            made.daemon.stop(signal.SIGKILL)
        shutil.rmtree(made.daemon.folder)


def _store(world: World) -> bytes:
    """All that SQLite holds, what is packed unpacked."""
    store = sqlite3.connect(world.daemon.store)
    tables = [row[0] for row in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    cells = [cell for table in tables for row in store.execute("SELECT * FROM %s" % table) for cell in row]
    store.close()
    texts = [cell if isinstance(cell, bytes) else str(cell).encode("utf-8", "replace") for cell in cells]
    return b"\n".join(part for one in texts for part in (one, _unpacked(one)))


def _unpacked(cell: bytes) -> bytes:
    try:
        return zlib.decompress(cell)
    except zlib.error:
        return b""


def _files(world: World) -> bytes:
    """Whatever else lies in the service's folder: its log, the journal, SQLite's own log."""
    names = [os.path.join(at, name) for at, _, found in os.walk(world.daemon.folder) for name in found]
    return b"\n".join(Path(name).read_bytes() for name in names if os.path.isfile(name))


def _audit(world: World) -> bytes:
    replies = [job.reply for job in world.jobs if job.reply is not None]
    changes = [one for reply in replies for one in (reply.change, reply.offer) if one is not None]
    return b"\n".join([one.audit for one in (*replies, *changes)] + [reply.say for reply in replies])


def _left_at_home(world: World) -> bytes:
    """What commands keep of a user's: cases, records, states, tracebacks."""
    world.fix("--was", "gpu_oom")
    names = [path for path in (world.folder / "home").rglob("*") if path.is_file()]
    return b"\n".join(path.read_bytes() for path in names) + b"\n".join(os.fsencode(path) for path in names)


def _metrics(world: World) -> bytes:
    return json.dumps(world.daemon.counted("maple_")).encode()


def _questions(world: World) -> bytes:
    asked = ({"ask": "versions", "scripts": True, "limit": 50}, {"ask": "records", "limit": 500}, {"ask": "failures"})
    return b"".join(json.dumps(ask(world.daemon, one)).encode() for one in asked)


def _named(world: World) -> bytes:
    """A secret in place of a name: of a command, an option, a job, a file, a site."""
    words = [one for one in SECRETS.values() if "\n" not in one]
    calls = [("%s",), ("show", "%s"), ("history", "%s"), ("fix", "--%s"), ("check", "--site", "%s", "job.sh")]
    return b"".join(world.maple(*(word.replace("%s", words[n % len(words)]) for word in calls[n % len(calls)]))
                    for n in range(len(words)))  # fmt: skip


def _progress(world: World) -> bytes:
    """A line of progress that holds a secret, for each of them: the page, the JSON, an answer."""
    said = b""
    for secret in (one for one in SECRETS.values() if "\n" not in one):
        (world.folder / "steps.log").write_text("step 3/10 loss 0.5 %s\n" % secret)
        said += world.maple("progress", "steps.log")
    said += world.maple("progress", "steps.log", "--json") + world.maple("progress", "steps.log", "--ask", "progress")
    assert b"step 3/10 loss 0.5" in said
    return said


def _asked_of_progress(world: World) -> bytes:
    """A question in words of one's own about such a line: what a model is sent, and what is said."""
    said = b""
    for secret in (one for one in SECRETS.values() if "\n" not in one):
        (world.folder / "steps.log").write_text("step 3/10 loss 0.5 %s\n" % secret)
        del world.model.asked[:]
        words = ("progress", "steps.log", "--ask", "how far is it with %s?" % secret[:60])
        said += world.maple(*words, model=world.model.url + "#tiny")
        said += b"\n".join(one.raw for one in world.model.asked)
    return said


def _alarmed(world: World) -> bytes:
    """An alarm whose name and sentence hold a secret: what the next submission says, and the mail."""
    text = b""
    for secret in (one for one in SECRETS.values() if "\n" not in one):
        ask(world.daemon, {"alarms": [["4711", secret, "silent", "silent, %s" % secret]]}, b"MPA1")
        text += said(world.cluster)
        run, alarm = Run(job="4711", name=secret, state="running"), Alarm("silent", "silent, %s" % secret)
        progress = Progress(run, (), Course(), Estimate(), (alarm,), 0.0)
        text += (
            letter("me", progress, shown(alarm.says))
            + notices.line([notices.Waiting("4711", *_noted(progress))]).encode()
        )
    assert b"silent, " in text
    return text


def _noted(progress: Progress) -> tuple[str, str, str]:
    alarm = progress.alarms[0]
    return shown(progress.run.name), alarm.kind, shown(alarm.says)


REQUEST = "train with FSDP on 2 nodes, account abc, run train.py, " + ", ".join(
    "log in with %s" % one for one in SECRETS.values() if "\n" not in one
)
# Whoever adds a place where text is stored, shown or sent adds it here. `maple check` and `maple plan` are none: they
# give a user's own file back to him, byte for byte as it would be submitted, and keep and send nothing.
OUTPUTS: dict[str, Callable[[World], bytes]] = {
    "the store": _store,
    "the service's files": _files,
    "the service's log": lambda world: world.daemon.said.encode(),
    "metrics": _metrics,
    "audit lines, and what is said on a terminal": _audit,
    "answers to questions": _questions,
    "history": lambda world: world.maple("history") + world.maple("history", "--why", "job.sh"),
    "history as JSON": lambda world: world.maple("history", "--json"),
    "show": lambda world: world.maple("show", world.jobs[0].record) + world.maple("show", "last"),
    "show as JSON": lambda world: world.maple("show", world.jobs[0].record, "--json"),
    "show, the script": lambda world: world.maple("show", world.jobs[0].record, "--script"),
    "fix": lambda world: world.fix(),
    "fix as JSON": lambda world: world.fix("--json"),
    "fix, by the job's number": lambda world: world.maple("fix", str(world.jobs[0].number)),
    "fix, what a model is sent": lambda world: world.said_to_the_model(
        "fix", "--log", "slurm-4711.out", "--script", "job.sh", "--site", "ncsa-delta", "--state", "failed"
    ),
    "progress": _progress,
    "progress, what a model is sent": _asked_of_progress,
    "alarms, with the next submission and by mail": _alarmed,
    "new": lambda world: world.maple("new", REQUEST, "--site", "ncsa-delta", "--json"),
    "new, what a model is sent": lambda world: world.said_to_the_model("new", REQUEST, "--site", "ncsa-delta"),
    "the report": lambda world: (
        world.maple("admin", "report", "--config", world.daemon.folder + "/daemon.toml")
        + world.maple("admin", "report", "--json", "--config", world.daemon.folder + "/daemon.toml")
    ),
    "complaints": _named,
    "what commands keep": _left_at_home,
}


@pytest.mark.parametrize("output", OUTPUTS)
def test_no_secret_stands_in(world: World, output: str) -> None:
    """The place is reached, and holds none of them."""
    text = OUTPUTS[output](world)
    assert len(text) > 20
    assert leaked(text, text.replace(b"\\n", b"\n").replace(b'\\"', b'"')) == [], text[:2000].decode("utf-8", "replace")


def test_the_table_itself_would_see_one(world: World) -> None:
    """Each secret is found in the script and the log as they are."""
    assert leaked((world.folder / "job.sh").read_bytes()) == list(SECRETS)
    assert leaked((world.folder / "slurm-4711.out").read_bytes()) == list(SECRETS)
