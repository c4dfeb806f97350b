"""The snapshot on disk: written whole or not at all, and the last one kept.

A module of its own, for every submission reads what it writes: nothing of the command that calls it decides how.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from maple_submit_filter.site.facts import Site
from maple_submit_filter.site.snapshot import from_snapshot, write


def save(site: Site, target: Path) -> bool:
    """Make *target* the snapshot of *site*, and keep what was there as `<target>.last`. False: it already was that.

    Who reads *target* meanwhile gets the old or the new one, whole. Raises `OSError`, and then nothing has changed.
    """
    text = json.dumps(write(site), separators=(",", ":")) + "\n"
    if _text(target) == text:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(".%s.%d" % (target.name, os.getpid()))
    try:
        _write(fresh, text)
        _keep_last(target)
        os.replace(fresh, target)
    finally:
        fresh.unlink(missing_ok=True)
    return True


def last(target: Path) -> Path:
    """Return where the snapshot before this one lies."""
    return target.with_name(target.name + ".last")


def load(target: Path) -> Site:
    """Return the site of a snapshot. Raises `OSError`, or `ValueError` with one line when it is broken."""
    try:
        return from_snapshot(json.loads(target.read_bytes()))
    except ValueError as error:
        raise ValueError("%s: %s" % (target, str(error).splitlines()[0])) from None


def _text(target: Path) -> str | None:
    try:
        return target.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def _write(path: Path, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fchmod(file.fileno(), 0o644)  # every user's helper reads it
        os.fsync(file.fileno())


def _keep_last(target: Path) -> None:
    if target.is_file():
        kept = last(target)
        spare = kept.with_name(".%s.%d" % (kept.name, os.getpid()))
        shutil.copyfile(target, spare)
        os.replace(spare, kept)
