"""Whatever the form of a submission, the real qsub is started as if Maple were not there."""

from __future__ import annotations

import os
from typing import Any, Sequence

import pytest

from tests.doubles.stand import ASKED_OF_QSUB, PLAIN_FOR_QSUB, Seen, Stand, build, compiled


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The double of qsub."""
    return compiled("qsub", str(tmp_path_factory.mktemp("double")))


@pytest.fixture(params=["front", "sanitized"])
def stand(request: pytest.FixtureRequest, tmp_path: Any, double: str) -> Stand:
    """A fresh installation: with the front that is shipped, and the one under sanitizers."""
    program = build(request.param == "sanitized")
    return Stand(str(tmp_path / "stand"), program, double, "qsub")


@pytest.fixture(params=[ASKED_OF_QSUB, PLAIN_FOR_QSUB], ids=["asked", "plain"])
def script(request: pytest.FixtureRequest) -> bytes:
    """A script that Maple is asked about, and one that it is not."""
    return bytes(request.param)


@pytest.fixture
def files(stand: Stand, script: bytes) -> Stand:
    """The files that the forms name."""
    for name in (b"job.sh", b"sub/only-there.sh", b"1num.sh", b"odd name\n.sh", b"latin-\xe9.sh"):
        stand.write(os.fsdecode(name), script)
    stand.write(os.path.join(stand.folder, "prefix", "bin", "in-path.sh"), script)
    os.symlink("job.sh", os.path.join(stand.work, "link.sh"))
    return stand


FILE_FORMS: list[list[Any]] = [
    ["job.sh"],
    ["./job.sh"],
    ["sub/only-there.sh"],
    ["link.sh"],
    ["1num.sh"],
    ["odd name\n.sh"],
    [b"latin-\xe9.sh"],
    ["-lselect=3", "-Nab", "-A", "has space", "job.sh"],
    ["-hz", "job.sh"],
    ["-hlwalltime=1:00", "job.sh"],
    ["-N", "--", "job.sh"],
    ["-N", "-I", "job.sh"],
    ["-C", "#MINE", "job.sh"],
    ["-C", "", "job.sh"],
    ["-v", "EMPTY,B=2", "job.sh"],
    ["-V", "-f", "job.sh"],
    ["-J", "1-4:2%1", "job.sh"],
    ["-q", "debug@pbs01", "job.sh"],
    ["-X", "-P", "", "job.sh"],
    ["-W", "block=true", "job.sh"],
    ["-Wblock=true,umask=022", "-z", "job.sh"],
    ["/dev/fd/../fd/0"],
    ["-l", "walltime=abc", "job.sh"],
    ["-J", "4-1", "job.sh"],
]
OTHER_FORMS: list[list[Any]] = [
    ["-I"],
    ["-I", "job.sh"],
    ["-zI", "job.sh"],
    ["--version"],
    ["--", "/bin/echo", "a b", ""],
    ["-hlwalltime=1:00", "--", "/bin/echo"],
    ["--"],
    ["--help"],
    ["-Z", "job.sh"],
    ["-h-", "job.sh"],
    ["-:", "job.sh"],
    ["-N"],
    ["job.sh", "-N", "late"],
    ["job.sh", "extra"],
    ["-", "extra"],
    ["missing.sh"],
    ["in-path.sh"],
    ["sub"],
    [""],
    ["-u", "bob", "job.sh"],
]


@pytest.mark.parametrize("words", FILE_FORMS, ids=repr)
def test_a_script_in_a_file_reaches_qsub_untouched(files: Stand, words: list[Any]) -> None:
    """Argv, environ block, cwd, umask, descriptors, signals, limits, script, settings, streams and exit are equal."""
    files.setup(job_exit=7)
    bare, maple = files.both(words)
    assert bare == maple
    assert bare.record


@pytest.mark.parametrize("words", OTHER_FORMS, ids=repr)
def test_what_is_no_script_in_a_file_reaches_qsub_untouched(files: Stand, words: list[Any]) -> None:
    """Terminals asked for, programs, questions to qsub itself and mistakes; also where a script would be changed."""
    files.helper("fixes")
    bare, maple = files.both(words)
    assert bare == maple
    assert bare.record


ODD_SCRIPTS = {
    "CRLF": ASKED_OF_QSUB.replace(b"\n", b"\r\n"),
    "BOM": b"\xef\xbb\xbf" + ASKED_OF_QSUB,
    "empty": b"",
    "no newline": ASKED_OF_QSUB[:-1],
    "NUL": ASKED_OF_QSUB + b"\0\0",
    "long": ASKED_OF_QSUB + b"# filler\n" * 460000,
    "over every bound": ASKED_OF_QSUB + b"# filler\n" * 500000,
    "directives only": b"#PBS -N gpu\n#PBS -l ngpus=1",
    "interactive": b"#PBS -I\n" + ASKED_OF_QSUB,
    "blocking": b"#PBS -W block=true\n" + ASKED_OF_QSUB,
    "silent": b"#PBS -z\n" + ASKED_OF_QSUB,
    "a wrong directive": b"#PBS -N name # why\n" + ASKED_OF_QSUB,
    "going on": b"#PBS -l walltime=1:00 \\\n" + ASKED_OF_QSUB,
    "going on to its end": ASKED_OF_QSUB[: ASKED_OF_QSUB.index(b"mpiexec")] + b"# python\n#PBS -l walltime=1:00 \\",
    "switched off": ASKED_OF_QSUB + b"# maple: off\n",
}


@pytest.mark.parametrize("name", ODD_SCRIPTS)
def test_odd_scripts_reach_qsub_untouched(stand: Stand, name: str) -> None:
    """What qsub refuses, it refuses itself and in its own words."""
    stand.setup(job_exit=7)
    stand.write("job.sh", ODD_SCRIPTS[name])
    bare, maple = stand.both(["job.sh"])
    assert bare == maple
    assert bare.script == ODD_SCRIPTS[name]


def without_stdin(record: bytes) -> list[bytes]:
    """The record but for where descriptor 0 leads: a pipe that was read is given back from memory."""
    return [line for line in record.split(b"\n") if not line.startswith(b"fd 0 ")]


@pytest.mark.parametrize("words", [[], ["-"], ["-hz", "-Nx"], ["-l", "walltime=1:00", "-"]], ids=str)
@pytest.mark.parametrize("size", [0, 1, 70000, 5 << 20], ids=["none", "short", "past a pipe", "past every bound"])
def test_a_script_from_a_pipe_arrives_whole(stand: Stand, script: bytes, words: list[str], size: int) -> None:
    """Also when it is longer than a pipe holds, or than Maple reads."""
    text = script + b"#" * size if size else b""
    bare, maple = stand.both(words, stdin=text)
    assert maple.script == text
    assert without_stdin(bare.record) == without_stdin(maple.record)
    assert bare[1:] == maple[1:]


@pytest.mark.parametrize("name", ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
def test_a_pipe_by_its_name_is_left_to_qsub_which_takes_none(stand: Stand, script: bytes, name: str) -> None:
    """Given back from memory it would be a file, and qsub would take it."""
    stand.helper("fixes")
    bare, maple = stand.both([name], stdin=script)
    assert bare == maple
    assert maple.stderr == b"qsub: script not a file\n" and maple.exit == 1


@pytest.mark.parametrize("words", [[], ["-"], ["/dev/stdin"], ["/dev/fd/0"]], ids=str)
def test_a_script_from_a_file_on_stdin_is_read_from_where_it_stands(
    stand: Stand, script: bytes, words: list[str]
) -> None:
    """And whoever shares the file finds it read as far as the bare command reads it."""
    path = stand.write("job.sh", b"first line\n" + script)
    ends, seen = [], []
    for maple in (False, True):
        with open(path, "rb", buffering=0) as file:
            file.seek(11)
            seen.append(stand.run(maple, words, stdin_file=file))
            ends.append(file.tell())
    assert seen[0] == seen[1] and seen[0].exit == 0
    assert ends[0] == ends[1]


def test_the_working_directory_keeps_the_name_that_the_caller_gave_it(files: Stand) -> None:
    """PWD through a link, language, time zone and functions become PBS_O_* variables and must be the caller's own."""
    link = os.path.join(files.folder, "scratch")
    os.symlink(files.work, link)
    environment = {"PWD": link, "LANG": "de_DE.UTF-8", "TZ": "Asia/Tokyo", "MAIL": "/x", "LC_ALL": "C"}
    bare, maple = files.both(["job.sh"], cwd=link, environment=environment)
    assert bare == maple
    assert b"PWD=%s" % link.encode() in maple.values(b"env")
    assert b'BASH_FUNC_module%%=() {  eval $(modulecmd bash "$@")\n}' in maple.values(b"env")


def test_descriptors_and_umask_are_those_of_the_caller(files: Stand) -> None:
    """What qsub leaves behind keeps every descriptor it was started with: none of ours may be among them."""
    one, other = os.open("/dev/null", os.O_RDONLY), os.open(files.home, os.O_RDONLY)
    for kind in ("keeps", "fixes", "dies", "hangs"):
        files.helper(kind, helper_ms=300 if kind == "hangs" else 20000)
        bare, maple = files.both(["job.sh"], preexec_fn=lambda: os.umask(0o027), pass_fds=(one, other))
        assert bare.lines(b"fd") == maple.lines(b"fd")
        assert {int(line.split()[0]) for line in maple.lines(b"fd")} == {0, 1, 2, one, other}
        assert b"umask 27 " in maple.record and b"children none" in maple.record
    os.close(one)
    os.close(other)


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)], ids=str)
def test_closed_standard_descriptors_stay_closed(files: Stand, closed: tuple[int, ...]) -> None:
    """Nothing of Maple's takes their numbers."""

    def before() -> None:
        for fd in closed:
            os.close(fd)

    bare, maple = files.both(["job.sh"], preexec_fn=before)
    assert bare == maple
    assert all(b"\nfd %d " % fd not in maple.record for fd in closed)


CHANGED = ["job.sh", "./job.sh", "sub/only-there.sh", "link.sh", "1num.sh", b"latin-\xe9.sh", "/dev/stdin"]


@pytest.mark.parametrize("name", CHANGED, ids=str)
@pytest.mark.parametrize("script", [ASKED_OF_QSUB], indirect=True, ids=["asked"])
def test_a_changed_script_is_all_that_changes(files: Stand, name: Any) -> None:
    """A private copy under the same base name keeps the job's name; settings, streams and the user's file stay."""
    files.helper("fixes")
    words = ["-lwalltime=1:00", name]
    seen = []
    for maple in (False, True):
        with open(os.path.join(files.work, "job.sh"), "rb") as file:
            seen.append(files.run(maple, words, **({"stdin_file": file} if name == "/dev/stdin" else {})))
    bare, maple_seen = seen
    assert (bare.script, maple_seen.script) == (ASKED_OF_QSUB, ASKED_OF_QSUB + b"# fixed\n")
    was, now = bare.values(b"argv"), maple_seen.values(b"argv")
    assert was[:2] == now[:2] and len(was) == len(now) == 3
    assert os.path.basename(was[2]) == os.path.basename(now[2])
    assert rest(bare, name == "/dev/stdin") == rest(maple_seen, name == "/dev/stdin")
    assert bare[1:] == maple_seen[1:]


def rest(seen: Seen, from_memory: bool) -> list[Sequence[bytes]]:
    """All that is written down but argv and script, and where fd 0 leads if the script is behind it."""
    kept = [(name, value) for name, value in seen.pieces() if name not in (b"", b"argv", b"script")]
    lines = b"".join(value for name, value in seen.pieces() if not name).split(b"\n")
    return [*kept, *([line] for line in lines if not (from_memory and line.startswith(b"fd 0 ")))]


@pytest.mark.parametrize("words", [[], ["-"]], ids=str)
def test_a_changed_script_from_standard_input_comes_on_standard_input(stand: Stand, words: list[str]) -> None:
    """So the job is called STDIN, as always."""
    stand.helper("fixes")
    bare, maple = stand.both(words, stdin=ASKED_OF_QSUB)
    assert maple.script == ASKED_OF_QSUB + b"# fixed\n"
    assert bare.lines(b"name") == maple.lines(b"name") == [b"STDIN"]
    assert bare.values(b"argv") == maple.values(b"argv") and bare[1:] == maple[1:]


def test_a_changed_argv_is_used_only_where_it_names_the_same_script(stand: Stand) -> None:
    """A reply that names another file is no repair."""
    stand.write("job.sh", ASKED_OF_QSUB)
    stand.helper("otherword")
    bare, maple = stand.both(["job.sh"])
    assert bare == maple


@pytest.mark.parametrize("kind", ["dies", "hangs", "liar", "garbage"])
def test_an_answer_that_does_not_come_is_not_missed(stand: Stand, kind: str) -> None:
    """Killed, late, about another question, or an error in place of one."""
    stand.write("job.sh", ASKED_OF_QSUB)
    stand.helper(kind, helper_ms=500)
    bare, maple = stand.both(["job.sh"])
    assert bare == maple and maple.exit == 0


def test_the_request_says_that_it_is_one_of_pbs(stand: Stand) -> None:
    """With the words, the script and the variables that qsub reads; the cookie of a job stays where it is."""
    stand.write("job.sh", ASKED_OF_QSUB + b"# $PBS_JOBCOOKIE\n")
    stand.helper("tells")
    path = os.path.join(stand.folder, "told")
    environment = {"PBS_DPREFIX": "#PBS", "PBS_SERVER": "pbs01", "PBS_JOBCOOKIE": "1", "TOLD": path}
    stand.write(os.path.join(stand.helpers, "to"), path.encode())
    stand.run(True, ["-lwalltime=1:00", "job.sh"], environment=environment)
    with open(path, "rb") as file:
        told = file.read().split(b"\0")
    assert told[:4] == [b"pbs", b"file", b"job.sh", b"2"]
    assert {b"PBS_DPREFIX=#PBS", b"PBS_SERVER=pbs01"} <= set(told) and b"PBS_JOBCOOKIE=1" not in told


SECRETS = (
    "SLURM_JWT", "MAPLE_MODEL_KEY", "MAPLE_API_TOKEN", "PBS_O_PASSWORD", "SBATCH_SECRET", "NCCL_Auth", "PMI_cookie",
    "OMPI_CREDS", "MASTER_PRIVATE_PEM", "DS_Bearer", "SLURM_REST_KEY_FILE", "MAPLEKEY",
)  # fmt: skip
NO_SECRETS = ("SLURM_WCKEY", "SBATCH_WCKEY", "NCCL_IB_PKEY", "MAPLE", "SLURM_JOB_NUM_NODES", "PWD")


def test_no_variable_whose_name_says_secret_leaves_the_caller(stand: Stand) -> None:
    """Whatever it begins with, whoever names it; a value that only looks so is no reason."""
    stand.write("job.sh", ASKED_OF_QSUB + b"# %s\n" % " ".join(SECRETS).encode())
    stand.helper("tells")
    path = os.path.join(stand.folder, "told")
    stand.write(os.path.join(stand.helpers, "to"), path.encode())
    environment = {name: "=TOKEN KEY" for name in (*SECRETS, *NO_SECRETS) if name != "MAPLE"}
    stand.run(True, ["job.sh"], environment={**environment, "MAPLE": "repair", "TOLD": path})
    with open(path, "rb") as file:
        names = {one.partition(b"=")[0].decode() for one in file.read().split(b"\0") if b"=" in one}
    assert not names & set(SECRETS) and set(NO_SECRETS) <= names
