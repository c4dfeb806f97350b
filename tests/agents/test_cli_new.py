"""`maple new`: what people and programs get from it."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import stat
import subprocess
import sys
import time

import pytest
from maple_agents.base import new_file as new_output
from maple_agents.base.complaint import Complaint

KEYS = ["site", "site_known_by", "slots", "missing", "script", "template", "assumed", "advice", "asks", "unread"]
REQUEST = "train.py --lr 1e-4 with ZeRO-3 on 2 nodes of Delta, 4 hours, account abc-delta-gpu"


def test_a_request_gives_a_script_on_stdout_and_what_was_taken_on_stderr(maple):
    """So that stdout can be a file."""
    said = maple("new", REQUEST)
    assert said.code == 0 and said.out.startswith("#!/bin/bash\n#SBATCH --job-name=train\n")
    assert "train.py --lr 1e-4\n" in said.out and "#SBATCH --account=abc-delta-gpu\n" in said.out
    assert "gpuA100x4" in said.err and "default_partition" in said.err and "\x1b" not in said.err


def test_json_has_its_shape_whether_or_not_something_is_missing(maple):
    """Only what was said stands in the slots."""
    done, open_ = maple("new", REQUEST, "--json"), maple("new", "train.py with DDP on 2 nodes of Delta", "--json")
    found, lacking = json.loads(done.out), json.loads(open_.out)
    assert list(found) == list(lacking) == KEYS and (done.code, open_.code) == (0, 3)
    assert found["site"] == "ncsa-delta" and found["slots"]["nodes"] == 2 and found["slots"]["paradigm"] == "zero3"
    assert "gpus_per_node" not in found["slots"]
    assert {"slot", "value", "because"} == set(found["assumed"][0])
    assert found["template"] == "torchrun-over-srun" and found["missing"] == []
    assert (lacking["missing"], lacking["script"], lacking["template"]) == (["account"], None, None)
    assert lacking["asks"][0]["slot"] == "account" and "-delta-gpu" in lacking["asks"][0]["says"]
    assert done.err == open_.err == ""


BARE = "train.py with DDP on 2 nodes of Perlmutter, 1 hour, account m1234_g"


@pytest.mark.parametrize(
    ("words", "unread"),
    [
        (", premium or so", {"text": "premium", "slot": "qos", "value": "premium", "stops": True}),
        (", --exclusive", {"text": "--exclusive", "slot": "", "value": "", "stops": True}),
        (", with /pscratch/x", {"text": "/pscratch/x", "slot": "", "value": "", "stops": True}),
        (" and ann@example.org", {"text": "ann@example.org", "slot": "", "value": "", "stops": True}),
    ],
    ids=["qos", "option", "path", "address"],
)
def test_what_somebody_meant_and_nobody_read_stops_the_script(maple, words, unread):
    """A name of this site, an option, a path: a script without it is not the one that was asked for."""
    said = maple("new", BARE + words)
    assert said.code == 3 and said.out == ""
    assert 'not understood: "%s"' % unread["text"] in said.err and "nothing was written" in said.err
    found = json.loads(maple("new", BARE + words, "--json").out)
    assert (found["unread"], found["script"]) == ([unread], None)


ON_DELTA = "train.py with DDP on 2 nodes of Delta, account abc-delta-gpu, "


def test_a_length_without_a_number_stops_the_script(maple):
    """Half an hour would be asked for a night."""
    said = json.loads(maple("new", ON_DELTA + "8 GPUs overnight", "--json").out)
    assert [(one["text"], one["slot"], one["stops"]) for one in said["unread"]] == [("overnight", "walltime", True)]
    assert said["script"] is None


def test_a_size_alone_is_that_of_the_model(maple):
    """Its memory is counted: DDP cannot hold 70B parameters, and that is asked about. Tokens are no model."""
    said = json.loads(maple("new", ON_DELTA + "1 hour, a 70B llama", "--json").out)
    assert said["slots"]["model"] == "70B" and said["missing"] == ["paradigm"]
    said = json.loads(maple("new", ON_DELTA + "1 hour, on 70B tokens", "--json").out)
    assert "model" not in said["slots"]


@pytest.mark.parametrize(
    ("words", "slot"),
    [
        ("I don't know how long", "walltime"),
        ("time: ?", "walltime"),
        ("1 hour. On 4 nodes", "nodes"),
        ("it takes 9 hours, but it must not run longer than 4 hours", "walltime"),
    ],
)
def test_what_has_no_one_value_is_asked_for(maple, words, slot):
    """Unknown, said twice, or more than may be: nothing is assumed in its place."""
    said = json.loads(maple("new", ON_DELTA + words, "--json").out)
    assert said["missing"] == [slot] and said["script"] is None


@pytest.mark.parametrize(
    "words",
    ["1 hour, it wants --lr 1e-4", "1 hour (flags: --lr 1e-4)", "--lr 1e-4 behind it, for an hour please"],
)
def test_arguments_apart_from_the_program_are_its_own(maple, words):
    """Wherever an option stands that nobody else takes."""
    said = json.loads(maple("new", ON_DELTA + words, "--json").out)
    assert said["slots"]["program"] == "train.py --lr 1e-4" and "train.py --lr 1e-4" in said["script"]


def test_a_correction_that_was_not_read_stops_the_script(maple):
    """The first value alone would have stood."""
    said = json.loads(maple("new", "train.py ddp on Delta, 4 nodes - make it 8 - 2 hours", "--json").out)
    assert [(one["text"], one["stops"]) for one in said["unread"]] == [("it 8", True)]


def test_a_number_of_what_nobody_read_a_number_of_stops_the_script(maple):
    """Two nodes may be meant, and one would have been taken."""
    said = json.loads(maple("new", "train.py, DDP, 4-GPU nodes, or two, 1 hour, Delta", "--json").out)
    assert said["unread"] == [{"text": "or two", "slot": "", "value": "", "stops": True}]


@pytest.mark.parametrize(
    ("words", "slot"), [("4-GPU nodes, two of them", "nodes"), ("the A100s, two of them", "gpus_total")]
)
def test_of_them_counts_what_was_spoken_of_last(maple, words, slot):
    """ "Two of them" are nodes or GPUs."""
    assert json.loads(maple("new", "train.py, DDP, %s, 1 hour, Delta" % words, "--json").out)["slots"][slot] == 2


def test_words_below_a_pasted_script_stand_in_its_place(maple):
    """ "The same with 8 hours": what was pasted is older than what is said of it."""
    pasted = "#SBATCH -q regular\n#SBATCH -N 4\n#SBATCH -t 03:30:00\n#SBATCH -A m4321\nsrun -n 16 python x.py\n\n"
    words = pasted + "the same with 2 nodes in debug for 20 minutes"
    said = json.loads(maple("new", words, "--site", "nersc-perlmutter", "--json").out)
    assert (said["slots"]["nodes"], said["slots"]["qos"], said["slots"]["walltime"]) == (2, "debug", "00:20:00")
    assert said["slots"]["account"] == "m4321"


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        ("train.py with DDP, 1 hour, account abcd-delta-gpu, gpuA100x4", "nodes"),
        ("run.py --cfg $SLURM_ARRAY_TASK_ID, 1 GPU, a job array, 1 hour, abcd-delta-gpu, gpuA100x4", "array"),
        ("run a.py or b.py, 1 GPU, 1 hour, abcd-delta-gpu, gpuA100x4", "program"),
    ],
)
def test_what_would_be_a_guess_is_asked(maple, words, missing):
    """No size, an array without its indices, one of two programs."""
    said = json.loads(maple("new", words, "--site", "ncsa-delta", "--json").out)
    assert said["script"] is None and missing in said["missing"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (", seed 42", ["seed 42"]),
        (". Please mail me", ["mail"]),
        (". It takes 2 hours per epoch", ["takes 2 hours"]),
        (", not the regular one", ["regular"]),
        (", 90 epochs, a budget of 500 GPU hours", ["90 epochs", "500 GPU"]),
        (". Last week I ran 16 nodes for 3 hours", ["16 nodes", "3 hours"]),
    ],
)
def test_what_else_went_into_no_line_is_told(maple, words, told):
    """What is denied or of an earlier job too: nobody else can say that it was."""
    found = json.loads(maple("new", BARE + words, "--json").out)
    assert [one["text"] for one in found["unread"]] == told and found["script"] is not None
    assert ("note: not used: " in maple("new", BARE + words).err) == bool(told)


def test_what_an_option_says_needs_not_be_understood(maple):
    """Said twice, once as a program says it."""
    found = json.loads(maple("new", BARE + ", premium", "--set", "qos=premium", "--json").out)
    assert found["unread"] == [] and "#SBATCH --qos=premium" in found["script"]


def test_a_terminal_is_asked_what_a_word_means(tmp_path):
    """Enter takes what the site calls so; what is nothing here is left out only by a yes."""
    code, screen = terminal(["new", BARE + ", premium or so"], [""], tmp_path)
    assert code == 0 and '"premium" is a QOS of nersc-perlmutter: use it? [Y/n]' in screen
    assert "#SBATCH --qos=premium" in screen
    code, screen = terminal(["new", BARE + ", --exclusive"], [""], tmp_path)
    assert code == 3 and "nothing was written" in screen and "#SBATCH" not in screen
    code, screen = terminal(["new", BARE + ", --exclusive"], ["y"], tmp_path)
    assert code == 0 and 'not used: "--exclusive"' in screen


def test_a_word_that_is_not_understood_is_said_by_its_slot(tmp_path):
    """Each answer is held against the site and those before it; what cannot be had is asked for again."""
    answers = ["nods=4", "nodes=many", "walltime=900 hours", "perhaps", "nodes=4"]
    code, screen = terminal(["new", BARE + ", --exclusive"], answers, tmp_path)
    assert code == 0 and "#SBATCH --nodes=4" in screen and 'not used: "--exclusive"' in screen
    assert "did you mean nodes?" in screen and "many is no number" in screen and '"perhaps" is no answer' in screen
    assert screen.count('"--exclusive" was not understood') == len(answers)


def test_without_a_terminal_what_is_missing_is_listed(maple):
    """With the site's own words, and how to say it."""
    said = maple("new", "train.py with DDP on 2 nodes of Vista, I don't know how long")
    assert said.code == 3 and said.out == ""
    assert "walltime: missing; the request says" in said.err and "--set walltime=" in said.err


def test_a_time_that_nobody_said_is_the_longest_that_the_place_gives(maple):
    """It is told, with the reason."""
    said = maple("new", "train.py with DDP on 2 nodes of Vista")
    assert said.code == 0 and "#SBATCH --time=48:00:00\n" in said.out
    assert "nobody said a time, and gh gives so much" in said.err


def test_options_win_over_the_request(maple):
    """Slot by slot; but two clusters are one too many."""
    said = maple("new", REQUEST, "--set", "nodes=4", "--set", "walltime=12 hours")
    assert "#SBATCH --nodes=4\n" in said.out and "#SBATCH --time=12:00:00\n" in said.out
    two = maple("new", REQUEST, "--site", "tacc-vista")
    assert (
        two.code == 2
        and two.err == "maple: the request is for ncsa-delta, and --site says tacc-vista; name one cluster\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("",),
        ("   ",),
        ("--site", "nowhere", "train.py on 2 nodes"),
        ("--set", "nodes=two"),
        ("--set", "nodes=-1"),
        ("--set", "knots=2"),
        ("--set", "account"),
        ("--set", "walltime=soon"),
        ("2 nodes, 3 GPUs on each, 16 GPUs in all on Delta, train.py",),
        ("--site", "ncsa-delta", "--set", "nodes=2", "--set", "gpus_per_node=3", "--set", "gpus_total=16"),
        ("--site", "ncsa-delta", "--set", "account=a b"),
        ("--site", "ncsa-delta", "--set", "account=a", "--set", "program=torchrun train.py"),
        ("--from", "not-there.sh", "--site", "ncsa-delta"),
        ("θέλω να εκπαιδεύσω ένα μοντέλο με train.py",),
    ],
)
def test_what_cannot_be_done_is_one_line_and_nothing_is_written(maple, words, tmp_path):
    """Exit code 2."""
    said = maple("new", *words, "-o", "job.sh")
    assert (said.code, said.out) == (2, "") and said.err.count("\n") == 1 and said.err.startswith("maple: "), said
    assert not (tmp_path / "job.sh").exists()


def test_a_file_is_written_whole_and_never_over_another(maple, tmp_path):
    """With the mode of any new file; a link is something that is there as well."""
    old = os.umask(0o027)
    try:
        said = maple("new", REQUEST, "-o", "job.sh")
    finally:
        os.umask(old)
    path = tmp_path / "job.sh"
    assert said.code == 0 and said.out == "" and path.read_bytes().startswith(b"#!/bin/bash\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    before = path.read_bytes()
    again = maple("new", REQUEST, "--set", "nodes=4", "-o", "job.sh")
    assert again.code == 2 and "is there already" in again.err and path.read_bytes() == before
    (tmp_path / "link.sh").symlink_to(tmp_path / "elsewhere")
    assert maple("new", REQUEST, "-o", "link.sh").code == 2 and not (tmp_path / "elsewhere").exists()
    assert maple("new", REQUEST, "-o", "no/such/folder.sh").code == 2
    assert sorted(os.listdir(tmp_path)) == sorted({"job.sh", "link.sh", "cache", "state"} & set(os.listdir(tmp_path)))


def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path, monkeypatch):
    """Between looking and writing somebody else may have taken the name."""
    path = tmp_path / "job.sh"
    path.write_bytes(b"theirs")
    monkeypatch.setattr(new_output, "free", lambda path: None)
    with pytest.raises(Complaint, match="is there already"):
        new_output.put(b"ours", str(path))
    assert path.read_bytes() == b"theirs" and os.listdir(tmp_path) == ["job.sh"]


def test_what_was_said_is_the_default_of_the_next_question_alone(maple, tmp_path):
    """It is kept for the user alone, and never taken unasked."""
    assert maple("new", REQUEST).code == 0
    kept = tmp_path / "state" / "maple" / "new.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    next_ = json.loads(maple("new", "train.py on 2 nodes of Delta", "--json").out)
    assert next_["missing"] == ["account"] and next_["asks"][0]["default"] == "abc-delta-gpu"
    elsewhere = json.loads(maple("new", "train.py on 2 nodes of DeltaAI", "--json").out)
    assert elsewhere["asks"][0]["default"] == ""
    kept.write_bytes(b"\xff{")
    assert json.loads(maple("new", "train.py on 2 nodes of Delta", "--json").out)["asks"][0]["default"] == ""


def terminal(words: list[str], answers: list[str], folder) -> tuple[int, str]:
    """Return exit code and screen of `maple` on a terminal of its own, with each answer typed when it is asked for."""
    env = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), "TERM": "xterm", "COLUMNS": "120"}
    code = "import sys; from maple_agents.cli.main import main; main(sys.argv[1:])"
    control, line = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", code, *words], stdin=line, stdout=line, stderr=line, cwd=folder, env=env, close_fds=True
    )
    os.close(line)
    screen, end, answered = "", time.monotonic() + 60, 0
    while time.monotonic() < end:
        ready, _, _ = select.select([control], [], [], 0.1)
        try:
            piece = os.read(control, 65536) if ready else b""
        except OSError:  # the child has closed its side
            break
        screen += piece.decode()
        if answered < len(answers) and screen.endswith((": ", "/n] ", "/N] ")) and ready:
            os.write(control, (answers[answered] + "\n").encode())
            answered += 1
    os.close(control)
    return child.wait(10), screen


def test_a_terminal_is_asked_for_what_is_missing(tmp_path):
    """Each slot once, in the order of the list; a wrong answer is asked for again."""
    words = ["new", "train.py with DDP, no idea how long", "--site", "tacc-vista", "-o", "job.sh"]
    code, screen = terminal(words, ["12 hours", "two", "2"], tmp_path)
    assert code == 0, screen
    script = (tmp_path / "job.sh").read_text()
    assert "#SBATCH --nodes=2\n" in script and "#SBATCH --time=12:00:00\n" in script
    assert "is no number" in screen and screen.count("say how long it may run") == 1


WRONG_ANSWERS = [
    ["two words", "abc123", "homes:eagle", "home,eagle"],
    ["-A abc", "abc123", "home eagle, flare", "home:eagle"],
]


@pytest.mark.parametrize("answers", WRONG_ANSWERS, ids=lambda one: one[0])
def test_an_answer_is_judged_where_it_is_given(tmp_path, answers):
    """What is accepted is said before the next question, and nobody is asked anew for what was right."""
    words = ["new", "train.py with DDP on 2 nodes, 1 hour", "--site", "alcf-polaris", "-o", "job.sh"]
    code, screen = terminal(words, answers, tmp_path)
    assert code == 0, screen
    script = (tmp_path / "job.sh").read_text()
    assert "-l filesystems=home:eagle\n" in script and "-A abc123\n" in script
    first = screen.index(answers[0] + " cannot stand in a directive; write one word")
    assert first < screen.index("name each file system") < screen.index("is no file system here; write home or eagle")


def test_a_value_of_an_option_is_judged_as_an_answer_is(maple):
    """In one line; but a file system that the site does not list may be a new one."""
    told = maple("new", "train.py on 2 nodes", "--site", "alcf-polaris", "--set", "account=a b")
    assert told.code == 2 and "a b cannot stand in a directive; write one word" in told.err
    words = ["--set", "account=abc", "--set", "filesystems=home grand"]
    told = maple("new", "train.py with DDP on 2 nodes, 1 hour", "--site", "alcf-polaris", *words)
    assert told.code == 0 and "-l filesystems=home:grand\n" in told.out


def test_an_answer_that_cannot_be_had_is_told_before_the_next_question(monkeypatch, capsys):
    """It is tried with the answers before it."""
    from maple_agents.base.slots import Missing
    from maple_agents.cli.new import page

    monkeypatch.setattr("sys.stdin", io.StringIO("abc\nsmall\ngpu\n1:00:00\n"))
    open_ = [Missing("account", "a"), Missing("partition", "b", ("gpu",)), Missing("walltime", "c")]
    tried = []

    def trial(slots):
        tried.append([one.value for one in slots])
        return "small has no GPUs" if slots[-1].value == "small" else ""

    given = page.ask(open_, trial)
    assert [one.value for one in given] == ["abc", "gpu", "01:00:00"]
    assert tried == [["abc"], ["abc", "small"], ["abc", "gpu"], ["abc", "gpu", "01:00:00"]]
    shown = capsys.readouterr().err
    assert shown.index("partition: small has no GPUs") < shown.index("walltime: c")


def test_an_answer_may_correct_another_slot(monkeypatch, capsys):
    """What was read wrongly is said anew where a question is open; the question stays."""
    from maple_agents.base.slots import Missing
    from maple_agents.cli.new import page

    monkeypatch.setattr("sys.stdin", io.StringIO("nodes=4\nabc\n"))
    given = page.ask([Missing("account", "a")], lambda slots: "")
    assert [(one.name, one.value) for one in given] == [("nodes", 4), ("account", "abc")]
    assert "nodes = 4" in capsys.readouterr().err


def test_a_terminal_shows_what_was_read_beside_the_words(tmp_path):
    """Before the first question, which a correction may answer."""
    words = ["new", "train.py with DDP on 2 nodes for 12 hours", "--site", "ncsa-delta", "-o", "job.sh"]
    code, screen = terminal(words, ["walltime=6 hours", "abcd-delta-gpu"], tmp_path)
    assert code == 0, screen
    table = screen[screen.index("as I read it") : screen.index("name the account")]
    assert re.search(r'nodes +\S*2 +\S* +"2 nodes"', table) and '"12 hours"' in table
    assert "#SBATCH --time=06:00:00\n" in (tmp_path / "job.sh").read_text()


def test_an_empty_answer_stops_and_nothing_is_written(tmp_path):
    """Exit code 3; with a default it is the default."""
    words = ["new", "train.py with DDP on 2 nodes", "--site", "ncsa-delta", "-o", "job.sh"]
    code, screen = terminal(words, [""], tmp_path)
    assert code == 3 and "nothing was written" in screen and not (tmp_path / "job.sh").exists()
    assert terminal([*words, "--set", "account=abc"], [], tmp_path)[0] == 0
    (tmp_path / "job.sh").unlink()
    code, screen = terminal(words, [""], tmp_path)
    assert code == 0 and "account [abc]: " in screen
    assert "--account=abc\n" in (tmp_path / "job.sh").read_text()


def test_a_model_that_does_not_fit_is_asked_for_at_a_terminal(tmp_path):
    """The answer is the user's word, also where it is the same again."""
    words = ["new", "fine-tune Llama-3.1-8B with DDP on 2 nodes, account abc, run train.py", "--site", "ncsa-delta"]
    code, screen = terminal(words, ["zero3"], tmp_path)
    assert code == 0 and "about 128 GB a GPU" in screen and "ZeRO stage 3" in screen
    code, screen = terminal(words, ["magic", "ddp"], tmp_path)
    assert "no template trains by magic" in screen
    assert code == 0 and "data parallel (DDP); launch" in screen


THEIRS = """\
#!/bin/bash
#SBATCH -A m1234_g
#SBATCH -C gpu
#SBATCH -q regular
#SBATCH -N 2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH -t 01:00:00
module load pytorch
echo "it begins"
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-id=$SLURM_JOB_ID \\
    --rdzv-endpoint=$MASTER_ADDR:29500 train.py --name 'a b' # mine
"""


def test_a_script_of_another_cluster_is_carried(maple, tmp_path, monkeypatch):
    """What its own cluster alone understands is missing here; request and options win over it; stdin will do."""
    (tmp_path / "theirs.sh").write_text(THEIRS)
    open_ = json.loads(maple("new", "--from", "theirs.sh", "--site", "ncsa-delta", "--json").out)
    assert (list(open_), open_["missing"]) == (KEYS, ["account"])
    said = maple("new", "--from", "theirs.sh", "on 4 nodes of Delta, 2 hours", "--set", "account=abc")
    assert said.code == 0, said.err
    assert "#SBATCH --account=abc\n" in said.out and "#SBATCH --nodes=4\n" in said.out and "--time=02:00:00" in said.out
    assert (
        'echo "it begins"\n' in said.out and "train.py --name 'a b' # mine\n" in said.out and "m1234_g" not in said.out
    )
    with open(tmp_path / "theirs.sh") as file:
        monkeypatch.setattr("sys.stdin", file)
        piped = maple("new", "--from", "-", "--site", "ncsa-delta", "--set", "account=abc", "--json")
    assert json.loads(piped.out)["script"].startswith("#!/bin/bash\n")


@pytest.mark.parametrize("text", ["", "print(1)\n", "\0\1\2"])
def test_a_script_that_cannot_be_read_is_one_line(maple, tmp_path, text):
    """With its name."""
    (tmp_path / "theirs.sh").write_text(text)
    said = maple("new", "--from", "theirs.sh", "--site", "ncsa-delta", "-o", "job.sh")
    assert (said.code, said.err.count("\n")) == (2, 1) and "theirs.sh: " in said.err
    assert not (tmp_path / "job.sh").exists()


@pytest.mark.parametrize(("result", "code"), [("passed", 0), ("failed", 1), ("unclear", 1)])
def test_a_script_that_did_not_pass_is_not_handed_over(maple, tmp_path, monkeypatch, result, code):
    """It is submitted with mini-apps first; why it did not pass is told."""
    from maple_agents.verify import verification
    from maple_agents.verify.judge.verdicts import Kind, Reason, Result, Verdict

    asked = []
    reasons = () if code == 0 else (Reason(next(iter(Kind)), "rank 3 never came", line=1),)
    done = verification.Verified(Verdict(Result(result), reasons))
    monkeypatch.setattr(verification, "verify", lambda wanted, scheduler, tell: asked.append(wanted) or done)
    monkeypatch.setattr("maple_agents.ask.schedulers.choose", lambda name: None)
    said = maple("new", REQUEST, "--verify", "-o", "job.sh")
    assert said.code == code and (tmp_path / "job.sh").exists() == (code == 0)
    assert b"train.py --lr 1e-4" in asked[0].submission.script
    assert code == 0 or ("rank 3 never came" in said.err and "nothing was written" in said.err)


def test_a_broken_setting_of_a_language_model_is_told_and_gone_without(maple, monkeypatch, tmp_path):
    """Nobody asked for one; who asks for one that is not there is told so, and gets no script."""
    (tmp_path / "model.toml").write_text("nonsense = 1\n")
    monkeypatch.setenv("MAPLE_ETC", str(tmp_path))
    said = maple("new", REQUEST)
    assert said.code == 0 and "nonsense" in said.err and "without a model" in said.err
    asked = maple("new", REQUEST, "--model", str(tmp_path / "none"))
    assert asked.code == 2 and asked.out == "" and len(asked.err.splitlines()) == 1


@pytest.mark.parametrize(
    "words", ["DDP on 2 nodes of Delta, 1 hour, account abcd-delta-gpu", "2 nodes of Delta with DDP"]
)
def test_a_program_that_nobody_named_is_asked_for(maple, words):
    """With all else that is missing; a made-up name would start nothing."""
    said = maple("new", words)
    assert said.code == 3 and said.out == "" and "program: missing; name the command to run" in said.err
    found = json.loads(maple("new", words, "--json").out)
    assert "program" in found["missing"] and found["script"] is None
    assert "program" not in [one["slot"] for one in found["assumed"]]
    found = json.loads(maple("new", words, "--set", "program=go.py", "--set", "account=abcd-delta-gpu", "--json").out)
    assert "go.py" in found["script"]


def test_the_help_lists_the_slots_that_set_takes(maple):
    """Each of them, and no other."""
    listed = maple("new", "--help").out.partition("Slots:")[2].partition(".")[0].replace("\n", " ")
    taken = maple("new", "--set", "nosuch=3").err.rpartition("slots are ")[2]
    assert [one.strip() for one in listed.split(",")] == [one.strip() for one in taken.split(",")]
