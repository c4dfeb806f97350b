"""`front.conf`: what the front reads at each start. The keys are those of submit_filter/front/README.md."""

from __future__ import annotations

from pathlib import Path

from . import atomic
from .layout import Release
from .refusals import Refused

MODES = ("off", "observe", "warn", "repair")


def text(values: dict[str, str]) -> bytes:
    """Return the file's bytes for *values*; a key without a value is left out."""
    head = "# Written by maple admin install; change the mode with maple admin mode.\n"
    return (head + "".join(f"{key}={value}\n" for key, value in values.items() if value)).encode()


def values(release: Release) -> dict[str, str]:
    """Return what the release's front.conf says, {} when it cannot be read."""
    try:
        lines = release.config.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return {}
    pairs = (line.partition("=") for line in lines if "=" in line and not line.startswith("#"))
    return {key: value for key, _, value in pairs}


def change_mode(release: Release, mode: str) -> None:
    """Set the mode of a release for the whole site, in one rename."""
    now = values(release)
    if not now:
        raise Refused(f"{release.config} cannot be read", "run maple admin doctor, then install again")
    atomic.write(release.config, text({**now, "mode": checked(mode)}))


def checked(mode: str) -> str:
    """Return *mode* if it is one; refuse with the list of those there are."""
    if mode not in MODES:
        raise Refused(f"there is no mode {mode}", f"choose one of {', '.join(MODES)}")
    return mode


def helper_of(release: Release) -> Path:
    """Return the program that answers when no daemon does."""
    return release.package / "helper.py"
