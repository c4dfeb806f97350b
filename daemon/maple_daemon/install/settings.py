"""`front.conf`: what the front reads at each start. The keys are those of submit_filter/front/README.md."""

from __future__ import annotations

from pathlib import Path

from .refusals import Refused
from .release import atomic
from .release.layout import Release

MODES = ("off", "observe", "warn", "repair")
DEADLINES = ("socket_ms", "helper_ms", "files_ms")  # the administrator's to change, in front.conf itself
MOST_MS = 60_000  # as the front bounds them


HEAD = """\
# Written by maple admin install, which keeps the mode and the deadlines. Change the mode with: maple admin mode.
# socket_ms (50), helper_ms (250) and files_ms (500) are deadlines in milliseconds, 1 to 60000, for the service, for the
# helper that answers without it, and for files; a slow login node may need more. Set them here, a line each.
"""


def text(values: dict[str, str]) -> bytes:
    """Return the file's bytes for *values*; a key without a value is left out."""
    return (HEAD + "".join(f"{key}={value}\n" for key, value in values.items() if value)).encode()


def values(release: Release) -> dict[str, str]:
    """Return what the release's front.conf says, {} when it cannot be read."""
    try:
        lines = release.config.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return {}
    pairs = (line.partition("=") for line in lines if "=" in line and not line.startswith("#"))
    return {key: value for key, _, value in pairs}


def deadlines(release: Release) -> dict[str, str]:
    """Return the deadlines that the release's front.conf sets; one that the front would not take is left out."""
    found = values(release)
    return {key: found[key] for key in DEADLINES if is_deadline(found.get(key, ""))}


def is_deadline(value: str) -> bool:
    """Return whether the front takes *value* for a deadline."""
    return value.isascii() and value.isdigit() and len(value) <= 5 and 1 <= int(value) <= MOST_MS


def carry(release: Release, now: Release) -> None:
    """Give a release what an administrator has set in the one that is in force: the mode and the deadlines."""
    kept = {**deadlines(now), **{key: value for key, value in values(now).items() if key == "mode"}}
    own = {key: value for key, value in values(release).items() if key not in DEADLINES}
    if own and kept:
        atomic.write(release.config, text({**own, **kept, "mode": checked(kept.get("mode") or own.get("mode", ""))}))


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
