"""The folder of one verification: where the nodes find the mini-apps and leave their facts, and how it goes again.

It is a hidden folder beside the script, or in the folder that the job starts in: the nodes read the user's program
there and write its output there, so they see it; the home folder is not on the nodes of every site.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Mapping
from typing import Any

from ...ask.verified import records
from ...ask.verified.records import CannotVerify
from ..exchange.exchange import SAFE

PREFIX = ".maple-verify-"
ENTRY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "on_node.py")


class Workplace:
    """A folder that only its owner may enter, until it is closed; *keep* leaves it where it is."""

    def __init__(self, candidates: Iterable[str], keep: bool = False) -> None:
        self.keep = keep
        self.token = secrets.token_hex(4)
        self.path = self._made(candidates)
        try:
            for name in ("facts", "job"):
                os.mkdir(os.path.join(self.path, name), 0o700)
            copied = os.path.join(self.path, "maple_miniapps")
            shutil.copytree(records.miniapps_folder(), copied, ignore=shutil.ignore_patterns("__pycache__", "*.json"))
        except BaseException:
            remove(self.path)
            raise

    def close(self) -> None:
        """Remove the folder with all that is in it."""
        if not self.keep:
            remove(self.path)

    def _made(self, candidates: Iterable[str]) -> str:
        tried = []
        for folder in candidates:
            path = os.path.join(os.path.abspath(folder), PREFIX + self.token)
            if not SAFE.fullmatch(os.fsencode(path)):
                tried.append(f"{folder}: its name has signs that a shell would read")
                continue
            try:
                os.mkdir(path, 0o700)
                return path
            except OSError as error:
                tried.append(f"{folder}: {(error.strerror or str(error)).lower()}")
        raise CannotVerify(
            "there is no folder for the mini-apps (" + "; ".join(tried) + ")", "call maple from a folder you may write"
        )

    @property
    def output(self) -> str:
        """Return where the job's standard output goes."""
        return os.path.join(self.path, "out")

    @property
    def errors(self) -> str:
        """Return where the job's standard error goes."""
        return os.path.join(self.path, "err")

    def facts(self, entry: str) -> str:
        """Return the folder into which the ranks of an entry put their facts."""
        return os.path.join(self.path, "facts", entry)

    def add_entry(self, entry: str, settings: Mapping[str, Any]) -> None:
        """Put an entry there that a launch line can start; its file may also be executed as it is."""
        os.mkdir(self.facts(entry), 0o700)
        target = os.path.join(self.path, f"{entry}.py")
        shutil.copyfile(ENTRY, target)
        os.chmod(target, 0o700)
        _written(os.path.join(self.path, f"{entry}.json"), json.dumps(settings).encode())

    def add_script(self, name: str, source: bytes) -> str:
        """Put the script there under its own name, and return its path."""
        path = os.path.join(self.path, "job", os.path.basename(name) or "script")
        _written(path, source)
        os.chmod(path, 0o700)
        return path


def remove(path: str) -> None:
    """Remove such a folder; any other is left alone. What ranks still write there meanwhile goes with it."""
    if not os.path.basename(path).startswith(PREFIX) or not _is_folder(path):
        return
    for _ in range(5):
        shutil.rmtree(path, ignore_errors=True)
        if not os.path.lexists(path):
            return


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _written(path: str, content: bytes) -> None:
    with open(path, "xb") as file:
        file.write(content)
