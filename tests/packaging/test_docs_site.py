"""The documentation site: every rule, failure and command has its page, links lead somewhere, commands can be typed."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from posixpath import dirname, normpath
from types import ModuleType

import click
import pytest
from maple_agents.cli.fix.command import fix
from maple_agents.cli.main import maple
from maple_agents.cli.rule_pages import pages as rule_pages
from maple_agents.templates.knowledge.entries import CLASSES
from maple_daemon.cli.daemon import main as service
from maple_daemon.store.protocol import Caps

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMANDS: dict[str, click.Command] = {"maple": maple, "maple-fix": fix, "maple-daemon": service}
ENDS = ("|", ">", ";", "&&", "2>&1", "&")


@cache
def writer() -> ModuleType:
    """The program that writes the pages."""
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "packaging" / "docs" / "site_pages.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def pages() -> dict[str, str]:
    """Each page by its path."""
    made: dict[str, str] = writer().pages()
    return made


def test_every_rule_failure_and_command_has_its_page() -> None:
    there = pages()
    assert {f"rules/{rule.code}.md" for rule in rule_pages()} <= set(there)
    causes = {path.removeprefix("failures/").removesuffix(".md") for path in there if path.startswith("failures/")}
    assert causes - {"index"} <= set(CLASSES) and len(causes) > 35
    assert {f"commands/maple-{name}.md" for name in ("check", "new", "fix", "admin", "daemon")} <= set(there)


def test_every_page_is_in_the_contents_once() -> None:
    def named(part: object) -> Iterator[str]:
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            for below in part.values():
                yield from named(below)
        elif isinstance(part, list):
            for below in part:
                yield from named(below)

    nav = list(named(writer().settings(pages())["nav"]))
    assert sorted(nav) == sorted(pages())


@pytest.mark.parametrize("path", sorted(pages()))
def test_links_lead_to_pages(path: str) -> None:
    text = FENCE.sub("", pages()[path])
    for target in re.findall(r"\]\(([^)\s#]+)[^)]*\)", text):
        there = normpath(f"{dirname(path)}/{target}") if dirname(path) else normpath(target)
        is_file = (ROOT / "docs" / there).is_file()  # a picture, a schema
        assert "://" in target or there in pages() or is_file, f"{path}: {target}"


def typed() -> Iterator[tuple[str, str]]:
    """Yield page and line of each command of ours in a block of code."""
    for path, text in pages().items():
        if path.startswith(("rules/", "failures/", "commands/")) or path == "changelog.md":
            continue
        for language, block in FENCE.findall(text):
            for line in block.replace("\\\n", " ").splitlines() if language in ("sh", "console", "bash") else ():
                words = line.removeprefix("$ ").strip()
                words = re.sub(r"^\S*/bin/(?=maple)", "", words)
                if re.match(r"maple(?:-fix|-daemon)?(?: |$)", words):
                    yield path, words


@pytest.mark.parametrize(("path", "line"), sorted(set(typed())))
def test_a_command_in_a_block_can_be_typed(path: str, line: str) -> None:
    """It is there, and so is each of its options."""
    name, *words = shlex.split(line, comments=True)
    command, own = COMMANDS[name], list(words)
    context = click.Context(command, info_name=name)
    while isinstance(command, click.Group) and own and not own[0].startswith("-"):
        below = command.get_command(context, own.pop(0))
        assert below is not None, line
        command, context = below, click.Context(below, parent=context)
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    known |= {"--help", "-h", "--version"}
    for word in own:
        if word in (*ENDS, "--"):
            break
        if re.match(r"--?[a-zA-Z]", word):
            assert word.partition("=")[0] in known, f"{path}: {line}: {word}"


def test_there_are_commands_to_look_at() -> None:
    assert len(set(typed())) > 40


def test_what_is_kept_is_what_the_settings_say() -> None:
    caps, said = Caps(), pages()["kept.md"]
    assert f"{caps.days} days" in said and f"{caps.versions_of_user:,} versions" in said
    assert f"{caps.records_of_user:,} records" in said and f"{caps.bytes >> 30} GiB" in said


@pytest.mark.timeout(600)
def test_it_is_built_and_needs_no_network() -> None:
    """Strictly: a link or an anchor that leads nowhere is an error; no font, script or style comes from elsewhere."""
    done = subprocess.run([ROOT / "packaging" / "docs" / "site.sh"], capture_output=True, text=True, timeout=550)
    assert done.returncode == 0, done.stdout + done.stderr
    built = sorted((ROOT / "docs" / "site").rglob("*.html"))
    assert len(built) > 150
    for page in built:
        text = page.read_text("utf-8")
        loaded = re.findall(r"<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=[\"']?(https?:[^\"'\s>]+)", text)
        assert loaded == [], page
