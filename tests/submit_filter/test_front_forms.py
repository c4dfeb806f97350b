"""Whatever the form of a submission, the real sbatch is started as if Maple were not there."""

from __future__ import annotations

import os
import stat
from typing import Any, Iterator

import pytest

from tests.doubles.stand import ASKED, PLAIN, Stand, build, compiled


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The double of sbatch."""
    return compiled("sbatch", str(tmp_path_factory.mktemp("recorder")))


@pytest.fixture(params=["front", "front-sanitized"])
def stand(request: pytest.FixtureRequest, tmp_path: Any, recorder: str) -> Stand:
    """A fresh installation, once with the front that is shipped and once with the one under sanitizers."""
    return Stand(str(tmp_path), build(request.param == "front-sanitized"), recorder)


@pytest.fixture(params=[ASKED, PLAIN], ids=["asked", "plain"])
def script(request: pytest.FixtureRequest) -> bytes:
    """A script that Maple is asked about, and one that it is not."""
    return bytes(request.param)


FILE_FORMS = [
    ["job.sh"],
    ["./job.sh"],
    ["-N2", "-Jx", "-t5", "job.sh"],
    ["-J=foo", "job.sh"],
    ["-QH", "job.sh"],
    ["--nodes=2", "--ntasks", "4", "job.sh", "a b", "c"],
    ["job.sh", "-N", "4", "--wrap", "x"],
    ["--", "job.sh", "a"],
    ["--tim=7", "job.sh"],
    ["--nod", "2", "job.sh"],
    ["--exclusive", "job.sh"],
    ["--exclusive=user", "job.sh"],
    ["--nice", "job.sh"],
    ["-k", "job.sh"],
    ["--parsable", "--array=0-3", "job.sh"],
    ["--export=ALL,FOO=a b", "job.sh"],
    ["-D", "sub", "only-there.sh"],
    ["--chdir=sub", "only-there.sh"],
    ["-D", "sub", "./job.sh"],
    ["-D", "sub", "job.sh"],
    ["sub/only-there.sh"],
    ["in-path.sh"],
    ["link.sh"],
    ["odd name\n.sh"],
    [b"latin-\xe9.sh"],
    ["job.sh", b"\xff\xfe", ""],
    ["--test-only", "job.sh"],
    ["/dev/fd/../fd/0"],
]


@pytest.fixture
def files(stand: Stand, script: bytes) -> Stand:
    """The files that the forms name."""
    for name in (b"job.sh", b"sub/only-there.sh", b"sub/job.sh", b"odd name\n.sh", b"latin-\xe9.sh"):
        stand.write(os.fsdecode(name), script)
    stand.write(os.path.join(stand.folder, "prefix", "bin", "in-path.sh"), script)
    os.symlink("job.sh", os.path.join(stand.work, "link.sh"))
    return stand


@pytest.mark.parametrize("words", FILE_FORMS, ids=str)
def test_a_script_in_a_file_reaches_sbatch_untouched(files: Stand, words: list[Any]) -> None:
    """Argv, environ block, cwd, umask, descriptors, signals, limits, script, stdout, stderr and exit code are equal."""
    bare, maple = files.both(words, environment={"RECORD_EXIT": "5"})
    assert bare == maple
    assert bare.exit == 5 and bare.record


OTHER_FORMS = [
    ["--wrap", "srun python x.py"],
    ["--wrap=srun python x.py", "-N2"],
    ["--wr", "srun x"],
    ["--wrap", "srun x", "job.sh"],
    ["--wrap", ""],
    ["-h"],
    ["--help"],
    ["--usage"],
    ["-V"],
    ["--version"],
    ["--ti=7", "job.sh"],
    ["--bogus-option", "job.sh"],
    ["-Z", "job.sh"],
    ["--nodes"],
    ["-"],
    ["missing.sh"],
    ["sub"],
    [""],
    ["-N1", ":", "-N2", "job.sh"],
    ["--uid=0", "job.sh"],
    ["--hold=1", "job.sh"],
]


@pytest.mark.parametrize("words", OTHER_FORMS, ids=str)
def test_what_is_no_script_in_a_file_reaches_sbatch_untouched(files: Stand, words: list[Any]) -> None:
    """Command text, questions to sbatch itself, mistakes and heterogeneous jobs."""
    bare, maple = files.both(words)
    assert bare == maple
    assert bare.record


def without_stdin(record: bytes) -> list[bytes]:
    """The record but for where descriptor 0 leads: a pipe that was read is given back from memory."""
    return [line for line in record.split(b"\n") if not line.startswith(b"fd 0 ")]


@pytest.mark.parametrize(
    "words", [[], ["-N2"], ["/dev/stdin", "a", "b"], ["/dev/fd/0"], ["/proc/self/fd/0", "a"]], ids=str
)
@pytest.mark.parametrize("size", [0, 1, 70000, 5 << 20], ids=["none", "short", "past a pipe", "past every bound"])
def test_a_script_from_a_pipe_arrives_whole(stand: Stand, script: bytes, words: list[str], size: int) -> None:
    """Also when it is longer than a pipe holds, or than Maple reads."""
    text = script + b"#" * size if size else b""
    bare, maple = stand.both(words, stdin=text)
    assert maple.script == text
    assert without_stdin(bare.record) == without_stdin(maple.record)
    assert bare[1:] == maple[1:]


@pytest.mark.parametrize("words", [[], ["/dev/stdin"]], ids=str)
def test_a_script_from_a_file_on_stdin_is_read_from_where_it_stands(
    stand: Stand, script: bytes, words: list[str]
) -> None:
    """And whoever shares the file finds it read as far as the bare command reads it."""
    path = stand.write("job.sh", b"first line\n" + script)
    ends = []
    seen = []
    for maple in (False, True):
        with open(path, "rb", buffering=0) as file:
            file.seek(11)
            seen.append(stand.run(maple, words, stdin_file=file))
            ends.append(file.tell())
    assert seen[0] == seen[1]
    assert ends[0] == ends[1]


def test_a_script_on_another_descriptor_arrives_whole(stand: Stand, script: bytes) -> None:
    """As bash passes `<(command)`; the other descriptors stay open and where they were."""
    seen = []
    for maple in (False, True):
        out, into = os.pipe()
        os.write(into, script)
        os.close(into)
        words = ["/dev/fd/%d" % out, "a"]
        seen.append(stand.run(maple, words, pass_fds=(out,)))
        os.close(out)
    assert seen[0].script == seen[1].script == script
    assert seen[0].values(b"argv") == seen[1].values(b"argv")


def test_descriptors_and_limits_and_umask_are_those_of_the_caller(files: Stand) -> None:
    """Open files above 2 stay open, at their numbers."""
    import resource

    def before() -> None:
        os.umask(0o027)
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    one, other = os.open("/dev/null", os.O_RDONLY), os.open(files.home, os.O_RDONLY)
    try:
        bare, maple = files.both(["job.sh"], preexec_fn=before, pass_fds=(one, other))
    finally:
        os.close(one)
        os.close(other)
    assert bare == maple
    assert b"umask 27 " in maple.record and b"limit 7 200 300" in maple.record and b"fd %d " % other in maple.record


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)], ids=str)
def test_closed_standard_descriptors_stay_closed(files: Stand, closed: tuple[int, ...]) -> None:
    """Nothing of Maple's takes their numbers."""

    def before() -> None:
        for fd in closed:
            os.close(fd)

    bare, maple = files.both(["job.sh"], preexec_fn=before)
    assert bare == maple
    assert all(b"\nfd %d " % fd not in maple.record for fd in closed)


def test_signals_reach_sbatch_as_the_caller_left_them(files: Stand) -> None:
    """Ignored stays ignored, blocked stays blocked, and nothing is pending that was not."""
    import signal

    def before() -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD, signal.SIGUSR1, signal.SIGALRM, signal.SIGTERM])

    bare, maple = files.both(["job.sh"], preexec_fn=before, restore_signals=False)
    assert bare == maple
    assert b"SigPnd:\t0000000000000000" in maple.record


@pytest.fixture
def fixing(files: Stand) -> Iterator[Stand]:
    """An installation whose helper adds a line to every script."""
    files.helper("fixes")
    yield files


CHANGED = ["job.sh", "./job.sh", "sub/only-there.sh", "in-path.sh", "link.sh", "odd name\n.sh", "/dev/stdin"]


@pytest.mark.parametrize("name", CHANGED)
@pytest.mark.parametrize("script", [ASKED], indirect=True, ids=["asked"])
def test_a_changed_script_is_all_that_changes(fixing: Stand, name: str) -> None:
    """A private copy of the same base name stands in argv; the rest is as it was, and so is the user's file."""
    piped = {"stdin": ASKED} if name == "/dev/stdin" else {}
    words = ["-N2", name, "a b", ""]
    before = below(fixing.work)
    bare, maple = fixing.both(words, **piped)
    assert below(fixing.work) == before
    assert maple.script == ASKED + b"# fixed\n"
    assert bare.script == ASKED
    was, now = bare.values(b"argv"), maple.values(b"argv")
    assert was[:2] + was[3:] == now[:2] + now[3:]
    assert os.path.basename(was[2]) == os.path.basename(now[2])
    hidden = (b"argv", b"script", b"fd 0") if piped else (b"argv", b"script")
    assert rest(bare.record, hidden) == rest(maple.record, hidden)
    assert bare[1:] == maple[1:]


def below(folder: str) -> dict[str, tuple[int, bytes]]:
    """When each file below a folder was changed last, and what it holds."""
    found = {}
    for parent, _, names in os.walk(folder):
        for path in (os.path.join(parent, name) for name in names):
            if stat.S_ISREG(os.lstat(path).st_mode):
                with open(path, "rb") as file:
                    found[path] = (os.lstat(path).st_mtime_ns, file.read())
    return found


def rest(record: bytes, hidden: tuple[bytes, ...]) -> list[bytes]:
    """The lines that do not begin so; the script's own lines are left out as well."""
    out = record.split(b"\nscript ")[0].split(b"\n")
    return [line for line in out if not line.startswith(hidden)]


@pytest.mark.parametrize("script", [ASKED], indirect=True, ids=["asked"])
def test_a_changed_wrap_command_stays_one_word(fixing: Stand) -> None:
    """In either spelling."""
    for words in (["--wrap", "srun x"], ["--wrap=srun x", "-N2"]):
        seen = fixing.run(True, words)
        assert seen.script == b"srun x # fixed"
        assert len(seen.values(b"argv")) == 3


@pytest.mark.parametrize("script", [ASKED], indirect=True, ids=["asked"])
def test_a_changed_script_from_a_file_on_stdin_leaves_the_file_read(fixing: Stand) -> None:
    """The caller's own descriptor ends where the bare command leaves it."""
    with open(os.path.join(fixing.work, "job.sh"), "rb", buffering=0) as file:
        seen = fixing.run(True, [], stdin_file=file)
        assert file.tell() == len(ASKED)
    assert seen.script == ASKED + b"# fixed\n"


@pytest.mark.parametrize("script", [ASKED], indirect=True, ids=["asked"])
def test_a_changed_script_from_the_middle_of_a_file_is_what_stands_behind_it(fixing: Stand) -> None:
    """What the caller has read of the file already is no part of the script."""
    path = fixing.write("two.sh", b"first line\n" + ASKED)
    with open(path, "rb", buffering=0) as file:
        file.seek(11)
        assert fixing.run(True, [], stdin_file=file).script == ASKED + b"# fixed\n"
        assert file.tell() == 11 + len(ASKED)


@pytest.mark.parametrize("how", ["file", "pipe"])
def test_a_script_of_four_mebibytes_is_asked_about_and_one_byte_more_is_not(stand: Stand, how: str) -> None:
    """Slurm itself refuses more; the bound is the same whichever way the script comes."""
    told = os.path.join(stand.folder, "told")
    stand.helper("tells")
    stand.write(os.path.join(stand.helpers, "to"), told.encode())
    for size, asked in (((4 << 20) + 1, False), (4 << 20, True)):
        text = ASKED + b"#" * (size - len(ASKED) - 1) + b"\n"
        stand.write("long.sh", text)
        seen = stand.run(True, ["long.sh"]) if how == "file" else stand.run(True, [], stdin=text)
        assert seen.script == text
        assert os.path.exists(told) == asked


def test_the_same_change_uses_the_same_copy(stand: Stand) -> None:
    """Copies are named by their content, in folders that only the user may enter."""
    stand.helper("fixes")
    stand.write("job.sh", ASKED)
    names = {stand.run(True, ["job.sh"]).values(b"argv")[1] for _ in range(3)}
    assert len(names) == 1
    folder = os.path.dirname(names.pop())
    while folder != os.fsencode(stand.home + "/.cache"):
        assert os.stat(folder).st_mode & 0o777 == 0o700
        folder = os.path.dirname(folder)


def test_a_copy_that_holds_other_bytes_is_not_what_is_submitted(stand: Stand) -> None:
    """As after a crash, which leaves a file of the right size and nothing in it."""
    stand.helper("fixes")
    stand.write("job.sh", ASKED)
    path = os.fsdecode(stand.run(True, ["job.sh"]).values(b"argv")[1])
    stand.write(path, b"\0" * os.path.getsize(path))
    assert stand.run(True, ["job.sh"]).script == ASKED + b"# fixed\n"


def test_old_copies_are_swept_and_fresh_ones_stay(stand: Stand) -> None:
    """After a week without use."""
    stand.helper("fixes")
    submit = os.path.join(stand.home, ".cache", "maple", "submit")
    for name, days in (("old", 8), ("fresh", 6)):
        path = stand.write(os.path.join(submit, name, "job.sh"), b"x")
        when = os.stat(path).st_mtime - days * 86400
        os.utime(os.path.dirname(path), (when, when))
    stand.write("job.sh", ASKED)
    stand.run(True, ["job.sh"])
    assert not os.path.exists(os.path.join(submit, "old"))
    assert os.path.exists(os.path.join(submit, "fresh", "job.sh"))


def test_a_changed_argv_is_used_with_the_changed_script(stand: Stand) -> None:
    """Only where it still names the same script."""
    stand.helper("argv")
    stand.write("job.sh", ASKED)
    seen = stand.run(True, ["job.sh", "x"])
    assert seen.values(b"argv")[1] == b"--nodes=2"
    assert seen.script == ASKED + b"# fixed\n"


def test_many_variables_and_a_long_script_are_looked_through_once(stand: Stand) -> None:
    """The one that the script names travels, whatever stands around it; the others do not."""
    stand.helper("tells")
    told = os.path.join(stand.folder, "told")
    stand.write(os.path.join(stand.helpers, "to"), told.encode())
    stand.write("job.sh", ASKED + b"echo $CHOSEN_42 \n" + b"# filler VAR_ 12345 \n" * 11000)
    many = {"VAR_%05d" % number: "" for number in range(15000)}
    seen = stand.run(True, ["job.sh"], environment={**many, "CHOSEN_42": "yes", "CHOSEN_43": "no"})
    assert seen.exit == 0
    with open(told, "rb") as file:
        sent = [one for one in file.read().split(b"\0") if one.startswith((b"VAR_", b"CHOSEN"))]
    assert sent == [b"CHOSEN_42=yes"]


def test_more_variables_than_can_travel_leave_the_script_as_written(stand: Stand) -> None:
    """A part of them would tell another story; the command gets them all."""
    stand.helper("fixes")
    stand.write("job.sh", ASKED)
    bare, maple = stand.both(["job.sh"], environment={"SLURM_X%05d" % number: "" for number in range(15000)})
    assert bare == maple
