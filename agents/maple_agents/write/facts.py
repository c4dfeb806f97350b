"""A fact of a site file by its key path ("modules.pytorch.0"), as the parts of the repository name it."""

from __future__ import annotations

from typing import Any


def fact(file: Any, key_path: str) -> Any:
    """Return what stands in the site file at *key_path*. Raises `ValueError` where nothing does."""
    found = file
    for key in key_path.split("."):
        try:
            found = found[int(key)] if isinstance(found, (list, tuple)) else _under(found, key)
        except (LookupError, ValueError, AttributeError) as error:
            raise ValueError("%s: there is no %r in the site file" % (key_path, key)) from error
    return found


def _under(found: Any, key: str) -> Any:
    return found[key] if isinstance(found, dict) else getattr(found, key)
