"""The lab reads and refuses as the measured server does: the texts and codes are its own."""

from __future__ import annotations

import pytest

from tests.pbs_lab.chunks import NeverRuns, chunks, node_file, placed
from tests.pbs_lab.request import Refused, read
from tests.pbs_lab.rules import check
from tests.pbs_lab.shape import GENERIC, Host
from tests.pbs_lab.sites import shape_of_site

POLARIS = ("-A", "p", "-l", "filesystems=home")


def request(script, *words, environment=None):
    return read(words, script.encode(), "/tmp", environment or {})


@pytest.mark.parametrize(
    ("script", "words", "expected"),
    [
        ("#PBS -l walltime=1:00\n#PBS -l walltime=2:00\n", [], {"walltime": "1:00"}),  # the first one in a script
        ("", ["-l", "walltime=1:00", "-l", "walltime=2:00"], {"walltime": "2:00"}),  # the last one on the line
        ("#PBS -l walltime=1:00,ncpus=2\n", ["-lwalltime=3:00"], {"walltime": "3:00", "ncpus": "2"}),
        ("set -e\n#PBS -l ncpus=2\n", [], {}),  # behind a command
        ("\ufeff#!/bin/sh\n#PBS -l ncpus=2\n", [], {}),  # behind a byte order mark
        (": no command\n  #PBS -l ncpus=2\n", [], {"ncpus": "2"}),
        ("##PBS -l ncpus=2\n# PBS -l ncpus=2\n#pbs -l ncpus=2\n#PBS\n#PBS-l ncpus=3\n", [], {"ncpus": "3"}),
        ("#PBS -l \\\nncpus=4\n", [], {"ncpus": "4"}),
        ("#JOB -l ncpus=5\n#PBS -l ncpus=6\n", ["-C", "#JOB"], {"ncpus": "5"}),
        ("#PBS -l ncpus=6\n", ["-C", ""], {}),
        ("#PBS -C '#X'\n#PBS -l 'ncpus=6'\n", [], {"ncpus": "6"}),
    ],
)
def test_resources_are_read_as_qsub_reads_them(script, words, expected):
    assert request(script, *words).resources == expected


def test_the_prefix_may_come_from_the_environment():
    assert request("#X -l ncpus=2\n", environment={"PBS_DPREFIX": "#X"}).resources == {"ncpus": "2"}


@pytest.mark.parametrize(
    ("script", "words", "says", "code"),
    [
        ("", ["-N", "a b"], "qsub: illegal -N value", 2),
        ("", ["-j", "xx"], "qsub: illegal -j value", 2),
        ("", ["-J", "4-1"], "qsub: illegal -J value", 2),
        ("", ["-y"], "qsub: option -y not recognized", 2),
        ("", ["s.sh", "-N", "late"], "usage: qsub", 2),
        ("", ["/no/such/file"], "qsub: script file:: No such file or directory", 1),
        ("", ["/tmp"], "qsub: script not a file", 1),
        ("#PBS -N name # why\n", [], "qsub: directive error: -N name # why ", 1),
        ("#!/bin/sh\r\n", [], "qsub: script contains cr, lf", 1),
        ("", ["-l", "walltime=abc"], "qsub: Illegal attribute or resource value Resource_List.walltime", 166),
        ("", ["-l", "walltime=1:2:3:4"], "qsub: Illegal attribute or resource value Resource_List.walltime", 166),
        ("", ["-l", "place=scatter"], 'qsub: Cannot have "place" without "select"', 7),
        ("", ["-l", "select=1,nodes=2"], "qsub: Cannot be used with select or place: nodes", 6),
        ("", ["-l", "select=1", "-l", "ncpus=2"], '"-lresource=" cannot be used with "select" or "place"', 5),
        ("#PBS -I\n", [], "qsub:\tstandard input and output must be a terminal", 1),
    ],
)
def test_what_qsub_refuses_it_refuses_in_its_own_words(script, words, says, code):
    with pytest.raises(Refused) as refused:
        request(script, *words)
    assert says in refused.value.says
    assert refused.value.code == code


@pytest.mark.parametrize("walltime", ["01:70:00", "", "30", "1:00:00.5"])
def test_walltimes_that_look_odd_are_accepted(walltime):
    assert request("", "-l", f"walltime={walltime}").resources == {"walltime": walltime}


@pytest.mark.parametrize(
    ("text", "says", "code"),
    [
        ("x", "Resource_List.select", 166),
        ("0:ncpus=1", "Illegal attribute or resource value", 166),
        ("1:ncpus", "Resource_List.select", 166),
        ("1:ncpus=a", "select.ncpus", 166),
        ("1:walltime=1:00", 'Resource invalid in "select" specification: walltime', 4),
        ("1:ncpus=1:ncpus=2", "duplicated resource within a section", 12),
    ],
)
def test_a_select_that_is_none_is_refused(text, says, code):
    with pytest.raises(Refused) as refused:
        chunks({"select": text})
    assert (says in refused.value.says, refused.value.code) == (True, code)


@pytest.mark.parametrize(
    ("resources", "lines"),
    [
        ({}, ["node1"]),
        ({"select": "2:ncpus=8:ngpus=4", "place": "scatter"}, ["node1", "node2"]),
        ({"select": "2:ncpus=8:ngpus=4:mpiprocs=4", "place": "scatter"}, ["node1"] * 4 + ["node2"] * 4),
        ({"select": "2:ncpus=8"}, ["node1", "node1"]),  # free: both fit on the first one
        ({"select": "2:ngpus=4"}, ["node1", "node2"]),  # free: they do not
        ({"select": "3:ncpus=8:ngpus=1", "place": "pack"}, ["node1"] * 3),
        ({"nodes": "2:ppn=2"}, ["node1", "node1", "node2", "node2"]),
        ({"select": "1:ncpus=4:mpiprocs=1+2:ngpus=4:mpiprocs=2"}, ["node1", "node1", "node1", "node2", "node2"]),
        ({"select": "1:host=node3"}, ["node3"]),
        ({"ncpus": "4"}, ["node1"]),
    ],
)
def test_the_node_file_has_a_line_for_each_chunk_or_process_host_by_host(resources, lines):
    assert node_file(placed(resources, GENERIC), GENERIC) == lines


@pytest.mark.parametrize(
    ("resources", "comment"),
    [
        ({"select": "9:ncpus=1", "place": "scatter"}, "Can Never Run: Not enough total nodes available"),
        ({"select": "1:ngpus=8"}, "Insufficient amount of resource: ngpus"),
        ({"select": "5:ngpus=4"}, "Insufficient amount of resource: ngpus"),
        ({"select": "1:host=nowhere"}, "Insufficient amount of resource: host"),
        ({"select": "1:mem=900tb"}, "Insufficient amount of resource: mem"),
        ({"select": "2:ngpus=4", "place": "pack"}, "Insufficient amount of resource: ngpus"),
    ],
)
def test_what_no_host_can_take_never_runs_and_the_comment_says_why(resources, comment):
    with pytest.raises(NeverRuns, match=comment):
        placed(resources, GENERIC)


def test_an_amount_of_memory_that_is_none_is_refused_when_it_is_submitted(pair, tmp_path):
    sent = pair.qsub("-l", "select=1:mem=lots", cwd=str(tmp_path), stdin=b"true\n")
    assert (sent.id, sent.returncode) == (None, 166)


def test_whole_nodes_take_a_chunk_each():
    shape = shape_of_site("alcf-polaris")
    assert len({one.host for one in placed({"select": "3:ncpus=1"}, shape)}) == 3


@pytest.mark.parametrize(
    ("site", "words", "says", "code"),
    [
        ("alcf-aurora", ["-l", "select=1,filesystems=flare"], "qsub: Account_Name is required to be set.", 32),
        ("alcf-polaris", ["-A", "p", "-l", "select=1"], "qsub: Resource: filesystems is required to be set.", 32),
        ("alcf-polaris", [*POLARIS, "-k", "o"], "-k doe is added for every job", 32),
        ("alcf-polaris", [*POLARIS, "-q", "small"], "qsub: Access to queue is denied", 174),
        ("alcf-polaris", [*POLARIS, "-q", "nosuch"], "qsub: Unknown queue", 170),
        ("alcf-polaris", [*POLARIS, "-q", "debug", "-l", "select=3"], "qsub: Job violates queue", 188),
        ("alcf-polaris", [*POLARIS, "-q", "debug", "-l", "walltime=1:00:01"], "qsub: Job violates queue", 188),
        ("alcf-polaris", [*POLARIS, "-q", "prod", "-l", "select=9"], "qsub: Job violates queue", 188),
    ],
)
def test_a_site_refuses_what_its_site_file_says(site, words, says, code):
    with pytest.raises(Refused) as refused:
        check(request("", *words), shape_of_site(site))
    assert (says in refused.value.says, refused.value.code) == (True, code)


def test_what_a_site_wants_it_accepts():
    check(request("", *POLARIS, "-q", "debug", "-k", "oed", "-l", "select=2"), shape_of_site("alcf-polaris"))
    check(request("", "-q", "anything"), shape_of_site("generic-pbs"))


def test_sites_have_the_devices_of_their_site_files():
    aurora, polaris = shape_of_site("alcf-aurora"), shape_of_site("alcf-polaris", hosts=2)
    assert (aurora.hosts[0], len(aurora.hosts)) == (Host("x4109c0s1b0n0", 12, "intel", "", 208), 4)
    assert ([host.gpus for host in polaris.hosts], polaris.launcher, aurora.launcher) == ([4, 4], "pals", "pals")
    with pytest.raises(ValueError, match="runs slurm"):
        shape_of_site("ncsa-delta")
