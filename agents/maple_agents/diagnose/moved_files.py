"""A diagnosis of files that will lie elsewhere when somebody reads it: PBS delivers output after the job's epilogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from .values import Cause, Cure, Diagnosis, Evidence, LogFile

_PARTS = (Cause, Cure, Evidence, LogFile)


def moved(diagnosis: Diagnosis, paths: Mapping[str, str]) -> Diagnosis:
    """Return *diagnosis* with each of *paths* under its later name, wherever people are told of it."""
    case = diagnosis.case
    case = replace(
        case, logs=_moved(case.logs, paths), missing=_moved(case.missing, paths), notes=_moved(case.notes, paths)
    )
    told = {name: _moved(getattr(diagnosis, name), paths) for name in ("causes", "cascade", "cures", "excerpt")}
    return replace(diagnosis, case=case, **told)


def _moved(value: Any, paths: Mapping[str, str]) -> Any:
    made = value
    if isinstance(value, str):
        for path, later in paths.items():
            made = made.replace(path, later)
    elif type(value) is tuple:
        made = tuple(_moved(one, paths) for one in value)
    elif isinstance(value, dict):
        made = {name: _moved(one, paths) for name, one in value.items()}
    elif isinstance(value, _PARTS):
        told = {one.name: _moved(getattr(value, one.name), paths) for one in fields(value)}
        made = replace(value, **told)
    return made
