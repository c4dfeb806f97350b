"""The checkout keeps its shape: who imports whom, where code lies, and what is documented."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Iterator

import click
import pytest
import tomllib
from maple_agents.cli.main import maple
from maple_agents.cli.rule_pages import pages

ROOT = Path(__file__).parent.parent
FOLDERS = (
    "agents",
    "daemon",
    "miniapps",
    "packaging",
    "site_configs",
    "submit_filter",
    "templates",
    "tests",
)
AT_THE_TOP = {
    ".ci",
    ".gitignore",
    ".pre-commit-config.yaml",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs",
    "LICENSE",
    "Makefile",
    "README.md",
    "pyproject.toml",
}
MAY_IMPORT = {
    "maple_submit_filter": set(),
    "maple_agents": {"maple_submit_filter"},
    "maple_daemon": {"maple_submit_filter", "maple_agents"},
    "maple_miniapps": set(),
}
HOME = {
    "maple_submit_filter": "submit_filter",
    "maple_agents": "agents",
    "maple_daemon": "daemon",
    "maple_miniapps": "miniapps",
}
SLOW = {"argparse", "pathlib", "subprocess", "dataclasses", "tomllib", "enum", "asyncio", "logging", "inspect"}
NO_NAMES = {"utils", "util", "helpers", "common", "manager", "misc", "tools"}
PAGES = ROOT / "packaging/man/man1"


def files() -> list[Path]:
    """Return every file that git tracks."""
    said = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z"],  # a checkout may belong to another user
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout
    paths = {Path(os.fsdecode(name)) for name in said.split(b"\0") if name}
    return sorted(path for path in paths if (ROOT / path).is_file())


def modules(package: str) -> list[Path]:
    return sorted((ROOT / HOME[package] / package).rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """Yield the top-level name of everything that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (one.name.split(".")[0] for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield (node.module or "").split(".")[0]


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_no_layer_imports_upward(package):
    """The submit filter imports nothing of ours, agents the filter, the daemon both, mini-apps nothing."""
    allowed = MAY_IMPORT[package] | {package}
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules(package)
        for name in imported(path)
        if name.startswith("maple_") and name not in allowed
    ]
    assert not wrong


def test_the_submit_filter_imports_the_standard_library_only_and_nothing_slow():
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules("maple_submit_filter")
        for name in imported(path)
        if name in SLOW or name not in sys.stdlib_module_names | {"maple_submit_filter", "_sha2"}  # _sha2: from 3.12 on
    ]
    assert not wrong


def test_the_submit_filter_runs_on_the_oldest_python_it_promises():
    vermin = Path(sys.executable).with_name("vermin")
    said = subprocess.run(
        [vermin, "-q", "-t=3.9-", "--no-tips", "--violations", ROOT / "submit_filter/maple_submit_filter"],
        capture_output=True,
        text=True,
    )
    assert said.returncode == 0, said.stdout


def test_no_code_lies_beside_the_folders():
    top = {path.parts[0] for path in files()}
    assert not top - AT_THE_TOP - set(FOLDERS)


def test_folder_x_holds_package_maple_x_and_no_other_python():
    wrong = [
        str(path)
        for path in files()
        if path.suffix == ".py" and path.parts[0] in HOME.values() and path.parts[1] != f"maple_{path.parts[0]}"
    ]
    assert not wrong


def test_packaging_is_no_package():
    """It would hide the widely used library of that name."""
    assert not (ROOT / "packaging/__init__.py").exists()


def test_no_test_depends_on_what_lies_on_the_machine():
    """What must not be there is `/proc/nowhere`, or below `tmp_path`: any other path may exist somewhere."""
    said = "/non" + "existent"
    code = [path for end in ("py", "c", "sh") for path in sorted((ROOT / "tests").rglob("*." + end))]
    assert [str(path.relative_to(ROOT)) for path in code if said in path.read_text("utf-8", "replace")] == []


def test_modules_are_called_after_one_idea():
    assert not [str(path) for path in files() if path.suffix == ".py" and path.stem in NO_NAMES]


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_folder_says_what_it_is(folder):
    readme = ROOT / folder / "README.md"
    assert readme.is_file() and readme.read_text(encoding="utf-8").startswith("# ")


def test_folders_of_data_and_scripts_say_what_they_are():
    """A folder one level down, unless it is a package, has a README or stands in the one above it."""
    seconds = {path.parts[:2] for path in files() if len(path.parts) > 2 and path.parts[0] in FOLDERS}
    silent = [
        f"{first}/{second}"
        for first, second in sorted(seconds)
        if not second.startswith("maple_")
        and not (ROOT / first / second / "README.md").is_file()
        and f"{second}/" not in (ROOT / first / "README.md").read_text(encoding="utf-8")
    ]
    assert not silent


LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


def test_links_between_documents_lead_somewhere():
    broken = [
        f"{path}: {link}"
        for path in files()
        if path.suffix == ".md"
        for link in LINK.findall((ROOT / path).read_text(encoding="utf-8"))
        if not (ROOT / path.parent / link).exists()
    ]
    assert not broken


def commands(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Yield every command below *group* with its path."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, name
        own = click.Context(command, info_name=name, parent=context)
        yield own.command_path, command, own
        if isinstance(command, click.Group):
            yield from commands(command, own)


def all_commands() -> list[tuple[str, click.Command, click.Context]]:
    return list(commands(maple, maple.make_context("maple", ["explain"])))


def test_every_command_and_option_has_help():
    silent = [path for path, command, _ in all_commands() if not command.help]
    silent += [
        f"{path} {option.name}"
        for path, command, _ in all_commands()
        for option in command.params
        if isinstance(option, click.Option) and not option.help
    ]
    assert not silent


def test_every_command_and_option_stands_in_the_man_pages():
    """`make docs` writes them."""
    text = {page.stem: unroffed(page.read_text(encoding="utf-8")) for page in PAGES.glob("*.1")}
    missing = []
    for path, command, context in all_commands():
        page = text.get("-".join(path.split()[:2]), "")
        wanted = [path, *(f for one in command.params if isinstance(one, click.Option) for f in one.opts)]
        missing += [f"{path}: {what}" for what in wanted if what not in page]
        assert context.parent is not None
    assert not missing


def unroffed(text: str) -> str:
    return text.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "").replace("\\&", "")


def test_every_environment_variable_for_users_stands_in_the_man_page():
    text = (PAGES.parent / "man7/maple.7").read_text(encoding="utf-8")
    assert not [name for name in ("MAPLE", "MAPLE_ASK", "MAPLE_ETC", "NO_COLOR") if f"\\fB{name}\\fR" not in text]


def test_every_rule_has_a_page_with_wrong_right_and_a_code_of_its_own():
    shown = pages()
    silent = [page.code for page in shown if not all(word in page.text for word in ("Wrong:", "Right:"))]
    codes = [page.code for page in shown]
    assert not silent
    assert len(set(codes)) == len(codes)
    assert not [code for code in codes if not re.fullmatch(r"MPL[1-9]\d\d", code)]


def test_every_rule_is_a_file_of_its_own():
    folder = ROOT / "submit_filter/maple_submit_filter/rules"
    wrong = [
        path.name
        for path in folder.glob("*.py")
        for page in pages_in(path)
        if not path.name.startswith(page.lower() + "_")
    ]
    assert not wrong


def pages_in(path: Path) -> list[str]:
    from maple_agents.cli.rule_pages import pages_of

    return [page.code for page in pages_of(path.read_bytes())]


@pytest.mark.parametrize(
    ("shell", "filename"), [("bash", "bash/maple"), ("zsh", "zsh/_maple"), ("fish", "fish/maple.fish")]
)
def test_each_shell_has_its_completion(shell, filename):
    text = (ROOT / "packaging/completion" / filename).read_text(encoding="utf-8")
    assert f"_MAPLE_COMPLETE={shell}_complete" in text


def test_bash_completes_a_command():
    """The shipped file, in a real bash: `maple ch<TAB>` gives check."""
    script = (
        f"source {ROOT}/packaging/completion/bash/maple\n"
        "COMP_WORDS=(maple ch) COMP_CWORD=1\n_maple_completion maple ch maple\necho ${COMPREPLY[@]}"
    )
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    said = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environ, timeout=60)
    assert said.stdout.split() == ["check"], said.stderr


def test_the_setup_scripts_are_posix_shell():
    """A fresh machine has dash, and make calls them before anything is installed."""
    for script in sorted((ROOT / "packaging/setup").glob("*.sh")):
        subprocess.run(["sh", "-n", script], check=True)
        assert os.access(script, os.X_OK), script


def test_continuous_integration_runs_make_test():
    assert "exec make test" in (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert os.access(ROOT / ".ci/run", os.X_OK)


def test_every_console_script_and_plugin_names_something_that_exists():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [*project["scripts"].values(), *project["entry-points"]["maple.commands"].values()]
    for one in named:
        module, _, attribute = one.partition(":")
        assert importlib.util.find_spec(module) and hasattr(importlib.import_module(module), attribute), one


EXTRAS_OF = {
    "README.md": {
        "daemon",
        "postgresql",
        "search",
        "models",
        "pyslurm",
        "scheduling",
        "window",
        "mapping",
        "dl",
        "zero",
    },
    "agents/README.md": {"search", "models", "pyslurm", "scheduling", "mapping"},
    "daemon/README.md": {"daemon", "postgresql", "window"},
    "miniapps/README.md": {"dl", "zero"},
    "packaging/README.md": {"daemon", "postgresql"},
    "docs/administration.md": {"daemon", "postgresql", "window"},
}


MOST_LINES = 40  # of a folder's README: what the folder is, its rooms, how to add one, where the tests are


def test_the_readme_of_a_folder_is_short():
    """Manuals stand in docs/."""
    long = {
        str(path): lines
        for path in files()
        if path.name == "README.md" and path.parent != Path(".")
        for lines in [len((ROOT / path).read_text(encoding="utf-8").splitlines())]
        if lines > MOST_LINES
    }
    assert not long


def test_readmes_name_the_extras():
    """The first one all that there are; each of the others those of its folder, and none that is not there."""
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]) - {"dev"}
    assert EXTRAS_OF["README.md"] == extras
    for name, wanted in EXTRAS_OF.items():
        named = set(re.findall(r"maple-hpc\[([a-z]+)\]", (ROOT / name).read_text(encoding="utf-8")))
        assert named == wanted, name
