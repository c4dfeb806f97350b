"""The programs called mpiexec, and ibrun, read their words as their makers say."""

from __future__ import annotations

import pytest
from maple_submit_filter.launchers import ibrun
from maple_submit_filter.launchers.grammar import read
from maple_submit_filter.launchers.mpi import options as mpi_options
from maple_submit_filter.types.text import Piece, Text


def words(line):
    out, at = [], 0
    for word in line.split(" "):
        out.append(Text((Piece(word.encode(), at),)))
        at += len(word) + 1
    return tuple(out)


def parts(maker, line):
    """Options with values, and the program."""
    found = read(mpi_options.TABLES[maker], words(line), 1)
    given = {one.name: one.value.raw.decode() if one.value is not None else None for one in found.options}
    return given, line.split(" ")[found.program], found.problem


@pytest.mark.parametrize(
    ("maker", "line", "given"),
    [
        ("openmpi", "mpirun -np 4 --map-by ppr:2:node x", {"n": "4", "map-by": "ppr:2:node"}),
        ("openmpi", "mpirun --np 4 -x A=b -bind-to none x", {"n": "4", "x": "A=b", "bind-to": "none"}),
        ("openmpi", "mpirun --mca btl self -N 2 -H a:2,b:2 x", {"mca": "btl=self", "N": "2", "host": "a:2,b:2"}),
        ("openmpi", "mpirun --display-map --hostfile h x", {"display-map": None, "hostfile": "h"}),
        ("openmpi", "mpirun -np 4 -- x", {"n": "4"}),
        ("hydra", "mpiexec -n 4 -ppn 2 -genv A b x", {"n": "4", "ppn": "2", "genv": "A=b"}),
        ("hydra", "mpiexec --ppn=2 -genv A=b -launcher fork x", {"ppn": "2", "genv": "A=b", "launcher": "fork"}),
        ("hydra", "mpiexec -hosts a,b -genvall -l x", {"hosts": "a,b", "genvall": None, "prepend-rank": None}),
        ("intelmpi", "mpirun -perhost 2 -n 4 -print-rank-map x", {"ppn": "2", "n": "4", "print-rank-map": None}),
        (
            "pals",
            "mpiexec -n 8 --ppn 4 --depth=8 --cpu-bind depth x",
            {"n": "8", "ppn": "4", "depth": "8", "cpu-bind": "depth"},
        ),
        (
            "pals",
            "mpiexec --np 8 -d 2 --env A=b --line-buffer x",
            {"n": "8", "depth": "2", "env": "A=b", "line-buffer": None},
        ),
    ],
)
def test_an_mpiexec_line_becomes_options_and_a_program(maker, line, given):
    assert parts(maker, line) == (given, "x", "")


@pytest.mark.parametrize(
    ("maker", "line", "says"),
    [
        ("openmpi", "mpirun -ppn 2 x", "unknown option -ppn"),
        ("openmpi", "mpirun --hostf h x", "unknown option --hostf"),
        ("hydra", "mpiexec --cpu-bind depth x", "unknown option --cpu-bind"),
        ("hydra", "mpiexec -n4 x", "unknown option -n4"),
        ("hydra", "mpiexec -n 4 -- x", "unknown option --"),
        ("hydra", "mpiexec -perhost 2 x", "unknown option -perhost"),
        ("openmpi", "mpirun -np", "option -np wants a value"),
    ],
)
def test_options_that_the_maker_does_not_know_are_a_problem(maker, line, says):
    assert read(mpi_options.TABLES[maker], words(line), 1).problem == says


@pytest.mark.parametrize(
    ("line", "makers"),
    [
        ("mpiexec -n 4 -ppn 2 x", {"hydra", "intelmpi", "pals"}),
        ("mpiexec --cpu-bind depth x", {"pals"}),
        ("mpirun -np 4 --mca btl self x", {"openmpi"}),
        ("mpirun -np 4 x", {"openmpi", "hydra", "intelmpi"}),
        ("mpirun -np 4 --nonsense x", set()),
    ],
)
def test_the_options_tell_whose_program_it_may_be(line, makers):
    found = mpi_options.readings(words(line), 1, mpi_options.makers(line.split(" ")[0].encode()))
    assert set(found) == makers


def test_a_colon_begins_another_program():
    found = read(mpi_options.OPENMPI, words("mpirun -np 1 a x : -np 2 b"), 1)
    assert (found.program, found.contexts) == (3, (5,))


def test_a_value_of_two_words_lies_over_both():
    (genv,) = read(mpi_options.HYDRA, words("mpiexec -genv A b x"), 1).options
    assert (genv.words, genv.span, genv.value_span) == ((1, 3), (8, 17), None)


def test_a_path_does_not_hide_the_name():
    assert mpi_options.makers(b"/opt/intel/mpi/bin/mpiexec.hydra") == ("hydra", "intelmpi")
    assert mpi_options.makers(b"/usr/bin/python") == ()


def test_ibrun_takes_a_part_of_the_job():
    found = read(ibrun.TABLE, words("ibrun -n 2 -o 4 task_affinity python t.py -n 3"), 1)
    assert [(one.name, one.value.raw) for one in found.options] == [("n", b"2"), ("o", b"4")]
    assert (found.program, found.problem) == (5, "")
