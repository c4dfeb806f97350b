"""Sums over users name nobody; a template that did well is approved by an administrator, and then done unasked."""

from __future__ import annotations

import json
import os
import shutil
import signal
from typing import Any

import pytest
import tomllib
from click.testing import CliRunner, Result
from maple_agents.ask.sites import launch_templates as templates
from maple_agents.templates import lint
from maple_daemon.cli.admin import admin
from maple_daemon.store import open_store
from maple_daemon.store.protocol import Store

from tests.daemon.asking import ask
from tests.daemon.ending import Cluster, verdict_of
from tests.daemon.serving import WRONG
from tests.daemon.store.jobs import outcome, record
from tests.json_shapes import fits

NAME = "torchrun-over-srun"
CANARY = "kanarienvogel"


def run(*words: str) -> Result:
    """`maple admin corrections WORDS`."""
    return CliRunner().invoke(admin, ["corrections", *words])


def in_force() -> int:
    """The template's revision."""
    return next(one.revision for one in templates.load() if one.name == NAME)


@pytest.fixture
def settings(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """A site with its own folder, a front.conf and a daemon.toml."""
    etc = tmp_path / "etc"
    etc.mkdir()
    monkeypatch.setenv("MAPLE_ETC", str(etc))
    snapshot = tmp_path / "site.json"
    snapshot.write_bytes(snapshot_of("ncsa-delta"))
    (etc / "front.conf").write_text("snapshot=%s\n" % snapshot)
    (etc / "daemon.toml").write_text('store = "%s"\nconf = "%s"\n' % (tmp_path / "memory.db", etc / "front.conf"))
    return str(etc / "daemon.toml")


def snapshot_of(site_id: str) -> bytes:
    """The site's facts as the submit path reads them."""
    from maple_agents.templates.environments import described
    from maple_submit_filter.site import snapshot as site_snapshot

    return json.dumps(site_snapshot.write(described(site_id).site)).encode()


@pytest.fixture
def store(settings: str, memory: Store) -> Store:
    """What the service has counted: a template, a site key and a rule, of three users, and a rule of two."""
    template = "%s revision %d" % (NAME, in_force())
    for uid in range(1, 5):
        keys = [("MPL307", template), ("MPL307", "launchers.mpirun"), ("MPL304", "")]
        for number, ended in enumerate(("ran", "ran", "failed" if uid == 1 else "ran")):
            told = (("MPL203", ""),) if uid < 3 else ()
            memory.keep_record(record("r%d" % number, uid=uid, keys=(*keys, *told)))
            memory.join("r%d" % number, uid, str(number), "filter")
            memory.keep_outcomes([outcome(str(number), uid)])
            memory.settle(memory.due()[0], ended)
    return memory


def test_what_three_users_have_in_common_is_listed(settings: str, store: Store) -> None:
    """And nothing of two; a higher number hides more, a lower one is refused."""
    told = json.loads(run("list", "--config", settings, "--json").output)
    fits("memory", told)
    rows = [(one["code"], one["concerns"], one["users"], one["ran"], one["failed"]) for one in told["candidates"]]
    assert sorted(rows) == [
        ("MPL304", "rule", 4, 11, 1),
        ("MPL307", "site", 4, 11, 1),
        ("MPL307", "template", 4, 11, 1),
    ]
    assert "MPL203" not in run("list", "--config", settings).output
    for users, said in (
        (5, "no correction yet that 5 users agree on"),
        (2, "corrections.users: input should be greater"),
    ):
        with open(settings, "a", encoding="utf-8") as file:
            file.write("corrections.users = %d\n" % users)
        assert said in run("list", "--config", settings).output
        with open(settings, encoding="utf-8") as file:
            lines = file.readlines()[:-1]
        with open(settings, "w", encoding="utf-8") as file:
            file.writelines(lines)


def test_an_approved_template_is_the_sites_own_next_revision(settings: str, store: Store, tmp_path: Any) -> None:
    """With the reason and the day; the repository's check finds nothing wrong, and the site takes it unasked."""
    from maple_agents.templates.environments import described

    before = in_force()
    (old,) = [one for one in described("ncsa-delta").site.launch_templates if one.name == NAME]
    words = ("approve", NAME, "--config", settings, "--reason", 'ran "everywhere"\nrevision = 99')
    dry = run(*words, "--dry-run")
    assert in_force() == before
    done = run(*words)
    path = tmp_path / "etc" / "templates" / "launch" / (NAME + ".toml")
    assert done.output == "wrote %s; `maple site apply ncsa-delta` brings it into force\n" % path
    text = path.read_text()
    assert dry.output == text and in_force() == before + 1
    assert text.splitlines()[0].startswith("# Revision %d, 20" % (before + 1))
    assert 'ran "everywhere" revision = 99 (11 jobs of 4 users ran with ' in text.splitlines()[0]
    made = tomllib.loads(text)
    assert made["verified"][-1]["by"] == "jobs" and made["verified"][-1]["revision"] == before + 1
    assert lint.mistakes() == []
    (new,) = [one for one in described("ncsa-delta").site.launch_templates if one.name == NAME]
    assert new.verified and new.revision == before + 1 and new.words == old.words
    again = run(*words)  # the jobs had the revision before
    assert again.exit_code == 2 and "is in force now; the jobs had" in again.output


@pytest.mark.parametrize(
    "words, says",
    [
        (("launchers.mpirun", "--reason", "x"), "no template of this name is a candidate"),
        (("MPL304", "--reason", "x"), "no template of this name is a candidate"),
        (("accelerate-over-srun", "--reason", "x"), "no template of this name is a candidate"),
        ((NAME, "--reason", "  "), "--reason says nothing"),
        (("../" + NAME, "--reason", "x"), "no template of this name is a candidate"),
    ],
    ids=str,
)
def test_what_is_no_template_is_not_approved(settings: str, store: Store, words: tuple[str, ...], says: str) -> None:
    """In one line, and nothing is written."""
    done = run("approve", "--config", settings, *words)
    assert done.exit_code == 2 and says in done.output and len(done.output.splitlines()) == 1
    assert not os.path.exists(os.path.join(os.path.dirname(settings), "templates"))


def test_what_failed_too_often_is_not_approved(settings: str, store: Store) -> None:
    """More than once in three."""
    template = "%s revision %d" % (NAME, in_force())
    for number in range(6):
        store.keep_record(record("f%d" % number, uid=9, keys=(("MPL307", template),)))
        store.join("f%d" % number, 9, str(number), "filter")
        store.keep_outcomes([outcome(str(number), 9, "failed")])
        store.settle(store.due()[0], "failed")
    done = run("approve", NAME, "--config", settings, "--reason", "x")
    assert "11 jobs ran with it, 7 failed at launch" in done.output and done.exit_code == 2


def test_what_would_make_the_repository_wrong_is_not_left_there(
    settings: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The template that was there stays in force."""
    before, calls = in_force(), []

    def mistakes() -> list[str]:
        calls.append(1)
        return [] if len(calls) == 1 else ["launch: wrong"]

    monkeypatch.setattr(lint, "mistakes", mistakes)
    done = run("approve", NAME, "--config", settings, "--reason", "x")
    assert "would be wrong: launch: wrong" in done.output and in_force() == before
    assert os.listdir(os.path.join(os.path.dirname(settings), "templates", "launch")) == []


@pytest.mark.skipif(os.getuid() != 0, reason="becomes other users")
def test_nothing_of_a_users_is_in_what_others_or_administrators_see(tmp_path: Any) -> None:
    """Neither text, names, paths nor ids, wherever a user puts them; the sums are there all the same."""
    cluster = Cluster(str(tmp_path))
    daemon = cluster.daemon
    try:
        os.chmod(daemon.folder, 0o711)
        more = b"#SBATCH --job-name=%b --partition=%b -A %b\nexport %b=1 # %b\n" % ((CANARY.encode(),) * 5)
        script = WRONG.replace(b"#SBATCH --nodes=2\n", b"#SBATCH --nodes=2\n" + more, 1)
        said = {
            "path": b"/home/%b/job.sh" % CANARY.encode(), "cwd": b"/home/%b" % CANARY.encode(),
            "argv": (b"sbatch", b"--comment=%b" % CANARY.encode(), b"job.sh"),
        }  # fmt: skip
        users = (71001, 71002, 71003)
        for uid in users:
            job = cluster.submit(script, uid=uid, **said)
            assert verdict_of(job) == "repaired"
            cluster.end(job, "COMPLETED", 500, uid=uid)
        config = daemon.folder + "/daemon.toml"
        seen = run("list", "--config", config).output + run("list", "--config", config, "--json").output
        assert "MPL304" in seen and '"users": 3' in seen
        seen += repr(daemon.counted("maple"))
        for question in ({"ask": "versions", "scripts": True}, {"ask": "records"}):
            seen += repr(ask(daemon, question))  # root is another user here, as any
        daemon.stop()
        store = open_store(daemon.store)
        counted = store.counted()
        run_ = store._run  # type: ignore[attr-defined]
        seen += repr(counted) + repr(run_.rows("SELECT code, fact, ran, failed FROM tried"))
        store.close()
        assert [(one.partition, one.state, one.jobs) for one in counted] == [("other", "completed", 3)]
        assert CANARY not in seen and not any(str(uid) in seen for uid in users)
    finally:
        if daemon.process is not None and daemon.process.poll() is None:
            daemon.stop(signal.SIGKILL)
        shutil.rmtree(daemon.folder)
