"""PBS's hook, in a double of its interpreter: it tells what it knows, is bounded, and accepts every end."""

from __future__ import annotations

import hashlib
import os
import re
import socket
import threading
from typing import Any

import pytest
from maple_daemon.outcomes import join
from maple_daemon.outcomes import scheduler_words as outcomes
from maple_daemon.outcomes.events import Ended, ended
from maple_submit_filter.types.job_records import Record

from tests.doubles.pbs_hooks import EPILOGUE, OBIT, HookJob, run_hook

HERE = os.path.dirname(os.path.abspath(__file__))
HOOK = os.path.join(HERE, "..", "..", "..", "packaging", "pbs", "maple_job_end.py")


class Job(HookJob):
    """A job at jobobit."""

    def __init__(self, **more: Any) -> None:
        told: dict[str, Any] = {
            "Job_Name": "train", "Job_Owner": "root@login1", "euser": "root", "substate": 53,
            "exec_host": "node1/0*8+node2/0*8", "ctime": 1795330155, "stime": 1795330160, "obittime": 1795330170,
            "Output_Path": "login1:/w/train.o30", "Error_Path": "login1:/w/train.e30",
            "Variable_List": {"PBS_O_WORKDIR": "/w", "PBS_O_HOME": "/root"},
        }  # fmt: skip
        super().__init__(**{**told, **more})


def run(job: Any, kind: int = OBIT, spool: str = "", sock: str = "") -> tuple[bool, list[str]]:
    """Run the hook; return whether it accepted, and what it logged."""
    heard = run_hook(HOOK, job, {"SOCKET": sock, "SPOOL": spool}, kind)
    return heard.accepted == 1, heard.logged


def left(spool: str) -> Ended:
    """The one event in the spool."""
    (name,) = os.listdir(spool)
    assert re.fullmatch(r"ended\.[0-9a-f]{24}", name) and os.stat(spool + "/" + name).st_mode & 0o777 == 0o644
    with open(spool + "/" + name, "rb") as file:
        return ended(file.read())


def test_the_server_tells_how_a_job_ended(tmp_path: object) -> None:
    """As Maple says it: paths without the host, each node once."""
    assert run(Job(), spool=str(tmp_path)) == (True, [])
    found = outcomes.of_event(left(str(tmp_path))._replace(uid=0))
    assert (found.job, found.state, found.exit_code, found.nodes) == ("30.pbs01", "failed", 3, "node1,node2")
    assert (found.name, found.workdir, found.output, found.source) == ("train", "/w", "/w/train.o30", "jobobit")
    assert (found.submitted, found.ended) == (1795330155.0, 1795330170.0)


@pytest.mark.parametrize("status", [0, 143, 271])
def test_who_deletes_a_job_has_no_failure_and_no_success(tmp_path: object, status: int) -> None:
    """Its comment tells, which is there at its end already; the substate is still that of any end."""
    comment = "Job run at Sun Nov 22 at 10:00 on (node1:ncpus=8) and terminated by root@pbs01"
    run(Job(Exit_status=status, comment="x" * 5000 + comment), spool=str(tmp_path))
    assert outcomes.of_event(left(str(tmp_path))).state == "cancelled"


def copied(folder: str, script: bytes, name: bytes = b"job.sh") -> str:
    """The words of a submission whose script Maple changed, with the path that its private copy really has."""
    path = f"{folder}/maple/submit/{hashlib.sha256(script).hexdigest()[:32]}/{name.decode()}"  # as front/copy.c has it
    return WORD % "-l" + WORD % "walltime=10:00" + WORD % path


WORD = "<jsdl-hpcpa:Argument>%s</jsdl-hpcpa:Argument>"


def test_the_server_alone_joins_what_maple_changed(tmp_path: object) -> None:
    """The copy's path has the hash of the script, which its last line makes one of its own."""
    spool, folder = str(tmp_path) + "/spool", str(tmp_path)
    os.mkdir(spool)
    scripts = [b"#!/bin/sh\n# maple: repaired (MPL301); record %016x;\n" % number for number in range(3)]
    records = [
        Record("%016x" % number, "v", 0, 1795330130.0, "h", 1, 1, "repair", "repaired", (), "memory")._replace(
            submitted_hash=hashlib.sha256(script).hexdigest()
        )
        for number, script in enumerate(scripts)
    ]
    run(Job(Submit_arguments=copied(folder, scripts[1])), spool=spool)
    event = left(spool)._replace(uid=0)
    joined = join.by_record(outcomes.of_event(event), records)
    assert joined is not None and (joined.record, joined.job) == (records[1].id, "30.pbs01")
    assert join.by_record(outcomes.of_event(event._replace(uid=1)), records) is None
    late = [one._replace(at=one.at - 3600) for one in records]
    assert join.by_record(outcomes.of_event(event), late) is None, "the copy was submitted again by hand"
    twice = [*records, records[1]._replace(id="f" * 16)]
    assert join.by_record(outcomes.of_event(event), twice) is None


@pytest.mark.parametrize(
    "words", ["", "job.sh", WORD % "/home/a/submit/job.sh", "/c/submit/%s/a /c/submit/%s/b" % ("a" * 32, "b" * 32)]
)
def test_no_other_words_are_told(tmp_path: object, words: str) -> None:
    """Nor is any text of the user's."""
    run(Job(Submit_arguments=words + (WORD % "-v") + (WORD % "TOKEN=hidden")), spool=str(tmp_path))
    (name,) = os.listdir(str(tmp_path))
    with open("%s/%s" % (tmp_path, name), encoding="utf-8") as file:
        text = file.read()
    assert "TOKEN" not in text and "script_hash" not in text


def test_a_subjob_names_its_array(tmp_path: object) -> None:
    """As qsub printed it."""
    run(Job(id="39[2].pbs01"), spool=str(tmp_path))
    assert left(str(tmp_path)).array == "39[].pbs01"


def test_the_node_knows_the_script(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its hash, and by the record in its last line; the other nodes say nothing."""
    folder = str(tmp_path)
    os.makedirs(folder + "/home/mom_priv/jobs")
    os.mkdir(folder + "/spool")
    script = b"#!/bin/sh\n# maple: repaired (MPL301); record 0011223344556677; original sha256 0; MAPLE=off qsub\n"
    with open(folder + "/home/mom_priv/jobs/30.pbs01.SC", "wb") as file:
        file.write(script)
    with open(folder + "/pbs.conf", "w", encoding="utf-8") as conf:
        conf.write("PBS_SERVER=pbs01\nPBS_HOME=%s/home\n" % folder)
    monkeypatch.setenv("PBS_CONF_FILE", folder + "/pbs.conf")
    run(Job(primary=False), EPILOGUE, spool=folder + "/spool")
    assert os.listdir(folder + "/spool") == []
    run(Job(ctime=None, exec_host=None), EPILOGUE, spool=folder + "/spool")
    event = left(folder + "/spool")
    assert (event.script_hash, event.record) == (hashlib.sha256(script).hexdigest(), "0011223344556677")
    assert (event.submitted, event.nodes, event.source) == (None, "", "execjob_epilogue")


def test_a_long_event_is_shortened(tmp_path: object) -> None:
    """What tells the job and its end stays."""
    run(Job(Job_Name="n" * 3000, exec_host="+".join("node%d/0" % n for n in range(2000))), spool=str(tmp_path))
    event = left(str(tmp_path))
    assert (event.job, event.exit, event.nodes, event.name) == ("30.pbs01", "3", "", "n" * 3000)


@pytest.mark.parametrize("answer", [b"kept\n", b"not kept\n", b"", None])
def test_the_socket_comes_first_and_the_spool_where_it_does_not_keep(tmp_path: object, answer: bytes | None) -> None:
    """Also where nobody answers: half a second, and the event is in the spool."""
    path, spool = str(tmp_path) + "/s", str(tmp_path) + "/spool"
    os.mkdir(spool)
    over = threading.Event()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()

        def serve() -> None:
            one, _ = listening.accept()
            with one:
                one.recv(8192)
                if answer is None:
                    over.wait(60)
                else:
                    one.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        assert run(Job(), spool=spool, sock=path) == (True, [])
        over.set()
        thread.join(60)
    assert len(os.listdir(spool)) == (0 if answer == b"kept\n" else 1)


class Broken:
    """A job of another PBS: everything that is asked fails."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


@pytest.mark.parametrize("job", [None, Broken(), Job(id=None), Job(Variable_List=None, euser=None)], ids=str)
@pytest.mark.parametrize("spool", ["", "/absent/spool"])
def test_whatever_fails_the_end_is_accepted(job: Any, spool: str) -> None:
    """And one line in PBS's log at most."""
    accepted, logged = run(job, EPILOGUE, spool=spool, sock="/absent.sock")
    assert accepted and len(logged) <= 1
