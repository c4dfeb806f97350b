"""Everything that people read fits a terminal of 80 columns: help, rule pages, man pages, errors, steps to take."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from maple_agents.base import output
from maple_agents.base.terminal import on_screen
from maple_agents.cli.fix.command import fix
from maple_agents.cli.main import maple
from maple_agents.cli.rule_pages import pages
from maple_agents.cli.verify import verdict_table
from maple_agents.diagnose.tell import page_rows
from maple_agents.verify.judge.verdicts import Kind, Reason, Result, Verdict, Warning
from maple_agents.verify.verification import Verified
from maple_daemon.cli.daemon import main as service
from maple_submit_filter.answer.report import columns
from maple_submit_filter.host import own_folders, places

WIDE = 80
MAN = Path(__file__).parents[2] / "packaging" / "man"
INDENT = 7  # columns that man puts before a paragraph


def commands() -> Iterator[tuple[str, click.Command, click.Context]]:
    """Yield every command that a person can call, with its path."""
    for root, name in ((maple, "maple"), (fix, "maple-fix"), (service, "maple-daemon")):
        yield from _below(root, click.Context(root, info_name=name, **root.context_settings), name)


def _below(
    command: click.Command, context: click.Context, path: str
) -> Iterator[tuple[str, click.Command, click.Context]]:
    yield path, command, context
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        child = command.get_command(context, name)
        if child is not None and not child.hidden:
            yield from _below(child, click.Context(child, info_name=name, parent=context), f"{path} {name}")


def too_wide(text: str, most: int = WIDE) -> list[str]:
    """Return the lines that do not fit."""
    return [line for line in text.splitlines() if columns(click.unstyle(line)) > most]


def test_every_command_s_help_fits(monkeypatch):
    """Its examples too: a long one goes on behind a backslash, and is copied as it stands."""
    monkeypatch.setenv("COLUMNS", str(WIDE))
    shown = {path: too_wide(command.get_help(context)) for path, command, context in commands()}
    assert len(shown) > 40
    assert {path: lines for path, lines in shown.items() if lines} == {}


def test_no_command_s_summary_is_cut(monkeypatch):
    """A sentence that ends in three dots says nothing of what the command does."""
    monkeypatch.setenv("COLUMNS", str(WIDE))
    groups = [(path, command.get_help(context)) for path, command, context in commands()
              if isinstance(command, click.Group)]  # fmt: skip
    assert len(groups) > 3
    assert [path for path, text in groups if re.search(r"\.\.\.$", text.partition("Commands:")[2], re.M)] == []


def test_every_rule_s_page_fits_and_keeps_its_words(monkeypatch, capsys):
    """A label's lines stand under the label's text."""
    monkeypatch.setenv("COLUMNS", str(WIDE))
    wrong = {}
    for page in pages():
        output.page(page.text)
        shown = capsys.readouterr().out
        assert page.text.split() == shown.split(), page.code
        if too_wide(shown):
            wrong[page.code] = too_wide(shown)
    assert wrong == {}


def test_the_title_of_every_rule_fits():
    """The list of `maple explain`, and the head of each page."""
    assert [page for page in pages() if columns(f"{page.code}  {page.title}") > WIDE] == []


@pytest.mark.parametrize("path", sorted(MAN.glob("man?/*.?")), ids=lambda path: path.name)
def test_what_a_man_page_does_not_fill_fits(path):
    """Lines that stand as they are, and words that cannot be broken, beside man's own indent."""
    told = re.sub(r"\\&|\\f[A-Z]", "", path.read_text("utf-8")).replace("\\-", "-").replace("\\e", "\\")
    kept = "\n".join(re.findall(r"^\.nf\n(.*?)^\.fi$", told, re.DOTALL | re.MULTILINE))
    assert too_wide(kept, WIDE - INDENT) == []
    assert too_wide("\n".join(told.split()), WIDE - 2 * INDENT) == []


def on_a_terminal(*words: str) -> str:
    """Return what the command prints on a terminal of 80 columns."""
    control, line = pty.openpty()
    code = f"import os; os.environ['COLUMNS'] = '{WIDE}'; from maple_agents.cli.main import main; main()"
    command = [sys.executable, "-c", code, *words]
    subprocess.run(command, stdin=line, stdout=line, stderr=line, check=False, timeout=60)

    os.close(line)
    shown = b""
    while True:
        try:
            read = os.read(control, 65536)
        except OSError:
            break
        shown += read
    os.close(control)
    return shown.decode().replace("\r\n", "\n")


WRONG = ["check", "no-such-folder/of-mine/nor-such-a-script-of-mine-anywhere.sh"], ["new", "--set", "nodez=4"]


@pytest.mark.parametrize("words", WRONG, ids=lambda words: words[0])
def test_an_error_is_folded_on_a_terminal_and_is_one_line_for_a_program(words):
    """No word of it is broken."""
    told = subprocess.run([sys.executable, "-c", "from maple_agents.cli.main import main; main()", *words],
                          capture_output=True, text=True, check=False).stderr  # fmt: skip
    shown = on_a_terminal(*words)
    assert told.count("\n") == 1 and columns(told) > WIDE
    assert too_wide(shown) == []
    assert told.split() == shown.split()


STEPS = {
    "prose": "ask for more time with --time on the command line, or in the script; the partition gives two days",
    "command": "look at what the job used, and compare it with what it asked for: sacct -j 4711 --format=JobID,MaxRSS",
    "long command": "run it again with more output: export PYTHONUNBUFFERED=1 PYTHONFAULTHANDLER=1 "
    "TORCH_DISTRIBUTED_DEBUG=DETAIL NCCL_DEBUG=INFO",
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_a_step_to_take_fits_and_its_command_is_copied_as_it_is(name, monkeypatch, capsys):
    """A command has lines of its own; one that is wider goes on behind a backslash."""
    monkeypatch.setattr(page_rows, "_room", lambda: WIDE)
    page_rows.step("  - ", STEPS[name])
    shown = capsys.readouterr().out
    assert too_wide(shown) == []
    assert ["-", *STEPS[name].split()] == shown.replace("\\\n", "\n").split()
    command = STEPS[name].partition(": ")[2]
    assert command.split() == re.sub(r" \\\n +", " ", shown).rstrip("\n").rpartition("\n")[2].split() or not command


def test_the_overview_names_every_page_beside_it():
    """SEE ALSO of maple(7)."""
    told = (MAN / "man7" / "maple.7").read_text("utf-8").partition(".SH SEE ALSO")[2].replace("\\-", "-")
    assert {path.stem for path in (MAN / "man1").iterdir()} <= set(re.findall(r"\\fB([\w-]+)\\fR\(1\)", told))


def test_the_overview_names_the_folders_that_are_used():
    """FILES of maple(7): where the user's own state and cache lie, and where a site's own files are looked for."""
    told = (MAN / "man7" / "maple.7").read_text("utf-8").partition(".SH FILES")[2]
    environ = {"HOME": "/h"}
    for folder in (own_folders.state(environ), own_folders.cache(environ)):
        assert folder is not None and folder.replace("/h/", "\\fI~/") in told
    assert f"{places.etc({})}/site_configs/" in told


def test_a_verdict_of_verify_fits(monkeypatch, capsys):
    """What broke, what to do, what is unwise, and the last line; no word of it is broken."""
    monkeypatch.setenv("COLUMNS", str(WIDE))
    says = "rank 0 on a100x4-1 and rank 4 on a100x4-1 take the same GPU: both are local rank 0"
    reason = Reason(Kind.GPU, says, "let each rank see as many GPUs as there are local ranks; unset what hides them", 9)
    verdict = Verdict(Result.FAILED, (reason,), (Warning("a100x4-1: 8 ranks share 2 CPUs, and " + says, 9),))
    made = Verified(verdict, miniapps=("dry",), folder="/scratch/" + "/".join(["of-mine"] * 7))
    title = "job-with-a-name-that-is-long.sh"
    verdict_table.show(title, made)
    shown = capsys.readouterr().out
    assert too_wide(shown) == []
    assert shown.split() == " ".join([*verdict_table.lines(made), verdict_table.summary(title, made)]).split()


def test_a_sentence_for_stderr_is_as_wide_as_its_own_terminal(monkeypatch):
    """Wherever standard output leads."""
    monkeypatch.delenv("COLUMNS", raising=False)
    control, line = pty.openpty()
    termios.tcsetwinsize(line, (24, 120))
    with os.fdopen(line, "w") as stream, open(os.devnull, "w") as nowhere:
        monkeypatch.setattr(sys, "__stdout__", nowhere)
        rows = on_screen("of the new request " * 30, stream)
    os.close(control)
    assert 100 < max(map(len, rows)) <= 120


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "ascii"])
def test_a_line_that_was_cut_keeps_its_columns_in_any_encoding(tmp_path, encoding):
    """What stands for the rest takes one column everywhere: the row fits, and the marks below it keep their place."""
    script = tmp_path / "job.sh"
    head = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=4\n"
    script.write_text(f"{head}{'true && ' * 9}srun torchrun --nproc-per-node=4 {'train.py ' * 9}\n")
    maple = os.path.join(os.path.dirname(sys.executable), "maple")
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": "80"}
    command = [maple, "check", "--site", "ncsa-delta", str(script)]
    said = subprocess.run(command, env=environment, capture_output=True, timeout=60).stdout.decode(encoding)
    rows = said.splitlines()
    at = next(at for at, row in enumerate(rows) if re.match(r" +3 \| ", row))
    assert columns(rows[at]) <= WIDE and rows[at][rows[at + 1].index("^") :].startswith("srun"), said
