"""Where the front cannot be compiled, the Python entry does the same; only Python's start is felt."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest
from maple_submit_filter.answer.audit_line import read_audit

from tests.doubles.stand import ASKED, LIB, PLAIN, PYTHON, Stand, build, compiled, entry


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The double of sbatch."""
    return compiled("sbatch", str(tmp_path_factory.mktemp("recorder")))


@pytest.fixture
def stand(tmp_path: Any, recorder: str) -> Stand:
    """An installation with the entry in the front's place, and a helper path that leads to the real package."""
    one = Stand(str(tmp_path / "stand"), entry(str(tmp_path)), recorder)
    one.configure(helper=os.path.join(LIB, "maple_submit_filter", "helper.py"))
    one.write("job.sh", ASKED)
    one.write("plain.sh", PLAIN)
    one.write("sub/only-there.sh", ASKED)
    return one


FORMS = [
    ["job.sh", "a b", "", b"\xff"],
    ["plain.sh"],
    ["-N2", "-J=foo", "--tim=7", "./job.sh", "-N", "4"],
    ["-D", "sub", "only-there.sh"],
    ["--wrap", "srun x"],
    ["--wrap=srun x"],
    ["--version"],
    ["missing.sh"],
    ["-N1", ":", "-N2", "job.sh"],
    ["--bogus", "job.sh"],
    [],
    ["-"],
]


@pytest.mark.parametrize("words", FORMS, ids=str)
def test_the_entry_starts_sbatch_as_if_it_were_not_there(stand: Stand, words: list[Any]) -> None:
    """Environment block (no LC_CTYPE of Python's), signals (no SIGPIPE ignored), descriptors, limits, streams."""
    bare, maple = stand.both(words, environment={"RECORD_EXIT": "5"})
    assert bare == maple
    assert bare.record


FAN_OUT = b"""#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_id=7 --rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:29500 train.py
"""
LONG = b"#!/bin/bash\n" + b"echo on\n" * 20010 + b"srun python train.py\n"
UNASKED = {
    "no launcher": (PLAIN, {}, b"no launcher is named in the script"),
    "off": (ASKED, {"MAPLE": "off,verbose"}, b"MAPLE=off"),
    "mistyped": (
        ASKED,
        {"MAPLE": "verbose,of"},
        b"MAPLE=of is none of off, observe, warn, repair, verbose",
    ),
    "off in the script": (ASKED.replace(b"\n", b"\n# maple: off\n", 1), {}, b"the script says # maple: off"),
    "no script": (b"", {}, b"read"),
    "longer than is read": (ASKED + b"#" * 600_000, {}, b"longer than 512 KiB"),
    "no bash": (b"#!/usr/bin/perl\n# srun\n", {}, b"not a shell script"),
    "heterogeneous": (b"#!/bin/bash\n#SBATCH -N1\n#SBATCH hetjob\n#SBATCH -N2\nsrun x\n", {}, b"heterogeneous"),
    "too many lines": (LONG, {}, b"too long to analyse"),
    "nothing wrong": (b"#!/bin/bash\nsrun hostname\n", {}, b"found nothing wrong"),
}


@pytest.mark.parametrize("kind", ["entry", "front"])
@pytest.mark.parametrize("case", UNASKED.values(), ids=UNASKED)
def test_verbose_says_why_a_script_was_left_alone(
    stand: Stand, tmp_path: Any, recorder: str, kind: str, case: tuple[bytes, dict[str, str], bytes]
) -> None:
    """Whatever the reason, in one line on stderr; and without the word there is none."""
    script, said, why = case
    if kind == "front":
        stand = Stand(str(tmp_path / "fronts"), build(), recorder)
    stand.configure(helper=os.path.join(LIB, "maple_submit_filter", "helper.py"), helper_ms="20000")
    stand.write("mine.sh", script)
    bare, maple = stand.both(["mine.sh"], environment={"MAPLE": "verbose", **said})
    told = maple.stderr[len(bare.stderr) :] if maple.stderr.startswith(bare.stderr) else maple.stderr
    assert b"submitted as written: " in told and why in told.replace(b"\nmaple:  ", b"")
    assert (bare.stdout, bare.exit) == (maple.stdout, maple.exit)
    assert stand.both(["mine.sh"])[1].stderr == bare.stderr


@pytest.mark.parametrize("kind", ["entry", "front"])
@pytest.mark.parametrize(
    ("said", "asked"), [("of", False), ("OFF", False), ("0", False), ("/opt/maple2024", True), ("", True)]
)
def test_a_word_that_is_none_of_ours_asks_nobody(
    stand: Stand, tmp_path: Any, recorder: str, kind: str, said: str, asked: bool
) -> None:
    """Who mistypes off is left alone; the path of a program that has the same name means nothing."""
    if kind == "front":
        stand = Stand(str(tmp_path / "fronts"), build(), recorder)
    stand.configure(helper=os.path.join(LIB, "maple_submit_filter", "helper.py"), helper_ms="20000")
    stand.write("mine.sh", FAN_OUT)
    bare, maple = stand.both(["mine.sh"], environment={"MAPLE": said})
    assert (bare.stdout, bare.stderr, bare.exit) == (maple.stdout, maple.stderr, maple.exit)
    assert (maple.script != bare.script) == asked


@pytest.mark.parametrize("text", [b"", ASKED, PLAIN, ASKED + b"#" * 200000, ASKED + b"#" * (5 << 20)], ids=len)
@pytest.mark.parametrize("words", [[], ["/dev/stdin", "a"]], ids=str)
def test_the_entry_gives_a_pipe_back(stand: Stand, text: bytes, words: list[str]) -> None:
    """Whole, also past every bound."""
    bare, maple = stand.both(words, stdin=text)
    assert bare.script == maple.script == text
    assert bare[1:] == maple[1:]


def test_the_entry_keeps_an_environment_that_is_no_dictionary(stand: Stand) -> None:
    """A name twice, and an entry without a sign of equality, as some shells and tools leave them."""
    program = (
        "import ctypes, sys\n"
        "block = [b'RECORD=' + sys.argv[2].encode(), b'A=1', b'A=2', b'odd', b'PATH=/usr/bin']\n"
        "words = [b'sbatch', b'plain.sh']\n"
        "pointers = lambda one: (ctypes.c_char_p * (len(one) + 1))(*one, None)\n"
        "ctypes.CDLL(None).execve(sys.argv[1].encode(), pointers(words), pointers(block))\n"
    )
    record = os.path.join(stand.folder, "record")
    seen = []
    for path in (stand.real, stand.front):
        subprocess.run([PYTHON, "-c", program, path, record], cwd=stand.work, check=True, capture_output=True)
        with open(record, "rb") as file:
            seen.append(file.read())
    assert b"env 3:A=1\nenv 3:A=2\nenv 3:odd\n" in seen[0]
    environments = [[line for line in one.split(b"\n") if line.startswith(b"env")] for one in seen]
    assert environments[0] == environments[1]


@pytest.mark.parametrize("fault", ["no package", "no configuration", "off"])
def test_the_entry_without_maple_is_the_bare_command(stand: Stand, fault: str) -> None:
    """The package gone, the configuration gone, the switch."""
    environment = {"PATH": "%s:%s:/usr/bin" % (os.path.dirname(stand.front), os.path.dirname(stand.real))}
    if fault == "no package":
        stand.configure(helper="/nonexistent/maple_submit_filter/helper.py")
    elif fault == "no configuration":
        os.unlink(stand.conf)
    else:
        environment["MAPLE"] = "off"
    bare, maple = stand.both(["job.sh"], environment=environment)
    assert bare == maple


def test_the_entry_hands_over_a_repaired_copy(stand: Stand) -> None:
    """With a package whose decision is known."""
    stand.helper("fixes")
    seen = stand.run(True, ["-N2", "job.sh", "a"])
    assert seen.script == ASKED + b"# fixed\n"
    assert os.path.basename(seen.values(b"argv")[2]) == b"job.sh"
    assert stand.run(True, ["/dev/stdin"], stdin=ASKED).script == ASKED + b"# fixed\n"
    assert stand.run(True, [], stdin=ASKED).script == ASKED + b"# fixed\n"
    with open(stand.home + "/.local/state/maple/audit.jsonl") as file:
        assert file.read().count('{"who":"double","ms":') == 3


def test_the_entry_counts_an_answer_that_came_too_late(stand: Stand) -> None:
    """As the front does; a package that fails was not late."""
    stand.helper("hangs", helper_ms=300)
    assert stand.run(True, ["job.sh"]).script == ASKED
    with open(stand.home + "/.local/state/maple/audit.jsonl", "rb") as file:
        (line,) = (read_audit(text) for text in file.read().splitlines())
    assert (line.verdict, line.late, line.came) == ("late", ("helper",), "file")
    stand.helper("raises", helper_ms=30000)
    stand.run(True, ["job.sh"])
    with open(stand.home + "/.local/state/maple/audit.jsonl", "rb") as file:
        assert file.read().count(b"\n") == 1
