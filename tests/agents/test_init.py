"""`maple init`: the lines are right in each shell, and its file is changed only where that is asked for."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from maple_agents.cli import init as command
from maple_agents.cli.init import BEGIN, END, SHELLS, Unpaired, lines, put
from maple_agents.cli.main import tell_news

from tests.packaging.test_shells import typed

FILES = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/conf.d/maple.fish"}
RC = b"alias ll='ls -l'\n\xff no UTF-8\nexport X=1"  # without a newline at its end


@pytest.fixture
def home(tmp_path, monkeypatch, maple):
    """A person's home, with the start files."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("ZDOTDIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in (".bashrc", ".zshrc"):
        (tmp_path / name).write_bytes(RC)
        (tmp_path / name).chmod(0o640)
    return tmp_path


@pytest.mark.parametrize("shell", SHELLS)
def test_printing_writes_nothing(maple, home, shell):
    said = maple("init", shell)
    assert said.code == 0 and said.out.startswith(BEGIN) and said.out.endswith(END + "\n") and said.err == ""
    assert sorted(path.name for path in home.rglob("*") if path.is_file()) == [".bashrc", ".zshrc"]
    assert (home / ".bashrc").read_bytes() == RC


@pytest.mark.parametrize("shell", SHELLS)
def test_writing_twice_is_writing_once_and_removing_gives_back_every_byte(maple, home, shell):
    path = home / FILES[shell]
    before = path.read_bytes() if path.exists() else b""
    assert maple("init", shell, "--write").code == 0
    once = path.read_bytes()
    assert once.startswith(before) and once.count(BEGIN.encode()) == 1
    assert "as it should be" in maple("init", shell, "--write").err and path.read_bytes() == once
    assert maple("init", shell, "--news", "off", "--write").code == 0
    assert path.read_bytes().count(b"MAPLE_NEWS") == 1 and path.read_bytes().count(BEGIN.encode()) == 1
    assert maple("init", shell, "--remove").code == 0
    assert path.read_bytes() == before + (b"\n" if before else b"")
    if before:
        assert path.stat().st_mode & 0o777 == 0o640


def test_a_link_to_a_dot_file_stays_one(maple, home):
    (home / "dots").mkdir()
    (home / ".bashrc").rename(home / "dots/bashrc")
    (home / ".bashrc").symlink_to("dots/bashrc")
    maple("init", "bash", "--write")
    assert (home / ".bashrc").is_symlink() and BEGIN.encode() in (home / "dots/bashrc").read_bytes()


@pytest.mark.parametrize("text", [f"{BEGIN}\n", f"{END}\n{BEGIN}\n", f"{BEGIN}\n{END}\n{BEGIN}\n{END}\n"])
def test_a_block_that_somebody_edited_is_left_alone(maple, home, text):
    (home / ".bashrc").write_text(text)
    said = maple("init", "bash", "--write")
    assert said.code == 2 and said.err.count("\n") == 1 and "by hand" in said.err
    assert (home / ".bashrc").read_text() == text


def test_the_shell_is_that_of_the_login(maple, home, monkeypatch):
    monkeypatch.setenv("SHELL", "/usr/bin/zsh")
    assert "compinit" in maple("init").out
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    said = maple("init")
    assert said.code == 2 and "/bin/tcsh" in said.err and "maple init bash" in said.err
    assert maple("init", "bash", "--write", "--remove").code == 2


@given(st.text(), st.text())
def test_every_other_byte_is_kept(before, after):
    block = lines(SHELLS["bash"], {}, True)
    text = before + "\n" + block + after
    try:
        assert put(text, "") == before + "\n" + after
        assert put(put(text, block), block) == text
    except Unpaired:
        assert {BEGIN, END} & {line.strip() for line in (before + "\n" + after).splitlines()}


@pytest.mark.parametrize("files", ["files", "commands"])
@pytest.mark.parametrize("shell", SHELLS)
def test_a_new_shell_completes_and_says_nothing_of_its_own(maple, home, monkeypatch, shell, files):
    """With completion's files beside Maple, and without."""
    if not shutil.which(shell):
        pytest.skip("there is no %s" % shell)
    if files == "commands":
        monkeypatch.setattr(command, "_files", lambda shell: {})
    for name in (".bashrc", ".zshrc"):
        (home / name).unlink()
    maple("init", shell, "--news", "off", "--write")
    path = f"{os.path.dirname(sys.executable)}:/usr/bin:/bin"
    environ = {"PATH": path, "HOME": str(home), "TERM": "dumb", "LANG": "C.UTF-8", "PS1": "> ", "COLUMNS": "200"}
    quiet = subprocess.run(
        [shell, "-c", "true"], env=environ, capture_output=True, stdin=subprocess.DEVNULL, timeout=60
    )
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, b"", b"")
    if shell == "fish":
        asked = "complete -C 'maple che'; echo $MAPLE_NEWS"
        done = subprocess.run([shell, "-i", "-c", asked], env=environ, capture_output=True, text=True, timeout=60)
        assert done.stdout.split()[0] == "check" and done.stdout.split()[-1] == "no", done.stderr
        return
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(home)
        os.execvpe(shell, [shell, "-i"], environ)
    try:
        typed(terminal, "echo news=$MAPLE_NEWS\n", "news=no")
        typed(terminal, "maple che\t", "check ")
    finally:
        os.close(terminal)
        os.waitpid(child, 0)


def test_without_news_nothing_is_asked_of_the_service(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    asked: list[list[str]] = []
    monkeypatch.setattr("maple_agents.cli.main._line", lambda words: asked.append(words) or "job 7 failed")
    tell_news(["check", "job.sh"], {"MAPLE_NEWS": "no"})
    assert asked == [] and capsys.readouterr().err == ""
    tell_news(["check", "job.sh"], {})
    assert asked == [["check", "job.sh"]] and "job 7 failed" in capsys.readouterr().err
