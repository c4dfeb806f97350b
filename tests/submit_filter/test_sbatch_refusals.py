"""Values that sbatch refuses: what Maple says of them is what the installed sbatch says, and only of such values."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from maple_submit_filter.request.slurm.refusals import refusals
from maple_submit_filter.types.settings import Origin, Setting

from tests.submit_filter.real_sbatch import listed

SCRIPT = b"#!/bin/bash\nsrun hostname\n"
OPTIONS = ("nodes", "ntasks", "ntasks-per-node", "cpus-per-task", "cpus-per-gpu", "ntasks-per-gpu", "mem",
           "mem-per-cpu", "mem-per-gpu", "time", "time-min")  # fmt: skip


def said_of(name: str, value: bytes) -> list[str]:
    """Return what Maple believes that sbatch says of one value."""
    return [said for _, said in refusals([Setting(name, value, Origin("argv", argv_index=1, argv_count=1))])]


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("value", [b"four", b"2h", b"4x", b"4", b"x4", b"-", b"lots"], ids=repr)
def test_what_is_called_refused_is_refused_in_these_words(tmp_path: object, name: str, value: bytes) -> None:
    """And what sbatch takes is never called refused."""
    real = listed(str(tmp_path), SCRIPT, [b"--%b=%b" % (name.encode(), value)])
    said = said_of(name, value)
    assert not said or real.options is None
    assert all(one.encode() in real.said for one in said)


def test_the_plain_mistakes_are_found() -> None:
    """The silence of the rule above would pass as well."""
    assert [len(said_of(name, b"four")) for name in OPTIONS] == [1] * len(OPTIONS)


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(OPTIONS), st.text("0124kKmMgGhx:-.,*+ ", min_size=1, max_size=6))
def test_no_value_that_sbatch_takes_is_called_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, value: str
) -> None:
    """Whatever it is made of."""
    if said_of(name, value.encode()):
        real = listed(str(tmp_path_factory.mktemp("sbatch")), SCRIPT, [b"--%b=%b" % (name.encode(), value.encode())])
        assert real.options is None
