"""Where the mini-apps lie, and the hash that stands for all of them. They are copied, and never imported."""

from __future__ import annotations

import hashlib
import importlib.util
import os

from .errors import CannotVerify


def folder() -> str:
    """Return the folder of the mini-apps. Raises `CannotVerify` where they are not installed."""
    found = importlib.util.find_spec("maple_miniapps")
    if found is None or not found.origin:
        raise CannotVerify("the mini-apps are not installed", "install all of maple-hpc")
    return os.path.dirname(os.path.abspath(found.origin))


def digest() -> str:
    """Return the hash of all mini-apps, names and bytes."""
    where, made = folder(), hashlib.sha256()
    for name in sorted(name for name in os.listdir(where) if name.endswith(".py")):
        with open(os.path.join(where, name), "rb") as file:
            made.update(b"%s\0%s\0" % (name.encode(), hashlib.sha256(file.read()).digest()))
    return made.hexdigest()
