"""Builds a release: in a folder of its own, so that nothing is half there when it is put in force."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from .. import settings
from ..refusals import Refused
from . import interpreter, layout, releases
from .interpreter import Interpreter, compile_front, reason, refuse_foreign
from .layout import Release
from .sources import Sources, copy_tree

WITHOUT_FRONT = "install cc (apt install gcc libc6-dev), or a wheel that was built where there is one"


class Build:
    """One release about to be made below *draft*, to be moved to its own name when whole.

    *reader*: the interpreter of what reads a user's files, None where nothing does.
    """

    def __init__(
        self, sources: Sources, python: Interpreter, prefix: Path, draft: Path, reader: Interpreter | None = None
    ) -> None:
        self.sources = sources
        self.python, self.reader = python, reader
        self.prefix = prefix
        self.release = Release(draft)

    def run(self, config: dict[str, str], facts: dict[str, object]) -> None:
        """Make every file of the release, the manifest last; raises `Refused` where something cannot be built."""
        for folder in (self.release.front.parent, self.release.library, self.release.config.parent):
            folder.mkdir(parents=True)
        self.copy_package()
        self.copy_draft()
        if self.reader is not None:
            interpreter.fill(self.release, self.reader)
        self.make_front()
        layout.write_json(self.release.snapshot, self.sources.site)
        self.release.config.write_bytes(settings.text(config))
        self.open_to_all()
        layout.write_json(self.release.manifest, {**facts, "files": releases.listing(self.release.root)})

    def copy_package(self) -> None:
        """Copy the helper's package and the templates, and compile the package with the interpreter to be used."""
        copy_tree(self.sources.package, self.release.package)
        if self.sources.templates:
            copy_tree(self.sources.templates, self.release.share / "maple" / "templates")
        for path, place in self.sources.documents:
            target = self.release.share / place
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        # unchecked: the byte code holds whatever the file times become on the way to another file system
        words = ["-IS", "-m", "compileall", "-q", "-s", str(self.release.root), "--invalidation-mode", "unchecked-hash"]
        command = [str(self.python.path), *words, str(self.release.library)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", env={}, check=False)
        done = done if done.returncode else self.write_image()
        if done.returncode:
            raise Refused(f"{self.python.path} cannot compile Maple: {reason(done)}", "name another with --python")

    def copy_draft(self) -> None:
        """Keep the file of a site that is known by nothing else."""
        if self.sources.draft is not None:
            folder = self.release.share / "maple" / "site_configs"
            folder.mkdir(parents=True)
            shutil.copyfile(self.sources.draft, folder / self.sources.draft.name)

    def write_image(self) -> subprocess.CompletedProcess[str]:
        """Have the interpreter write what the helper starts from."""
        command = [str(self.python.path), "-IS", str(self.release.package / "write_helper_image.py")]
        return subprocess.run(command, capture_output=True, text=True, errors="replace", env={}, check=False)

    def make_front(self) -> None:
        """Compile the front; without a compiler, take the one that came built with Maple, if it runs here."""
        if self.sources.compiler:
            compile_front(self.sources.compiler, self.sources.front, self.prefix, self.release.front)
        elif self.sources.built is None:
            raise Refused("there is no C compiler, and this Maple came without a built front", WITHOUT_FRONT)
        else:
            shutil.copyfile(self.sources.built, self.release.front)
            self.release.front.chmod(0o755)
            refuse_foreign(self.release.front)

    def open_to_all(self) -> None:
        """Let everybody read the release and nobody change it, whatever the umask."""
        for path in (self.release.root, *self.release.root.rglob("*")):
            path.chmod(0o755 if path.is_dir() or path == self.release.front else 0o644)
