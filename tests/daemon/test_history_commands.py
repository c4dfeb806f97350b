"""`maple history` and `maple show` tell a user of his own jobs, and say in one line when they cannot."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from maple_agents.ask.memory import versions as remembered
from maple_agents.ask.memory.service import places
from maple_agents.cli.history import history_page
from maple_agents.cli.main import run
from maple_agents.diagnose.gather.sources import from_memory
from maple_daemon.store.sqlite import open_sqlite
from maple_submit_filter.types.job_records import TRIAL_SCRIPT, Outcome, Record, Version

from tests.daemon.asking import written
from tests.daemon.serving import WRONG, Daemon, request
from tests.json_shapes import fits

EDITED = WRONG.replace(b"nodes=2", b"nodes=3", 1)
SECRET = "hf_" + "aB3dE5gH7jK9mN1pQ3sT"
WITH_SECRET = WRONG + b"echo %s\n" % SECRET.encode()


class Said(NamedTuple):
    """What a call of `maple` gave."""

    code: int
    out: str
    err: str


Call = Callable[..., Said]


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """One that has heard of four submissions, two of which have ended."""
    made = Daemon().start()
    for number, script in enumerate((WRONG, WRONG, EDITED, WITH_SECRET), 1):
        made.ask(request(script))
        written(made, number)
    store = open_sqlite(made.store)
    for number, record in enumerate(reversed(store.records(os.getuid())), 1):
        store.join(record.id, os.getuid(), str(4710 + number), "filter")
    failed = Outcome(
        "4713", "failed", os.getuid(), "test", 7, nodes="n[1-2]", submitted=10.0, started=70.0, ended=3670.0
    )
    store.keep_outcomes([Outcome("4711", "completed", os.getuid(), "test"), failed])
    store.close()
    yield made
    made.stop()
    shutil.rmtree(made.folder)


@pytest.fixture
def maple(daemon: Daemon, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Call:
    """`maple` as a user calls it, with that daemon."""
    monkeypatch.setenv("MAPLE_SOCKET", daemon.socket)
    monkeypatch.setenv("TZ", "UTC")

    def call(*words: str) -> Said:
        code = run(list(words))
        sys.stdout.flush()
        return Said(code, *capfd.readouterr())

    return call


def test_all_jobs_are_listed_in_one_line_each(maple: Call) -> None:
    """With how the last submission ended."""
    said = maple("history")
    assert said.code == 0
    (line,) = said.out.splitlines()
    assert line.startswith("job.sh ") and "3 versions  4 submissions" in line and "/job.sh" in line
    assert len(line.partition("  /")[0]) <= 80  # with all of it there is room for how it ended


def test_a_submission_whose_script_nobody_has_read_is_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what became of it; a trial of the service is none."""
    bare = Record("0" * 16, "", 1, 1.0, "host", 2, 3, "repair", "clean", (), "decided", "", job="0.pbs01")
    made = [bare._replace(outcome=Outcome("0.pbs01", "failed", 1, "test", 2)), bare._replace(verdict="trial")]
    rows = [{**one._asdict(), "outcome": one.outcome and one.outcome._asdict(), "reached": None} for one in made]
    monkeypatch.setattr(remembered, "ask", lambda question: rows if question["ask"] == "records" else [])
    assert run(["history"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.endswith("  a script that the service has not read  job 0.pbs01 failed, exit 2")


def test_a_job_that_only_a_hook_knows_is_listed_by_how_it_ended(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An array once, and one whose submission is known not again; by its id and by its name, and for programs."""
    ends = [
        Outcome("90", "failed", 1, "test", 3, ended=120.0, name="old\x1b.sh"),
        Outcome("81_2", "completed", 1, "test", ended=60.0, name="sweep"),
        Outcome("81", "completed", 1, "test", ended=60.0, name="sweep"),
        Outcome("70_1", "failed", 1, "test", 1, ended=50.0, name="mine"),
        Outcome("60", "completed", 1, "test", ended=40.0, name="maple-verify-0123abcd"),
    ]
    mine = Record("0" * 16, "", 1, 1.0, "host", 2, 3, "repair", "trial", (), "decided", "", job="70")
    rows: dict[str, list[Any]] = {
        "ends": [end._asdict() for end in ends],
        "records": [{**mine._asdict(), "outcome": None, "reached": None}],
    }

    def ask(question: Mapping[str, Any]) -> list[Any]:
        asked = rows.get(question["ask"], [])
        return [row for row in asked if question.get("job", "") in ("", row["job"])]

    monkeypatch.setattr(remembered, "ask", ask)
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    assert run(["history"]) == 0
    failed, ran = capsys.readouterr().out.splitlines()
    assert failed.startswith("1970-01-01 00:02  old") and failed.endswith("without Maple  job 90 failed, exit 3")
    assert "\x1b" not in failed and ran.endswith("sweep  submitted without Maple  job 81 completed")
    for name in ("81", "sweep"):
        assert run(["history", name]) == 0 and "job 81 completed" in capsys.readouterr().out
    assert run(["history", "4"]) == 1
    capsys.readouterr()
    assert run(["history", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    fits("history", told)
    assert [(end["job"], end["exit_code"]) for end in told["ends"]] == [("90", 3), ("81", None)]


def test_a_narrow_terminal_has_the_script_on_a_second_line(maple: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all of it does not fit; nothing wraps inside a word."""
    monkeypatch.setenv("COLUMNS", "60")
    above, *_, below = lines = maple("history").out.splitlines()
    assert above.startswith("job.sh ") and "4 submissions" in above and max(map(len, lines[:-1])) <= 60
    assert below.startswith("  /") and below.endswith("/job.sh")


@pytest.mark.parametrize("name", ["job.sh", "/job.sh", "job", "last"])
def test_a_job_is_found_by_its_name_and_by_its_path(maple: Call, name: str) -> None:
    """What changed is shown with what became of each submission."""
    said = maple("history", name)
    assert said.code == 0
    lines = [line.strip("| ") for line in said.out.splitlines()]
    assert "-#SBATCH --nodes=2" in lines and "+#SBATCH --nodes=3" in lines
    assert sum(line.endswith("first version") for line in lines) == 1
    assert any(line.endswith("changed: directives") for line in lines)
    assert any(line.endswith("job 4713 failed, exit 7") for line in lines)
    assert any(line.endswith("job 4711 completed") for line in lines)
    assert "Maple: repaired before submitting (MPL304)" in lines
    assert "read" not in said.out


@pytest.mark.parametrize(
    ("wanted", "found"),
    [("run.sh", 2), ("train", 1), ("/a/run.sh", 1), ("a/run.sh", 0), ("un.sh", 0), ("run", 2), ("other", 1), ("ru", 0)],
)
def test_a_job_is_found_by_its_script_from_any_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: os.PathLike[str], wanted: str, found: int
) -> None:
    """Also where a directive gives the job another name; a path means that one script."""
    made = [
        Version("v%d" % number, "v%d" % number, "", 1, 1.0, "slurm", path, name, "/", (), b"", "h")
        for number, (path, name) in enumerate((("/a/run.sh", "train"), ("/b/run.sh", "run.sh"), ("/c/other.sh", "x")))
    ]
    rows = [{**one._asdict(), "script": "", "parts": [], "values": []} for one in made]
    monkeypatch.setattr(remembered, "ask", lambda question: rows if question["ask"] == "versions" else [])
    monkeypatch.chdir(tmp_path)
    assert len(remembered.jobs(wanted, os.path.abspath(wanted))) == found


def test_the_doctor_s_own_job_is_in_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found by its name, by who looks for it; a user's script of that name is listed."""
    trial = hashlib.sha256(TRIAL_SCRIPT).hexdigest()
    paths = {"/tmp/maple-doctor-x1y2/doctor.sh": trial, "/home/u/doctor.sh": "h"}
    made = [
        Version("v%d" % number, "v%d" % number, "", 1, 1.0, "slurm", path, "doctor.sh", "/", (), b"", script_hash)
        for number, (path, script_hash) in enumerate(paths.items())
    ]
    rows = [{**one._asdict(), "script": "", "parts": [], "values": []} for one in made]
    monkeypatch.setattr(remembered, "ask", lambda question: rows if question["ask"] == "versions" else [])
    assert [one.newest.path for one in remembered.jobs("", "")] == ["/home/u/doctor.sh"]
    assert len(remembered.jobs("doctor.sh", "")) == 2


def test_why_says_what_was_read_again(maple: Call) -> None:
    """What stands behind the launch lines changes nothing that is known above."""
    _, last, middle, _ = maple("history", "job.sh", "--why").out.split("\n* ")
    assert "directives: known before" in last
    assert "launch: known before" in last
    assert "after: read again: it changed" in last
    assert "directives: read again: it changed" in middle
    assert "launch: read again: unchanged, but something it depends on changed" in middle


def test_the_limit_is_one_of_versions(maple: Call) -> None:
    """And the rest is counted."""
    said = maple("history", "job.sh", "--limit", "1").out
    assert said.count("\n* ") == 1
    assert "and 2 versions before" in said


def test_history_is_json_too(maple: Call) -> None:
    """With the difference, the parts and the values."""
    told = json.loads(maple("history", "job.sh", "--json").out)
    fits("history", told)
    (job,) = told["jobs"]
    newest, edited, first = job["versions"]
    assert (first["parent"], edited["parent"], newest["parent"]) == (None, first["id"], first["id"])
    assert edited["changed"] == ["directives"] and "+#SBATCH --nodes=3" in edited["diff"]
    assert [one["job"] for one in first["submissions"]] == ["4712", "4711"]
    assert {one["name"] for one in first["values"]} >= {"launcher", "program"}


def test_show_tells_what_was_submitted_in_place_of_what_was_written(maple: Call) -> None:
    """And how it ended."""
    said = maple("show", "4711").out
    assert "job 4711 completed" in said and "Maple: repaired before submitting (MPL304)" in said
    assert "job.sh:6: MPL304 " in said
    assert "\n-srun torchrun" in said and "\n+srun torchrun" in said
    assert "line 6: srun > torchrun: 2 nodes x 4 ranks" in said
    said = maple("show", "4713").out
    assert "failed, exit 7" in said and "on n[1-2], waited 00:01:00, ran 01:00:00" in said
    assert "submitted as written (MPL303)" in said and "in its place" not in said


def test_show_last_is_the_last_and_masks_secrets(maple: Call) -> None:
    """Also in the script itself, which says so."""
    assert "job 4714" in maple("show", "last").out
    script = maple("show", "last", "--script")
    assert script.out.startswith("#!/bin/bash\n") and "echo [masked]\n" in script.out
    assert "rdzv_backend=c10d" in script.out
    assert script.err == "maple: secrets are masked as [masked]; put them back before submitting\n"
    told = json.loads(maple("show", "4714", "--json").out)
    fits("show", told)
    assert told["submitted"]["diff"].count("\n+srun torchrun") == 1
    assert SECRET not in json.dumps(told) + script.out


def test_show_takes_the_record_s_id_and_the_task_of_an_array(maple: Call) -> None:
    """The last line of a repaired script has the one, the scheduler says the other."""
    told = json.loads(maple("show", "4711", "--json").out)
    fits("show", told)
    record = told["submission"]["id"]
    assert json.loads(maple("show", record, "--json").out) == told
    assert json.loads(maple("show", "4711_3", "--json").out) == told
    assert json.loads(maple("show", "4711[]", "--json").out) == told


@pytest.fixture(scope="module")
def on_pbs() -> Iterator[Daemon]:
    """A service of a PBS machine: a job, and an array."""
    made = Daemon().start()
    for number, script in enumerate((WRONG, EDITED), 1):
        made.ask(request(script))
        written(made, number)
    store = open_sqlite(made.store)
    for job, record in zip(("141.pbs01", "146[].pbs01"), reversed(store.records(os.getuid()))):
        store.join(record.id, os.getuid(), job, "filter")
    store.close()
    yield made
    made.stop()
    shutil.rmtree(made.folder)


@pytest.mark.parametrize(
    ("typed", "job"),
    [
        ("141", "141.pbs01"), ("141.pbs01", "141.pbs01"), ("141.pbs01.site.org", "141.pbs01"), ("146", "146[].pbs01"),
        ("146[]", "146[].pbs01"), ("146[3]", "146[].pbs01"), ("146[3].pbs01", "146[].pbs01"),
        ("14", None), ("141.other", None), ("1411", None),
    ],
)  # fmt: skip
def test_ids_of_pbs_are_taken_as_users_type_them(
    on_pbs: Daemon, maple: Call, monkeypatch: pytest.MonkeyPatch, typed: str, job: str | None
) -> None:
    """Without the server, and a task for its array; by show, by history, and by maple-fix."""
    monkeypatch.setenv("MAPLE_SOCKET", on_pbs.socket)
    said = maple("show", typed, "--json")
    assert (json.loads(said.out)["submission"]["job"] if job else said.code) == (job or 1)
    told = json.loads(maple("history", typed, "--json").out)["jobs"]
    jobs = [one["job"] for each in told for version in each["versions"] for one in version["submissions"]]
    assert (job in jobs) if job else jobs == []
    remembered = from_memory.remembered(typed)
    assert (remembered.id if remembered else None) == job


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("history", "nothing"), "nothing: you have no job of this name or path; maple history lists your jobs"),
        (("history", "jbo.sh"), "jbo.sh: you have no job of this name or path; did you mean job.sh? "
         "maple history lists your jobs"),
        (("show", "1"), "1: you have no submission of this id; maple history lists your jobs"),
        (("show", "lsat"), "lsat: you have no submission of this id; did you mean last? maple history lists your jobs"),
        (("show", "\x1b[3m"), "\\x1b[3m: you have no submission of this id; maple history lists your jobs"),
    ],
)  # fmt: skip
def test_what_is_not_remembered_is_said_in_one_line(maple: Call, words: tuple[str, ...], said: str) -> None:
    """With exit code 1."""
    assert maple(*words) == Said(1, "", "maple: %s\n" % said)


@pytest.mark.parametrize("command", ["history", "show"])
def test_what_is_not_remembered_fits_a_terminal(maple: Call, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    """The message breaks between words, as every other message does."""
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda stream: True)
    monkeypatch.setenv("COLUMNS", "60")
    lines = maple(command, "nothing-of-this-name").err.splitlines()
    assert len(lines) > 1 and all(len(line) <= 60 for line in lines)


@pytest.mark.parametrize("words", [("history",), ("show", "last"), ("history", "x", "--json")])
def test_without_a_service_one_line_says_so(
    maple: Call, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """With exit code 3."""
    monkeypatch.setenv("MAPLE_SOCKET", "/nowhere/sock")
    said = maple(*words)
    assert (said.code, said.out) == (3, "")
    why = (
        "the Maple service does not answer (/nowhere/sock: no such file or directory); job history needs it; "
        "maple admin doctor tells why"
    )
    assert said.err == "maple: %s\n" % why


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400\r\n\r\n", b"MPJ1\xff\xff\xff\xff", b"MPJ1\0\0\0\2[]",
                                    b"MPJ1\0\0\0\1{", b'MPJ1\0\0\0\x0d{"found":[1]}', b'MPJ1\0\0\0\x0c{"found":{}}'],
                         ids=repr)  # fmt: skip
def test_a_service_that_says_nonsense_is_none(
    maple: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: object, answer: bytes
) -> None:
    """One line, no traceback."""
    path = "%s/s" % tmp_path
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()

        def serve() -> None:
            one, _ = listening.accept()
            with one:
                one.recv(65536)
                one.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        monkeypatch.setenv("MAPLE_SOCKET", path)
        said = maple("history", "x")
        thread.join()
    assert said.code in (1, 3) and said.out == ""
    assert len(said.err.splitlines()) == 1 and "mistake of Maple" not in said.err


def test_the_socket_is_that_of_the_installed_front(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever sbatch comes first, as the front itself finds it; MAPLE_SOCKET alone where it is set."""
    top = str(tmp_path)
    for folder in ("bin", "etc", "links"):
        os.mkdir("%s/%s" % (top, folder))
    with open(top + "/bin/front", "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n")
    os.chmod(top + "/bin/front", 0o755)
    os.symlink("../bin/front", top + "/links/sbatch")
    with open(top + "/etc/front.conf", "w", encoding="utf-8") as file:
        file.write("socket=/run/here\nservice_uid=77\n")
    assert list(places({"PATH": top + "/links"})) == [("/run/here", 77)]
    assert list(places({"PATH": top + "/links", "MAPLE_SOCKET": "/x"})) == [("/x", -1)]
    assert list(places({"PATH": "/nowhere"})) == [("/run/maple/daemon.sock", -1)]
    monkeypatch.setattr(sys, "argv", [top + "/links/maple", "history"])  # called by its path, PATH knows nothing of it
    assert list(places({"PATH": "/nowhere"})) == [("/run/here", 77)]


def test_a_service_that_is_told_of_no_job_says_so(maple: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """An id that is not found there is no mistake of the user's."""
    without = [one._replace(job="") for one in remembered.records()]
    monkeypatch.setattr(remembered, "records", lambda **asked: [] if asked.get("job") else without)
    said = maple("show", "471199999999")
    assert "the service knows no job ids: its hooks tell them; maple show last" in said.err


def test_an_offer_that_nobody_is_known_to_have_taken_is_not_called_written(maple: Call) -> None:
    """Nor one that was taken."""
    one = remembered.records()[0]._replace(verdict="findings", offered_hash="0" * 64, codes=("MPL303",), job="")
    said = "a change was offered; submitted as written unless you took it (MPL303)"
    assert history_page.verdict(one) == said
    assert history_page.verdict(one._replace(offered_hash="")) == "submitted as written (MPL303)"
    assert history_page.ending(one) == "job not known"
    refused = history_page.ending(one._replace(joined="none"))
    assert refused == "no job: refused, stopped or only tested"


def test_what_came_of_an_offer_is_told_by_the_front_s_own_lines(maple: Call) -> None:
    """The service has answered before the user is asked; of one that was ended there the front writes no line."""
    first = remembered.records()[0]._replace(verdict="findings", offered_hash="0" * 64, codes=("MPL303",), job="")
    taken, refused, ended, elsewhere = (
        first._replace(id=name, at=1000.0, host=host) for name, host in zip("abcd", ("n1", "n1", "n1", "n2"))
    )
    lines = [{"time": "1970-01-01T00:10:00Z", "host": "n1", "record": "z", "verdict": "repaired"},
             {"time": "1970-01-01T00:16:40Z", "host": "n1", "record": "a", "verdict": "accepted"},
             {"time": "1970-01-01T00:16:41Z", "host": "n1", "record": "b", "verdict": "findings"}]  # fmt: skip
    asked = (taken, refused, ended, elsewhere)
    found = remembered.with_answers(asked, lines, 2000.0)
    assert [one.verdict for one in found] == ["accepted", "declined", "ended", "findings"]
    assert "as you agreed" in history_page.verdict(found[0]) and "nothing was submitted" in history_page.verdict(
        found[2]
    )
    assert history_page.ending(found[2]) == "not submitted"
    assert [one.verdict for one in remembered.with_answers((ended,), lines, 1020.0)] == [
        "findings"
    ]  # may still be asked


def test_what_the_helper_did_is_told_by_the_front_s_own_line(maple: Call) -> None:
    """Where the service was late: its record knows no verdict, and the script is not printed as if it were known."""
    late = remembered.records()[0]._replace(id="a", verdict="", how="late", codes=(), offered_hash="", host="n1")
    line = {"time": "1970-01-01T00:10:00Z", "host": "n1", "record": "a", "verdict": "repaired", "codes": ["MPL301"]}
    (found,) = remembered.with_answers([late], [line], 2000.0)
    assert history_page.verdict(found) == "repaired before submitting (MPL301), by a helper: the service was late"
    assert found.verdict == "" and remembered.with_answers([late], [], 2000.0) == [late]
    assert history_page.verdict(late) == "no details: the service answered too late, a helper was asked"


def test_offers_that_ended_in_several_ways_are_told_one_by_one(maple: Call) -> None:
    """What holds of the newest does not hold of the others of its version."""
    job = remembered.jobs("", "")[0]
    version = job.newest
    first = remembered.records()[0]._replace(version=version.id, offered_hash="0" * 64, codes=("MPL303",), job="")
    records = tuple(first._replace(verdict=one) for one in ("ended", "declined", "accepted"))
    history_page.show(job._replace(versions=(version,), records={version.id: records}), 9, False)
    shown = maple("--version").out
    assert "Maple: a change was offered (MPL303)" in shown and "2 submissions" in shown
    assert shown.count(" as written  job not known") == shown.count(", changed as you agreed  job not known") == 1


def test_audit_lines_of_another_user_s_file_are_not_believed(tmp_path: Path) -> None:
    """Anybody may lay one of that name into the spool; a link is not followed."""
    (tmp_path / "real").write_text('{"record": "a"}\nno json\n')
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert list(remembered._lines(str(tmp_path / "real"))) == [{"record": "a"}]
    assert list(remembered._lines(str(tmp_path / "link"))) == list(remembered._lines(str(tmp_path))) == []


def test_the_history_fits_a_terminal(maple: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rules, too, where there are many; no word is broken."""
    one = remembered.jobs("", "")[0]
    codes = tuple("MPL%d" % number for number in range(301, 320))
    many = {key: tuple(each._replace(codes=codes) for each in found) for key, found in one.records.items()}
    monkeypatch.setenv("COLUMNS", "80")
    history_page.show(one._replace(records=many), 9, False)
    shown = maple("--version").out
    assert "MPL319" in shown and max(map(len, shown.splitlines())) <= 80


def test_metadata_has_each_value_with_its_place_and_how_it_was_read(maple: Call) -> None:
    """Of the newest version; without a model nobody is asked."""
    said = maple("history", "job.sh", "--metadata")
    assert said.code == 0, said.err
    rows = [line.split("  ") for line in said.out.splitlines()]
    assert any(row[0].strip() == "program" and row[-1].strip() == "the script" for row in rows)
    asked = maple("history", "job.sh", "--metadata", "--ask")
    assert asked.code == 0 and "no model is configured" in asked.err
