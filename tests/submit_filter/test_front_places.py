"""What was written is what is submitted, whoever shares the folders above; and a folder that hangs holds nobody."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import stat
import subprocess
import time
from typing import Any, Callable, Iterator, Optional

import pytest
from maple_submit_filter.answer.audit_line import read_audit

from tests.doubles.stand import ASKED, Seen, Stand, build, compiled
from tests.doubles.stuck_folder import stuck

USER, OTHER, SHARED = 42001, 42002, 42003
FIXED = ASKED + b"# fixed\n"
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="several users take part, so root starts them")


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The double of sbatch."""
    return compiled("sbatch", str(tmp_path_factory.mktemp("double")))


@pytest.fixture
def open_folder() -> Iterator[str]:
    """A folder that every user can reach."""
    folder = "/tmp/maple-test-%d-%d" % (os.getpid(), time.monotonic_ns())
    os.mkdir(folder, 0o755)
    yield folder
    shutil.rmtree(folder)
    for user in (USER, OTHER):
        shutil.rmtree("/tmp/maple-%d" % user, ignore_errors=True)


@pytest.fixture(params=["front", "front sanitized"])
def stand(request: pytest.FixtureRequest, open_folder: str, double: str) -> Stand:
    """An installation that repairs every script, as shipped and under sanitizers; the user's home is the user's own."""
    front = build(request.param.endswith("sanitized"))
    one = Stand(open_folder + "/stand", front, double)
    one.helper("fixes")
    one.write("job.sh", ASKED)
    for folder, _, names in os.walk(open_folder):
        for name in (".", *names):
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                os.chmod(path, stat.S_IMODE(os.stat(path).st_mode) | 0o055)
    for path in (one.home, one.cache, os.path.dirname(one.state), one.state, one.work):
        os.chown(path, USER, USER)
    # The double writes its record there; all folders above fit, so that a test has only what it makes itself.
    os.chmod(one.folder, 0o1777)
    os.chmod(one.conf, 0o644)
    return one


def become(user: int) -> Callable[[], None]:
    """What a child does to be another user, in a group that several share."""

    def now() -> None:
        os.setgroups([SHARED])
        os.setgid(user)
        os.setuid(user)

    return now


def submit(stand: Stand, user: int, **environment: Optional[str]) -> Seen:
    """Submit as a user."""
    if user == 0:
        return stand.run(True, ["job.sh"], environment=environment)
    return stand.run(True, ["job.sh"], environment=environment, preexec_fn=become(user))


def copy_of(seen: Seen) -> str:
    """The path that was submitted."""
    return os.fsdecode(seen.values(b"argv")[1])


SWAP = """
import os, sys, time
cache, evil = sys.argv[1:]
until = time.time() + 60
while time.time() < until:
    try:
        os.rename(cache + "/maple", cache + "/.theirs")
        os.rename(evil, cache + "/maple")
        os.rename(cache + "/maple", evil)
        os.rename(cache + "/.theirs", cache + "/maple")
    except OSError:
        pass
"""


def plant(stand: Stand, cache: str, seen: Seen) -> str:
    """Lay out another's script under the names that the copy had; return its folder."""
    evil = cache + "/.evil"
    name = os.path.join(evil, "submit", os.path.basename(os.path.dirname(copy_of(seen))))
    os.makedirs(name)
    with open(name + "/job.sh", "wb") as file:
        file.write(b"#!/bin/bash\nsrun evil\n")
    for folder, _, names in os.walk(evil):
        for one in (".", *names):
            os.chown(os.path.join(folder, one), OTHER, SHARED)
    return evil


def test_nobody_who_shares_a_folder_above_swaps_the_copy(stand: Stand) -> None:
    """Another of the group renames in XDG_CACHE_HOME without a pause; the user's own script goes every time."""
    shared = os.path.join(stand.folder, "shared")
    os.mkdir(shared)
    os.chown(shared, USER, SHARED)
    os.chmod(shared, 0o2770)
    first = submit(stand, USER, XDG_CACHE_HOME=shared)
    assert first.script == FIXED
    evil = plant(stand, shared, first)
    swapper = subprocess.Popen(["/usr/bin/python3", "-c", SWAP, shared, evil], preexec_fn=become(OTHER))
    try:
        scripts = [submit(stand, USER, XDG_CACHE_HOME=shared).script for _ in range(10)]
    finally:
        swapper.kill()
        swapper.wait()
    assert set(scripts) == {FIXED}
    assert not copy_of(first).startswith(shared)


@pytest.mark.parametrize(
    "owner, mode",
    [(0, 0o777), (0, 0o757), (0, 0o775), (0, 0o770), (OTHER, 0o755), (OTHER, 0o1777)],
    ids=["everybody's", "others'", "its group's", "its group's alone", "another's", "another's, though sticky"],
)
def test_a_folder_far_above_that_others_can_change_is_not_used(stand: Stand, owner: int, mode: int) -> None:
    """Each step from the root on counts, and where a link leads to."""
    far = os.path.join(stand.folder, "far")
    os.makedirs(far + "/near/cache")
    for path in (far + "/near/cache", far + "/near"):
        os.chown(path, USER, SHARED)
    os.chown(far, owner, SHARED)
    os.chmod(far, mode)
    os.symlink(far + "/near/cache", stand.home + "/link")
    for cache in (far + "/near/cache", stand.home + "/link"):
        seen = submit(stand, USER, XDG_CACHE_HOME=cache)
        assert seen.script == FIXED and not copy_of(seen).startswith(far)


def test_the_copy_lies_in_the_user_s_cache_where_only_the_user_changes_it(stand: Stand) -> None:
    """Under the name of the script, also where the cache is a link to a folder of the user's."""
    assert copy_of(submit(stand, USER)).startswith(stand.cache + "/maple/submit/")
    os.mkdir(stand.home + "/scratch", 0o700)
    os.chown(stand.home + "/scratch", USER, USER)
    os.symlink("scratch", stand.home + "/link")
    seen = submit(stand, USER, XDG_CACHE_HOME=stand.home + "/link")
    assert copy_of(seen).startswith(stand.home + "/scratch/maple/") and seen.script == FIXED


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o1777, 0o500], ids=oct)
def test_folders_of_copies_are_the_user_s_alone_whatever_they_were(stand: Stand, mode: int) -> None:
    """A folder of the user's that is there already gets the rights that one made for it has."""
    folders = [stand.cache + "/maple", stand.cache + "/maple/submit"]
    for folder in folders:
        os.mkdir(folder)
        os.chown(folder, USER, USER)
    for folder in folders:
        os.chmod(folder, mode)
    assert copy_of(submit(stand, USER)).startswith(stand.cache + "/maple/submit/")
    assert [stat.S_IMODE(os.stat(folder).st_mode) for folder in folders] == [0o700, 0o700]


def test_who_takes_the_name_in_tmp_hinders_nobody(stand: Stand) -> None:
    """Another folder is made, of a name that nobody knows before."""
    os.mkdir("/tmp/maple-%d" % USER, 0o777)
    os.chown("/tmp/maple-%d" % USER, OTHER, OTHER)
    seen = submit(stand, USER, XDG_CACHE_HOME=None, HOME=None)
    assert seen.script == FIXED and copy_of(seen).startswith("/tmp/maple-%d." % USER)
    shutil.rmtree(copy_of(seen).partition("/submit/")[0])


@pytest.mark.parametrize("user", [0, USER], ids=["root", "a user"])
@pytest.mark.parametrize("taken", ["a folder", "a link"])
def test_who_takes_the_name_in_a_folder_of_everybody_s_gets_no_copy(stand: Stand, user: int, taken: str) -> None:
    """Neither does a folder of his own that he alone may enter, nor a link to one of the user's, whose mode stays."""
    cache, mine = stand.folder + "/everybody's", stand.home + "/mine"
    for path, mode in ((cache, 0o1777), (mine, 0o755)):
        os.mkdir(path)
        os.chmod(path, mode)
    os.chown(mine, user, user)
    if taken == "a link":
        os.symlink(mine, cache + "/maple")
    else:
        os.mkdir(cache + "/maple", 0o700)
    os.lchown(cache + "/maple", OTHER, OTHER)
    seen = submit(stand, user, XDG_CACHE_HOME=cache)
    assert seen.script == FIXED and not copy_of(seen).startswith((cache, mine))
    assert os.listdir(cache + "/maple") == [] and stat.S_IMODE(os.stat(mine).st_mode) == 0o755


def everything(folder: str) -> list[tuple[str, int]]:
    """What lies in a folder, and whose it is."""
    paths = [os.path.join(one, name) for one, inner, names in os.walk(folder) for name in (*inner, *names)]
    return sorted((path, os.lstat(path).st_uid) for path in paths)


@pytest.mark.parametrize("named", [False, True])
def test_root_leaves_nothing_in_a_home(stand: Stand, named: bool) -> None:
    """Neither in another's, as with `sudo` that keeps HOME, nor in one of its own; the repaired script goes anyway."""
    home = stand.home
    if not named:
        for one in (".cache", ".local"):
            shutil.rmtree(os.path.join(home, one))
    before = everything(home)
    more = {} if named else {"XDG_CACHE_HOME": None, "XDG_STATE_HOME": None}
    seen = submit(stand, 0, **more)
    assert seen.script == FIXED and not copy_of(seen).startswith(home)
    assert everything(home) == before
    if not named:
        os.chown(home, 0, 0)
        assert submit(stand, 0, **more).script == FIXED
        assert everything(home) == before


def test_a_home_of_another_user_gets_no_folders(stand: Stand) -> None:
    """Also where that user lets everybody write there."""
    home = os.path.join(stand.folder, "theirs")
    os.mkdir(home)
    os.chown(home, OTHER, OTHER)
    os.chmod(home, 0o777)
    seen = submit(stand, USER, HOME=home, XDG_CACHE_HOME=None, XDG_STATE_HOME=None)
    assert seen.script == FIXED and everything(home) == []


# -- the site's spool -----------------------------------------------------------------------------------------------


def lines_of(spool: str, user: int, suffix: str = "") -> list[str]:
    """The verdicts or makers of a user's lines, in whichever files of that user's."""
    found = []
    for name in os.listdir(spool):
        path = os.path.join(spool, name)
        if name.endswith(suffix) and os.lstat(path).st_uid == user and stat.S_ISREG(os.lstat(path).st_mode):
            with open(path) as file:
                found += file.read().splitlines()
    return found


@pytest.mark.parametrize("taken", ["a file", "a link", "a folder", "a pipe", "many", "a second link"])
def test_nobody_silences_another_s_audit(stand: Stand, taken: str) -> None:
    """Whoever puts something of that user's name into the spool, the line is kept beside it."""
    spool = os.path.join(stand.folder, "spool")
    os.mkdir(spool)
    os.chmod(spool, 0o1733)
    stand.helper("fixes", audit=spool)
    place = os.path.join(spool, "%d.jsonl" % USER)
    if taken == "a second link":
        submit(stand, USER)
        os.link(place, spool + "/held")
    for name in (".jsonl", *(".%d.jsonl" % number for number in range(1, 9 if taken == "many" else 1))):
        path = os.path.join(spool, str(USER) + name)
        make: dict[str, Callable[[], Any]] = {
            "a file": lambda: open(path, "w").close(),  # noqa: B023
            "many": lambda: open(path, "w").close(),  # noqa: B023
            "a link": lambda: os.symlink("/proc/nowhere/x", path),  # noqa: B023
            "a folder": lambda: os.mkdir(path),  # noqa: B023
            "a pipe": lambda: os.mkfifo(path),  # noqa: B023
        }
        if taken in make:
            make[taken]()
            os.lchown(path, OTHER, OTHER)
    held = len(lines_of(spool, USER))
    assert submit(stand, USER).script == FIXED
    assert len(lines_of(spool, USER)) == held + 1


def counted(spool: str) -> dict[str, int]:
    """Return the sizes of the files that count."""
    return {name: os.path.getsize(os.path.join(spool, name)) for name in os.listdir(spool) if name.endswith(".count")}


def today() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())


def test_a_submission_without_a_finding_is_counted_and_leaves_no_line(stand: Stand) -> None:
    """One byte each in the user's file of the day; a repaired one has its line instead."""
    spool = os.path.join(stand.folder, "spool")
    os.mkdir(spool)
    os.chmod(spool, 0o1733)
    stand.helper("finds nothing", audit=spool, helper_ms=30000, files_ms=30000)
    before = today()
    assert [submit(stand, USER).script for _ in range(3)] == [ASKED] * 3
    assert lines_of(spool, USER, ".jsonl") == []
    assert sum(counted(spool).values()) == 3
    assert set(counted(spool)) <= {"%d.%s.count" % (USER, day) for day in (before, today())}
    stand.helper("fixes", audit=spool)
    submit(stand, USER)
    assert sum(counted(spool).values()) == 3 and len(lines_of(spool, USER, ".jsonl")) == 1


def test_many_at_once_are_all_counted(stand: Stand) -> None:
    """Submissions of one user from many shells."""
    spool = os.path.join(stand.folder, "spool")
    os.mkdir(spool)
    os.chmod(spool, 0o1733)
    stand.helper("finds nothing", audit=spool, helper_ms=30000, files_ms=30000)
    started = [
        subprocess.Popen([stand.command, "job.sh"], executable=stand.front, env=stand.environment(), cwd=stand.work,
                         preexec_fn=become(USER), stdout=subprocess.DEVNULL)
        for _ in range(20)
    ]  # fmt: skip
    assert [one.wait() for one in started] == [0] * 20
    assert sum(counted(spool).values()) == 20


def test_nobody_silences_another_s_count(stand: Stand) -> None:
    """Who takes the name is passed by, and nothing is written into what is his."""
    spool = os.path.join(stand.folder, "spool")
    os.mkdir(spool)
    os.chmod(spool, 0o1733)
    stand.helper("finds nothing", audit=spool)
    taken = {"%d.%s.count" % (USER, day) for day in (today(), _tomorrow())}
    for name in taken:
        os.symlink(stand.folder + "/elsewhere", os.path.join(spool, name))
        os.lchown(os.path.join(spool, name), OTHER, OTHER)
    assert submit(stand, USER).script == ASKED
    (name,) = set(os.listdir(spool)) - taken
    assert name.startswith("%d.1." % USER) and os.path.getsize(os.path.join(spool, name)) == 1
    assert not os.path.exists(stand.folder + "/elsewhere")


def _tomorrow() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(time.time() + 86400))


# -- a folder that hangs --------------------------------------------------------------------------------------------


@contextlib.contextmanager
def hanging(folder: str, taken: bool) -> Iterator[None]:
    """Let a folder hang, where this host has FUSE."""
    try:
        inner = stuck(folder, taken)
        inner.__enter__()
    except OSError as error:
        pytest.skip("no file system can be mounted over FUSE here: %s" % error)
    try:
        yield
    finally:
        inner.__exit__(None, None, None)


@pytest.mark.parametrize("taken", [False, True], ids=["can be ended", "cannot be ended"])
@pytest.mark.parametrize("kind", ["fixes", "keeps", "hangs"])
def test_a_home_that_hangs_does_not_hold_the_submission(stand: Stand, kind: str, taken: bool) -> None:
    """Its script goes as written, whoever reads its output sees the end of it, and the site's spool says why."""
    spool = os.path.join(stand.folder, "spool")
    os.mkdir(spool)
    os.chmod(spool, 0o1733)
    stand.helper(kind, audit=spool, files_ms=1500, helper_ms=300 if kind == "hangs" else 20000)
    environment = {"XDG_CACHE_HOME": None, "XDG_STATE_HOME": None, "HOME": stand.home}
    with hanging(stand.home, taken):
        seen = submit(stand, USER, **environment)  # ends after 60 seconds with an error, if it hangs
    assert seen.exit == 0 and seen.script == ASKED and seen.stdout == stand.accepted
    (line,) = lines_of(spool, USER)
    if kind == "keeps":  # as in mode observe: the audit line is all that touches the home
        assert line.startswith('{"who":"double","ms":')
    else:
        assert read_audit(line.encode()).late == (("files",) if kind == "fixes" else ("helper",))


def test_ctrl_c_ends_a_submission_whose_home_hangs(stand: Stand) -> None:
    """The process that looks at it is not in its way."""
    stand.helper("fixes", files_ms=30000)
    env = stand.environment(XDG_CACHE_HOME=None, XDG_STATE_HOME=None)
    with hanging(stand.home, False):
        one = subprocess.Popen([stand.command, "job.sh"], executable=stand.front, env=env, cwd=stand.work,
                               preexec_fn=become(USER), stdout=subprocess.PIPE)  # fmt: skip
        time.sleep(1)
        one.send_signal(signal.SIGINT)
        assert one.wait(20) == -signal.SIGINT
        assert one.stdout is not None and one.stdout.read() == b""
