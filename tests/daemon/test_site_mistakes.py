"""What a site file gets wrong is told in one line for each mistake, with the key path and the nearest known word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from maple_agents.ask.sites.files import Mistakes, parse

RIGHT = """
id = "x"
name = "X"
checked = 2026-11-20
gpu_vendors = ["nvidia"]

[scheduler]
type = "slurm"
version = "23.11.7"
default_partition = "gpu"
source = ["guide"]

[detection]
host_patterns = ['login\\d']
source = ["guide"]

[node.a100]
gpus = 4
source = ["guide"]

[partition.gpu]
node_kinds = ["a100"]
max_walltime = "48:00:00"
source = ["guide"]

[demand.account]
options = ["account"]
effect = "refused"
says = "name the account"
source = ["guide"]

[sources.guide]
title = "Guide"
where = "https://example.org"
kind = "center"
"""

_LAUNCHER = '[launcher.mpirun]\nstate = "present"\nimplementation = "%s"\nsource = ["guide"]\n'
WRONG = [
    ("gpus = 4", "gpus_per_nod = 4", "node.a100.gpus_per_nod: no such key; did you mean gpu_type?"),
    ("max_walltime", "max_waltime", "partition.gpu.max_waltime: no such key; did you mean max_walltime?"),
    ("[partition.gpu]", "[partitions.gpu]", "partitions: no such key; did you mean partition?"),
    ('"48:00:00"', '"2 days"', "partition.gpu.max_walltime: '2 days' is not written as expected"),
    ("gpus = 4", 'gpus = "4"', "node.a100.gpus: should be a valid integer, not '4'"),
    ("gpus = 4", "gpus = true", "node.a100.gpus: should be a valid integer, not True"),
    ("gpus = 4", "gpus = -1", "node.a100.gpus: should be greater than or equal to 0, not -1"),
    ('effect = "refused"', 'effect = "refuse"', "demand.account.effect: 'refuse' is none of refused, bad-default"),
    ('effect = "refused"', 'effect = "refuse"', "did you mean refused?"),
    ('node_kinds = ["a100"]', 'node_kinds = ["a10"]', "partition.gpu.node_kinds: no [node.a10]; did you mean a100?"),
    ('gpus = 4\nsource = ["guide"]', "gpus = 4", "node.a100.source: is missing"),
    ('gpus = 4\nsource = ["guide"]', "gpus = 4\nsource = []", "node.a100.source: is empty"),
    ('gpus = 4\nsource = ["guide"]', 'gpus = 4\nsource = ["giude"]', "no 'giude' in [sources]; did you mean guide?"),
    (
        '_partition = "gpu"',
        '_partition = "gpus"',
        "scheduler.default_partition: no entry for 'gpus'; did you mean gpu?",
    ),
    ('id = "x"', 'id = "y"', "id: 'y', but the file is called x.toml"),
    ("login\\d", "login(", "detection.host_patterns[0]: not a regular expression"),
    ("[partition.gpu]", "[partition.gpu]\ngpus_per_node = 8", "partition.gpu.gpus_per_node: 8, but its nodes have 4"),
    ('options = ["account"]', 'options = ["-A"]', "demand.account.options: '-A' is written without dashes"),
    ('"refused"', '"refused"\nconfidence = "low"', 'demand.account.effect: "refused" needs a source'),
    ('"refused"', '"refused"\napplies = "gpu2"', "demand.account.applies: no partition 'gpu2'; did you mean gpu?"),
    ('type = "slurm"', 'type = "pbs"', "partition.gpu: pbs has no such thing"),
    (
        "[sources.guide]",
        '[sources.old]\ntitle = ""\nwhere = ""\nkind = "center"\n[sources.guide]',
        "sources.old: no entry",
    ),
    ("checked = 2026-11-20", 'checked = "today"', "checked: should be a valid date, not 'today'"),
    ("[node.a100]", "[node.a100", "not TOML"),
    ('"refused"', '"refused"\ntext = ""', "demand.account.text: is empty; what is not known is left out"),
    ('says = "name the account"', 'says = " "', "demand.account.says: is empty"),
    ("[sources", _LAUNCHER % "OpenMPl" + "[sources", "nobody's name is 'OpenMPl'; did you mean OpenMPI or Open MPI?"),
    ("[sources", _LAUNCHER % "our own" + "[sources", "launcher.mpirun.implementation: nobody's name is 'our own'"),
]


def mistakes(text: str) -> tuple[str, ...]:
    with pytest.raises(Mistakes) as caught:
        parse(text.encode(), "x.toml")
    return caught.value.lines


def test_the_file_that_the_mistakes_are_made_in_is_right() -> None:
    """Else each case below would prove nothing."""
    assert parse(RIGHT.encode(), "x.toml").id == "x"


@pytest.mark.parametrize("implementation", ["Open MPI", "open mpi", "Cray MPICH", "ParaStation MPI"])
def test_whose_an_mpirun_is_may_be_any_name_that_is_known(implementation: str) -> None:
    """Also one whose words Maple has no table of."""
    assert parse((RIGHT + _LAUNCHER % implementation).encode(), "x.toml").launcher


def test_a_variable_may_be_set_to_nothing() -> None:
    """That is a value."""
    variable = '[[network.variables]]\nname = "NCCL_NET"\nvalue = ""\nsource = ["guide"]\n'
    assert parse((RIGHT + '[network]\nsource = ["guide"]\n' + variable).encode(), "x.toml").network


@pytest.mark.parametrize(("right", "wrong", "said"), WRONG, ids=[said for _, _, said in WRONG])
def test_a_mistake_is_told_with_its_key_path(right: str, wrong: str, said: str) -> None:
    """One line, which begins with the file's name."""
    assert RIGHT.count(right) >= 1
    lines = mistakes(RIGHT.replace(right, wrong, 1))
    assert any(said in line for line in lines), lines
    assert all(line.startswith("x.toml: ") and "\n" not in line for line in lines)


def test_all_mistakes_are_told_at_once() -> None:
    """Nobody likes to find them one by one."""
    wrong = RIGHT.replace("max_walltime", "max_waltime").replace("gpus = 4", 'gpus = "4"').replace("title", "titel")
    said = "\n".join(mistakes(wrong))
    assert all(key in said for key in ("max_waltime", "node.a100.gpus", "sources.guide.titel", "sources.guide.title: "))


def test_bytes_that_are_no_text_are_one_line() -> None:
    """A traceback would help nobody."""
    with pytest.raises(Mistakes, match=r"^x\.toml: byte 5: not UTF-8$"):
        parse(b"id = \xff", "x.toml")


@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_any_bytes_are_a_site_or_mistakes(source: bytes) -> None:
    """Never another error."""
    try:
        parse(source, "x.toml")
    except Mistakes as error:
        assert error.lines
