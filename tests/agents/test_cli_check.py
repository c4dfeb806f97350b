"""`maple check`: what people and programs get from it."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys

import pytest
from maple_agents.base.output import unified
from maple_submit_filter.answer.decision import Decision, Rewritten
from maple_submit_filter.types.edits import Fix, Safety, Span
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.launch_plan import Allocation, Group, LaunchPlan, Link, Step
from maple_submit_filter.types.text import host, token

WRONG = b"#!/bin/bash\n#SBATCH --nodes=2\nsrun torchrun train.py # \xe9\n"
MENDED = WRONG.replace(b"srun torchrun", b"srun --ntasks=2 torchrun")
AT = WRONG.index(b"srun")
FAN_OUT = Finding(
    "MPL301",
    "each of 8 tasks starts 4 workers",
    Span(AT, AT + 4),
    True,
    fixes=(Fix((), Safety.SAFE, "srun --ntasks=2"),),
)
NO_ACCOUNT = Finding("MPL210", "no account", asks_for="account", site_fact="mandatory.account")


def made(kind, **fields):
    """Return a value of a plan's type; what the test does not say is not known."""
    return kind(**{**dict.fromkeys(kind._fields), **fields})


GROUP = made(
    Group,
    launcher="torchrun",
    processes=(),
    nodes=2,
    ranks_per_node=4,
    world_size=8,
    declared=8,
    master=host(0),
    port=b"29500",
    complete=True,
)
LINK = made(Link, name="srun")
STEP = made(
    Step,
    line=3,
    span=Span(AT, AT + 22),
    links=(LINK, LINK._replace(name="torchrun")),
    groups=(GROUP,),
    breaches=(),
    nodes=2,
    tasks=2,
    tasks_per_node=1,
    workers_per_task=4,
    program=(b"train.py",),
    background=False,
    maybe=False,
    unknown=(),
)
GIVEN = made(Allocation, nodes=2, tasks=2, gpus_per_node=4, node_kinds=(), partition="gpu")
PLAN = made(LaunchPlan, allocation=GIVEN, steps=(STEP,), unread=())
REPAIRED = Decision(
    "repaired",
    (FAN_OUT, NO_ACCOUNT),
    PLAN,
    Rewritten(MENDED, (b"sbatch", b"job.sh"), ("MPL301 srun --ntasks=2",), ((3, "MPL301"),)),
    None,
    (("MPL210", "only you know the account"),),
)


@pytest.fixture
def job(maple, tmp_path):
    """Return the path of a wrong script in the working directory."""
    (tmp_path / "job.sh").write_bytes(WRONG)
    return "job.sh"


def test_the_json_has_the_stable_shape(maple, decided, job):
    decided(REPAIRED)
    answer = json.loads(maple("check", job, "--site", "generic-slurm", "--json").out)
    rewritten = answer.pop("repaired")
    assert answer == {
        "site": "generic-slurm",
        "site_known_by": "--site",
        "scheduler": "slurm",
        "mode": "repair",
        "verdict": "repaired",
        "findings": [
            {
                "code": "MPL301",
                "line": 3,
                "column": 1,
                "says": "each of 8 tasks starts 4 workers",
                "safety": "safe",
                "proven": True,
                "asks_for": None,
                "elsewhere": [],
            },
            {
                "code": "MPL210",
                "line": None,
                "column": None,
                "says": "no account",
                "safety": "tell",
                "proven": False,
                "asks_for": "account",
                "elsewhere": [],
            },
        ],
        "plan": {
            "steps": [
                {
                    "line": 3,
                    "launchers": ["srun", "torchrun"],
                    "nodes": 2,
                    "tasks_per_node": 1,
                    "workers_per_task": 4,
                    "groups": [{"nodes": 2, "ranks_per_node": 4, "world_size": 8, "master": "<node 0>"}],
                    "unknown": [],
                }
            ]
        },
        "offered": None,
        "offers": [],
        "held_back": [{"code": "MPL210", "why": "only you know the account"}],
    }
    assert sorted(rewritten) == ["argv", "diff", "edits", "script"]
    assert rewritten["argv"] == ["sbatch", "job.sh"]
    assert rewritten["edits"] == [{"line": 3, "because": "MPL301"}]
    assert rewritten["script"].encode("utf-8", "surrogateescape") == MENDED


def test_an_unknown_master_and_unknown_numbers_are_null(maple, decided, job):
    group = GROUP._replace(master=token(b"same", b"MASTER"), world_size=None)
    decided(Decision("clean", plan=PLAN._replace(steps=(STEP._replace(groups=(group,), nodes=None),))))
    step = json.loads(maple("check", job, "--json").out)["plan"]["steps"][0]
    assert [step["nodes"], step["groups"][0]["master"], step["groups"][0]["world_size"]] == [None, None, None]


@pytest.mark.parametrize(("verdict", "code"), [("clean", 0), ("findings", 1), ("repaired", 1), ("unread", 2)])
def test_the_exit_code_tells_the_verdict(maple, decided, job, verdict, code):
    decided(Decision(verdict))
    assert code == maple("check", job).code == maple("check", job, "--json").code


def test_people_read_finding_tree_difference_and_a_sum(maple, decided, job):
    decided(REPAIRED)
    said = maple("check", job)
    assert "job.sh:3: error MPL301 each of 8 tasks starts 4 workers\n" in said.out
    assert "help: fixed automatically: srun --ntasks=2. More: maple explain MPL301\n" in said.out
    assert "world of 8" not in said.out and "advice MPL210" in said.out
    assert "world of 8, master <node 0>:29500\n" in maple("check", job, "--plan").out
    assert "\n-srun torchrun train.py # \\udce9\n+srun --ntasks=2 torchrun train.py # \\udce9\n" in said.out
    assert "; 1 piece of advice, 1 cured too; left to you: MPL309 (line 3)\nsite: generic-slurm" in said.out
    assert said.err == ""


def test_another_mode_is_said(maple, decided, job, monkeypatch):
    decided(REPAIRED)
    monkeypatch.setenv("MAPLE", "warn")
    said = maple("check", job).out
    assert "help: would be fixed, but the mode is warn: srun --ntasks=2." in said and "fixed as shown" not in said
    assert "submitted as written, because the mode is warn\n" in said
    assert json.loads(maple("check", job, "--json").out)["mode"] == "warn"


HIDES = b"""#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=4 --cpus-per-task=2
#SBATCH -A abcd-delta-gpu -p gpuA100x4 --mem=100g --time=1:00:00
hosts=(localhost)
export MASTER_ADDR=${hosts[0]} MASTER_PORT=29500
export RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID
srun python train.py
"""


def test_what_one_mistake_hid_is_told_of_the_repaired_script(maple, job):
    """The second is repaired with the first, and the advice holds for what would be submitted."""
    with open(job, "wb") as script:
        script.write(HIDES)
    said = maple("check", "--site", "ncsa-delta", job).out
    assert said.index("error MPL305") < said.index("changed too, for what is wrong then: MPL501") < said.index("MPL203")
    assert "and there, still:\n" in said and "1 error, fixed as shown; left to you: MPL203 (line 7)\n" in said


FOUR = b"""#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=4 --cpus-per-task=4 --gpus-per-node=4
#SBATCH -A abcd-delta-gpu -p gpuA100x4 --mem=100g --time=1:00:00
#SBATCH --error=~/train.err
#SBATCH --output=~/train.out
export MASTER_ADDR=localhost MASTER_PORT=29500
srun torchrun --nnodes=2 --nproc_per_node=4 --node_rank=$SLURM_NODEID --master_addr=$MASTER_ADDR \\
    --master_port=$MASTER_PORT train.py
"""


def test_the_last_line_counts_what_is_cured_and_names_what_remains(maple, job):
    """Two of four are cured as shown; the two that are only said are counted apart, and named."""
    with open(job, "wb") as script:
        script.write(FOUR)
    said = maple("check", "--site", "ncsa-delta", job).out
    last = next(line for line in said.splitlines() if line.startswith("job.sh: ") and " error" in line)
    assert last == (
        "job.sh: 2 errors, fixed as shown; 2 pieces of advice; left to you: MPL601 (line 4), MPL601 (line 5)"
    )


def test_the_last_line_counts_lines_of_the_script_that_is_submitted(maple, job):
    """The repair makes the script longer, and what is left stands in its last line."""
    with open(job, "wb") as script:
        script.write(b"#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=4 --gpus-per-node=4\n#SBATCH --time=2d\n")
        script.write(b"srun python a.py --num_nodes=4\n")
    assert "; left to you: MPL325 (line 4)\n" in maple("check", "--site", "generic-slurm", job).out


@pytest.mark.parametrize(("line", "mode"), [(b"# maple: off", "off"), (b"echo # maple: off", "repair")])
def test_a_script_may_switch_maple_off(maple, decided, job, line, mode):
    decided(Decision("clean"))
    with open(job, "ab") as script:
        script.write(line + b"\r\n")
    assert json.loads(maple("check", job, "--json").out)["mode"] == mode


def test_the_same_variables_are_seen_as_on_submission(maple, decided, job, monkeypatch):
    asked = decided(Decision("clean"))
    monkeypatch.setenv("SBATCH_PARTITION", "gpu")
    monkeypatch.setenv("UNRELATED", "x")
    maple("check", job)
    assert asked[0][0].environment[b"SBATCH_PARTITION"] == b"gpu"
    assert b"UNRELATED" not in asked[0][0].environment


def test_words_stand_before_the_script_on_the_command_line(maple, decided, job):
    asked = decided(Decision("clean"))
    maple("check", job, "--", "--nodes", "4", "-p", "gpu")
    assert asked[0][0].argv == (b"sbatch", b"--nodes", b"4", b"-p", b"gpu", b"job.sh")


@pytest.mark.parametrize(
    ("words", "argv", "whole"),
    [
        (["-N4", "--", "train.py", "-x"], (b"-N4", b"job.sh", b"train.py", b"-x"), True),
        (["--", "8"], (b"job.sh", b"8"), True),
        (["--"], (b"job.sh",), True),
        (["-N4"], (b"-N4", b"job.sh"), False),
        ([], (b"job.sh",), False),
    ],
    ids=str,
)
def test_words_behind_a_second_dash_dash_stand_behind_the_script(maple, decided, job, words, argv, whole):
    """Without it nobody knows what these will be; with nothing behind it there are none."""
    asked = decided(Decision("clean"))
    maple("check", job, "--", *words)
    assert (asked[0][0].argv, asked[0][0].whole) == ((b"sbatch", *argv), whole)


def test_a_script_that_goes_by_its_arguments_says_what_it_waits_for(maple, job):
    """Nothing is held against it, and one line tells how to say them; then it is found."""
    with open(job, "wb") as file:
        file.write(
            b"#!/bin/bash\n#SBATCH --nodes=2\n"
            b"srun torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=$1:29500 train.py\n"
        )
    told = maple("check", job, "--site", "generic-slurm")
    assert "nothing found" in told.out and "maple check SCRIPT -- -- WORDS" in told.out and told.code == 0
    told = maple("check", job, "--site", "generic-slurm", "--", "--", "localhost")
    assert "MPL501" in told.out and "-- WORDS" not in told.out
    told = maple("check", job, "--site", "generic-slurm", "--", "--")
    assert "MPL402" in told.out and told.code == 1


def test_standard_input_takes_no_words_behind_it(maple, monkeypatch):
    """sbatch would take the first of them for the script."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(WRONG)))
    assert "takes no words behind it" in maple("check", "-", "--", "--", "8").err


def test_a_dash_reads_standard_input(maple, decided, monkeypatch):
    asked = decided(Decision("clean"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(WRONG)))
    assert maple("check", "-", "--", "-N2").out.startswith("stdin: nothing found\nsite: ")
    assert asked[0][0].argv == (b"sbatch", b"-N2")
    assert (asked[0][0].script, asked[0][0].came, asked[0][0].path) == (WRONG, "stdin", b"")


def test_a_pbs_site_is_asked_as_qsub(maple, decided, job):
    asked = decided(Decision("clean"))
    maple("check", job, "--site", "generic-pbs")
    assert (asked[0][0].scheduler, asked[0][0].argv[0]) == ("pbs", b"qsub")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("check", "none.sh"), "none.sh: no such file or directory; name a batch script"),
        (("check", "."), ".: is a directory; name a batch script"),
        (("check", "/dev/zero"), "/dev/zero: is a device; name a batch script"),
        (("check", "a\nb"), r"a\nb: no such file"),
        (("check", "job.sh", "--site", "delta"), "--site delta: there is no such site; did you mean ncsa-delta?"),
        (("check", "job.sh", "--site", "../x"), "--site ../x: there is no such site"),
        (("check", "job.sh", "--nodes=2"), "--nodes: there is no such option; see maple check --help"),
        (
            ("check", "--sit", "x", "job.sh"),
            "--sit: there is no such option; did you mean --site?; see maple check --help",
        ),
        (("check",), "SCRIPT|- is missing; see maple check --help"),
        (("check", "job.sh", "--site"), "--site: its value is missing; see maple check --help"),
        (("admin", "rollback", "--prefix"), "--prefix: its value is missing; see maple admin rollback --help"),
        (("admin", "install"), "--prefix (or the variable MAPLE_PREFIX) is missing; see maple admin install --help"),
        (("chek", "job.sh"), "chek: there is no such command; did you mean check?"),
    ],
)
def test_what_cannot_be_asked_is_said_in_one_line(maple, job, words, says):
    said = maple(*words)
    assert (said.code, said.out) == (2, "")
    assert said.err.count("\n") == 1
    assert said.err.startswith("maple: ") and says in said.err


def test_a_mistake_of_maple_s_own_is_one_line_and_the_traceback_is_kept(maple, decided, job, tmp_path):
    decided(RuntimeError("no\nsuch luck"))
    said = maple("check", job)
    log = tmp_path / "state/maple/failures.log"
    assert (said.code, said.out) == (2, "")
    assert said.err.count("\n") == 1 and "RuntimeError: no such luck" in said.err and str(log) in said.err
    assert "Traceback" in log.read_text() and log.parent.stat().st_mode & 0o777 == 0o700


def test_where_no_log_can_be_written_the_line_is_still_said(maple, decided, job, tmp_path):
    (tmp_path / "state").write_text("a file, no folder")
    decided(RuntimeError("no such luck"))
    said = maple("check", job)
    assert said.err.count("\n") == 1 and "could not be kept" in said.err


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (WRONG, MENDED),
        (b"srun a", b"srun b"),
        (b"srun a\n", b"srun a\n# maple"),
        (b"a\r\nb\r\nc", b"a\r\nx\r\nc"),
        (b"a\x0cb\n\x85\n", b"a\x0cc\n\x85\n"),
        (b"", b"x\n"),
    ],
)
def test_the_difference_is_one_that_patching_tools_take(tmp_path, before, after):
    (tmp_path / "job.sh").write_bytes(before)
    (tmp_path / "diff").write_bytes(unified(before, after, "job.sh").encode("utf-8", "surrogateescape"))
    subprocess.run(["git", "apply", "--whitespace=nowarn", "diff"], cwd=tmp_path, check=True)
    assert after == (tmp_path / "job.sh").read_bytes()


def test_colours_are_for_terminals_and_no_color_switches_them_off(job, tmp_path):
    environ = {**os.environ, "TERM": "xterm", "XDG_CACHE_HOME": str(tmp_path)}
    plain = subprocess.run([*MAPLE, "explain", "--help"], capture_output=True, env=environ, check=True).stdout
    assert b"\x1b" not in plain
    assert b"\x1b[1m" in _on_terminal({**environ, "NO_COLOR": ""})
    assert b"\x1b" not in _on_terminal({**environ, "NO_COLOR": "1"})
    assert b"\x1b" not in _on_terminal({**environ, "TERM": "dumb"})


MAPLE = [sys.executable, "-c", "from maple_agents.cli.main import main; main()"]
DRAWS = """
from maple_agents.cli.plan import Branch
from maple_agents.base.output import draw, findings
draw(Branch("job", "a job", (Branch("step", "a step"),)))
findings(["job.sh:1: error MPL301 wrong"])
"""


def test_each_severity_has_a_colour_of_its_own(maple, monkeypatch, capfd):
    from maple_agents.base import output

    monkeypatch.setattr(output, "coloured", lambda: True)
    output.findings(["job.sh:1: error MPL301 wrong", "job.sh:2: advice MPL208 perhaps"])
    error, advice = capfd.readouterr().out.splitlines()
    assert "\x1b[31m\x1b[1merror" in error and "\x1b[33m\x1b[1madvice" in advice


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_no_sentence_is_broken_inside_a_word(maple, decided, job, monkeypatch, columns):
    """As far as a word fits; the diff is the script's own."""
    monkeypatch.setenv("COLUMNS", str(columns))
    words = "each of the many tasks of this job would start four workers on its own, " * 4
    decided(REPAIRED._replace(findings=(FAN_OUT._replace(says=words, help=words), NO_ACCOUNT), repaired=None))
    told = maple("check", job).out
    assert all(len(line) <= columns for line in told.splitlines())
    assert " ".join(told.split()).count("would start four workers on its own") == 8


LOCALE_C = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}


@pytest.mark.parametrize(
    "speaks", [*({"PYTHONIOENCODING": one} for one in ("latin-1", "ascii", "cp437", "utf-8")), LOCALE_C], ids=str
)
@pytest.mark.parametrize("command", [["check", "--plan"], ["plan"], ["explain"], ["--help"]], ids=str)
def test_a_terminal_of_any_encoding_is_written_to(tmp_path, speaks, command):
    """What it has no character for is spelled, and no command dies of it."""
    script = tmp_path / "\u65e5\u672c.sh"
    script.write_bytes(b"#!/bin/bash\n#SBATCH -N2 --ntasks-per-node=4\n" + WRONG.split(b"\n")[2] + b"x" * 200)
    words = [*command, str(script)] if len(command) > 1 or command == ["plan"] else command
    environ = {**os.environ, **speaks, "XDG_STATE_HOME": str(tmp_path)}
    ran = subprocess.run([*MAPLE, *words], capture_output=True, env=environ, cwd=tmp_path, timeout=120, check=False)
    assert ran.returncode in (0, 1), ran.stderr
    assert ran.stderr == b"" and ran.stdout


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--nodes=four"], 1, 'sbatch refuses this value: "four" is not a valid node count'),
        (["--time=2h"], 1, "sbatch refuses this value: Invalid --time specification"),
        (["--bogus=1"], 2, "left alone: sbatch refuses the command line: unrecognized option --bogus"),
        (["--wrap=hostname"], 1, "sbatch refuses the command line: Script arguments not permitted with --wrap option"),
    ],
    ids=str,
)
def test_words_that_sbatch_refuses_are_told_in_its_own_words(maple, job, words, code, says):
    told = maple("check", job, "--site", "generic-slurm", "--", *words)
    assert says in told.out and told.code == code


@pytest.mark.parametrize(
    ("site", "directives"),
    [
        ("ncsa-delta", b"#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n#SBATCH --time=01:00:00\n"),
        ("alcf-polaris", b"#PBS -l select=2:ncpus=32\n#PBS -l walltime=01:00:00\n#PBS -q nowhere\n"),
    ],
)
def test_dos_line_breaks_are_one_finding_and_no_other_follows_from_them(maple, tmp_path, site, directives):
    """The cure shows what the rest of the script needs, and the plan is that of the values without the returns."""
    text = b"#!/bin/bash\n" + directives + WRONG.split(b"\n")[2] + b"\n"
    (tmp_path / "job.sh").write_bytes(text.replace(b"\n", b"\r\n"))
    told = json.loads(maple("check", "job.sh", "--site", site, "--json").out)
    assert [one["code"] for one in told["findings"]] == ["MPL105"] and told["repaired"] is None
    assert told["plan"]["steps"][0]["nodes"] in (2, None)
    assert "dos2unix job.sh" in maple("check", "job.sh", "--site", site).out


def _on_terminal(environ) -> bytes:
    """Return what the drawing writes to a terminal."""
    ours, theirs = os.openpty()
    subprocess.run([sys.executable, "-c", DRAWS], stdout=theirs, stdin=theirs, env=environ, check=True, timeout=60)
    os.close(theirs)
    out = os.read(ours, 65536)
    os.close(ours)
    return out


def test_a_reader_who_has_seen_enough_is_no_failure(job):
    code = (
        f"{sys.executable} -c 'from maple_agents.cli.main import main; main()' --help | true; echo ${{PIPESTATUS[0]}}"
    )
    said = subprocess.run(["bash", "-c", code], capture_output=True, timeout=60)
    assert (said.stdout, said.stderr) == (b"0\n", b"")


def test_heavy_libraries_stay_out_of_a_check(job):
    code = (
        "import sys\nfrom maple_agents.cli.main import run\n"
        "run(['check', 'job.sh', '--site', 'generic-slurm', '--json'])\n"
        "print([one for one in ('rich', 'pydantic', 'asyncio', 'importlib.metadata') if one in sys.modules])"
    )
    run_once = [sys.executable, "-c", code]
    subprocess.run(
        run_once, capture_output=True, check=True
    )  # the first call checks the site file and keeps the answer
    said = subprocess.run(run_once, capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[-1] == "[]"


UNENDED = {
    "if true; then\nsrun x\n": "an if without fi",
    "for i in 1 2; do\nsrun x\n": "a loop without done",
    "while true\nsrun x\n": "a loop without do",
    "case $1 in\na) srun x\n": "a case without esac",
    "f() {\nsrun x\n": "a { without }",
    "if true\nsrun x\n": "an if without then",
}


@pytest.mark.parametrize("script", UNENDED, ids=lambda one: UNENDED[one])
def test_what_a_command_lacks_is_said_in_bash_s_own_words(maple, tmp_path, script):
    """Behind the line in which it begins."""
    (tmp_path / "job.sh").write_text("#!/bin/bash\n" + script)
    told = maple("check", str(tmp_path / "job.sh"))
    left_alone = f"job.sh: left alone: line 2: {UNENDED[script]}\n"
    assert left_alone in told.out + told.err or f"job.sh:2: advice MPL119 {UNENDED[script]}: " in told.out


RIGHT = b"#!/bin/bash\n#SBATCH -N 1\n#SBATCH -p gpuA100\n#SBATCH -A abcd-delta-gpu\n#SBATCH -t 1:00:00\n"
RIGHT += b"#SBATCH --gpus-per-node=1\n#SBATCH --mem=16g\npython train.py\n"


def test_several_scripts_are_checked_one_by_one(maple, job, tmp_path):
    (tmp_path / "right.sh").write_bytes(b"#!/bin/bash\ntrue\n")
    said = maple("check", "right.sh", job, "--site", "generic-slurm", "--", "--nodes=2")
    assert said.code == 1 and "right.sh: nothing found" in said.out and "job.sh:3: " in said.out
    told = json.loads(maple("check", "right.sh", job, "--site", "generic-slurm", "--json").out)["scripts"]
    assert [(one["script"], one["verdict"]) for one in told] == [("right.sh", "clean"), ("job.sh", "findings")]


def test_a_script_that_cannot_be_read_keeps_no_other_from_its_check(maple, job):
    said = maple("check", "none.sh", job, "--site", "generic-slurm")
    assert said.code == 2 and "job.sh:3: " in said.out
    assert said.err.startswith("maple: none.sh: no such file or directory")


def test_a_partition_that_the_site_file_does_not_name_is_told(maple, tmp_path):
    """Of a job with GPUs, whose partitions the file lists first, as advice; of others in a line at the end."""
    (tmp_path / "right.sh").write_bytes(RIGHT)
    said = maple("check", "right.sh", "--site", "ncsa-delta")
    assert "advice MPL207 the site file lists no partition gpuA100" in said.out
    without = RIGHT.replace(b"#SBATCH --gpus-per-node=1\n", b"")
    (tmp_path / "right.sh").write_bytes(without)
    said = maple("check", "right.sh", "--site", "ncsa-delta")
    assert said.code == 0 and "partition gpuA100: Maple does not know it at ncsa-delta (known: " in said.out
    assert "nothing else found" in said.out and "nothing found" not in said.out
    (tmp_path / "right.sh").write_bytes(without.replace(b"gpuA100", b"gpuA100x4"))
    assert "does not know" not in maple("check", "right.sh", "--site", "ncsa-delta").out


def test_what_comes_to_light_behind_a_mistake_is_named(maple, tmp_path):
    head = b"#!/bin/bash\n#SBATCH -N 2\n#SBATCH --gpus-per-node=4\n#SBATCH --ntasks-per-node=1\n"
    loop = b"for host in $(scontrol show hostnames $SLURM_JOB_NODELIST); do\n  ssh $host torchrun --nnodes=2 "
    loop += b"--nproc_per_node=4 --node_rank=0 --master_addr=$host train.py &\ndone\nwait\n"
    (tmp_path / "loop.sh").write_bytes(head + loop)
    said = maple("check", "loop.sh", "--site", "generic-slurm").out
    assert "not applied: MPL304 comes to light then (maple explain MPL304): " in said
    assert said.count("line 6: ssh ▸ torchrun ▸ train.py") == 1
    waits = b"M=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -1)\nsrun torchrun --nnodes=4 "
    waits += b"--nproc_per_node=8 --node_rank=$SLURM_PROCID --master_addr=$M train.py\n"
    (tmp_path / "waits.sh").write_bytes(head + waits)
    said = maple("check", "waits.sh", "--site", "generic-slurm").out
    assert "if you accept every suggested change (sbatch and qsub ask you on a terminal):" in said
    assert "changed too, for what is wrong then: MPL304 (maple explain MPL304)" in said


def test_what_stays_wrong_behind_the_changes_on_offer_is_named(maple, tmp_path):
    """A limit is never cut beside another change, so no submission asks, and the page does not say that one would."""
    script = (
        b"#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=4 -p gpuA100x4 -A abcd-delta-gpu --ntasks-per-node=1 --mem=64g\n"
    )
    script += b"#SBATCH --time=72:00:00\nexport MASTER_ADDR=localhost\nsrun torchrun --nnodes=2 --nproc_per_node=8 "
    script += b"--rdzv-backend=c10d --rdzv-endpoint=$MASTER_ADDR:29500 train.py\n"
    (tmp_path / "long.sh").write_bytes(script)
    said = maple("check", "long.sh", "--site", "ncsa-delta").out
    assert "what the suggested changes would make of it together (at submission nobody is asked about them):" in said
    still = re.search(r"still wrong then: MPL206 .*; a way of its own: (\d)\n", said)
    assert still and f"  {still[1]}. MPL206 --time=48:00:00" in said


TWO_WAYS = (
    b"#!/bin/bash\n#SBATCH --nodes=2 --gpus-per-node=4 --ntasks-per-node=1\nsrun torchrun --nnodes=4 "
    b"--nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$(hostname):29500 train.py\n"
)


def test_of_two_ways_the_second_can_be_taken(maple, tmp_path):
    """Both are listed with what they would start; a number that nobody offered is an error, and names the way out."""
    (tmp_path / "two.sh").write_bytes(TWO_WAYS)
    shown = maple("check", "two.sh", "--site", "generic-slurm")
    assert "1. MPL303 set --nnodes=2: 8 ranks on 2 nodes" in shown.out
    assert "2. MPL303 request 4 nodes for the job: 16 ranks on 4 nodes" in shown.out
    taken = maple("check", "two.sh", "--site", "generic-slurm", "--take", "2")
    assert (taken.code, taken.out) == (0, TWO_WAYS.replace(b"--nodes=2", b"--nodes=4").decode())
    none = maple("check", "two.sh", "--site", "generic-slurm", "--take", "3")
    assert none.code == 2 and "no offer 3 for two.sh: there are 2" in none.err


def test_files_are_looked_for_beside_a_script_of_another_folder(maple, tmp_path):
    """Where they lie beside it, and none of them here; else it is checked as it would be submitted here."""
    script = b"#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4\n"
    script += b"export HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)\nsrun bash start.sh\n"
    torchrun = b"torchrun --nnodes=2 --nproc_per_node=4 --rdzv_id=$RANDOM --rdzv_backend=c10d"
    torchrun += b" --rdzv_endpoint=$HEAD:29500"
    folder = tmp_path / "jobs"
    folder.mkdir()
    (folder / "job.sh").write_bytes(script)
    assert json.loads(maple("check", "--json", "jobs/job.sh").out)["findings"] == []
    (folder / "start.sh").write_bytes(torchrun + b" train.py\n")
    (finding,) = json.loads(maple("check", "--json", "jobs/job.sh").out)["findings"]
    assert (finding["code"], finding["elsewhere"][0]["file"]) == ("MPL503", "start.sh")
    (tmp_path / "start.sh").write_bytes(torchrun.replace(b"$RANDOM", b"7") + b" train.py\n")
    assert json.loads(maple("check", "--json", "jobs/job.sh").out)["findings"] == []
