"""The `maple` command itself: other packages' commands, and the pages of the rules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from maple_agents.cli import explain, main
from maple_agents.cli.rule_pages import Page, pages_of

RULE = b'''
@rule("MPL203", "more ranks than GPUs on a node")
def check(plan, job, site):
    """Every rank of a training step wants a GPU of its own.

    Wrong: srun --ntasks-per-node=8, on nodes with 4 GPUs
    Right: srun --ntasks-per-node=4
    """

def helper():
    """No rule."""
'''
PAGE = next(pages_of(RULE))


def test_a_rule_s_docstring_is_its_page():
    assert list(pages_of(RULE)) == [PAGE]
    assert PAGE.code == "MPL203" and PAGE.title == "more ranks than GPUs on a node"
    assert PAGE.text.endswith("Right: srun --ntasks-per-node=4")


@pytest.fixture
def rules(monkeypatch):
    monkeypatch.setattr(explain, "pages", lambda: (PAGE, Page("MPL301", "a fan-out", "Why.")))


def test_without_a_code_all_rules_are_listed(maple, rules):
    assert maple("explain").out == "MPL203  more ranks than GPUs on a node\nMPL301  a fan-out\n"


@pytest.mark.parametrize("code", ["MPL301", "mpl301", "301"])
def test_a_code_is_found_however_it_is_typed(maple, rules, code):
    assert maple("explain", code).out == "MPL301 a fan-out\n\nWhy.\n"


def test_a_code_that_does_not_exist_is_answered_with_the_nearest(maple, rules):
    said = maple("explain", "MPL302")
    assert said.code == 2
    assert said.err == "maple: MPL302: there is no such rule; did you mean MPL301? maple explain lists them all\n"


def test_pages_are_json_too(maple, rules):
    assert json.loads(maple("explain", "301", "--json").out) == [
        {"code": "MPL301", "title": "a fan-out", "text": "Why."}
    ]


@pytest.fixture
def without_admin(monkeypatch):
    """Make `maple admin` a command of a package that is not there."""
    missing = EntryPoint("admin", "maple_nowhere.cli:admin", main.PLUGINS)
    monkeypatch.setattr(main, "_plugins", lambda: {"admin": missing})


def test_a_package_that_is_not_there_leaves_the_others_alone(maple, without_admin, monkeypatch):
    said = maple("--help")
    assert said.code == 0 and "check" in said.out and "  admin" not in said.out
    assert maple("explain").code == 0


def test_its_command_says_in_one_line_that_it_is_missing(maple, without_admin):
    said = maple("admin", "doctor")
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert said.err.startswith("maple: maple admin is not installed here: No module named 'maple_nowhere'")


@pytest.mark.parametrize("name", ["check", "plan", "explain"])
def test_every_command_shows_examples(maple, name):
    said = maple(name, "--help")
    assert said.code == 0 and "Examples:\n" in said.out and f"maple {name}" in said.out


def test_called_without_anything_it_shows_its_help(maple):
    said = maple()
    assert "Usage: maple" in said.out + said.err and "Commands:" in said.out + said.err


def test_every_rule_that_is_run_has_a_page() -> None:
    """Pages are read from the source and rules by import; neither may miss what the other has."""
    from maple_agents.cli.rule_pages import pages
    from maple_submit_filter.rules import rules

    assert [(page.code, page.title) for page in pages()] == [(rule.code, rule.title) for rule in rules()]


JOB = """#!/bin/bash
#SBATCH -N2 --ntasks-per-node=4 -p gpuA100x4 -A abc
srun torchrun --nnodes=2 --nproc_per_node=4 train.py
"""
LOG = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="it is about root")
@pytest.mark.parametrize(
    "words",
    [
        ("check", "--site", "ncsa-delta", "job.sh"),
        ("plan", "--site", "ncsa-delta", "job.sh"),
        ("new", "train with FSDP on 2 nodes, account abc, run train.py", "--site", "ncsa-delta"),
        ("fix", "--log", "job.out", "--script", "job.sh", "--site", "ncsa-delta", "--state", "failed"),
        ("history",),
    ],
    ids=lambda words: words[0],
)
def test_as_root_no_command_leaves_anything_in_another_s_home(tmp_path: Path, words: tuple[str, ...]) -> None:
    """As `sudo maple` may, which keeps HOME: what was root's there its owner could neither change nor remove."""
    (tmp_path / "job.sh").write_text(JOB)
    (tmp_path / "job.out").write_text(LOG)
    (tmp_path / "train.py").write_text("import torch\n")
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 42001, 42001)
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "MAPLE_MODEL": "off", "MAPLE_SOCKET": str(tmp_path / "none")}
    command = str(Path(sys.executable).with_name("maple"))
    done = subprocess.run([command, *words], env=env, cwd=tmp_path, capture_output=True, timeout=120, check=False)
    assert done.stdout or words == ("history",), done
    assert [*home.iterdir()] == []


@pytest.mark.parametrize(("command", "part"), [("maple", "main"), ("maple_fix", "fix.command")])
def test_ctrl_c_while_a_command_starts_ends_it_without_a_traceback(command, part):
    """Its parts take a tenth of a second to load, and a shell's completion starts it at each Tab."""
    program = (
        "import sys\n"
        "class Interrupts:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == 'maple_agents.cli.{part}': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupts())\n"
        f"from maple_agents.cli import start\nstart.{command}()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")
