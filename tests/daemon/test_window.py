"""The window for administrators: what its figures are made of, who may look, and that nothing of a user's is shown."""

from __future__ import annotations

import datetime
import http.client
import json
import re
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from maple_agents.forecast.runs import Asked, Run
from maple_daemon.base.settings import Settings
from maple_daemon.cli.admin import admin
from maple_daemon.store import open_store
from maple_daemon.store.protocol import Counted, Store
from maple_daemon.window import figures, pages
from maple_daemon.window.server import Shown
from maple_daemon.window.shapes import Window
from maple_submit_filter.types.job_records import Outcome

from tests.daemon.store.jobs import record
from tests.json_shapes import fits
from tests.miniapps.started import free_port

NOW = datetime.datetime(2026, 11, 27, 12, tzinfo=datetime.timezone.utc)
AT = NOW.timestamp()
SECRET = "ann-private-project"


def filled(store: Store, jobs: int = 60) -> None:
    """Fill a store with jobs of three users, of whom each has a name that nobody else may read."""
    store.count([
        Counted("2026-11-02", "", "gpu", "clean", "completed", 40),
        Counted("2026-11-03", "MPL301", "gpu", "repaired", "completed", 7),
        Counted("2026-11-17", "MPL203+MPL301", "gpu", "findings", "failed", 3),
        Counted("2026-11-17", "MPL206", "debug", "accepted", "completed", 2),
        Counted("2026-11-17", "MPL206", "debug", "declined", "completed", 4),
        Counted("2026-11-18", "", "", "unread", "", 1),
        Counted("2026-11-18", "MPL301", "gpu", "trial", "completed", 9),
    ])  # fmt: skip
    ends = (
        ("failed", 1, None, "gpub[001-002]"),
        ("failed", None, 9, "gpub001"),
        ("timeout", None, None, "x1/0*64+x2/0"),
    )
    store.keep_outcomes(
        Outcome(str(number), state, 1000 + number % 3, "test", code, signal, nodes, ended=AT - 3600 * number)
        ._replace(name=SECRET, workdir="/home/" + SECRET)
        for number in range(jobs) for state, code, signal, nodes in (ends[number % 3],)
    )  # fmt: skip
    for number in range(0, jobs, 6):
        assert store.keep_cause(1000 + number % 3, str(number), "gpu_oom" if number % 4 else "code_error", AT)
    for number, codes in enumerate(((), (), ("MPL301",))):
        refused = record("refused%d" % number, uid=1000, at=AT - 600, host="login1", verdict="clean", place="gpu")
        store.keep_record(refused._replace(codes=codes, pid_started=7))
    store.keep_record(
        record("joined", uid=1000, at=AT - 500, host="login1", verdict="clean")._replace(pid_started=7, codes=())
    )
    store.join("joined", 1000, "9999", "filter")
    for number, why in enumerate(("needs your decision: --ntasks=4 for %s" % SECRET, "line 7 would start 3 ranks", "")):
        told = {"held_back": [{"code": "MPL203", "why": why}] if why else []}
        for uid in (1000, 1001):
            store.keep_decision(b"%d %d" % (number, uid), uid, zlib.compress(json.dumps(told).encode()), AT)
    store.keep_decision(b"front", 1000, b"in the front's own form", AT)
    store.keep_runs(
        (1000 + number % 3, Run(f"r{number}", Asked("", SECRET, "/home/" + SECRET, AT - 1000 * (jobs - number), 3600.0),
                                AT - 1000 * (jobs - number) + 400, 300.0 + number % 3, "completed"))
        for number in range(jobs)
    )  # fmt: skip


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    """Those of a service whose store is filled."""
    path = str(tmp_path / "memory.db")
    with closing(open_store(path)) as store:
        filled(store)
    yield Settings(store=path)


@pytest.fixture
def window(settings: Settings) -> Window:
    """The figures of a service without an installation."""
    return figures.window(figures.Source(None, settings, "2026-10-01"), NOW)


def test_submissions_are_counted_by_week_and_by_what_was_done(window: Window) -> None:
    """A week without any is there too, and an administrator's trials are in none."""
    told = window["submissions"]
    assert told is not None and told["weeks"] == {
        "2026-11-02": {"nothing found": 40, "changed": 7},
        "2026-11-09": {},
        "2026-11-16": {"as written, with a finding": 3, "changed after a yes": 2,
                       "offered, and declined": 4, "not read": 1},
        "2026-11-23": {"as written, with a finding": 1, "nothing found": 3},
    }  # fmt: skip
    assert [(row["code"], row["jobs"]) for row in told["rules"]][:2] == [("MPL301", 7), ("MPL206", 4)]


def test_failures_are_told_by_kind_class_node_and_time(window: Window) -> None:
    """Of Slurm's host list and of PBS's; a job counts on each of its nodes. A limit is a class without a log."""
    told = window["failures"]
    assert told is not None and told["kinds"] == {"exit status 1": 20, "killed by signal 9": 20, "timeout": 20}
    assert told["nodes"] == {"gpub001": 40, "gpub002": 20, "x1": 20, "x2": 20}
    assert told["classes"] == {"": 30, "time_limit": 20, "code_error": 5, "gpu_oom": 5}
    assert told["class_nodes"]["gpub001"] == {"": 30, "code_error": 5, "gpu_oom": 5}
    assert told["class_nodes"]["x1"] == {"time_limit": 20} and sum(told["class_weeks"]["2026-11-23"].values()) == 60
    assert sum(told["hours"]) == 60 and told["hours"][12] == 3  # 60 hours before noon


def test_forecasts_are_held_against_what_came(window: Window) -> None:
    """The first run of each user has none; all others took as long as the one before."""
    told = window["forecasts"]
    assert told is not None and (told["runs"], told["told"], told["twice"]) == (60, 57, 1.0)


def test_outcomes_that_speak_against_a_rule_or_a_fact_are_told(window: Window) -> None:
    """Jobs that ran as written although something was found, and submissions that became no job."""
    assert window["as_written"] == [{"code": "MPL206", "ran": 4, "failed": 0}]
    assert window["refused"] == [{"partition": "gpu", "submissions": 3, "unseen": 2}]
    page = pages.page("facts", window)
    assert "Went as written" in page and "Refused by the scheduler" in page


def test_changes_that_were_held_back_are_told_with_their_reasons(window: Window) -> None:
    """Of a script's own words and numbers nothing; what is kept for the front alone is passed over."""
    assert window["held_back"] == [
        {"code": "MPL203", "why": "line N would start N ranks", "scripts": 2, "users": 2},
        {"code": "MPL203", "why": "needs your decision", "scripts": 2, "users": 2},
    ]
    assert "needs your decision" in pages.page("rules", window)


def test_a_rule_has_one_row_for_what_was_done_and_numbers_at_the_right(window: Window) -> None:
    """Verdicts that a person calls the same are one; a column of words is none of numbers."""
    page = pages.page("rules", window)
    row = (
        '<td>MPL301</td><td class="long">%s</td><td class="long">as written, with a finding</td>'
        % pages.read_titles()["MPL301"]
    )
    assert page.count(row) == 1
    assert page.split(row)[1].startswith('<td class="number">4</td>')  # three that were told, one that became no job
    assert '<td class="long">more nodes or time than the partition or queue gives</td>' in pages.page("facts", window)


def test_a_chart_says_what_it_shows_and_how_many(window: Window) -> None:
    """Also to who sees it."""
    page = pages.page("", window)
    assert "<figcaption>Submissions with a finding, by week and by what was done</figcaption>" in page
    assert ">9</text>" in page and "<title>2026-11-16: offered, and declined: 4</title>" in page


def test_whether_hooks_are_heard_is_told(settings: Settings) -> None:
    """By the last end, and by the share of submissions whose job is known."""
    with closing(open_store(settings.store)) as store:
        told = figures.heard(store, NOW)
        later = figures.heard(store, NOW + datetime.timedelta(days=60))
    assert (told["state"], told["todo"]) == ("ok", "") and "1 of the 4 submissions" in told["says"]
    assert later["state"] == "note" and "no end of a job was heard" in later["says"]


def test_what_cannot_be_read_is_said_and_costs_nothing_else(tmp_path: Path) -> None:
    """Neither an installation nor a memory."""
    told = figures.window(figures.Source(None, Settings(store=str(tmp_path / "none.db")), "7d"), NOW)
    assert told["submissions"] is None and told["failures"] is None and len(told["silent"]) >= 4
    assert "; submissions: " in pages.whole(told)


def test_no_user_and_no_job_is_named(window: Window) -> None:
    """On no page, and not in the figures."""
    text = json.dumps(window) + pages.whole(window) + "".join(pages.page(path, window) for path in pages.pages())
    assert SECRET not in text and "1001" not in text and "gpub001" in text


def test_what_is_read_is_shown_as_text(window: Window) -> None:
    """Partitions and nodes are words of others."""
    told = window["submissions"]
    assert told is not None and window["failures"] is not None
    told["partitions"][0]["partition"] = "<script>alert(1)</script>"
    window["failures"]["nodes"] = {'"><img src=x>': 3}
    for text in (pages.whole(window), pages.page("failures", window)):
        assert "<script" not in text and "<img" not in text


def test_a_page_needs_nothing_from_elsewhere(window: Window) -> None:
    """No address but those of its own pages."""
    for path in pages.pages():
        links = re.findall(r"""(?:href|src)=["']?([^"' >]+)""", pages.page(path, window))
        assert set(links) <= {".", *pages.pages()}


def test_figures_are_made_once_a_minute_and_nobody_waits(window: Window) -> None:
    made, now = list[float](), [0.0]

    def make() -> Window:
        made.append(now[0])
        return window

    shown = Shown(make, lambda: now[0])
    shown.window()
    assert made == [0.0]
    now[0] = 61.0
    shown.window()
    until = time.monotonic() + 20
    while len(made) < 2 and time.monotonic() < until:
        time.sleep(0.01)
    assert made == [0.0, 61.0]


class OnSocket(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self._path)


@pytest.fixture
def served(settings: Settings, tmp_path: Path) -> Iterator[tuple[list[str], subprocess.Popen[str]]]:
    """How the server is called, and those that a test starts; they are ended."""
    config = tmp_path / "daemon.toml"
    config.write_text(f'store = "{settings.store}"\n')
    words = [
        str(Path(sys.executable).with_name("maple")),
        "admin",
        "serve",
        "--config",
        str(config),
        "--since",
        "2026-10-01",
    ]
    started = list[subprocess.Popen[str]]()

    def start(*more: str) -> tuple[str, subprocess.Popen[str]]:
        process = subprocess.Popen([*words, *more], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        started.append(process)
        assert process.stdout is not None
        return process.stdout.readline().strip(), process

    yield start  # type: ignore[misc]
    for process in started:
        process.terminate()
        assert process.wait(30) in (0, 2, -15)
        assert process.stdout is not None
        process.stdout.close()


def test_on_a_socket_its_mode_says_who_may(served, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "window.sock"
    said, process = served("--socket", str(path))
    assert said == str(path) and path.stat().st_mode & 0o777 == 0o660
    for page in ("/", "/rules", "/failures", "/forecasts", "/facts", "/health"):
        with closing(OnSocket(str(path))) as asked:
            asked.request("GET", page)
            answer = asked.getresponse()
            text = answer.read().decode()
        assert answer.status == 200 and "<h1>" in text, page
        assert "default-src 'none'" in (answer.getheader("Content-Security-Policy") or "")
    with closing(OnSocket(str(path))) as asked:
        asked.request("GET", "/figures.json")
        assert json.loads(asked.getresponse().read())["failures"]["kinds"]["timeout"] == 20
        asked.request("POST", "/")
        assert asked.getresponse().status == 405
    again, process = served("--socket", str(path))
    assert "another program listens there" in again and process.wait(30) == 2


def test_on_loopback_a_key_is_asked_for(served) -> None:  # type: ignore[no-untyped-def]
    """Every user of the host reaches it; and no page of another's may lead a browser here by a name of its own."""
    port = free_port()
    said, _ = served("--port", str(port))
    key = re.fullmatch(rf"http://127\.0\.0\.1:{port}/\?key=(\S+)", said)
    assert key is not None

    def status(path: str, **headers: str) -> tuple[int, str]:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as asked:
            asked.request("GET", path, headers=headers)
            answer = asked.getresponse()
            answer.read()
            return answer.status, (answer.getheader("set-cookie") or "").split(";")[0]

    until = time.monotonic() + 30
    while True:
        try:
            assert status("/")[0] == 403
            break
        except ConnectionRefusedError:
            assert time.monotonic() < until
            time.sleep(0.1)
    assert status("/?key=wrong")[0] == 403
    code, cookie = status(f"/?key={key[1]}")
    assert code == 303 and cookie
    assert status("/", Cookie=cookie)[0] == 200
    assert status("/figures.json")[0] == 403
    assert status("/", Cookie=cookie, Host="evil.example")[0] == 400


def test_a_page_that_can_be_sent(settings: Settings, tmp_path: Path) -> None:
    """It is written once, and over nothing; the JSON of the same command holds what it shows."""
    config, page = tmp_path / "daemon.toml", tmp_path / "maple.html"
    config.write_text(f'store = "{settings.store}"\n')
    words = ["report", "--config", str(config), "--since", "2026-10-01", "--html", str(page)]
    assert CliRunner().invoke(admin, words).exit_code == 0
    assert "Forecasts against outcomes" in page.read_text("utf-8")
    assert CliRunner().invoke(admin, words).exit_code != 0
    told = json.loads(CliRunner().invoke(admin, [*words[:-2], "--json"]).output)
    fits("report", told)
    assert told["window"]["failures"]["classes"]["time_limit"] == 20
