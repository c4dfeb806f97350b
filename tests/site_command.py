"""`maple site`, as an administrator types it."""

from __future__ import annotations

from click.testing import CliRunner, Result
from maple_daemon.cli.site import site


def maple_site(*words: object) -> Result:
    """Run it, and return what it printed."""
    return CliRunner().invoke(site, [str(word) for word in words])
