"""Values that sbatch refuses: what Maple says of them is what the installed sbatch says, and only of such values."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from maple_submit_filter.request.slurm import options
from maple_submit_filter.request.slurm.values import of_another_form
from maple_submit_filter.rules.resources.mpl217_value_refused import COUNTS, refusals
from maple_submit_filter.types.job import Origin, Setting

from tests.submit_filter.real_sbatch import listed

SCRIPT = b"#!/bin/bash\nsrun hostname\n"
EVERY = [word.split("/")[0] for word in options._VALUES.split() if word not in ("wrap", "nodefile/F")]
VALUES = (b"", b"00", b"fast", b"Performance", b"x",
          b"<n>", b"{nodes}", b"YOUR_ACCOUNT", b"4", b"four", b"0", b"-1", b"4G", b"4GB", b"1-4", b"4-1", b"a,b",
          b"1:00", b"48:00",
          b"1-2:3:4:5", b"2h", b"24:00:00", b"1.5", b"4,", b"gpu:4", b"closest", b"all", b"none", b"TERM@120",
          b"B:USR1@60", b"append", b"END,FAIL", b"+4", b"2k", b"1-12", b"1-12:30", b"UNLIMITED",
          b"2#two", b"4;", b"50%", b"16 GB", b"USR1-300", b"now+1hour", b"tomorrow", b"cores", b"verbose",
          b"block:cyclic",
          b"afterok:12", b"energy,task", b"yes", b"SIGUSR2@90", b"multithread")  # fmt: skip
OPTIONS = ("nodes", "ntasks", "ntasks-per-node", "cpus-per-task", "cpus-per-gpu", "ntasks-per-gpu", "mem",
           "mem-per-cpu", "mem-per-gpu", "time", "time-min")  # fmt: skip


def said_of(name: str, value: bytes) -> list[str]:
    """Return what Maple believes that sbatch says of one value."""
    setting = Setting(name, value, Origin("argv", argv_index=1, argv_count=1))
    form = of_another_form(setting)
    return [said for _, said in refusals([setting])] or ([form.says] if form is not None else [])


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("value", [b"four", b"2h", b"4x", b"4", b"x4", b"-", b"lots"], ids=repr)
def test_what_is_called_refused_is_refused_in_these_words(tmp_path: object, name: str, value: bytes) -> None:
    """And what sbatch takes is never called refused."""
    real = listed(str(tmp_path), SCRIPT, [b"--%b=%b" % (name.encode(), value)])
    said = said_of(name, value)
    assert not said or real.options is None
    assert all(one.encode() in real.said for one in said)


@pytest.mark.parametrize("name", EVERY)
def test_every_option_of_the_man_page_is_held_against_sbatch(tmp_path: object, name: str) -> None:
    """Of no value that it takes is anything said, and of what is refused the words are its own."""
    for value in VALUES:
        said = said_of(name, value)
        real = listed(str(tmp_path), SCRIPT, [b"--%b=%b" % (name.encode(), value)]) if said else None
        assert real is None or (real.options is None and all(one.encode() in real.said for one in said)), value


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("value", [b"<n>", b"{nodes}", b"1:00", b"1.5", b"4,", b"gpu:4", b"2h"], ids=repr)
def test_a_count_is_a_number(name: str, value: bytes) -> None:
    """What only looks like one, or is another option's value, is found for every option that counts."""
    assert said_of(name, value)


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
