"""Where everything of an installation lies below its prefix."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Layout(NamedTuple):
    """The paths of an installation. Only `current` says which release is in force, so one rename switches them all."""

    prefix: Path

    @property
    def releases(self) -> Path:
        """One folder for each release that was installed."""
        return self.prefix / "releases"

    @property
    def current(self) -> Path:
        """The link to the release in force."""
        return self.prefix / "current"

    @property
    def receipt(self) -> Path:
        """What the installation put where; `uninstall` works from it."""
        return self.prefix / "install.json"

    @property
    def policy(self) -> Path:
        """The modes of partitions, groups and rules; they outlive a release."""
        return self.prefix / "policy.json"

    @property
    def audit(self) -> Path:
        """Where each user's audit lines are gathered, unless --audit named another folder."""
        return self.prefix / "audit"

    @property
    def hooks(self) -> Path:
        """The scheduler's hooks, which its own configuration names."""
        return self.prefix / "hooks"

    @property
    def facts(self) -> Path:
        """What administrators found out about their cluster and applied: a folder for each site."""
        return self.prefix / "facts"

    @property
    def share(self) -> Path:
        """The link to the pages and completions of the release in force, where shells and `man` look beside `bin`."""
        return self.prefix / "share"

    def own(self) -> tuple[Path, ...]:
        """Return all that an installation makes directly below the prefix."""
        return (self.releases, self.current, self.receipt, self.policy, self.audit, self.facts, self.hooks)


class Release(NamedTuple):
    """The paths inside one release."""

    root: Path

    @property
    def front(self) -> Path:
        """What stands in place of the submit command."""
        return self.root / "bin" / "front"

    @property
    def library(self) -> Path:
        """The folder that holds the package of the helper."""
        return self.root / "lib"

    @property
    def package(self) -> Path:
        """The package of the helper."""
        return self.library / "maple_submit_filter"

    @property
    def reader(self) -> Path:
        """The folder that holds the packages of the process that reads a user's files."""
        return self.root / "reader"

    @property
    def child(self) -> Path:
        """That process's program."""
        return self.reader / "maple_agents" / "admission" / "child.py"

    @property
    def config(self) -> Path:
        """What the front reads at each start."""
        return self.root / "etc" / "front.conf"

    @property
    def snapshot(self) -> Path:
        """The site's facts, as the helper reads them."""
        return self.root / "etc" / "site.json"

    @property
    def share(self) -> Path:
        """Templates, man pages, completions."""
        return self.root / "share"

    @property
    def manifest(self) -> Path:
        """The hash and mode of every file of the release."""
        return self.root / "manifest.json"


def layout(prefix: str | Path) -> Layout:
    """Return the layout of an installation below *prefix*."""
    return Layout(Path(prefix))
