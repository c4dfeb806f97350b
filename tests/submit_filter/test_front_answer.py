"""What becomes of a decision: modes, silence, the closing comment, the audit line, and the reply."""

from __future__ import annotations

import json
import subprocess
from typing import Any, Optional

import pytest
from maple_submit_filter.answer import audit_line, terminal, trailer
from maple_submit_filter.answer import reply as answers
from maple_submit_filter.answer.decision import Decision, Rewritten
from maple_submit_filter.answer.terminal import Report
from maple_submit_filter.host import configuration, frames
from maple_submit_filter.host.frames import Reply, Request
from maple_submit_filter.request.slurm.submission import wrapped
from maple_submit_filter.site import modes
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.site.modes import Policy
from maple_submit_filter.types.edits import Span
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.submission import Submission

SCRIPT = b"#!/bin/bash\n#SBATCH -p debug\nsrun -n 8 python train.py\n"
FIXED = SCRIPT.replace(b"-n 8", b"-n 4")
ARGV = (b"sbatch", b"job.sh")
FINDING = Finding("MPL203", "8 ranks, but 4 GPUs", at=Span(SCRIPT.index(b"srun"), len(SCRIPT) - 1), proven=True)
REPAIRED = Rewritten(FIXED, ARGV, ("-n 4 in place of -n 8",), ((3, "MPL203"),))
REPAIR = Policy()
FOUND = Decision("repaired", (FINDING,), None, REPAIRED)


def request_of(
    script: bytes = SCRIPT, argv: tuple[bytes, ...] = ARGV, came: str = "file", **environment: str
) -> Request:
    """A request as the front would send it."""
    variables = {name.encode(): value.encode() for name, value in environment.items()}
    path = next((word for word in argv if word.endswith(b".sh")), b"") if came == "file" else b""
    scheduler = "pbs" if argv[0] == b"qsub" else "slurm"
    submission = Submission(scheduler, argv, script, came, path, b"/", 1000, variables)
    return Request(bytes(range(16)), b"h" * 32, submission, 1, 0, True, True)


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that answers as if this had been decided."""

    def run(decision: Decision, policy: Policy = REPAIR, request: Optional[Request] = None, gids: Any = ()) -> Reply:
        monkeypatch.setattr(answers, "decide", lambda submission, site, read: decision)
        return answers.answer(request or request_of(), GENERIC_SLURM, policy, gids)

    return run


def test_repair_submits_the_repaired_script_with_a_closing_comment(decided: Any) -> None:
    """Codes, record, hash of the original and the switch stand in it."""
    reply = decided(FOUND)
    assert reply.change.script.startswith(FIXED)
    comment = reply.change.script[len(FIXED) :].decode()
    assert comment.count("\n") == 1 and comment.startswith("# maple: ")
    for part in ("MPL203", answers.record_id(request_of()), (b"h" * 32).hex(), "MAPLE=off"):
        assert part in comment
    assert reply.change.argv is None
    assert reply.say.splitlines() == [
        b"maple: job.sh: changed before submitting (-n 4 in place of -n 8)",
        b"maple: show the change: maple check job.sh",
        b"maple: submit unchanged: MAPLE=off sbatch job.sh",
    ]


@pytest.mark.parametrize(
    ("request_", "see"),
    [
        (request_of(argv=(b"sbatch", b"-N2", b"job.sh", b"a b")), b"maple check job.sh -- -N2 -- ..."),
        (request_of(argv=(b"sbatch", b"-p", b"gpu", b"--mem=4G", b"job.sh")), b"maple check job.sh -- -p gpu --mem=4G"),
        (request_of(argv=(b"sbatch", b"-N2", b"--wckey", b"s3cret", b"job.sh")), b"maple check job.sh -- ..."),
        (request_of(argv=(b"sbatch", b"--nodes", b"2", b"s3cret", b"job.sh")), b"maple check job.sh -- ..."),
        (request_of(argv=(b"sbatch", b"jobs/a/t.sh")), b"maple check jobs/a/t.sh"),
        (request_of(argv=(b"sbatch", b"/d/AKIA12/t.sh")), b"maple check .../t.sh"),
        (request_of(argv=(b"sbatch", b"--wrap=x"), came="wrap"), b"scontrol write batch_script JOBID -"),
        (request_of(argv=(b"sbatch",), came="stdin"), b"scontrol write batch_script JOBID -"),
        (
            request_of(argv=(b"qsub",), came="stdin"),
            b"maple show last, or maple check - with the same script",
        ),
    ],
    ids=[
        "with words",
        "values apart",
        "a word of the user's",
        "a word behind a value",
        "folders",
        "a folder like a secret",
        "wrap",
        "stdin",
        "stdin of qsub, where there may be no service",
    ],
)
def test_how_to_see_a_change_goes_by_how_the_script_came(request_: Request, see: bytes) -> None:
    """What is shown is a command to be copied, on a line of its own."""
    told = Report(request_.submission, FOUND, (FINDING,), "repair", True, False)
    assert b"maple: show the change: " + see in terminal.message(told).splitlines()


@pytest.mark.parametrize(
    ("decision", "says"),
    [
        (Decision("clean"), b"Maple found nothing wrong and changed nothing"),
        (Decision("unread", why="a heterogeneous job"), b"a heterogeneous job"),
        (Decision("unread"), b"could not be read"),
    ],
)
def test_verbose_says_why_nothing_was_changed_and_others_hear_nothing(
    decided: Any, decision: Decision, says: bytes
) -> None:
    """Whatever the reason is."""
    assert decided(decision).say == b""
    said = decided(decision, request=request_of(MAPLE="verbose")).say
    assert said.startswith(b"maple: job.sh: submitted as written: ") and says in said.replace(b"\nmaple:  ", b"")
    quiet = decided(FOUND, request=request_of(MAPLE="verbose,observe")).say
    assert b"mode observe" in quiet


def test_findings_are_told_errors_first_within_eighty_columns_and_end_with_what_was_done(decided: Any) -> None:
    """No line is broken inside a word."""
    hint = FINDING._replace(code="MPL101", proven=False, at=Span(0, 3), says="a word and another one, " * 8)
    lines = decided(Decision("findings", (hint, FINDING))).say.decode().splitlines()
    assert [line.split()[2:4] for line in lines if "MPL" in line] == [["error", "MPL203"], ["advice", "MPL101"]]
    assert all(len(line) <= 80 and line.startswith("maple: ") for line in lines)
    assert lines[-1] == "maple: submitted as written. Details: maple check job.sh"


def test_the_audit_line_has_no_word_of_the_script(decided: Any) -> None:
    """It says who, which job by its hash, what and why."""
    line = json.loads(decided(FOUND).change.audit)
    assert (line["verdict"], line["codes"], line["uid"], line["mode"]) == ("repaired", ["MPL203"], 1000, "repair")
    assert line["job"] == (b"h" * 32).hex()
    assert "train" not in json.dumps(line) and "debug" not in json.dumps(line)


def test_an_audit_line_comes_back_as_it_went() -> None:
    """With what the front adds."""
    line = audit_line.AuditLine("t", "h", 1, "r", "j", "repaired", "repair", ("MPL203",), "s", "1", "file", "c")
    assert audit_line.read_audit(audit_line.audit_line(line)[:-1] + b',"ms":12}') == line._replace(ms=12)
    for text in (b"", b"{}", b"[]", b'{"time":1}', b"\xff"):
        with pytest.raises(ValueError):
            audit_line.read_audit(text)


@pytest.mark.parametrize(
    "policy, changes, says, verdict",
    [
        (Policy("off"), False, False, None),
        (Policy("observe"), False, False, "would-repair"),
        (Policy("warn"), False, True, "would-repair"),
        (Policy("repair", rules={"MPL203": "warn"}), False, True, "rule-mode"),
        (Policy("repair", rules={"MPL999": "off"}), True, True, "repaired"),
        (Policy("repair", partitions={"debug": "observe"}), False, False, "would-repair"),
        (Policy("repair", partitions={"other": "observe"}), True, True, "repaired"),
        (Policy("observe", groups={"77": "repair"}), True, True, "repaired"),
        (Policy("observe", groups={"78": "repair"}), False, False, "would-repair"),
    ],
    ids=str,
)
def test_the_administrator_s_modes(decided: Any, policy: Policy, changes: bool, says: bool, verdict: str) -> None:
    """By site, partition, group and rule."""
    reply = decided(FOUND, policy, gids=(5, 77))
    assert (reply.change is not None, bool(reply.say)) == (changes, says)
    audit = reply.change.audit if reply.change else reply.audit
    assert (json.loads(audit)["verdict"] if audit else None) == verdict


@pytest.mark.parametrize(
    "policy, said, changes",
    [
        (Policy(), "observe", False),
        (Policy(), "warn", False),
        (Policy(), "verbose", True),
        (Policy(), "of", False),
        (Policy(), "OFF", False),
        (Policy(), "verbose,none", False),
        (Policy(), "/opt/maple2024", True),
        (Policy(), "verbose,", True),
        (Policy("observe"), "repair", True),
        (Policy("observe", user_may_raise=False), "repair", False),
        (Policy("off"), "repair", False),
    ],
    ids=str,
)
def test_the_user_s_mode(decided: Any, policy: Policy, said: str, changes: bool) -> None:
    """Less is always granted; more where the administrator lets it, and never past off."""
    assert (decided(FOUND, policy, request_of(MAPLE=said)).change is not None) == changes


@pytest.mark.parametrize(
    "script, silent",
    [
        (SCRIPT.replace(b"srun", b"# maple: ignore MPL203\nsrun"), True),
        (SCRIPT.replace(b"#SBATCH", b"# maple: ignore MPL101, MPL203\n#SBATCH"), True),
        (SCRIPT.replace(b"srun", b"true\n# maple: ignore MPL203\nfalse\nsrun"), False),
        (SCRIPT.replace(b"srun", b"true\n# maple: ignore MPL203\n\n# why\nsrun"), True),
        (SCRIPT.replace(b"srun", b"# maple: ignore MPL204\nsrun"), False),
        (SCRIPT.replace(b"srun", b"true # maple: ignore MPL203\nsrun"), False),
    ],
)
def test_a_silenced_rule_neither_speaks_nor_repairs(decided: Any, script: bytes, silent: bool) -> None:
    """On the line below, or everywhere when it stands above the first command."""
    line = script[: script.index(b"srun")].count(b"\n") + 1
    finding = FINDING._replace(at=Span(script.index(b"srun"), len(script)))
    made = Rewritten(script.replace(b"-n 8", b"-n 4"), ARGV, ("fixed",), ((line, "MPL203"),))
    reply = decided(Decision("repaired", (finding,), None, made), request=request_of(script))
    assert (reply.change is None) == silent
    if silent:
        warned = decided(Decision("repaired", (finding,), None, made), Policy("warn"), request_of(script))
        assert b"MPL203" not in warned.say


def test_a_repaired_wrap_command_goes_back_into_its_word(decided: Any) -> None:
    """Without the head that sbatch will add again."""
    argv = (b"sbatch", b"--wrap=srun -n 8 x", b"-N2")
    request = request_of(b"srun -n 8 x", argv, "wrap")._replace(offset=7)
    whole = wrapped(b"srun -n 4 x")
    reply = decided(Decision("repaired", (), None, Rewritten(whole, argv, (), ((4, "MPL203"),))), request=request)
    assert reply.change.script is None
    assert reply.change.argv[0::2] == argv[0::2]
    assert reply.change.argv[1].startswith(b"--wrap=srun -n 4 x # maple: ")
    assert b"\n" not in reply.change.argv[1], "SubmitLine would be two lines of a table"
    lines = subprocess.run(["sh", "-c", reply.change.argv[1][7:].replace(b"srun -n", b"echo", 1)], capture_output=True)
    assert lines.stdout == b"4 x\n"


def test_a_repaired_wrap_command_of_several_lines_keeps_its_comment_apart(decided: Any) -> None:
    """Its last line may be the end of a here-document."""
    argv = (b"sbatch", b"--wrap=srun -n 8 cat <<E\nx\nE")
    request = request_of(argv[1][7:], argv, "wrap")._replace(offset=7)
    whole = wrapped(b"srun -n 4 cat <<E\nx\nE")
    reply = decided(Decision("repaired", (), None, Rewritten(whole, argv, (), ((4, "MPL203"),))), request=request)
    assert reply.change.argv[1].startswith(b"--wrap=srun -n 4 cat <<E\nx\nE\n# maple: ")


def test_a_change_of_argv_alone_leaves_the_script_alone(decided: Any) -> None:
    """No copy is needed then."""
    argv = (b"sbatch", b"-n4", b"job.sh")
    reply = decided(Decision("repaired", (), None, Rewritten(None, argv, (), ((0, "MPL203"),))))
    assert reply.change.script is None and reply.change.argv == argv


def test_a_script_that_asks_for_its_own_path_is_not_repaired_unasked(decided: Any) -> None:
    """A copy would change what it finds."""
    script = SCRIPT + b'self=$(scontrol show job $SLURM_JOB_ID | sed -n "s/.*Command=//p")\n'
    made = Rewritten(script.replace(b"-n 8", b"-n 4"), ARGV, (), ((3, "MPL203"),))
    assert decided(Decision("repaired", (), None, made), request=request_of(script)).change is None


def test_an_offer_is_made_only_to_who_can_answer(decided: Any) -> None:
    """With the lines that would change, and an audit line for the yes."""
    decision = Decision("findings", (FINDING,), None, None, REPAIRED)
    reply = decided(decision)
    assert reply.change is None and reply.offer.script.startswith(FIXED)
    assert b"- srun -n 8 python train.py\nmaple:   + srun -n 4 python train.py" in reply.question
    assert json.loads(reply.offer.audit)["verdict"] == "accepted"
    assert decided(decision, request=request_of()._replace(may_ask=False)).offer is None
    assert decided(decision, Policy("warn")).offer is None


def test_what_is_repaired_unasked_is_not_asked_about(decided: Any) -> None:
    """Where every fix accepted gives the repair itself, there is no question."""
    reply = decided(Decision("repaired", (), None, REPAIRED, REPAIRED))
    assert reply.change is not None and reply.offer is None


def test_what_could_not_be_read_is_kept_apart_from_what_was_found_right(decided: Any) -> None:
    """A line of the audit of its own, without any word on the terminal."""
    reply = decided(Decision("unread", why="not a shell script"))
    line = audit_line.read_audit(reply.audit)
    assert (line.verdict, line.codes) == ("unread", ())
    assert (reply.say, reply.change, reply.offer) == (b"", None, None)


def test_nothing_found_means_nothing_said_and_nothing_kept(decided: Any) -> None:
    """The reply is empty but for what names the question."""
    assert decided(Decision("clean")) == Reply(bytes(range(16)), b"h" * 32)


CLOSED = {
    "plain": b"srun x\n",
    "no newline": b"srun x",
    "here-document": b"cat <<EOF > f\nx\nEOF\nsrun x\n",
    "quoted delimiter": b"cat <<'E O'\nx\nE O\nsrun x\n",
    "tabs": b"cat <<-EOF\n\tx\n\tEOF\nsrun x\n",
    "here-string": b"cat <<< word\nsrun x\n",
    "exit last": b"srun x\nexit 0\n",
    "exit in a branch": b"if false; then\n  exit 1\nfi\nsrun x\n",
}
OPEN = {
    "payload": b"srun x\nexit 0\n__DATA__\nabc\n",
    "binary": b"srun x\nexit 0\n\x00\x01",
    "open here-document": b"srun x <<EOF\nabc\n",
    "continued": b"srun x \\\n",
    "reads itself": b'tail -n +5 "$0" | tar x\nsrun x\n',
}


@pytest.mark.parametrize("name", CLOSED)
def test_a_closing_comment_changes_nothing_that_bash_does(name: str) -> None:
    """bash prints the same commands with and without it."""
    source = CLOSED[name]
    closed = trailer.close(source, ("MPL301",), "r", "o")
    assert closed.startswith(source) and closed.endswith(b"\n") and b"# maple: repaired (MPL301)" in closed
    ran = [subprocess.run(["bash", "-vn"], input=text, capture_output=True) for text in (source, closed)]
    assert ran[0].returncode == ran[1].returncode == 0
    assert ran[1].stderr.startswith(ran[0].stderr.rstrip(b"\n"))


@pytest.mark.parametrize("name", OPEN)
def test_where_a_comment_could_be_data_there_is_none(name: str) -> None:
    """The script is left to end as it ends."""
    assert trailer.close(OPEN[name], ("MPL301",), "r", "o") == OPEN[name]


@pytest.mark.parametrize(
    "data", [[], {"mode": "loud"}, {"rules": {"MPL1": "x"}}, {"groups": []}, {"partitions": {"p": 1}}], ids=str
)
def test_a_policy_that_does_not_fit_is_refused_in_one_line(data: object) -> None:
    """And names the key."""
    with pytest.raises(ValueError, match="^policy: [^\n]+$"):
        modes.policy_of(data)


def test_what_the_administrator_settled_is_read_as_the_front_reads_it(tmp_path: Any) -> None:
    """Comments and unknown keys are skipped; no snapshot is the generic site; no policy is repair."""
    conf = tmp_path / "front.conf"
    conf.write_text("# mode=off\nmode=warn\nnonsense\npolicy=%s/policy.json\n" % tmp_path)
    keys = configuration.read_conf(str(conf))
    assert configuration.policy(keys) == Policy("warn")
    (tmp_path / "policy.json").write_text('{"rules": {"MPL203": "off"}}')
    assert configuration.policy(keys) == Policy("warn", rules={"MPL203": "off"})
    assert configuration.site({}) is GENERIC_SLURM


def test_the_helper_answers_one_frame_with_another(tmp_path: Any) -> None:
    """Started as the front starts it."""
    from tests.doubles.stand import LIB, PYTHON

    conf = tmp_path / "front.conf"
    conf.write_text("mode=repair\n")
    request = request_of(b"#!/bin/bash\nsrun hostname\n")
    helper = LIB + "/maple_submit_filter/helper.py"
    done = subprocess.run(
        [PYTHON, "-IS", helper, str(conf)], input=frames.pack_request(request), capture_output=True, env={}
    )
    assert done.returncode == 0, done.stderr
    assert frames.unpack_reply(done.stdout)[:3] == (request.nonce, request.hash, None)


@pytest.mark.parametrize("text", [b"", b"MPQ1\0\0\0\1", b"x" * 100, b"MPQ1\xff\xff\xff\xff"], ids=repr)
def test_the_helper_says_nothing_to_what_is_no_request(tmp_path: Any, text: bytes) -> None:
    """One line on stderr, no traceback."""
    from tests.doubles.stand import LIB, PYTHON

    helper = LIB + "/maple_submit_filter/helper.py"
    done = subprocess.run([PYTHON, "-IS", helper, str(tmp_path)], input=text, capture_output=True, env={})
    assert done.returncode == 1 and done.stdout == b""
    assert done.stderr.count(b"\n") == 1 and b"Traceback" not in done.stderr
