"""Which options an mpiexec takes: the real Hydra is asked, the look-alike of PALS is compared with what is known.

The two columns are those of a table measured with Debian's MPICH 4.0.2, and read from public sources for PALS.
"""

from __future__ import annotations

import itertools
import os
import subprocess
from typing import NamedTuple

import pytest
from maple_submit_filter.launchers.mpi.options import HYDRA, PALS
from maple_submit_filter.launchers.option_table import ENV, FLAG, Table

from tests.doubles.pals import pals_options
from tests.pbs_lab.programs import real_hydra

COUNT = itertools.count()


class Said(NamedTuple):
    """What Hydra wrote, and whether it started the program."""

    stderr: str
    started: bool


# The facts' table: an option with a value that it takes, for Hydra and for PALS.
BOTH = ["-n 1", "-np 1", "--np 1", "-ppn 1", "--ppn 1", "--ppn=1", "-hostfile HOSTS", "--hostfile HOSTS", "-f HOSTS",
        "-hosts localhost", "-host localhost", "--hostlist localhost", "-env A=b", "--env A=b", "-env A b", "-envall",
        "--envall", "-envlist A", "-wdir /tmp", "--wdir /tmp", "-envnone", "-l", "--genvall"]  # fmt: skip
ONLY_PALS = ["--cpu-bind depth", "--cpu-bind=list:0:1", "--mem-bind local", "-d 2", "--depth 2", "--line-buffer",
             "--rlimits CORE", "--pmi pmix", "--pmi=cray", "--no-transfer", "--exclusive", "--abort-on-failure",
             "--soft 1", "--label"]  # fmt: skip
ONLY_HYDRA = ["-genv A b", "--genv A=b", "-bind-to none", "-map-by core", "-launcher fork", "-bootstrap fork",
              "-rmk user", "-iface lo"]  # fmt: skip

# A value that each option of our table for Hydra takes; "FILE" is a file of lines, of which each kind needs its own.
VALUES = {
    "n": "1",
    "ppn": "1",
    "hostfile": "HOSTS",
    "hosts": "localhost",
    "envlist": "A",
    "genvlist": "A",
    "wdir": "/tmp",
    "launcher": "fork",
    "launcher-exec": "/bin/true",
    "rmk": "user",
    "topolib": "hwloc",
    "bind-to": "none",
    "map-by": "core",
    "membind": "none",
    "demux": "poll",
    "iface": "lo",
    "prepend-pattern": "%r:",
    "outfile-pattern": "/dev/stdout",
    "errfile-pattern": "/dev/stderr",
    "output-from": "0",
    "nameserver": "localhost:1",
    "order-nodes": "UP",
    "localhost": "localhost",
    "usize": "SYSTEM",
    "gpus-per-proc": "0",
}
ENDS_AT_ONCE = ("info", "version", "help", "configfile", "profile", "skip-launch-node")  # these start no program here


@pytest.fixture(scope="module")
def hostfile(tmp_path_factory):
    path = tmp_path_factory.mktemp("mpi") / "hosts"
    path.write_text("localhost\n")
    return str(path)


def hydra(words, hostfile):
    """Return what mpiexec.hydra says to these words in front of a program, which leaves a file.

    On a busy machine SIGPIPE ends Hydra 4.0.2 in one of a few hundred starts, with the output of a program as short as
    this: so it ignores the signal here, and the program is asked, not Hydra, whether it was started.
    """
    mark = f"{hostfile}.{next(COUNT)}"
    line = [hostfile if word == "HOSTS" else word for word in words]
    own = ["-launcher", "fork"] if not {"launcher", "bootstrap"} & {word.lstrip("-") for word in words} else []
    words = [real_hydra(), *own, *line, "/bin/touch", mark]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, restore_signals=False,
                          cwd=os.path.dirname(hostfile))  # fmt: skip
    return Said(done.stderr, os.path.exists(mark))


def taken(said):
    return "unrecognized argument" not in said.stderr


@pytest.mark.parametrize("line", BOTH + ONLY_HYDRA)
def test_the_real_hydra_takes_the_options_of_its_column(line, hostfile):
    said = hydra(line.split(), hostfile)
    assert (taken(said), said.started) == (True, True), said.stderr


@pytest.mark.parametrize("line", ONLY_PALS)
def test_the_real_hydra_refuses_the_options_that_only_pals_has(line, hostfile):
    assert not taken(hydra(line.split(), hostfile))


@pytest.mark.parametrize("name", sorted({row.name for row in HYDRA.rows.values()}))
def test_the_real_hydra_takes_every_row_of_our_table_with_as_many_words(name, hostfile):
    row = next(row for row in HYDRA.rows.values() if row.name == name)
    for spelling in row.spellings:
        word = spelling.decode()
        if name in ENDS_AT_ONCE:
            said = hydra([word, *([] if row.values == FLAG else ["HOSTS"])], hostfile)
            assert taken(said), said.stderr
            continue
        forms = [[]] if row.values == FLAG else [["A", "b"], ["A=b"]] if row.values == ENV else [[VALUES[name]]]
        for values in forms:
            said = hydra([word, *values], hostfile)
            assert said.started, (word, said.stderr)


@pytest.mark.parametrize("line", BOTH + ONLY_PALS)
def test_the_look_alike_of_pals_takes_the_options_of_its_column(line):
    assert pals_options.read([*line.split(), "program"])[1] == ["program"]


@pytest.mark.parametrize("line", ONLY_HYDRA)
def test_the_look_alike_of_pals_refuses_what_no_public_source_of_pals_has(line):
    with pytest.raises(pals_options.Refused):
        pals_options.read([*line.split(), "program"])


def test_genv_is_taken_where_the_lab_is_told_so():
    assert pals_options.read(["-genv", "A", "b", "x"], genv=True) == ({"env": [("A", "b")]}, ["x"])


@pytest.mark.parametrize(
    ("line", "said", "program"),
    [
        ("-n 4 --ppn=2 x -n 9", {"np": "4", "ppn": "2"}, ["x", "-n", "9"]),
        ("--env A=b=c -env D e x", {}, ["x"]),
        ("--rlimit CORE -- x", {"rlimits": "CORE"}, ["x"]),  # as in a line that ran on Aurora
        ("--genvall --no-vni x", {"genvall": True, "no-vni": True}, ["x"]),
    ],
)
def test_the_look_alike_of_pals_reads_up_to_the_program(line, said, program):
    found, rest = pals_options.read(line.split())
    assert {name: value for name, value in found.items() if name != "env"} == said
    assert rest == program


@pytest.mark.parametrize("line", ["--no", "--envall=1 x", "--ppn", "--e x", "-x A=b x"])
def test_the_look_alike_of_pals_refuses_what_getopt_would(line):
    with pytest.raises(pals_options.Refused):
        pals_options.read(line.split())


def names(table: Table) -> dict[str, bool]:
    """Return every long name of a table of ours, and whether it takes a value."""
    return {
        spelling.decode().lstrip("-"): row.values != FLAG
        for row in table.rows.values()
        for spelling in row.spellings
        if len(spelling.lstrip(b"-")) > 1
    }


def test_our_table_for_pals_knows_every_option_of_the_look_alike_with_its_value():
    ours = names(PALS)
    theirs = {name: True for name in pals_options.VALUES} | {name: False for name in pals_options.FLAGS}
    assert {name for name in theirs.keys() & ours.keys() if ours[name] != theirs[name]} == set()
    assert theirs.keys() - ours.keys() <= ONLY_THEIRS
    assert ours.keys() - theirs.keys() <= ONLY_OURS


# Where two readings of the public sources differ: nothing here is proven by a run.
ONLY_THEIRS = {"exclude-tasks", "file", "include-tasks", "no-label", "no-line-buffer", "no-sstartup", "sstartup"} | {
    "transfer"
}
ONLY_OURS = {"debug", "fanout", "genv", "network", "procinfo", "stderr", "stdin", "stdout", "timeout", "vnis", "wd"}
