"""What a job asks of its nodes is read with the place of every value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from maple_submit_filter.request.pbs import select
from maple_submit_filter.request.pbs.select import DEFAULT, Place, may_be_time, seconds, size
from maple_submit_filter.types.text import as_clock


def shown(chunks):
    """Return chunks as (count, {name: value})."""
    return chunks and [
        (one.count, {each.name.decode(): each.value.decode() for each in one.resources}) for one in chunks
    ]


@pytest.mark.parametrize(
    "value, expected",
    [
        (
            b"2:ncpus=8:ngpus=4:mpiprocs=4+1:ncpus=64",
            [(2, {"ncpus": "8", "ngpus": "4", "mpiprocs": "4"}), (1, {"ncpus": "64"})],
        ),
        (b"4", [(4, {})]),
        (b"ncpus=4", [(1, {"ncpus": "4"})]),
        (b"host=a+host=b", [(1, {"host": "a"}), (1, {"host": "b"})]),
        (b"4:system=polaris", [(4, {"system": "polaris"})]),
        (b"1:mem=500gb:arch=linux", [(1, {"mem": "500gb", "arch": "linux"})]),
        (b"1:ncpus=a", [(1, {"ncpus": "a"})]),
        (b"x", None),
        (b"-1", None),
        (b"", None),
        (b"1:ncpus", None),
        (b"0:ncpus=1", None),
        (b"1:", None),
        (b"1+", None),
        (b"+1", None),
        (b"2:foo='a:b'", None),
    ],
)
def test_a_select_is_chunks(value, expected):
    assert shown(select.chunks(value)) == expected


@given(
    st.lists(
        st.tuples(
            st.integers(1, 999),
            st.lists(st.tuples(st.from_regex(r"[a-z]{1,6}", fullmatch=True), st.integers(0, 9999)), max_size=3),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_every_value_and_chunk_knows_its_bytes(wanted):
    value = b"+".join(
        b":".join([b"%d" % count, *(b"%s=%d" % (name.encode(), number) for name, number in resources)])
        for count, resources in wanted
    )
    found = select.chunks(value)
    assert [(one.count, [(each.name.decode(), int(each.value)) for each in one.resources]) for one in found] == wanted
    assert b"+".join(value[one.start : one.end] for one in found) == value
    assert all(value[each.start : each.end] == each.value for one in found for each in one.resources)


@given(st.binary(max_size=40))
def test_any_bytes_are_chunks_or_none(value):
    for read in (select.chunks, select.nodes_form, select.place):
        read(value)


def test_a_chunk_is_asked_by_name():
    chunk = select.chunks(b"2:ncpus=8:mem=4gb")[0]
    assert (chunk.value(b"mem"), chunk.number(b"ncpus")) == (b"4gb", 8)
    assert (chunk.value(b"ngpus"), chunk.number(b"ngpus"), chunk.number(b"mem")) == (None, None, None)


@pytest.mark.parametrize(
    "value, expected",
    [
        (b"2:ppn=4", [(2, {"ncpus": "4", "mpiprocs": "4"})]),
        (b"4", [(4, {"ncpus": "1"})]),
        (b"2:ppn=4#excl", [(2, {"ncpus": "4", "mpiprocs": "4"})]),
        (
            b"host1+host2:ppn=2",
            [(1, {"ncpus": "1", "host": "host1"}), (1, {"ncpus": "2", "mpiprocs": "2", "host": "host2"})],
        ),
        (b"1:ppn=2:cpp=4", [(1, {"ncpus": "8", "mpiprocs": "2"})]),
        (b"2:ppn=4:gpus=1", None),
        (b"0:ppn=4", None),
        (b"2:ppn=x", None),
        (b"", None),
    ],
)
def test_the_older_nodes_become_chunks(value, expected):
    assert shown(select.nodes_form(value)) == expected


def test_without_select_there_is_one_chunk():
    assert shown(select.job_wide({})) == shown(DEFAULT) == [(1, {"ncpus": "1"})]
    assert shown(select.job_wide({"ncpus": b"8", "ngpus": b"2", "walltime": b"1:00"})) == [
        (1, {"ncpus": "8", "ngpus": "2"})
    ]
    assert shown(select.job_wide({"mem": b"4gb"})) == [(1, {"ncpus": "1", "mem": "4gb"})]


@pytest.mark.parametrize(
    "value, expected",
    [
        (b"scatter", Place(b"scatter", b"", b"")),
        (b"scatter:excl", Place(b"scatter", b"excl", b"")),
        (b"exclhost:pack", Place(b"pack", b"exclhost", b"")),
        (b"pack:shared:group=rack", Place(b"pack", b"shared", b"rack")),
        (b"group=rack", Place(b"", b"", b"rack")),
        (b"scatter:pack", None),
        (b"", None),
        (b"scattered", None),
    ],
)
def test_place_is_read(value, expected):
    assert select.place(value) == expected


@pytest.mark.parametrize(
    "value, expected, taken",
    [
        (b"01:00:00", 3600, True),
        (b"3600", 3600, True),
        (b"1:00", 60, True),
        (b"01:70:00", 7800, True),
        (b"10.5", 10, True),
        (b"", None, True),
        (b"1:2:3:4", None, False),
        (b"-5", None, False),
        (b"abc", None, False),
        (b"1h", None, False),
    ],
)
def test_times_are_read(value, expected, taken):
    assert (seconds(value), may_be_time(value)) == (expected, taken)


@given(st.integers(0, 10**8))
def test_a_time_is_shown_as_it_is_read(total):
    assert seconds(as_clock(total)) == total


@pytest.mark.parametrize(
    "value, expected",
    [
        (b"1024", 1024),
        (b"1b", 1),
        (b"4G", 4 << 30),
        (b"500gb", 500 << 30),
        (b"10mw", 80 << 20),
        (b"2Tb", 2 << 40),
        (b"1kB", 1024),
        (b"4GiB", None),
        (b"", None),
        (b"-1", None),
        (b"lots", None),
    ],
)
def test_sizes_are_read(value, expected):
    assert size(value) == expected
