"""Words that only start another program are read through, as is python's own command line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from maple_submit_filter.launchers.python_options import is_interpreter, python_program
from maple_submit_filter.launchers.wrapper_tables import BY_NAME, BY_VERB
from maple_submit_filter.launchers.wrappers import unwrap
from maple_submit_filter.types.text import Piece, Text, join, plain, unknown


def words(line):
    out, at = [], 0
    for word in line.split(" "):
        out.append(Text((Piece(word.encode(), at),)))
        at += len(word) + 1
    return tuple(out)


@pytest.mark.parametrize(
    "line",
    [
        "env -u A B=1 PROGRAM x",
        "env - A=1 PROGRAM x",
        "env -C /tmp -- A=1 PROGRAM",
        "/usr/bin/env PROGRAM -u x",
        "time -p PROGRAM x",
        "/usr/bin/time -f %e -o out PROGRAM -v",
        "nice -n 5 PROGRAM -n 3",
        "nice -10 PROGRAM",
        "ionice -c2 -n 0 PROGRAM",
        "numactl -N 0 --membind=0 PROGRAM -N 1",
        "numactl --cpunode 0 -l PROGRAM",
        "taskset -c 0-3 PROGRAM -c",
        "taskset 0x3 PROGRAM",
        "stdbuf -oL -e 0 PROGRAM",
        "nohup PROGRAM -x",
        "exec -a name PROGRAM",
        "command -p PROGRAM",
        "timeout -s INT --kill-after=5 30m PROGRAM 5",
        "setsid -w PROGRAM",
        "strace -ff -e trace=open -o log PROGRAM -f",
        "ltrace -f -o log PROGRAM",
        "nsys profile -t cuda,nvtx -o out --force-overwrite true --stats=true PROGRAM",
        "ncu --set full -o out -f --target-processes all PROGRAM",
        "rocprof --stats --hip-trace -o out.csv PROGRAM",
        "rocprofv3 --hip-trace --pmc A B -- PROGRAM",
        "vtune -collect hotspots -r out -- PROGRAM",
        "apptainer exec --nv -B /a:/b --pwd /w --env A=b image.sif PROGRAM --nv",
        "singularity -q exec --nv=true -ec docker://x PROGRAM",
        "shifter --image=x:y --module=gpu,mpich PROGRAM",
        "shifter PROGRAM --image=x",
        "podman-hpc run --rm -it --gpu -v /a:/b -e A=b x:y PROGRAM",
        "sarus run --mpi --mount=type=bind,source=/a,destination=/a -e A=b x:y PROGRAM",
        "ch-run -b /a:/b --set-env=/i/ch/environment /i -- PROGRAM",
        "enroot start --rw -e A=b -m /a:/b name PROGRAM",
        "conda run -n env --no-capture-output PROGRAM -n 3",
        "conda run --live-stream -p /p PROGRAM",
        "micromamba run -n env PROGRAM",
        "mamba run -p /p PROGRAM",
        "uv run --with x --frozen PROGRAM",
        "poetry run PROGRAM",
        "pipenv run PROGRAM",
        "xvfb-run -a -s S PROGRAM",
        "task_affinity PROGRAM -n",
    ],
)
def test_the_program_behind_a_wrapper_is_found(line):
    found = unwrap(words(line))
    assert (line.split(" ")[found.program_index], found.problem, found.open) == ("PROGRAM", "", False)


@pytest.mark.parametrize(
    "line",
    [
        "command -v torchrun",
        "taskset -p 1234",
        "numactl --show",
        "conda activate x",
        "apptainer pull x",
        "python t.py",
        "docker exec x y",
        "env --help",
        "nsys stats x",
    ],
)
def test_what_starts_no_other_program_is_no_wrapper(line):
    assert unwrap(words(line)) is None


def test_env_says_which_variables_the_program_sees():
    changes = unwrap(words("env -i -u A B=1 C=x=y python t.py")).changes
    assert (changes.cleared, changes.unset) == (True, (b"A",))
    assert [(name, value.raw, value.span()) for name, value in changes.set] == [
        (b"B", b"1", (14, 15)),
        (b"C", b"x=y", (18, 21)),
    ]


def test_a_list_of_variables_may_hold_commas_in_its_values():
    changes = unwrap(words("apptainer exec --env A=b,c,D=e --env E= i.sif x")).changes
    assert [(name, value.raw) for name, value in changes.set] == [(b"A", b"b,c"), (b"D", b"e"), (b"E", b"")]


@pytest.mark.parametrize(
    ("line", "cleared"),
    [
        ("apptainer exec i.sif x", False),
        ("apptainer exec --cleanenv i.sif x", True),
        ("apptainer exec -C i.sif x", True),
        ("apptainer exec --containall i.sif x", True),
        ("singularity exec --contain i.sif x", False),
        ("shifter --image=i x", False),
        ("podman-hpc run i x", True),
        ("sarus run i x", False),
        ("ch-run i -- x", False),
        ("enroot start i x", True),
        ("exec -c x", True),
    ],
)
def test_a_cleared_environment_is_noted(line, cleared):
    changes = unwrap(words(line)).changes
    assert changes.cleared == cleared
    assert changes.container == ("exec -c" not in line)


def test_podman_hands_named_variables_through():
    assert unwrap(words("podman-hpc run -e HOME -e A=b i x")).changes.kept == (b"HOME",)
    assert b"SLURM_*" in unwrap(words("podman-hpc run --mpi i x")).changes.kept
    assert unwrap(words("podman-hpc run i x")).changes.kept == ()


@pytest.mark.parametrize(
    ("line", "implies"),
    [
        ("uv run t.py", (b"python",)),
        ("uv run -m pkg", (b"python", b"-m")),
        ("uv run torchrun t.py", ()),
        ("poetry run t.py", ()),
    ],
)
def test_uv_runs_scripts_with_python(line, implies):
    assert unwrap(words(line)).implies == implies


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("apptainer run i.sif x", "the image's run script decides what it starts"),
        ("pixi run train", "pixi may know a task of that name"),
        ("env -S x y", "env -S splits its argument into words"),
        ("vtune -collect x y", "no -- before the program"),
    ],
)
def test_what_is_not_written_on_the_line_is_said_to_be_unread(line, says):
    assert unwrap(words(line)).unread == says


def test_an_unknown_word_may_be_an_assignment_or_the_program():
    found = unwrap((plain(b"env"), unknown(b"X"), plain(b"python")))
    assert (found.program_index, found.open) == (1, True)


def test_an_unknown_option_of_a_wrapper_leaves_it_open():
    found = unwrap(words("numactl --brand-new 3 python t.py"))
    assert (found.open, found.problem) == (True, "unknown option --brand-new")


@pytest.mark.parametrize("line", ["env env nice -n 3 x"])
def test_wrappers_may_stand_behind_each_other(line):
    argv, at = words(line), 0
    while (found := unwrap(argv, at)) is not None:
        at = found.program_index
    assert argv[at].raw == b"x"


def test_every_table_can_be_taken_apart():
    """No row without spellings, and each value count is one that the reader knows."""
    tables = [wrapper.table for wrapper in BY_NAME.values()]
    for before, verbs in BY_VERB.values():
        tables += [before, *(wrapper.table for wrapper in verbs.values())]
    for table in tables:
        for spelling, row in table.rows.items():
            assert spelling.startswith(b"-"), (table.launcher, row)
            assert row.values in ("0", "1", "?"), (table.launcher, row)
            assert b"," not in spelling, (table.launcher, row)


def test_every_effect_belongs_to_an_option():
    wrappers = list(BY_NAME.values()) + [one for _, verbs in BY_VERB.values() for one in verbs.values()]
    for wrapper in wrappers:
        names = {row.name for row in wrapper.table.rows.values()} | {""}
        assert set(wrapper.effects) <= names, wrapper.table.launcher


@pytest.mark.parametrize(
    ("line", "module", "script", "arguments"),
    [
        ("python t.py --x", None, 1, 2),
        ("python -u -m torch.distributed.run --nnodes 2 t.py", b"torch.distributed.run", None, 4),
        ("/opt/conda/bin/python3.11 -X faulthandler -W ignore t.py a", None, 5, 6),
        ("python3 -um pkg.mod -m x", b"pkg.mod", None, 3),
        ("python3 -mpkg a", b"pkg", None, 2),
        ("python -Wignore -OO t.py -m x", None, 3, 4),
        ("python -X m t.py", None, 3, 4),
        ("python --check-hash-based-pycs always t.py", None, 3, 4),
        ("python -- -m", None, 2, 3),
    ],
)
def test_python_runs_a_module_or_a_script(line, module, script, arguments):
    call = python_program(words(line))
    assert (call.module, call.script, call.arguments) == (module, script, arguments)
    assert (call.open, call.problem) == (False, "")


def test_python_runs_a_command_or_its_input():
    call = python_program(words("python -Ic code arg"))
    assert (call.command.raw, call.arguments, call.script) == (b"code", 3, None)
    assert python_program(words("python -u - x")).stdin
    assert python_program(words("python -V")).script is None


def test_a_python_without_the_word_it_needs_has_a_problem():
    assert python_program(words("python -m")).problem == "-m wants a value"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (plain(b"python"), True),
        (plain(b"python3.13t"), True),
        (plain(b"/a/b/pypy3"), True),
        (join((unknown(b"ENV"), plain(b"/bin/python"))), True),
        (join((plain(b"python"), unknown(b"V"))), False),
        (unknown(b"PY"), False),
        (plain(b"ipython"), False),
        (plain(b"python-config"), False),
        (plain(b"/python3/run"), False),
    ],
)
def test_an_interpreter_is_known_by_its_name_in_any_directory(text, expected):
    assert is_interpreter(text) == expected


def test_an_unknown_module_leaves_the_call_open():
    call = python_program((plain(b"python"), plain(b"-m"), unknown(b"M")))
    assert (call.module, call.open) == (None, True)


NAMES = [name.decode() for name in [*BY_NAME, *BY_VERB]] + ["python", "python3"]


REST = [b"run", b"exec", b"-", b"--", b"-c", b"-m", b"A=b", b"", b"x", b"\0same:1\0"]


@given(st.sampled_from(NAMES), st.lists(st.sampled_from(REST)), st.booleans())
@settings(max_examples=400, deadline=None)
def test_any_words_behind_a_wrapper_are_read_within_bounds(name, rest, opened):
    argv = (plain(name.encode()), *(Text((Piece(word),) if word else (), opened) for word in rest))
    found = unwrap(argv)
    call = python_program(argv)
    assert found is None or 0 < found.program_index <= len(argv)
    assert call is None or 0 < call.program <= len(argv)
