"""From PBS' attributes to values: end states, output paths, hosts, times, XML. The rows are facts of a real PBS."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from maple_agents.ask.schedulers import Ending, EndReason, JobState
from maple_agents.ask.schedulers.pbs.changes import attributes, signal_name, words
from maple_agents.ask.schedulers.pbs.jobs import (
    answered,
    array_of,
    ending,
    hosts,
    is_id,
    job_of,
    moment,
    node_of,
    submit_arguments,
)
from maple_agents.ask.schedulers.pbs.library import Attribute
from maple_agents.ask.schedulers.protocol import Job
from maple_agents.base.quantities import asked, mebibytes


@pytest.mark.parametrize(
    ("substate", "status", "expected"),
    [
        ("92", "0", (EndReason.COMPLETED, 0, None)),
        ("93", "7", (EndReason.EXITED, 7, None)),
        ("93", "137", (EndReason.EXITED, 137, None)),
        ("93", "254", (EndReason.EXITED, 254, None)),
        ("93", "271", (EndReason.SIGNALLED, None, 15)),
        ("91", "271", (EndReason.CANCELLED, None, 15)),
        ("91", "265", (EndReason.CANCELLED, None, 9)),
        ("91", None, (EndReason.CANCELLED, None, None)),
        ("93", "-29", (EndReason.WALLTIME, None, None)),
        ("93", "-27", (EndReason.MEMORY, None, None)),
        ("93", "-28", (EndReason.LIMIT, None, None)),
        ("93", "-1", (EndReason.NOT_STARTED, None, None)),
        ("93", "-20", (EndReason.NODE, None, None)),
        ("93", "-77", (EndReason.UNKNOWN, None, None)),
        ("93", "soon", (EndReason.UNKNOWN, None, None)),
    ],
)
def test_each_end_state_is_decoded(substate, status, expected):
    given_ = {"job_state": "F", "substate": substate, **({} if status is None else {"Exit_status": status})}
    job = job_of("1.pbs01", given_)
    assert job.ending == Ending(*expected, raw=status or "")


def test_a_code_over_128_names_the_signal_that_a_shell_may_mean():
    assert [ending({"Exit_status": code}).shell_signal for code in ("137", "139", "128", "7", "255")] == [
        9,
        11,
        None,
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("letter", "state"),
    [*zip("QWTHRBSUEFX", [*["queued"] * 3, "held", *["running"] * 4, "exiting", *["finished"] * 2], strict=True)]
    + [("M", "unknown"), ("?", "unknown"), ("", "unknown")],
)
def test_each_state_letter_has_a_state(letter, state):
    assert job_of("1.pbs01", {"job_state": letter}).state == JobState(state)


VARIABLES = "PBS_O_HOME=/home/alice,PBS_O_LOGNAME=alice,PBS_O_WORKDIR=/scratch/a\\,b,X=PBS_O_WORKDIR=/no"
PLAIN = {"Output_Path": "pbs01:/out/n.o5", "Error_Path": "pbs01:/out/n.e5", "Variable_List": VARIABLES, "Job_Name": "n"}


@pytest.mark.parametrize(
    ("job_id", "more", "stdout", "stderr"),
    [
        ("5.pbs01", {}, "/out/n.o5", "/out/n.e5"),
        ("5.pbs01", {"Join_Path": "oe"}, "/out/n.o5", "/out/n.o5"),
        ("5.pbs01", {"Join_Path": "eo"}, "/out/n.e5", "/out/n.e5"),
        ("5.pbs01", {"Join_Path": "n"}, "/out/n.o5", "/out/n.e5"),
        ("5.pbs01", {"Remove_Files": "oe"}, None, None),
        ("5.pbs01", {"Remove_Files": "e"}, "/out/n.o5", None),
        ("5.pbs01", {"Output_Path": "pbs01:/out/"}, "/out/5.pbs01.OU", "/out/n.e5"),
        ("5.pbs01", {"Error_Path": "login-1.site.org:/out/"}, "/out/n.o5", "/out/5.pbs01.ER"),
        ("5.pbs01", {"Output_Path": "/out/with:colon"}, "/out/with:colon", "/out/n.e5"),
        ("5.pbs01", {"Output_Path": "pbs01:/out/$PBS_JOBID.log"}, "/out/$PBS_JOBID.log", "/out/n.e5"),
        ("5.pbs01", {"Output_Path": "pbs01:none.o5"}, "/scratch/a,b/none.o5", "/out/n.e5"),
        ("5.pbs01", {"Keep_Files": "oed"}, "/out/n.o5", "/out/n.e5"),
        ("5.pbs01", {"Keep_Files": "o"}, "/home/alice/n.o5", "/out/n.e5"),
        ("39[2].pbs01", {"Output_Path": "pbs01:/out/n.o39.^array_index^"}, "/out/n.o39.2", "/out/n.e5"),
        ("39[].pbs01", {"Output_Path": "pbs01:/out/n.o39.^array_index^"}, "/out/n.o39.^array_index^", "/out/n.e5"),
        ("5.pbs01", {"Output_Path": ""}, None, "/out/n.e5"),
    ],
)
def test_output_is_looked_for_where_pbs_delivers_it(job_id, more, stdout, stderr):
    job = job_of(job_id, {**PLAIN, **more})
    assert (job.stdout, job.stderr) == (stdout, stderr)


def test_subjob_and_parent_know_their_array():
    child, parent, plain = (job_of(one, {}) for one in ("39[2].pbs01", "39[].pbs01", "39.pbs01"))
    assert (child.array_id, child.array_index) == ("39[].pbs01", 2)
    assert (parent.array_id, parent.array_index) == ("39[].pbs01", None)
    assert (plain.array_id, plain.array_index) == (None, None)
    assert array_of("39[02]") == ("39[]", 2)


def test_a_job_is_found_under_the_id_that_was_asked_for_and_no_other():
    known = [Job(one, JobState.RUNNING) for one in ("30.pbs01.site.org", "30.pbs02", "3[1].pbs01", "3[11].pbs01")]
    found = answered(["30.pbs02", "30.pbs01", "3[11]", "0", "3", "30.pbs03", "3[]"], known)
    assert [job.id if job.state is JobState.RUNNING else None for job in found.values()] == [
        "30.pbs02",
        "30.pbs01.site.org",
        "3[11].pbs01",
        None,
        None,
        None,
        None,
    ]


@pytest.mark.parametrize(
    "word", ["workq", "", "1,2", "1 2", "1.pbs01\n", "-1", "1[", "1[a]", "\u0661", "1.", "1.a;b", "9" * 40]
)
def test_words_that_are_no_id_are_told(word):
    assert not is_id(word)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("node1/0*8+node2/0*8", ("node1", "node2")),
        ("node2/0+node2/1+node1/0", ("node2", "node1")),
        ("(node1/0:ncpus=8)+(node2/1)", ("node1", "node2")),
        ("node1.site.org:15002/0*8", ("node1.site.org",)),
        ("", ()),
    ],
)
def test_hosts_come_once_each_in_order(text, expected):
    assert hosts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1763670518", 1763670518),
        ("Thu Nov 20 20:28:38 2025", 1763670518),
        ("Sat Nov  1 00:00:00 2025", 1761955200),
        ("0", None),
        ("", None),
        (None, None),
        ("Thu Foo 20 20:28:38 2025", None),
        ("tomorrow", None),
    ],
)
def test_times_are_seconds_whoever_told_them(text, expected):
    assert moment(text) == expected


def xml(arguments: list[str]) -> str:
    escaped = [one.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for one in arguments]
    return "".join("<jsdl-hpcpa:Argument>%s</jsdl-hpcpa:Argument>" % one for one in escaped)


@given(st.lists(st.text()))
def test_every_word_of_the_command_line_comes_back_from_its_xml(arguments):
    assert submit_arguments(xml(arguments)) == tuple(arguments)


@pytest.mark.parametrize("text", [None, "-l select=1 job.sh", "<jsdl-hpcpa:Argument>a", "<!DOCTYPE a><b/>"])
def test_arguments_that_are_not_xml_are_unknown(text):
    assert submit_arguments(text) is None


def test_an_entity_is_decoded_once_and_html_names_are_left():
    assert submit_arguments(xml(["&amp;lt;"]) + xml([]).strip()) == ("&amp;lt;",)
    assert submit_arguments("<jsdl-hpcpa:Argument>&quot;&apos;&#65;&#x42;&copy;&copy</jsdl-hpcpa:Argument>") == (
        "\"'AB&copy;&copy",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("500gb", 512000),
        ("1048576kb", 1024),
        ("16mw", 128),
        ("2097152", 2),
        ("1tb", 1 << 20),
        ("much", None),
        (None, None),
    ],
)
def test_sizes_are_mebibytes(text, expected):
    assert mebibytes(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("01:00:00", 3600), ("90", 90), ("1:30", 90), ("01:70:00", 7800), ("abc", None), ("1:2:3:4", None)],
)
def test_durations_are_seconds(text, expected):
    assert asked(text, "pbs") == expected


@pytest.mark.parametrize(
    ("state", "usable"),
    [("free", True), ("job-busy", True), ("state-unknown,down", False), ("free,offline", False), ("", False)],
)
def test_a_node_is_usable_unless_it_is_down_offline_or_silent(state, usable):
    assert node_of("n", {"state": state}).usable is usable


def test_changes_are_attributes_for_the_library_and_options_for_qalter():
    changes = {"Resource_List.walltime": "1:00", "Job_Name": "-x; y", "depend": "afterok:3"}
    assert attributes(changes) == [
        Attribute("Resource_List", "walltime", "1:00"),
        Attribute("Job_Name", "", "-x; y"),
        Attribute("depend", "", "afterok:3"),
    ]
    assert words(changes) == ["-l", "walltime=1:00", "-N", "-x; y", "-W", "depend=afterok:3"]


@pytest.mark.parametrize("key", ["", "a b", "-l", "a.b.c", "a=b", "a,b"])
def test_a_name_that_is_no_attribute_is_refused(key):
    with pytest.raises(ValueError, match="no attribute"):
        words({key: "1"})


def test_signals_are_named_as_pbs_takes_them():
    assert [signal_name(one) for one in ("TERM", "SIGUSR1", "9", "suspend", "int")] == [
        "SIGTERM",
        "SIGUSR1",
        "9",
        "suspend",
        "SIGINT",
    ]
    with pytest.raises(ValueError, match="no signal"):
        signal_name("TERM -W force")
