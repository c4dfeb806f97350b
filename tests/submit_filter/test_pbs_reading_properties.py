"""Whatever a script or command line holds: it is read, places are true, and a changed value is read as the new one."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st
from maple_submit_filter.request.pbs import submission as pbs
from maple_submit_filter.request.pbs.refusals import refusals
from maple_submit_filter.types.edits import Edit, Span, apply
from maple_submit_filter.types.job import JobScript, Setting

WORDS = [
    b"-l", b"-lwalltime=1:00", b"select=2:ncpus=4:ngpus=1", b"-l a=1,b='x,y',c", b"-W", b"depend=afterok:1,umask=022",
    b"-W block=true", b"-N", b"name", b"-hz", b"-A", b'"my proj"', b"'q'", b"\\", b"\\ ", b"#", b"--", b"-", b"-C x",
    b"-qdebug", b"-J 1-4", b"=", b",", b'"', b"'", b"$X", b"\xff", b"\0", b"-r y", b"-X", b"\t", b"  ", b"\\\n", b"&",
]  # fmt: skip
PREFIXES = [
    b"#PBS ",
    b"#PBS",
    b"  #PBS ",
    b"#PBS \\\n",
    b"#PBS\\\n",
    b"# PBS ",
    b"##PBS",
    b"",
    b":",
    b" :",
    b"#SBATCH ",
    b"#",
    b"set ",
]
LINES = st.lists(
    st.tuples(st.sampled_from(PREFIXES), st.lists(st.sampled_from(WORDS), max_size=5).map(b" ".join)), max_size=5
).map(lambda lines: b"".join(prefix + rest + b"\n" for prefix, rest in lines))
SCRIPTS = st.one_of(st.binary(max_size=100), LINES, LINES.map(lambda text: text[:-1]))


def said(script: JobScript) -> list[Setting]:
    return [one for directive in script.directives for one in directive.settings]


def inside(span: Span | None, source: bytes) -> bool:
    return span is None or 0 <= span.start <= span.end <= len(source)


@settings(max_examples=400, deadline=None)
@given(SCRIPTS)
@example(b"#PBS -W =\\\n")
@example(b"#PBS -l \\")
@example(b"#PBS\\\n-N x\n")
def test_any_bytes_are_a_script_whose_places_lie_inside(source):
    script = pbs.read_script(source)
    assert all(inside(one.span, source) and one.line > 0 for one in (*script.directives, *script.oddities))
    for one in said(script):
        assert inside(one.origin.span, source) and inside(one.origin.value_span, source)
        assert one.origin.line == source.count(b"\n", 0, one.origin.span.start) + 1 if one.origin.span else True
    read = pbs.read_argv([b"qsub", b"job.sh"])
    for refusal in refusals(read, {}, script):
        assert inside(refusal.span, source) and refusal.exit_code and (refusal.text + refusal.says).encode()
    pbs.settings(read, {b"PBS_SHELL": b"/bin/sh"}, script)


@settings(max_examples=200, deadline=None)
@given(SCRIPTS)
def test_a_value_stands_where_its_place_says(source):
    for one in said(pbs.read_script(source)):
        span = one.origin.value_span
        assert span is None or source[span.start : span.end] == one.value


@settings(max_examples=200, deadline=None)
@given(SCRIPTS, st.from_regex(rb"[a-z0-9:]{1,9}", fullmatch=True))
def test_a_changed_value_is_read_as_the_new_one_and_nothing_else_changes(source, new):
    before = said(pbs.read_script(source))
    refused = pbs.read_script(source).refused
    for index, one in enumerate(before):
        if one.origin.value_span is None or refused or one.name in ("block", "interactive", "rerunable", "shell"):
            continue
        changed = apply(source, (Edit(one.origin.value_span, new, "test"),))
        after = [(each.name, each.value) for each in said(pbs.read_script(changed))]
        expected = [(each.name, each.value) for each in before]
        expected[index] = (one.name, new)
        assert after == expected


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(WORDS), st.binary(max_size=8)), max_size=6))
def test_any_words_are_a_command_line_or_refused(words):
    read = pbs.read_argv([b"qsub", *words])
    assert not (read.problem and (read.script_index is not None or read.executable is not None))
    assert read.script_index is None or read.script_index == len(words)
    assert bool(refusals(read, {}, None)) or not read.problem


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([b"walltime=1", b"ncpus=2", b"walltime=3", b"mem=4gb"]), max_size=4))
def test_of_a_resource_the_first_counts_in_a_script_and_the_last_on_the_command_line(items):
    expected_first: dict[bytes, bytes] = {}
    for item in items:
        expected_first.setdefault(*item.split(b"="))
    expected_last = dict(item.split(b"=") for item in items)
    script = b"".join(b"#PBS -l %s\n" % item for item in items)
    from_script = pbs.settings(pbs.read_argv([b"qsub", b"j"]), {}, pbs.read_script(script))
    words = [word for item in items for word in (b"-l", item)]
    from_argv = pbs.settings(pbs.read_argv([b"qsub", *words, b"j"]), {}, pbs.read_script(b""))
    assert {one.name.encode(): one.value for one in from_script} == expected_first
    assert {one.name.encode(): one.value for one in from_argv} == expected_last
