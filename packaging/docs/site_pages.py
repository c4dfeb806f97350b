"""Writes the pages of the documentation site and its settings for MkDocs: `make docs-site`.

`docs/guide/` is written for it; the other pages are those of `docs/`, the README and its like, and what is generated
from rules, causes, commands and site files, so that none of them can go stale.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from posixpath import dirname, normpath
from typing import Any

import click
import tomllib
from maple_agents.cli.main import maple
from maple_agents.cli.rule_pages import pages as rule_pages
from maple_agents.templates.knowledge.entries import CLASSES, Entry, Remedy
from maple_agents.templates.knowledge.entries_in_force import entries, meanings
from maple_daemon.cli.daemon import main as service

ROOT = Path(__file__).parents[2]
TO = ROOT / "build" / "docs-site"
EXAMPLES = ROOT / "tests" / "agents" / "debug" / "knowledge" / "examples.toml"  # lines that the causes are known by
OTHERS = {"README.md": "readme.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
GENERATED = {  # in place of what is linked to in the checkout
    "submit_filter/maple_submit_filter/rules": "rules/index.md",
    "templates/knowledge/README.md": "failures/index.md",
    "site_configs/README.md": "clusters.md",
}
REFERENCE = {
    "For administrators": ("administration", "sites", "slurm-hooks", "callers"),
    "How it behaves": ("progress", "mapping", "scheduling", "schedulers", "verify", "mini-apps", "labs"),
    "For programs": ("json", "front", "templates", "knowledge"),
    "How it is built": ("architecture",),
}
LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\(([^)\s]+)\)")
PART = re.compile(r"^(Wrong|Right|Why): *", re.MULTILINE)
LOOKS = {"Wrong": "failure", "Right": "success", "Why": "info"}
MOST_LINES = 4  # telling lines shown of a cause
RULES = """# Rules

Each finding names its rule; `maple explain CODE` prints the same page.
"""
FAILURES = """# Failures

What `maple-fix` tells apart; the names are those of its `--json`.

| Class | Means | Run again? |
|---|---|---|
"""
CLUSTERS = """# Clusters

`maple site show ID` prints what is known of one, each fact with its source and date. Any other cluster is
`generic-slurm` or `generic-pbs` until its administrators describe it: `maple site init`.

| Id | Name | Scheduler |
|---|---|---|
"""


def pages() -> dict[str, str]:
    """Return the text of each page by its path on the site."""
    written = sorted((*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "guide").glob("*.md")))
    sources = {str(path.relative_to(ROOT)): path.name for path in written} | OTHERS
    made = {
        name: linked((ROOT / source).read_text("utf-8"), source, sources | GENERATED)
        for source, name in sources.items()
    }
    return made | _rules() | _failures() | _commands() | _sites()


def linked(text: str, source: str, pages_of: Mapping[str, str]) -> str:
    """Return a page with its links as they are on the site; what is no page there is named, and not linked."""

    def on_site(match: re.Match[str]) -> str:
        words, target = match[1], match[2]
        path, mark, anchor = target.partition("#")
        if not path or "://" in target:
            return match[0]
        there = normpath(f"{dirname(source)}/{path}") if dirname(source) else normpath(path)
        if there in pages_of:
            return f"[{words}]({pages_of[there]}{mark}{anchor})"
        return match[0] if there.startswith("docs/json/") else words

    return LINK.sub(on_site, text)


def _rules() -> dict[str, str]:
    """Each rule's page, and the list of all, by what they speak of."""
    folder = ROOT / "submit_filter" / "maple_submit_filter" / "rules"
    made: dict[str, str] = {}
    about = {path.stem.split("_")[0].upper(): path.parent.name for path in folder.rglob("mpl*.py")}
    rows: dict[str, list[str]] = {}
    for rule in rule_pages():
        made[f"rules/{rule.code}.md"] = f"# {rule.code}: {rule.title}\n\n{_parted(rule.text)}"
        rows.setdefault(about.get(rule.code, "launch"), []).append(
            f"| [{rule.code}]({rule.code}.md) | {_cell(rule.title)} |"
        )
    tables = (
        f"\n## {name.capitalize()}\n\n| Rule | Finds |\n|---|---|\n" + "\n".join(own) for name, own in rows.items()
    )
    return made | {"rules/index.md": RULES + "\n".join(tables) + "\n"}


def _parted(text: str) -> str:
    """Return a rule's text with what is wrong, what is right, and why set apart."""
    before, *parts = PART.split(text)
    made = [before.strip()]
    for kind, part in zip(parts[::2], parts[1::2]):
        lines = [line.strip() for line in part.strip().splitlines()]
        body = " ".join(lines) if kind == "Why" else "```text\n" + "\n".join(lines) + "\n```"
        made.append(f'!!! {LOOKS[kind]} "{kind}"\n\n' + "\n".join(f"    {line}".rstrip() for line in body.splitlines()))
    return "\n\n".join(made) + "\n"


def _failures() -> dict[str, str]:
    """Each class of failures with its causes, their lines and cures, and the list of all."""
    says, lines = meanings(), tomllib.loads(EXAMPLES.read_text("utf-8"))
    of_class: dict[str, list[tuple[str, Entry]]] = {}
    for name, entry in entries().items():
        if entry.role in ("cause", "symptom"):
            of_class.setdefault(entry.cause, []).append((name, entry))
    made, rows = {}, []
    for kind in (kind for kind in CLASSES if kind in says and kind in of_class):
        meaning, title = says[kind], kind.replace("_", " ")
        again = f"**Run again as it is?** {meaning.again}: {meaning.because}."
        parts = [f"# {title.capitalize()}", meaning.says, again]
        for name, entry in of_class[kind]:
            parts += _cause(name, entry, lines.get(name, {}).get("yes", []))
        made[f"failures/{kind}.md"] = "\n\n".join(parts) + "\n"
        rows.append(f"| [{title}]({kind}.md) | {_cell(meaning.says)} | {meaning.again} |")
    return made | {"failures/index.md": FAILURES + "\n".join(rows) + "\n"}


def _cause(name: str, entry: Entry, lines: list[str]) -> Iterator[str]:
    yield f"## {name}"
    yield entry.says
    if lines:
        yield (
            "Known by lines such as\n\n```text\n" + "\n".join(line.strip("\n") for line in lines[:MOST_LINES]) + "\n```"
        )
    cures = [_cure(remedy) for remedy in entry.fixes]
    if cures:
        yield "Cure:\n\n" + "\n".join(cures)
    yield f"<small>From: {'; '.join(map(_plain, entry.sources))}</small>"


def _cure(remedy: Remedy) -> str:
    return "\n".join([f"- {_plain(remedy.says)}", *(f"    - `{step.replace('`', chr(39))}`" for step in remedy.steps)])


def _commands() -> dict[str, str]:
    """The help of each command, and of those below it."""
    root = maple.make_context("maple", ["check"])
    made, rows = {}, []
    named = [(f"maple {name}", maple.get_command(root, name)) for name in maple.list_commands(root)]
    for path, command in [*named, ("maple-daemon", service)]:
        assert command is not None
        file = path.replace(" ", "-") + ".md"
        made[f"commands/{file}"] = f"# {path}\n\n" + "\n\n".join(_helps(command, path, 2))
        rows.append(f"| [`{path}`]({file}) | {_cell(command.get_short_help_str(120))} |")
    head = "# Commands\n\nEach has a man page too, and `--help` with examples.\n\n| Command | Does |\n|---|---|\n"
    return made | {"commands/index.md": head + "\n".join(rows) + "\n"}


def _helps(command: click.Command, path: str, level: int) -> Iterator[str]:
    context = click.Context(command, info_name=path, max_content_width=100)
    yield "```text\n" + command.get_help(context).replace("```", "'''") + "\n```"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                yield f"{'#' * level} {path} {name}"
                yield from _helps(below, f"{path} {name}", min(level + 1, 4))


def _sites() -> dict[str, str]:
    """The clusters that Maple knows."""
    rows = []
    for path in sorted((ROOT / "site_configs").glob("*.toml")):
        facts = tomllib.loads(path.read_text("utf-8"))
        if path.stem.startswith(("generic", "example")):
            continue
        rows.append(f"| `{path.stem}` | {_cell(facts['name'])} | {facts['scheduler']['type']} |")
    return {"clusters.md": CLUSTERS + "\n".join(rows) + "\n"}


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")


def _plain(text: str) -> str:
    """Return a sentence in which nothing is taken for HTML."""
    return text.replace("<", "&lt;").replace(">", "&gt;")


def settings(made: Mapping[str, str]) -> dict[str, Any]:
    """Return what MkDocs goes by. No font, script or picture comes from elsewhere."""
    reference = [{title: [f"{name}.md" for name in names]} for title, names in REFERENCE.items()]
    return {
        "site_name": "Maple",
        "site_description": "Repairs wrong launch lines of distributed deep-learning jobs before they are submitted",
        "docs_dir": "pages",
        "use_directory_urls": False,
        "theme": {
            "name": "material", "font": False, "icon": {"logo": "material/leaf-maple"},
            "features": [
                "navigation.tabs", "navigation.indexes", "navigation.top", "content.code.copy", "search.highlight",
            ],
            "palette": [
                {"media": "(prefers-color-scheme: light)", "scheme": "default", "primary": "deep orange",
                 "toggle": {"icon": "material/weather-night", "name": "Dark"}},
                {"media": "(prefers-color-scheme: dark)", "scheme": "slate", "primary": "deep orange",
                 "toggle": {"icon": "material/weather-sunny", "name": "Light"}},
            ],
        },
        "plugins": ["search"],  # `offline` would load a script from elsewhere
        "markdown_extensions": [
            "admonition", "attr_list", "tables", {"toc": {"permalink": True}}, "pymdownx.superfences",
            {"pymdownx.highlight": {"use_pygments": True}},
        ],
        "validation": {"links": {"not_found": "warn", "anchors": "warn", "unrecognized_links": "warn"}},
        "nav": [
            {"Maple": ["index.md", "readme.md", "users.md", "administrators.md"]},
            {"Trust": ["proof.md", "invariants.md", "kept.md", "security.md", "figures.md", "comparison.md"]},
            *({name.capitalize(): _below(name, made)} for name in ("rules", "failures", "commands")),
            {"Clusters": ["clusters.md"]},
            {"Reference": [*reference, "contributing.md", "changelog.md"]},
        ],
    }  # fmt: skip


def _below(folder: str, made: Mapping[str, str]) -> list[str]:
    """Return the pages of a folder, its list first."""
    head = f"{folder}/index.md"
    return [head, *sorted(path for path in made if path.startswith(f"{folder}/") and path != head)]


def main() -> None:
    """Write them below build/docs-site, anew."""
    shutil.rmtree(TO, ignore_errors=True)
    made = pages()
    for path, text in made.items():
        file = TO / "pages" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    shutil.copytree(ROOT / "docs" / "json", TO / "pages" / "json")
    for picture in (ROOT / "docs").glob("*.png"):
        shutil.copy(picture, TO / "pages")
    (TO / "mkdocs.yml").write_text(json.dumps({**settings(made), "site_dir": str(ROOT / "docs" / "site")}), "utf-8")
    sys.stdout.write(f"{len(made)} pages\n")


if __name__ == "__main__":
    main()
