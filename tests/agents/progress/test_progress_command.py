"""`maple progress` as a person and a program call it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from maple_agents.base.complaint import Complaint
from maple_agents.cli.how_far.watch import Facts

from tests.agents.progress.made import START, Made, log

KEYS = {"version", "at", "job", "progress", "speed", "left", "loss", "checkpoint", "throughput", "failures", "silent",
        "ranks", "alarms", "done", "files", "notes"}  # fmt: skip


@pytest.fixture
def a_log(tmp_path: Path) -> str:
    """A training at half its way, printed until now."""
    made = Made(save=(100, 10.0))
    text, last = log(made, "megatron", START + 620)
    off = time.time() - last
    moved = "".join(_moved(line, off) for line in text.splitlines(keepends=True))
    (tmp_path / "train.log").write_text(moved)
    return "train.log"


def _moved(line: str, off: float) -> str:
    """Return a line with its time put off by seconds."""
    if not line.startswith(" ["):
        return line
    at = time.mktime(time.strptime(line[2:21], "%Y-%m-%d %H:%M:%S"))
    return " [" + time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at + off)) + line[21:]


def test_a_page_shows_each_number_with_its_line(maple, a_log: str) -> None:  # type: ignore[no-untyped-def]
    """Step, total, speed, time left, loss, checkpoint; file and line of each."""
    said = maple("progress", a_log)
    assert said.code == 0, said
    for part in (
        "step 510/1,000",
        "train.log:",
        "iteration      510/    1000",
        "left ",
        "loss ",
        "last checkpoint at step 500",
    ):
        assert part in said.out, part
    assert "alarm" not in said.out


def test_the_json_has_its_keys_and_quotes_the_log(maple, a_log: str) -> None:  # type: ignore[no-untyped-def]
    """The quoted text stands at the quoted place."""
    told = json.loads(maple("progress", a_log, "--json").out)
    assert set(told) == KEYS
    assert (told["progress"]["step"], told["progress"]["total"]) == (510, 1000)
    quoted = told["progress"]["quote"]
    line = Path(quoted["file"]).read_text().split("\n")[quoted["line"] - 1]
    assert quoted["text"] == line.strip()
    assert told["left"]["seconds"] == pytest.approx(480 + 5 * 10, rel=0.1)


@pytest.mark.parametrize(
    ("question", "key", "value"),
    [("progress", "step", 510), ("speed", "step_seconds", 1.0), ("eta", "seconds", 530.0), ("loss", "step", 510),
     ("checkpoint", "step", 500), ("throughput", "value", None), ("failures", "restarts", 0)],
)  # fmt: skip
def test_each_question_has_an_answer(maple, a_log: str, question: str, key: str, value: object) -> None:  # type: ignore[no-untyped-def]
    """As JSON, with or without --json."""
    told = json.loads(maple("progress", a_log, "--ask", question).out)
    assert told["question"] == question
    assert told["answer"][key] == (pytest.approx(value, rel=0.1) if isinstance(value, float) else value)
    assert (
        json.loads(maple("progress", a_log, "--json", "--ask", question).out)["answer"].keys() == told["answer"].keys()
    )


def test_a_log_that_tells_nothing_has_code_1(maple, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """And says so."""
    (tmp_path / "a.log").write_text("hello\n")
    said = maple("progress", "a.log")
    assert (said.code, "no line of its logs tells" in said.out) == (1, True)
    assert json.loads(maple("progress", "a.log", "--json").out)["progress"]["step"] is None


def test_what_cannot_be_read_has_code_2(maple) -> None:  # type: ignore[no-untyped-def]
    """In one line."""
    said = maple("progress", "--log", "gone.log")
    assert said.code == 2 and said.err.startswith("maple: ") and said.err.count("\n") == 1


def test_an_alarm_has_code_3(maple, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """A loss that is nan."""
    text, _ = log(Made(), "megatron", START + 500, loss=lambda step: float("nan"))
    (tmp_path / "a.log").write_text(text)
    said = maple("progress", "a.log")
    assert said.code == 3 and "the loss is nan since step" in said.out


@pytest.mark.parametrize("where", ["beside", "site"])
def test_a_pattern_of_ones_own_is_read(maple, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:  # type: ignore[no-untyped-def]
    """Beside the log, or for the site."""
    (tmp_path / "a.log").write_text("round 7 of 12 err 0.5\n")
    assert maple("progress", "a.log").code == 1
    toml = "[progress]\npattern = 'round (?P<step>[0-9]+) of (?P<total>[0-9]+) err (?P<loss>[0-9.]+)'\n"
    if where == "site":
        monkeypatch.setenv("MAPLE_ETC", str(tmp_path / "etc"))
        (tmp_path / "etc").mkdir()
        (tmp_path / "etc" / "progress.toml").write_text(toml)
    else:
        (tmp_path / "maple.toml").write_text(toml)
    told = json.loads(maple("progress", "a.log", "--json").out)
    assert (told["progress"]["step"], told["progress"]["total"], told["loss"]["value"]) == (7, 12, 0.5)


WRONG = {
    "[progress]\npattern = '('": "[progress] pattern: no regular expression",
    "[progress]\npattern = 'no groups'": "[progress] pattern: it names neither",
    "[progress]\npattern = 3": "[progress]: pattern",
    "[progress]\npattern = ['(?P<step>1)', '(']": "[progress] pattern: no regular expression",
    "[progress]\npattern = '(?P<step>1) (?P<totl>2)'": "[progress] pattern: there is no group totl; there are step",
    "[progress]\npatern = 'x'": "[progress]: patern: extra inputs",
    "progress = 3": "[progress]: ",
    "[progress": "not TOML",
    "#" * 70_000: "longer than 64 KiB",
}


@pytest.mark.parametrize("where", ["beside", "site"])
@pytest.mark.parametrize("toml", WRONG)
def test_a_pattern_that_is_wrong_is_told_with_its_file(  # type: ignore[no-untyped-def]
    maple, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toml: str, where: str
) -> None:
    """One line that names file, key and mistake; exit code 2."""
    (tmp_path / "a.log").write_text("step 1\n")
    monkeypatch.setenv("MAPLE_ETC", str(tmp_path / "etc"))
    (tmp_path / "etc").mkdir()
    file = tmp_path / "maple.toml" if where == "beside" else tmp_path / "etc" / "progress.toml"
    file.write_text(toml + "\n")
    said = maple("progress", "a.log")
    assert said.code == 2 and "%s: %s" % (file, WRONG[toml]) in said.err and said.err.count("\n") == 1, said.err


def test_a_pattern_beside_the_script_is_read_for_its_job(tmp_path: Path) -> None:
    """Wherever its log lies; the script's own comes before the site's."""
    from maple_agents.progress.formats import known

    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "maple.toml").write_text("[progress]\npattern = 'round (?P<step>[0-9]+)'\n")
    first = known([str(tmp_path / "src"), str(tmp_path)]).known[0]
    assert (first.format, first.form.pattern) == ("own pattern", "round (?P<step>[0-9]+)")


def test_no_secret_and_nothing_that_a_terminal_obeys_is_shown(maple, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """On the page and in the JSON."""
    token = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"
    line = "\x1b]0;title\x07step 3/10 loss 0.5 HF_TOKEN=%s \x1b[2J\n" % token
    (tmp_path / "a.log").write_text(line)
    for words in (("progress", "a.log"), ("progress", "a.log", "--json"), ("progress", "a.log", "--ask", "progress")):
        said = maple(*words)
        assert "step 3/10" in said.out
        assert token not in said.out and "\x1b]" not in said.out and "\\u001b" not in said.out


def test_watching_a_log_that_ends_ends(maple, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """A line where it is no terminal."""
    text, _ = log(Made(total=100), "megatron", START + 5000)
    (tmp_path / "a.log").write_text(text + "[after training is done] datetime: 2026-05-28 10:00:00\n")
    said = maple("progress", "a.log", "--watch", "--every", "2")
    assert said.code == 0 and "100/100" in said.out


def _notifies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int = 0o600) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "maple").mkdir(parents=True)
    file = tmp_path / "config" / "maple" / "notify.toml"
    file.write_text("[notify]\ncommand = 'echo \"$MAPLE_ALARM: $MAPLE_SAYS\" >> %s'\n" % (tmp_path / "heard"))
    file.chmod(mode)
    text, _ = log(Made(total=100), "megatron", START + 5000, loss=lambda step: float("nan"))
    (tmp_path / "a.log").write_text(text + "[after training is done] datetime: 2026-05-28 10:00:00\n")
    return tmp_path / "heard"


def test_an_alarm_starts_the_users_own_command_once(maple, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """While it is watched, with what is wrong."""
    heard = _notifies(tmp_path, monkeypatch)
    maple("progress", "a.log", "--watch")
    assert heard.read_text() == "loss-not-finite: the loss is nan since step 10\n"


def test_a_command_that_others_can_write_is_not_run(maple, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """One line says so."""
    heard = _notifies(tmp_path, monkeypatch, 0o666)
    said = maple("progress", "a.log", "--watch")
    assert said.code == 2 and "others can write it" in said.err
    assert not heard.exists()


def test_while_watched_the_scheduler_is_asked_once_a_minute() -> None:
    """Where it does not answer, what it said last holds; where it never did, that is said."""
    clock, asked = [0.0], []

    def ask() -> int:
        asked.append(clock[0])
        if 100 <= clock[0] < 200:
            raise Complaint("no scheduler could be asked")
        return len(asked)

    facts = Facts(ask, lambda: clock[0])
    got = []
    for at in (0.0, 15.0, 59.0, 61.0, 130.0, 140.0, 200.0):
        clock[0] = at
        got.append(facts.get())
    assert asked == [0.0, 61.0, 130.0, 200.0] and got == [1, 1, 1, 2, 2, 2, 4]
    clock[0] = 150.0
    with pytest.raises(Complaint):
        Facts(ask, lambda: clock[0]).get()
